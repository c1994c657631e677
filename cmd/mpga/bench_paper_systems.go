package main

import (
	"slices"

	"github.com/mpga/mpga/internal/papers"
	"github.com/mpga/mpga/kernels"
)

// paperUse is the figures that show a system.
type paperUse uint8

const (
	inFamilies  paperUse = 1 << iota // figures 15 to 21 of Wu et al.
	inPlacement                      // figure 11 of Karnagel et al.
	inHashSort                       // figure 13 of Karnagel et al.
	inEGA                            // figures 5 and 6 of Wang et al.
	inCliff                          // the figure cliff of libcudf
)

// paperSystem is a system of the papers that is one family of kernels.
type paperSystem struct {
	name   string
	kernel kernels.Kernel
	uses   paperUse
}

// paperSystems are the systems that figures show. A system that a claim names and that is not here has no points.
var paperSystems = []paperSystem{
	{papers.HGB, kernels.KernelShared, inFamilies | inCliff},
	{papers.PGBTR, kernels.KernelScattered, inFamilies},
	{papers.PGBUR, kernels.KernelNumbered, inFamilies},
	{papers.SGBUR, kernels.KernelSorted, inFamilies | inHashSort},
	{papers.SGBTR, kernels.KernelSortedColumns, inFamilies},
	{papers.SGBDE, kernels.KernelSortedCodes, inFamilies},
	{papers.SPEGA, kernels.KernelTwoPhase, inEGA},
	{papers.LPHGA, kernels.KernelLinear, inFamilies | inHashSort | inEGA | inCliff},
	{papers.PlaceGlobal, kernels.KernelLinear, inPlacement},
	{papers.PlaceShared, kernels.KernelShared, inPlacement},
	{papers.PlaceBlock, kernels.KernelBlockPrivate, inPlacement},
	{papers.PlaceThread, kernels.KernelThreadPrivate, inPlacement},
}

// systemsFor returns the systems that figures of a use show.
func systemsFor(use paperUse) []paperSystem {
	return slices.DeleteFunc(slices.Clone(paperSystems), func(s paperSystem) bool { return s.uses&use == 0 })
}

// noteAbsent notes which of some names no system has.
func noteAbsent(result *papers.Result, names ...string) {
	for _, name := range names {
		if !slices.ContainsFunc(paperSystems, func(s paperSystem) bool { return s.name == name }) {
			result.Note(name + " is not in this build.")
		}
	}
}

// nameOfKernel returns the name that figures of Wu et al. have for a family.
func nameOfKernel(kernel kernels.Kernel) string {
	for _, s := range systemsFor(inFamilies) {
		if s.kernel == kernel {
			return s.name
		}
	}
	return kernel.String()
}

// paperMeasures fill in the results of figures, by the figures' IDs.
var paperMeasures = map[string]paperMeasure{
	"ega-table1":         (*paperRun).egaTable1,
	"ega-figure5":        (*paperRun).egaFigure5,
	"ega-figure6":        (*paperRun).egaFigure6,
	"ega-figure7":        (*paperRun).egaFigure7,
	"ega-figure8":        (*paperRun).egaFigure8,
	"ega-theorem1":       (*paperRun).egaTheorem1,
	"ega-merge":          (*paperRun).egaMerge,
	"ega-feedback":       (*paperRun).egaFeedback,
	"ega-coprocessing42": (*paperRun).egaCoprocessing,
	"wu-figure15":        (*paperRun).wuFigure15,
	"wu-figure16":        (*paperRun).wuFigure16,
	"wu-figure17":        (*paperRun).wuFigure17,
	"wu-figure18":        (*paperRun).wuFigure18,
	"wu-figure19":        (*paperRun).wuFigure19,
	"wu-table2":          (*paperRun).wuTable2,
	"wu-figure20":        (*paperRun).wuFigure20,
	"wu-figure21":        (*paperRun).wuFigure21,
	"karnagel-figure11":  (*paperRun).karnagelFigure11,
	"karnagel-figure13":  (*paperRun).karnagelFigure13,
	"karnagel-fill":      (*paperRun).karnagelFill,
	"chen-figure3":       (*paperRun).chenFigure3,
	"chen-figure4":       (*paperRun).chenFigure4,
	"chen-figure5":       (*paperRun).chenFigure5,
	"chen-estimate":      (*paperRun).chenEstimate,
	"libcudf-cliff":      (*paperRun).libcudfCliff,
	"libcudf-init":       (*paperRun).libcudfInit,
}
