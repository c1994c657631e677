package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sink"
)

// nightsFlags are the flags of mpga-lab nights.
type nightsFlags struct {
	program string // path of mpga
	dir     string // of the files; "" is a temporary one
	days    int
	rows    float64 // of a day
	groups  float64 // values of id3 and id6
	nights  int
	threads int
	queries []string // names; nil for all
	asJSON  bool
}

// nightQueries are what is rolled up, by names: questions of H2O.ai's db-benchmark, and distinct values.
var nightQueries = []struct{ name, text string }{
	{"q1", "SELECT id1, sum(v1) AS s, avg(v3) AS a FROM '%s' GROUP BY id1"},
	{"q3", "SELECT id3, sum(v1) AS s, avg(v3) AS a FROM '%s' GROUP BY id3"},
	{"q5", "SELECT id6, sum(v1) AS s1, sum(v2) AS s2, sum(v3) AS s3 FROM '%s' GROUP BY id6"},
	{"q6", "SELECT id4, id5, median(v3) AS m, stddev_samp(v3) AS d FROM '%s' GROUP BY id4, id5"},
	{"distinct", "SELECT id4, count(DISTINCT id6) AS n FROM '%s' GROUP BY id4"},
}

func newNightsCommand() *cobra.Command {
	var f nightsFlags
	cmd := &cobra.Command{
		Use:   "nights",
		Short: "Measure what a night costs a roll-up, beside a query of all files",
		Long: `Write a table of H2O.ai's db-benchmark as a file for each day, roll queries up over all days, and then add a
day at a time: mpga rollup of the new day beside mpga sql of all files, as processes. Answers are compared, line by
line. Times are CPU seconds of the whole process, its start included: the median of the nights.`,
		Example: "  mpga-lab nights --mpga bin/mpga --days 365 --rows 1e5",
		Args:    wantArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.program, "mpga", "bin/mpga", "measure the program `FILE`")
	flags.StringVar(&f.dir, "dir", "",
		"keep files and states in the directory `DIR`; files that it has are taken (default a temporary one)")
	flags.IntVar(&f.days, "days", 365, "`N` days before the first night")
	flags.Float64Var(&f.rows, "rows", 1e5, "`N` rows a day")
	flags.Float64Var(&f.groups, "groups", 1e5,
		"`N` values of id3 and of id6; id1 and id4 have 100, id4 and id5 together 10,000")
	flags.IntVar(&f.nights, "nights", 3, "`N` nights, each of which brings a day")
	flags.IntVar(&f.threads, "threads", 2, "use `N` threads")
	flags.StringSliceVar(&f.queries, "query", nil, "`LIST` of q1, q3, q5, q6, distinct (default all)")
	flags.BoolVar(&f.asJSON, "json", false, "print a JSON object for each query")
	return cmd
}

// nightsResult is what a query took. Times are CPU seconds of the process.
type nightsResult struct {
	Query string  `json:"query"`
	First float64 `json:"first"` // over all days, with no state
	Night float64 `json:"night"` // median
	All   float64 `json:"all"`   // mpga sql over all files; median
	State int64   `json:"state"` // bytes after the first run
}

func (f *nightsFlags) run(ctx context.Context, w io.Writer) (err error) {
	if f.days < 1 || f.nights < 1 || f.rows < 1 || f.groups < 1 {
		return usagef("--days %d, --nights %d, --rows %g, --groups %g: want 1 or more", f.days, f.nights, f.rows, f.groups)
	}
	for _, name := range f.queries {
		if !slices.ContainsFunc(nightQueries, func(q struct{ name, text string }) bool { return q.name == name }) {
			return usagef("--query %q: want q1, q3, q5, q6 or distinct", name)
		}
	}
	if f.dir == "" {
		if f.dir, err = os.MkdirTemp("", "mpga-nights-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(f.dir)) }()
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if !f.asJSON {
		fmt.Fprintf(t, "query\tfirst run s\ta night s\tall files s\tall files / a night\tstate\t\n")
	}
	for _, q := range nightQueries {
		if f.queries != nil && !slices.Contains(f.queries, q.name) {
			continue
		}
		r, err := f.measure(ctx, q.name, q.text)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", q.name, err)
		case f.asJSON:
			err = json.NewEncoder(w).Encode(r)
		default:
			fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f\t%.1f\t%s\t\n", r.Query, r.First, r.Night, r.All, r.All/r.Night,
				byteSize(r.State))
			err = t.Flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// measure rolls up one query.
func (f *nightsFlags) measure(ctx context.Context, name, text string) (r nightsResult, err error) {
	days, state := filepath.Join(f.dir, "days"), filepath.Join(f.dir, "state-"+name)
	if err := os.MkdirAll(days, 0o777); err != nil {
		return r, err
	}
	if err := os.RemoveAll(state); err != nil {
		return r, err
	}
	r.Query, text = name, fmt.Sprintf(text, filepath.Join(days, "*.parquet"))
	var nights, alls []float64
	for night := range f.nights + 1 {
		if err := f.setDays(ctx, days, f.days+night); err != nil {
			return r, err
		}
		outs := []string{filepath.Join(f.dir, "rolled.csv"), filepath.Join(f.dir, "all.csv")}
		rolled, err := f.time(ctx, "rollup", text, "--state", state, "--deterministic", "-o", outs[0])
		if err != nil {
			return r, err
		}
		if night == 0 {
			r.First = rolled
			if r.State, err = bytesBelow(state); err != nil {
				return r, err
			}
			continue
		}
		all, err := f.time(ctx, "sql", text, "--deterministic", "-o", outs[1])
		if err != nil {
			return r, err
		}
		if err := sameLines(outs[0], outs[1]); err != nil {
			return r, err
		}
		nights, alls = append(nights, rolled), append(alls, all)
	}
	slices.Sort(nights)
	slices.Sort(alls)
	r.Night, r.All = nights[len(nights)/2], alls[len(alls)/2]
	return r, nil
}

// time runs the program, and returns the CPU seconds that the process took.
func (f *nightsFlags) time(ctx context.Context, args ...string) (float64, error) {
	cmd := exec.CommandContext(ctx, f.program, append(args, "--device", "cpu", "--threads", fmt.Sprint(f.threads))...)
	var told bytes.Buffer
	cmd.Stderr = &told
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s %s: %w: %s", f.program, args[0], err, told.Bytes())
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}

// setDays makes the files of the first days, and removes others.
func (f *nightsFlags) setDays(ctx context.Context, dir string, days int) error {
	for day := range days + f.nights {
		path := filepath.Join(dir, fmt.Sprintf("%05d.parquet", day))
		_, err := os.Stat(path)
		switch {
		case day >= days && err == nil:
			err = os.Remove(path)
		case day < days && errors.Is(err, os.ErrNotExist):
			err = f.writeDay(ctx, path, day)
		case errors.Is(err, os.ErrNotExist):
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeDay writes the first rows of a table whose seed is the day.
func (f *nightsFlags) writeDay(ctx context.Context, path string, day int) error {
	const k = 100
	t, err := gen.H2O(gen.H2OOptions{Rows: max(int64(f.groups)*k, int64(f.rows)), K: k, Seed: uint64(day)})
	if err != nil {
		return err
	}
	columns := make([]int, t.Schema().NumFields())
	for i := range columns {
		columns[i] = i
	}
	splits, err := t.Splits(ctx, columns)
	if err != nil {
		return err
	}
	out, err := sink.Create(ctx, path, t.Schema(), sink.Options{})
	if err != nil {
		return err
	}
	left := int64(f.rows)
	for _, split := range splits {
		if left == 0 {
			break
		}
		rows, err := split.Open(ctx, scan.OpenOptions{})
		if err == nil {
			left, err = writeRows(out, rows, left)
		}
		if err != nil {
			return errors.Join(err, out.Abort())
		}
	}
	return out.Commit()
}

// writeRows writes rows, which it takes over, up to a number, and returns how many are left of that.
func writeRows(out sink.Writer, rows array.RecordReader, left int64) (int64, error) {
	defer rows.Release()
	for left > 0 && rows.Next() {
		batch := rows.RecordBatch()
		part := batch.NewSlice(0, min(left, batch.NumRows()))
		left -= part.NumRows()
		err := out.Write(part)
		part.Release()
		if err != nil {
			return left, err
		}
	}
	return left, rows.Err()
}

// sameLines refuses two files that have other lines, in whatever order.
func sameLines(one, other string) error {
	var lines [2][][]byte
	for i, path := range []string{one, other} {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines[i] = bytes.Split(text, []byte("\n"))
		slices.SortFunc(lines[i], bytes.Compare)
	}
	if !slices.EqualFunc(lines[0], lines[1], bytes.Equal) {
		return fmt.Errorf("%s and %s have other rows", one, other)
	}
	return nil
}

// bytesBelow returns the bytes of the files below a directory.
func bytesBelow(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
