package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/lab/papers"
	"github.com/mpga/mpga/lab/papers/measure"
)

// paperFlags are the flags of mpga-lab paper.
type paperFlags struct {
	papers  []string
	figures []string
	scale   float64 // 0 is the default of the device
	device  string
	repeats int // 0 is the default of the device
	dir     string
	list    bool
}

func newPaperCommand() *cobra.Command {
	var f paperFlags
	cmd := &cobra.Command{
		Use:   "paper -o DIR",
		Short: "Measure the figures of the papers, and judge their claims",
		Long: `Measure the figures and tables of the five papers that mpga began with: the axis of each, our measurement of
each system, the paper's value where its text gives one, the ratio, and a verdict on each claim that is computed from
the measurements. Every answer is checked. DIR gets index.html (one page, the verdicts first), report.md, report.json,
figures.csv and one SVG picture for each figure; they are written again after each figure.

Without a GPU a GPU's double on the CPU does the work, with fewer rows: counts (probes, load factors, partitions,
rounds, bytes) are right, and times are not a GPU's, so that claims about times have no verdict.`,
		Example: `  mpga-lab paper -o paper
  mpga-lab paper --paper 004 --figure table1,figure5 -o ega
  mpga-lab paper --paper ega,wu --scale 0.1 -o small
  mpga-lab paper --list`,
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
	flags.IntVar(&f.repeats, "repeats", 0,
		"`N` runs, up to 1000, of which the median is taken (default 7 on a GPU and 1 without)")
	flags.StringVarP(&f.dir, "output", "o", "", "write the report into the directory `DIR`")
	flags.BoolVar(&f.list, "list", false, "list the figures and end")
	var names, ids []string
	for _, p := range papers.Papers {
		names = append(names, p.Name)
	}
	for _, f := range papers.Figures() {
		ids = append(ids, f.ID())
	}
	cmdflags.Complete(cmd, map[string][]string{"paper": names, "figure": ids})
	return cmd
}

// Bounds of the flags.
const (
	paperScaleMax   = 1
	paperRepeatsMax = 1000
	paperHostMin    = 32 << 20 // bytes of a GPU's double
)

func (f *paperFlags) run(ctx context.Context, w io.Writer, isGiven func(flag string) bool) error {
	figures, err := papers.Select(f.papers, f.figures)
	if err != nil {
		return usageError{err}
	}
	if f.list {
		return listFigures(w, figures)
	}
	o, err := f.options(isGiven)
	if err != nil {
		return err
	}
	return measure.Run(ctx, w, o, figures)
}

// options returns what the flags say, and refuses flags that cannot be run with.
func (f *paperFlags) options(isGiven func(flag string) bool) (o measure.Options, err error) {
	switch {
	case f.dir == "":
		return o, usagef("-o DIR: say where the report goes")
	case isGiven("scale") && !(f.scale > 0 && f.scale <= paperScaleMax):
		return o, usagef("--scale %g: want above 0 and up to %d", f.scale, paperScaleMax)
	case isGiven("repeats") && (f.repeats < 1 || f.repeats > paperRepeatsMax):
		return o, usagef("--repeats %d: want 1 to %d", f.repeats, paperRepeatsMax)
	}
	if info, err := os.Stat(f.dir); err == nil && !info.IsDir() {
		return o, usagef("-o %s: want a directory", f.dir)
	}
	o = measure.Options{Device: f.device, Scale: f.scale, Repeats: f.repeats, Dir: f.dir}
	o.HostBytes, err = f.hostBytes()
	return o, err
}

// hostBytes returns the bytes of the GPU's double that --device names; 0 where it names none.
func (f *paperFlags) hostBytes() (int64, error) {
	if f.device == "" || f.device == "cuda" {
		return 0, nil
	}
	size, isHost := strings.CutPrefix(f.device, "host:")
	if !isHost {
		return 0, usagef("--device %q: want cuda, or host:SIZE as in host:2GiB", f.device)
	}
	if err := device.Valid(f.device); err != nil {
		return 0, usagef("--device %w", err)
	}
	n, err := parseSize("--device", size)
	if err == nil && n < paperHostMin {
		err = usagef("--device %s: want host:32MiB at least", f.device)
	}
	return n, err
}

func listFigures(w io.Writer, figures []*papers.Figure) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range figures {
		p := papers.PaperOf(f.Paper)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Number, p.Name, f.Name, f.Title)
	}
	return t.Flush()
}
