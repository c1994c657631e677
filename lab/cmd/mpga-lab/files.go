package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/app/timed"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/internal/testknobs"
)

// filesFlags are the flags of mpga-lab files.
type filesFlags struct {
	tables    []string
	h2o       string // files of H2O's table; "" for none
	devices   []string
	threads   int
	limit     string // of the memory of a device; "" is all
	times     int    // runs that count
	knobs     testknobs.Device
	algorithm cmdflags.Algorithm
	asJSON    bool
	profile   string // file of a profile of the CPU; "" for none
}

// h2oQueries are the questions of H2O.ai's db-benchmark over a table t.
var h2oQueries = []string{
	"SELECT id1, sum(v1) FROM t GROUP BY id1",
	"SELECT id1, id2, sum(v1) FROM t GROUP BY id1, id2",
	"SELECT id3, sum(v1), avg(v3) FROM t GROUP BY id3",
	"SELECT id4, avg(v1), avg(v2), avg(v3) FROM t GROUP BY id4",
	"SELECT id6, sum(v1), sum(v2), sum(v3) FROM t GROUP BY id6",
	"SELECT id4, id5, median(v3), stddev_samp(v3) FROM t GROUP BY id4, id5",
	"SELECT id3, max(v1), min(v2) FROM t GROUP BY id3",
	"SELECT id6, max(v3, 2) FROM t GROUP BY id6",
	"SELECT id2, id4, corr(v1, v2) FROM t GROUP BY id2, id4",
	"SELECT id1, id2, id3, id4, id5, id6, sum(v3), count(*) FROM t GROUP BY id1, id2, id3, id4, id5, id6",
}

func newFilesCommand() *cobra.Command {
	var f filesFlags
	cmd := &cobra.Command{
		Use:   "files [QUERY...]",
		Short: "Measure queries over files by the CPU and by devices",
		Long: `Answer queries in SQL over files with each of some devices, in one process for all queries, so that a device
is opened once and files are in the page cache: one run that is not counted, then the median of some. cuda/cpu
is a GPU for which the CPU decodes the files. Answers of different devices are compared: the groups, and what
the values of each column add up to.`,
		Example: `  mpga gen h2o --name G1_1e8_1e2_0_0 --files 16 -o h2o.parquet
  mpga-lab files --h2o 'h2o-*.parquet'
  mpga-lab files --table 't=sales/*.parquet' --device cpu,auto 'SELECT shop, sum(price) FROM t GROUP BY shop'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runFiles(cmd.Context(), cmd.OutOrStdout(), &f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.tables, "table", "t", nil, "let FROM name read a file, a folder or a pattern: `NAME=PATH`; may be repeated, also for one name")
	flags.StringVar(&f.h2o, "h2o", "", "measure the questions of H2O.ai's db-benchmark over `FILES` of its table")
	flags.StringSliceVar(&f.devices, "device", []string{"cpu", "cuda/cpu", "cuda", "auto"}, "`LIST` of what does the work, each as in mpga sql, or cuda/cpu")
	flags.IntVar(&f.threads, "threads", 0, "use `N` threads (default all)")
	flags.StringVar(&f.limit, "device-memory-limit", "", "use `SIZE` of the device's memory (default all)")
	flags.IntVar(&f.knobs.TileRows, "tile-rows", 0, "`N` rows of a tile (default by the device's memory)")
	f.algorithm.Register(cmd)
	flags.IntVar(&f.times, "times", 3, "`N` runs, of which the median is shown, after one that is not counted")
	flags.StringVar(&f.profile, "cpu-profile", "", "write a profile of the CPU's work to `FILE`, for go tool pprof")
	flags.BoolVar(&f.asJSON, "json", false, "print a JSON object for each query and device")
	return cmd
}

// filesResult is what one query took on one device.
type filesResult struct {
	Device string
	timed.Answer
}

func runFiles(ctx context.Context, w io.Writer, f *filesFlags, queries []string) error {
	if f.h2o != "" {
		f.tables = append(f.tables, "t="+f.h2o)
		queries = append(h2oQueries, queries...)
	}
	switch {
	case len(queries) == 0:
		return usagef("files: give a query, or --h2o (see mpga-lab files --help)")
	case f.times < 1:
		return usagef("--times %d: want 1 or more", f.times)
	}
	tables, err := tablesOf(f.tables)
	if err != nil {
		return err
	}
	limit, err := parseSize("--device-memory-limit", f.limit)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if !f.asJSON {
		fmt.Fprintf(t, "query\tgroups\tdevice\ts\tbest\tfirst\troute\tdecoded there\tto it\t\n")
	}
	engines := make([]*engine.Engine, len(f.devices))
	for i, device := range f.devices {
		name, reader, _ := strings.Cut(device, "/")
		options := engine.Options{Threads: f.threads, Device: name, DeviceMemoryLimit: limit}
		if name != "cpu" {
			options.Algorithm, options.Ablation = f.algorithm.Name, f.algorithm.Ablation
		}
		knobs := testknobs.Engine{Device: f.knobs}
		knobs.Device.NoDecode = reader == "cpu"
		if engines[i], err = engine.Open(testknobs.With(options, knobs)); err != nil {
			return err
		}
		defer engines[i].Close()
	}
	stop, err := startProfile(f.profile)
	if err != nil {
		return err
	}
	defer stop()
	for _, text := range queries {
		var first *filesResult
		for i, eng := range engines {
			r := &filesResult{f.devices[i], timed.Answer{Query: text}}
			if err := r.Measure(ctx, eng, plan.Options{Tables: tables}, f.times); err != nil {
				return fmt.Errorf("%s, %s: %w", text, r.Device, err)
			}
			if first == nil {
				first = r
			} else if err := r.Differs(r.Device, &first.Answer, first.Device); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
			if f.asJSON {
				if err := json.NewEncoder(w).Encode(r); err != nil {
					return err
				}
				continue
			}
			r.print(t)
			t.Flush()
		}
	}
	return t.Flush()
}

// print prints a line of the table.
func (r *filesResult) print(w io.Writer) {
	decoded, bytes := "", ""
	if d := r.Stats.Device; d != nil && d.Rows > 0 {
		rows := max(r.Stats.RowsRead, 1)
		if f := r.Stats.Filter; f != nil {
			rows = max(rows, f.RowsTested)
		}
		decoded = fmt.Sprintf("%.0f%%", 100*float64(d.Decoded)/float64(rows))
		bytes = byteSize(d.BytesIn)
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%.3f\t%.3f\t%.3f\t%s\t%s\t%s\t\n", r.Query, humanize.Comma(r.Groups), r.Device, r.Seconds, r.Best, r.First,
		r.Stats.Route, decoded, bytes)
}

// tablesOf returns the tables that texts name: name=path.
func tablesOf(texts []string) (map[string]plan.Table, error) {
	tables := map[string]plan.Table{}
	for _, text := range texts {
		name, path, ok := strings.Cut(text, "=")
		if !ok || name == "" || path == "" {
			return nil, usagef("--table %q: want name=path, as in t=sales.parquet", text)
		}
		t := tables[name]
		t.Files = append(t.Files, path)
		tables[name] = t
	}
	return tables, nil
}
