package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/app/report"
	"github.com/mpga/mpga/app/timed"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/kernels"
)

// compareFlags are the flags of mpga compare.
type compareFlags struct {
	tables     []string
	algorithms []string
	times      int
	asJSON     bool
	page       string // file of the HTML page; "" for none
	budgetFlags
	device  string
	threads int
	parts   cmdflags.Algorithm // but for its algorithm
	named   bool               // the device is named, and has to be there
}

func newCompareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare QUERY",
		Short: "Answer a query by every algorithm, and compare them",
		Long: `Answer a query in SQL by every algorithm that can do it: by the CPU (cpu), by the device as it expects to be fastest
(device), by whichever of both mpga takes by itself (auto, of --device cuda), and by each system of the papers that
docs/papers.md describes: for groups, and, where the query has a join, for joins. Every answer is compared with
the first: the number of groups, and, up to 20 million of them, what hashes of their rows add up to, and doubles to
nine digits. Where the statement has a LIMIT, several answers may be right, and only their numbers of rows are compared.

The table has the median of some runs in one process, after a run that is not counted; what crossed the link, the
time of the device's kernels, and which part of copies and kernels was hidden behind others; how many slots of
tables in device memory a row looked at; partitions, and the sets that were merged of them; and the fullest table.

With --device cuda, auto learns from it: the rates by which it chooses the CPU or a GPU, which are kept for this
machine, follow what the CPU and the device took.`,
		Example: `  mpga compare "SELECT origin, sum(distance) FROM 'tests/testdata/flights-2001.parquet' GROUP BY origin" --device host:1GiB
  mpga compare -t 't=sales/*.parquet' 'SELECT shop, sum(price) FROM t GROUP BY shop' --html compare.html`,
		Args: wantArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.named = cmd.Flags().Changed("device")
			return f.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	registerTables(flags, &f.tables)
	flags.StringSliceVar(&f.algorithms, "algorithms", nil,
		"`LIST` of cpu, device, auto and names of algorithms (default all)")
	flags.StringVar(&f.device, "device", "cuda",
		"what algorithms run on: cuda, cuda:0,1 for several GPUs, or host:4GiB for a GPU's double")
	flags.IntVar(&f.times, "times", 3, "`N` runs, of which the median is shown, after one that is not counted")
	flags.IntVar(&f.threads, "threads", 0, "use `N` threads; 0 is as many as there are processors")
	f.budgetFlags.register(flags)
	f.parts.RegisterParts(cmd)
	flags.StringVar(&f.page, "html", "", "write a page with the table and a chart to `FILE`")
	flags.BoolVar(&f.asJSON, "json", false, "print a JSON object for each algorithm")
	return cmd
}

// compared is what an algorithm took, or why it cannot answer the query.
type compared struct {
	Algorithm string
	Refused   string `json:",omitempty"`
	timed.Answer
}

func (f *compareFlags) run(ctx context.Context, w io.Writer, query string) error {
	statement, err := sql.Parse(query)
	if err != nil {
		return err
	}
	if f.times < 1 {
		return usagef("--times %d: want 1 or more", f.times)
	}
	hasJoin := joins(statement)
	if f.algorithms == nil {
		f.algorithms = comparedNames(hasJoin)
		if f.device != "cuda" {
			f.algorithms = slices.DeleteFunc(f.algorithms, func(name string) bool { return name == "auto" })
		}
	}
	if err := f.check(hasJoin); err != nil {
		return err
	}
	tables, err := tableOptions(f.tables)
	if err != nil {
		return err
	}
	all := comparing{flags: f, out: w, query: query, limited: isLimited(statement), tables: tables}
	for _, algorithm := range f.algorithms {
		if err := all.run(ctx, algorithm); err != nil {
			return err
		}
	}
	return all.end()
}

// comparing is what the algorithms have done so far.
type comparing struct {
	flags   *compareFlags
	out     io.Writer
	query   string
	limited bool // the statement has a LIMIT
	tables  map[string]plan.Table

	list   []*compared
	failed []error
	missed []string // algorithms that want a device, where there is none
	absent string   // why not
}

// run runs an algorithm. Its error ends all.
func (all *comparing) run(ctx context.Context, algorithm string) error {
	f := all.flags
	r := &compared{Algorithm: algorithm, Answer: timed.Answer{Query: all.query, CountsOnly: all.limited}}
	switch err := f.measure(ctx, r, plan.Options{Tables: all.tables}); {
	case err != nil && ctx.Err() != nil:
		return err
	case errors.Is(err, kernels.ErrNoDevice):
		_, all.absent, _ = strings.Cut(err.Error(), kernels.ErrNoDevice.Error()+": ")
		all.missed = append(all.missed, algorithm)
		return f.encode(all.out, &compared{Algorithm: algorithm, Refused: "no GPU: " + all.absent})
	case err != nil:
		all.failed = append(all.failed, fmt.Errorf("%s: %w", algorithm, err))
		return nil
	}
	if i := slices.IndexFunc(all.list, (*compared).answers); i >= 0 && r.answers() {
		if err := r.Differs(r.Algorithm, &all.list[i].Answer, all.list[i].Algorithm); err != nil {
			all.failed = append(all.failed, err)
		}
	}
	all.list = append(all.list, r)
	return f.encode(all.out, r)
}

// end writes the comparison, and returns what failed.
func (all *comparing) end() error {
	f := all.flags
	c := newComparison(all.query, all.list)
	c.Warning = noGPU(f.device)
	if all.missed != nil {
		const why = "no GPU is used (%s): %s did not run; --device host:1GiB runs them on a GPU's double"
		c.Warning = fmt.Sprintf(why, all.absent, strings.Join(all.missed, ", "))
		if f.named || len(all.list) == 0 {
			all.failed, c.Warning = append(all.failed, errors.New(c.Warning)), ""
		}
	}
	if f.page != "" {
		if err := writePage(f.page, c); err != nil {
			return err
		}
	}
	if !f.asJSON {
		all.failed = append(all.failed, printComparison(all.out, c))
	}
	return errors.Join(all.failed...)
}

// encode prints what an algorithm took as JSON, where that is asked for.
func (f *compareFlags) encode(w io.Writer, r *compared) error {
	if !f.asJSON {
		return nil
	}
	return json.NewEncoder(w).Encode(r)
}

// isLimited reports whether a statement, or one that it reads from, has a LIMIT or an OFFSET.
func isLimited(s *sql.Select) bool {
	return s.Limit != nil || s.Offset != nil || slices.ContainsFunc(s.Below(), isLimited)
}

// joins reports whether a statement, or one that it reads from, has a join.
func joins(s *sql.Select) bool { return len(s.Leaves()) > 1 || slices.ContainsFunc(s.Below(), joins) }

// joinAlgorithms are the names of joins that --algorithms takes.
func joinAlgorithms() []string { return engine.JoinAlgorithms()[1:] }

// comparedNames are the names that --algorithms takes.
func comparedNames(hasJoin bool) []string {
	names := append([]string{"cpu", "device"}, engine.Algorithms()...)
	if hasJoin {
		names = append(names, joinAlgorithms()...)
	}
	return names
}

// check refuses names that nothing has.
func (f *compareFlags) check(hasJoin bool) error {
	names := comparedNames(hasJoin)
	for _, name := range f.algorithms {
		switch {
		case !hasJoin && slices.Contains(joinAlgorithms(), name):
			return usagef("--algorithms %s: the query has no join", name)
		case !slices.Contains(names, name):
			return usagef("--algorithms %q: want some of %s", name, strings.Join(names, ", "))
		case name == "auto" && f.device != "cuda":
			return usagef("--algorithms auto: what mpga takes by itself is known of --device cuda, not of %q", f.device)
		}
	}
	return nil
}

func (r *compared) answers() bool { return r.Refused == "" }

// compared says what of the answers was compared.
func (r *compared) compared() string {
	groups := digits.Counted(r.Groups, "group")
	if !r.IsDigested() {
		return "all answers have " + groups + "; their values were not compared"
	}
	return "all answers are the same: " + groups
}

// measure answers the query by an algorithm, if it can.
func (f *compareFlags) measure(ctx context.Context, r *compared, opt plan.Options) (err error) {
	o := engine.Options{Threads: f.threads, Device: f.device, Ablation: f.parts.Ablation}
	switch r.Algorithm {
	case "cpu":
		o.Device, o.Ablation = "cpu", engine.Ablation{}
	case "auto":
		o.Device = "auto"
	case "device":
	default:
		if slices.Contains(joinAlgorithms(), r.Algorithm) {
			o.JoinAlgorithm = r.Algorithm
		} else {
			o.Algorithm = r.Algorithm
		}
	}
	if err := f.budgetFlags.apply(&o); err != nil {
		return err
	}
	eng, err := engine.Open(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	if err = r.Measure(ctx, eng, opt, f.times); errors.Is(err, engine.ErrAlgorithm) {
		r.Refused, err = err.Error(), nil
	}
	if s := &r.Stats; err == nil && r.Algorithm == "cpu" && f.device == "cuda" {
		device.LearnCPU(s.RowsRead, s.Groups, s.Threads, r.Times...)
	}
	return err
}

// newComparison words the results, the fastest first.
func newComparison(query string, list []*compared) *report.Comparison {
	c := &report.Comparison{Query: query, Columns: []string{"algorithm", "s", "of the best", "first",
		"to it", "back", "kernels", "hidden", "probes", "partitions", "fullest", "route"}}
	sorted := slices.DeleteFunc(slices.Clone(list), func(r *compared) bool { return !r.answers() })
	slices.SortStableFunc(sorted, func(a, b *compared) int { return cmp.Compare(a.Seconds, b.Seconds) })
	for _, r := range sorted {
		ratio := r.Seconds / sorted[0].Seconds
		row := []string{r.Algorithm, fmt.Sprintf("%.4f", r.Seconds), fmt.Sprintf("%.2f", ratio), fmt.Sprintf("%.3f", r.First)}
		c.Rows = append(c.Rows, append(row, deviceColumns(&r.Stats)...))
		c.Seconds = append(c.Seconds, r.Seconds)
		if r.Algorithm == "auto" {
			c.Notes = append(c.Notes, fmt.Sprintf("auto took %s, %.2f times the time of %s",
				describeRoute(&r.Stats), ratio, sorted[0].Algorithm))
		}
	}
	for _, r := range list {
		if !r.answers() {
			c.Notes = append(c.Notes, r.Refused)
		}
	}
	if len(sorted) > 1 {
		c.Notes = append(c.Notes, sorted[0].compared())
	}
	if len(sorted) > 0 {
		c.Notes = append(c.Notes, digits.Counted(sorted[0].Stats.RowsRead, "row")+"; "+device.Machine(), legend)
	}
	return c
}

// legend says what the columns are.
const legend = "s: median of the runs; first: the run before them; to it, back: what crossed the link; " +
	"kernels: their time; hidden: the part of copies and kernels behind others; probes: slots looked at for a row; " +
	"partitions: how many, in how many merged sets; fullest: the part of a table's slots that is taken"

// noGPU says what times of a GPU's double are not, "" of other devices.
func noGPU(name string) string {
	if !strings.HasPrefix(name, "host:") {
		return ""
	}
	return name + " is no GPU, but its double in plain Go on the CPU: its answers and its routes count, its times do not"
}

// deviceColumns words what devices did, for the columns behind the times.
func deviceColumns(s *engine.Stats) []string {
	d := s.Device
	if d == nil || d.Tiles == 0 {
		return []string{"", "", "", "", "", "", "", s.Route}
	}
	optional := func(ok bool, format string, args ...any) string {
		if !ok {
			return ""
		}
		return fmt.Sprintf(format, args...)
	}
	fullest := 0.0
	if len(d.Loads) > 0 {
		fullest = slices.Max(d.Loads)
	}
	return []string{
		byteSize(d.BytesIn), byteSize(d.BytesOut), roundTime(d.Kernel),
		fmt.Sprintf("%.0f%%", 100*d.Overlap), optional(d.Probes > 0, "%.2f", d.Probes),
		optional(d.Partitions > 0, "%d in %d", d.Partitions, d.Merged), optional(fullest > 0, "%.2f", fullest), s.Route,
	}
}

// describeRoute says what auto chose.
func describeRoute(s *engine.Stats) string {
	if d := s.Device; d != nil && len(d.Routes) > 0 {
		return "the route " + strings.Join(d.Routes, ", then ")
	}
	if d := cmp.Or(s.Device, &device.Stats{}); d.Reason != "" {
		return "the CPU, since " + d.Reason
	}
	return "the CPU"
}

// printComparison prints the table, with a bar for each time, and what is to be said of it.
func printComparison(w io.Writer, c *report.Comparison) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\t\t%s\n", c.Columns[0], strings.Join(c.Columns[1:], "\t"))
	for i, row := range c.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\n", row[0], bar(c.Seconds[i]/slices.Max(c.Seconds)), strings.Join(row[1:], "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if c.Warning != "" {
		text := c.Warning
		if _, plain := os.LookupEnv("NO_COLOR"); !plain && isTerminal(w) {
			text = "\x1b[31m" + text + "\x1b[0m"
		}
		fmt.Fprintln(w, text)
	}
	for _, note := range c.Notes {
		fmt.Fprintln(w, note)
	}
	return nil
}

// bar draws a part of a full bar.
func bar(part float64) string {
	const width = 24
	eighths := int(part*width*8 + 0.5)
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return cmp.Or(text, "▏")
}

// writePage writes the comparison as a page.
func writePage(path string, c *report.Comparison) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return c.Write(file)
}
