package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/lab/bench"
)

// kernelsFlags say which kernels and inputs are measured.
type kernelsFlags struct {
	rows      float64
	shape     string
	groups    []float64
	skews     []float64
	repeats   int
	baselines bool
	sweep     int
	probes    bool
}

func newKernelsCommand() *cobra.Command {
	var f kernelsFlags
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "Measure the group-by kernels of a GPU",
		Long: `Measure the group-by kernels of the first GPU, with rows that are in its memory already: the median
time between two events of the device. Every answer is checked. The floor is the time in which the
device fills as much memory as the rows take, which no kernel beats by much.`,
		Example: `  mpga-lab kernels --groups 10,1e3,1e6 --skew 0,1,1.5
  mpga-lab kernels --sweep 20
  mpga-lab kernels --probes`,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runKernels(cmd.OutOrStdout(), &f)
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&f.rows, "rows", 1e8, "`N` rows")
	flags.StringVar(&f.shape, "shape", "u32", "`WORD` is u32, i64, f64 (a key and a sum), 3sums (three sums and a count over an i64 key), 2max32 or 2max64 (two maxima over a key of so many bits)")
	flags.Float64SliceVar(&f.groups, "groups", []float64{10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 5e7, 1e8}, "`LIST` of numbers of groups")
	flags.Float64SliceVar(&f.skews, "skew", []float64{0}, "`LIST` of exponents of Zipf distributions, 0 for uniform, -1 for self-similar keys")
	flags.IntVar(&f.repeats, "repeats", 9, "`N` runs, of which the median is shown")
	flags.BoolVar(&f.baselines, "baselines", false, "measure all families of kernels; private tables only up to 100 groups")
	flags.IntVar(&f.sweep, "sweep", 0, "`N` numbers of groups from 1 to the rows, at equal ratios, instead of --groups")
	flags.BoolVar(&f.probes, "probes", false, "show the average probes of SP-EGA and of linear probing by load factor, of a table of --rows slots with all keys different")
	return cmd
}

func runKernels(w io.Writer, f *kernelsFlags) error {
	shape, err := bench.ShapeOf(f.shape)
	switch {
	case err != nil:
		return usagef("--shape %w", err)
	case f.rows < 1 || f.rows > math.MaxUint32:
		return usagef("--rows %g: want 1 to 2^32-1", f.rows)
	case f.repeats < 1:
		return usagef("--repeats %d: want 1 or more", f.repeats)
	case f.sweep == 1 || f.sweep < 0:
		return usagef("--sweep %d: want 2 or more", f.sweep)
	}
	return withRunner(f.repeats, func(device kernels.Device, runner *bench.Runner) error {
		return measureKernels(w, f, shape, device, runner)
	})
}

// withRunner opens the first GPU and a runner on it, which times everything so many times.
func withRunner(repeats int, f func(kernels.Device, *bench.Runner) error) (err error) {
	device, err := kernels.Open(kernels.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	runner, err := bench.NewRunner(device, repeats)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	return f(device, runner)
}

// measureKernels prints what the kernels take for rows of a shape.
func measureKernels(w io.Writer, f *kernelsFlags, shape bench.Shape, device kernels.Device, runner *bench.Runner) error {
	p := device.Properties()
	fmt.Fprintf(w, "%s, CUDA %d.%d, %g rows, %s\n", p.Name, p.DriverVersion/1000, p.DriverVersion%1000/10, f.rows, f.shape)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if f.probes {
		return errors.Join(measureProbes(t, runner, int64(f.rows), shape), t.Flush())
	}
	if f.sweep > 0 {
		f.groups = sweep(f.rows, f.sweep)
	}
	fmt.Fprintln(t, "skew\tgroups\tkernel\tms\tG rows/s\tof the floor\tprobes a row\tMiB\t")
	for _, skew := range f.skews {
		for _, groups := range f.groups {
			c := bench.Case{Rows: int64(f.rows), Groups: int64(groups), Skew: skew, Shape: shape}
			if groups < 1 || groups > f.rows {
				continue
			}
			if err := measureCase(t, runner, device, &c, f.baselines); err != nil {
				return fmt.Errorf("%g groups, skew %g: %w", groups, skew, err)
			}
		}
	}
	return t.Flush()
}

// privateGroupsMax is up to how many groups private tables are measured. Beyond, each row searches its table in vain.
const privateGroupsMax = 100

// measureCase measures the plan that is chosen for a case, and the baselines.
func measureCase(w io.Writer, runner *bench.Runner, device kernels.Device, c *bench.Case, baselines bool) (err error) {
	data, err := runner.Put(*c)
	defer func() { err = errors.Join(err, runner.Drop()) }()
	if err != nil {
		return err
	}
	floor, err := runner.Floor(c)
	if err != nil {
		return err
	}
	plans := []kernels.Plan{kernels.Choose(&c.Shape.Shape, kernels.Estimate{Rows: c.Rows, Groups: c.Groups}, device.Properties())}
	if baselines {
		for _, kernel := range kernels.Kernels() {
			isPrivate := kernel == kernels.KernelThreadPrivate || kernel == kernels.KernelBlockPrivate
			if kernel != plans[0].Kernel && kernel.Takes(&c.Shape.Shape) == nil && (!isPrivate || c.Groups <= privateGroupsMax) {
				plans = append(plans, kernels.Plan{Kernel: kernel, Groups: c.Groups})
			}
		}
	}
	for _, plan := range plans {
		r, err := runner.Run(data, plan)
		if err != nil {
			return fmt.Errorf("%s: %w", plan.Kernel, err)
		}
		fmt.Fprintf(w, "%g\t%d\t%s\t%.3f\t%.1f\t%.0f%%\t%.2f\t%d\t\n", c.Skew, r.Groups, plan.Kernel, float64(r.Nanos)/1e6,
			float64(c.Rows)/float64(r.Nanos), 100*float64(floor)/float64(r.Nanos), r.Probes, r.Scratch>>20)
	}
	return nil
}

// sweep returns n numbers of groups from 1 to the rows.
func sweep(rows float64, n int) []float64 {
	groups := make([]float64, n)
	for i := range groups {
		groups[i] = math.Round(math.Pow(rows, float64(i)/float64(n-1)))
	}
	return groups
}

// measureProbes shows what table 1 of Wang, Shen, Lei (2025) shows: the average probes a row, by how
// full the table gets. A row that found no slot within the steps that linear probing takes has too
// few.
func measureProbes(w io.Writer, runner *bench.Runner, slots int64, shape bench.Shape) error {
	fmt.Fprintln(w, "load factor\tSP-EGA\tlinear probing\trows that it gave up\t")
	for _, load := range []float64{0.91, 0.93, 0.95, 0.97, 0.99} {
		rows := int64(load * float64(slots))
		data, err := runner.Put(bench.Case{Rows: rows, Groups: rows, Shape: shape})
		if err != nil {
			return errors.Join(err, runner.Drop())
		}
		twoPhase, _, err := runner.Probes(data, kernels.Plan{Kernel: kernels.KernelTwoPhase, Groups: rows, Slots: slots})
		linear, lost, linearErr := runner.Probes(data, kernels.Plan{Kernel: kernels.KernelLinear, Groups: rows, Slots: slots})
		if err := errors.Join(err, linearErr, runner.Drop()); err != nil {
			return err
		}
		fmt.Fprintf(w, "%.2f\t%.2f\t%.2f\t%d\t\n", load, twoPhase, linear, lost)
	}
	return nil
}
