package measure

import (
	"slices"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/lab/papers"
)

// use is a set of figures that show the same systems.
type use uint8

const (
	inFamilies  use = 1 << iota // figures 15 to 21 of Wu et al.
	inPlacement                 // figure 11 of Karnagel et al.
	inHashSort                  // figure 13 of Karnagel et al.
	inEGA                       // figures 5 and 6 of Wang et al.
	inCliff                     // the figure cliff of libcudf
)

// system is a system of the papers that one family of kernels is.
type system struct {
	name   string
	kernel kernels.Kernel
	uses   use
}

// systems are the systems that figures show.
var systems = []system{
	{papers.HGB, kernels.KernelShared, inFamilies | inCliff},
	{papers.PGBTR, kernels.KernelScattered, inFamilies},
	{papers.PGBUR, kernels.KernelNumbered, inFamilies},
	{papers.SGBUR, kernels.KernelSorted, inFamilies | inHashSort},
	{papers.SGBTR, kernels.KernelSortedColumns, inFamilies},
	{papers.SGBDE, kernels.KernelSortedCodes, inFamilies},
	{papers.SPEGA, kernels.KernelTwoPhase, inEGA},
	{papers.LPHGA, kernels.KernelLinear, inFamilies | inHashSort | inEGA | inCliff},
	{papers.Libcudf, kernels.KernelBlockRanks, inCliff},
	{papers.PlaceGlobal, kernels.KernelLinear, inPlacement},
	{papers.PlaceShared, kernels.KernelShared, inPlacement},
	{papers.PlaceBlock, kernels.KernelBlockPrivate, inPlacement},
	{papers.PlaceThread, kernels.KernelThreadPrivate, inPlacement},
}

// systemsFor returns the systems that the figures of a use show.
func systemsFor(u use) []system {
	return slices.DeleteFunc(slices.Clone(systems), func(s system) bool { return s.uses&u == 0 })
}

// nameOfKernel returns the name that the figures of Wu et al. have for a family of kernels.
func nameOfKernel(kernel kernels.Kernel) string {
	for _, s := range systemsFor(inFamilies) {
		if s.kernel == kernel {
			return s.name
		}
	}
	return kernel.String()
}

// measurements fill in the results of figures, by the figures' IDs.
var measurements = map[string]measurement{
	"ega-table1":         (*measurer).egaTable1,
	"ega-figure5":        (*measurer).egaFigure5,
	"ega-figure6":        (*measurer).egaFigure6,
	"ega-figure7":        (*measurer).egaFigure7,
	"ega-figure8":        (*measurer).egaFigure8,
	"ega-theorem1":       (*measurer).egaTheorem1,
	"ega-merge":          (*measurer).egaMerge,
	"ega-feedback":       (*measurer).egaFeedback,
	"ega-coprocessing42": (*measurer).egaCoprocessing,
	"wu-table1":          (*measurer).wuTable1,
	"wu-figure5":         (*measurer).wuFigure5,
	"wu-figure6":         (*measurer).wuFigure6,
	"wu-figure7":         (*measurer).wuFigure7,
	"wu-figure8":         (*measurer).wuFigure8,
	"wu-figure9":         (*measurer).wuFigure9,
	"wu-figure10":        (*measurer).wuFigure10,
	"wu-figure11":        (*measurer).wuFigure11,
	"wu-figure12":        (*measurer).wuFigure12,
	"wu-figure13":        (*measurer).wuFigure13,
	"wu-figure14":        (*measurer).wuFigure14,
	"wu-figure15":        (*measurer).wuFigure15,
	"wu-figure16":        (*measurer).wuFigure16,
	"wu-figure17":        (*measurer).wuFigure17,
	"wu-figure18":        (*measurer).wuFigure18,
	"wu-figure19":        (*measurer).wuFigure19,
	"wu-table2":          (*measurer).wuTable2,
	"wu-figure20":        (*measurer).wuFigure20,
	"wu-figure21":        (*measurer).wuFigure21,
	"karnagel-figure11":  (*measurer).karnagelFigure11,
	"karnagel-figure13":  (*measurer).karnagelFigure13,
	"karnagel-fill":      (*measurer).karnagelFill,
	"chen-figure3":       (*measurer).chenFigure3,
	"chen-figure4":       (*measurer).chenFigure4,
	"chen-figure5":       (*measurer).chenFigure5,
	"chen-estimate":      (*measurer).chenEstimate,
	"libcudf-cliff":      (*measurer).libcudfCliff,
	"libcudf-init":       (*measurer).libcudfInit,
}
