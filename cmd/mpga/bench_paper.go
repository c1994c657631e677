package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/internal/papers"
	"github.com/mpga/mpga/internal/report"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/bench"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// benchPaperFlags are the flags of mpga bench paper.
type benchPaperFlags struct {
	papers  []string
	figures []string
	scale   float64 // 0 is the default of the device
	device  string
	repeats int // 0 is the default of the device
	dir     string
	list    bool
}

func newBenchPaperCommand() *cobra.Command {
	var f benchPaperFlags
	cmd := &cobra.Command{
		Use:   "paper -o DIR",
		Short: "Measure the figures of the papers, and judge their claims",
		Long: `Measure the figures and tables of the five papers that mpga began with: the axis of each, our measurement of
each system, the paper's value where its text gives one, the ratio, and a verdict on each claim that is computed from
the measurements. Every answer is checked. DIR gets index.html (one page, the verdicts first), report.md, report.json,
figures.csv and one SVG picture for each figure; they are written again after each figure.

Without a GPU a GPU's double on the CPU does the work, with fewer rows: counts (probes, load factors, partitions,
rounds, bytes) are right, and times are not a GPU's, so that claims about times have no verdict.`,
		Example: `  mpga bench paper -o paper
  mpga bench paper --paper 004 --figure table1,figure5 -o ega
  mpga bench paper --paper ega,wu --scale 0.1 -o small
  mpga bench paper --list`,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.Flags().Changed)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.papers, "paper", nil,
		"`LIST` of 000 to 004, or libcudf, chen, karnagel, wu, ega (default all)")
	flags.StringSliceVar(&f.figures, "figure", nil, "`LIST` of names of figures, which --list shows (default all)")
	flags.Float64Var(&f.scale, "scale", 0,
		"measure `S` times the papers' rows, above 0 and up to 1 (default 1 on a GPU and 0.001 without)")
	flags.StringVar(&f.device, "device", "",
		"cuda, or host:`SIZE` for a GPU's double (default cuda if there is a GPU, else host:2GiB)")
	flags.IntVar(&f.repeats, "repeats", 0, "`N` runs, of which the median is taken (default 7 on a GPU and 1 without)")
	flags.StringVarP(&f.dir, "output", "o", "", "write the report into the directory `DIR`")
	flags.BoolVar(&f.list, "list", false, "list the figures and end")
	var names, ids []string
	for _, p := range papers.Papers {
		names = append(names, p.Name)
	}
	for _, f := range papers.Figures() {
		ids = append(ids, f.ID())
	}
	completeWords(cmd, map[string][]string{"paper": names, "figure": ids})
	return cmd
}

// Bounds of the flags, and what they are by default.
const (
	paperScaleMax    = 1
	paperScaleGPU    = 1
	paperScaleHost   = 1e-3
	paperRepeatsGPU  = 7
	paperRepeatsHost = 1
	paperHostDevice  = "host:2GiB"
	paperHostMin     = 32 << 20 // bytes of a GPU's double
)

func (f *benchPaperFlags) run(ctx context.Context, w io.Writer, isGiven func(flag string) bool) error {
	figures, err := papers.Select(f.papers, f.figures)
	if err != nil {
		return usageError{err}
	}
	if f.list {
		return listFigures(w, figures)
	}
	if err := f.check(isGiven); err != nil {
		return err
	}
	run, err := f.open()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.dir, 0o777); err != nil {
		return errors.Join(err, run.close())
	}
	return errors.Join(run.all(ctx, w, f.dir, figures), run.close())
}

// check refuses flags that cannot be run with.
func (f *benchPaperFlags) check(isGiven func(flag string) bool) error {
	switch {
	case f.dir == "":
		return usagef("-o DIR: say where the report goes")
	case isGiven("scale") && !(f.scale > 0 && f.scale <= paperScaleMax):
		return usagef("--scale %g: want above 0 and up to %d", f.scale, paperScaleMax)
	case isGiven("repeats") && f.repeats < 1:
		return usagef("--repeats %d: want 1 or more", f.repeats)
	case f.device != "" && f.device != "cuda" && !strings.HasPrefix(f.device, "host:"):
		return usagef("--device %q: want cuda, or host:SIZE as in host:2GiB", f.device)
	}
	if info, err := os.Stat(f.dir); err == nil && !info.IsDir() {
		return usagef("-o %s: want a directory", f.dir)
	}
	if f.device == "" {
		return nil
	}
	if err := device.Valid(f.device); err != nil {
		return usagef("--device %w", err)
	}
	return nil
}

// paperRun is a run of figures on a device.
type paperRun struct {
	device  kernels.Device
	runner  *bench.Runner
	engines string // Options.Device of engines: the same device
	report  papers.Report
	sweeps  map[int]*papers.Panel // of the figures of Wu et al. that share one, by key bytes
}

// open opens the device. Without a name it is a GPU, or a GPU's double where there is none.
func (f *benchPaperFlags) open() (*paperRun, error) {
	r := &paperRun{engines: f.device, sweeps: map[int]*papers.Panel{}}
	var err error
	switch f.device {
	case "", "cuda":
		r.device, err = kernels.Open(kernels.Options{})
		if err == nil {
			r.engines, r.report.Machine.IsGPU = "cuda", true
		} else if f.device == "" {
			r.engines = paperHostDevice
			err = r.openHost()
		}
	default:
		err = r.openHost()
	}
	if err != nil {
		return nil, err
	}
	return r, f.begin(r)
}

func (r *paperRun) openHost() error {
	size, err := parseSize("--device", strings.TrimPrefix(r.engines, "host:"))
	if err != nil {
		return err
	}
	if size < paperHostMin {
		return usagef("--device %s: want host:32MiB at least", r.engines)
	}
	r.device, err = hostdevice.Open(hostdevice.Options{MemoryLimit: size})
	return err
}

// begin fills in what the flags leave open, and what the machine is.
func (f *benchPaperFlags) begin(r *paperRun) (err error) {
	m, gpu := &r.report.Machine, r.report.Machine.IsGPU
	defaults := func(ifGPU, otherwise float64) float64 {
		if gpu {
			return ifGPU
		}
		return otherwise
	}
	if r.report.Scale = f.scale; f.scale == 0 {
		r.report.Scale = defaults(paperScaleGPU, paperScaleHost)
	}
	if r.report.Repeats = f.repeats; f.repeats == 0 {
		r.report.Repeats = int(defaults(paperRepeatsGPU, paperRepeatsHost))
	}
	r.report.Began = time.Now()
	p := r.device.Properties()
	m.Device, m.Processors = p.Name, runtime.GOMAXPROCS(0)
	if r.runner, err = bench.NewRunner(r.device, r.report.Repeats); err != nil || !gpu {
		if m.Device = "a GPU's double on the CPU (" + r.engines + ")"; gpu {
			m.Device = p.Name
		}
		return err
	}
	m.CUDA = fmt.Sprintf("%d.%d", p.DriverVersion/1000, p.DriverVersion%1000/10)
	if m.Bandwidth, err = r.runner.Bandwidth(); err != nil {
		return err
	}
	m.Link, err = kernels.LinkSpeed(r.device, 256<<20)
	return err
}

func (r *paperRun) close() error {
	return errors.Join(r.runner.Drop(), r.runner.Close(), r.device.Close())
}

// all measures figures, and writes the report after each. A figure that fails does not end the others.
func (r *paperRun) all(ctx context.Context, w io.Writer, dir string, figures []*papers.Figure) error {
	var failed []error
	for _, f := range figures {
		r.report.Left = append(r.report.Left, f.ID())
	}
	for _, f := range figures {
		result, err := r.measure(ctx, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", f.ID(), err))
		}
		r.report.Results, r.report.Left = append(r.report.Results, result), r.report.Left[1:]
		if err := errors.Join(report.WriteFigure(w, result), writeReport(dir, &r.report)); err != nil {
			return err
		}
	}
	return errors.Join(append(failed, report.WriteVerdicts(w, &r.report))...)
}

// measure measures a figure, and judges its claims.
func (r *paperRun) measure(ctx context.Context, f *papers.Figure) (*papers.Result, error) {
	result := &papers.Result{Figure: f, Scale: r.report.Scale}
	start := time.Now()
	err := paperMeasures[f.ID()](r, ctx, result)
	if err = errors.Join(err, r.runner.Drop()); err != nil {
		result.Error = err.Error()
	}
	result.Seconds = time.Since(start).Seconds()
	if !r.report.Machine.IsGPU && result.IsTimed() {
		result.Note("Times are those of a GPU's double on the CPU, not of a GPU.")
	}
	result.Judge(&r.report.Machine)
	return result, err
}

func listFigures(w io.Writer, figures []*papers.Figure) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range figures {
		p := papers.PaperOf(f.Paper)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Number, p.Name, f.Name, f.Title)
	}
	return t.Flush()
}
