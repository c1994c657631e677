package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/job"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/vfs"
)

// planFlags are the flags of mpga dist plan.
type planFlags struct {
	output, work, format       string
	plan                       string
	step                       string
	tables                     []string
	set                        []string
	date                       string
	splits, partitions, merges int
	slots                      int
	combines                   int
	splitBytes                 string
	broadcastBytes             string

	input inputFlags
	layoutFlags
	queryFlags
}

func (f *planFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	themed(flags, themePlan, func() {
		flags.StringVarP(&f.plan, "output-plan", "o", "",
			"write the plan to `FILE`; - is the standard output. It is in the work directory, too")
		flags.StringVar(&f.work, "work", "",
			"the work directory: `DIR` or URL, which all tasks can read and write (default the output's name and .work)")
		flags.IntVar(&f.splits, "splits", 0, "cut the input into `N` splits (default one for each --split-bytes)")
		flags.StringVar(&f.splitBytes, "split-bytes", "",
			"cut the input into splits of about `SIZE` (default 128MiB, and more with many groups)")
		flags.StringVar(&f.broadcastBytes, "broadcast-bytes", "",
			"tables of a join up to `SIZE` together are read whole by each task; rows of larger ones go to tasks by the "+
				"hash of the join's keys (default 256MiB)")
		flags.IntVar(&f.slots, "slots", 0,
			"`N` tasks will run at the same time: cut the input into three splits for each, of 16 GiB at most")
		flags.IntVar(&f.partitions, "partitions", 0,
			"`N` partitions of the keys, a power of two (default by the expected number of groups, and by the bytes of rows "+
				"that go to tasks)")
		flags.IntVar(&f.merges, "merges", 0, "`N` tasks merge partitions (default by the expected size of the states)")
		flags.IntVar(&f.combines, "combines", 0,
			"merge the splits' states to `N` before that; -1 never does (default with many splits of few states). Where rows "+
				"go to tasks by keys, N tasks join them")
	})
	themed(flags, themeQuery, func() {
		registerTables(flags, &f.tables)
		f.registerMeaning(cmd)
	})
	themed(flags, themeJob, func() {
		flags.StringVar(&f.step, "step", "", "of a job: the step `NAME` (default the only one)")
		flags.StringArrayVar(&f.set, "set", nil,
			"of a job: give a variable of the file a value: `NAME=VALUE`; may be repeated")
		flags.StringVar(&f.date, "date", "", "of a job: plan for a `DATE`, as mpga run --date does")
	})
	themed(flags, themeOutput, func() {
		flags.StringVar(&f.output, "output", "",
			"the output of the plan: a file, a directory or a URL; one without a known ending is a "+
				"directory of Parquet files with a manifest")
		flags.StringVar(&f.format, "format", "",
			"of the result: `WORD` is csv, tsv, json, parquet, arrow or arrows; by the ending of the output when not given")
		f.layoutFlags.register(flags)
	})
	completeLayout(cmd)
	f.registerResources(cmd)
	themed(flags, themeInput, func() { f.input.register(flags) })
	completeInput(cmd)
}

func newDistPlanCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan QUERY|JOB.yaml --output OUTPUT",
		Short: "Cut the input of a query, and write the plan of its tasks",
		Long: `Plan a query, or a step of a job, as tasks for many processes: find the files, cut them into splits of about
equal cost, and decide how many partitions, merges and nodes of a tree there are. The plan names the files as
they are now: a task refuses one that has changed. Planning the same again gives the same plan.

The query has GROUP BY or aggregates, over one table, over joins, or over a UNION of such. Each task reads small
tables of joins whole; rows of large ones, and of windows, go to tasks by the hash of their keys, for queries
without groups, too. What the query makes of the groups, the commit makes, one process.`,
		Example: `  mpga dist plan "SELECT id1, sum(v1) FROM 's3://bucket/in/*.parquet' GROUP BY id1" --output s3://bucket/out -o plan.json
  mpga dist plan nightly.yaml --step routes --work /shared/work -o plan.json`,
		Args: wantArgs(cobra.ExactArgs(1)),
		RunE: f.run,
	}
	f.register(cmd)
	return cmd
}

func (f *planFlags) run(cmd *cobra.Command, args []string) (err error) {
	ctx := cmd.Context()
	r, err := f.request(cmd, args[0])
	if err != nil {
		return err
	}
	opt := f.engineOptions()
	opt.Logger = slog.Default()
	if err := f.budgetFlags.apply(&opt); err != nil {
		return err
	}
	var unused sink.Options
	eng, err := openWithin(opt, &unused)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	files := filesOf(ctx)
	p, err := distributed.New(ctx, eng, files, *r)
	if err != nil {
		return err
	}
	place, err := p.Write(files)
	if err != nil {
		return err
	}
	text, err := p.Encode()
	switch {
	case err != nil:
		return err
	case f.plan == "-":
		_, err = cmd.OutOrStdout().Write(text)
		return err
	case f.plan != "":
		err := vfs.WriteAny(files, f.plan, func(to io.Writer) error {
			_, err := to.Write(text)
			return err
		})
		if err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), place)
	return err
}

// request makes of the flags what a plan is made of.
func (f *planFlags) request(cmd *cobra.Command, query string) (r *distributed.Request, err error) {
	if ending := path.Ext(query); ending == ".yaml" || ending == ".yml" { // the file of a job
		r, err = f.ofJob(cmd, query)
	} else {
		r, err = f.ofQuery(cmd, query)
	}
	if err != nil {
		return nil, err
	}
	r.Layout.FS, r.Scan.FS = filesOf(cmd.Context()), filesOf(cmd.Context())
	r.Version, r.Splits, r.Partitions, r.Merges, r.Combines = buildVersion(), f.splits, f.partitions, f.merges, f.combines
	r.Slots, r.Copy = f.slots, f.plan
	if r.SplitBytes, err = parseSize("--split-bytes", f.splitBytes); err != nil {
		return nil, err
	}
	if r.BroadcastBytes, err = parseSize("--broadcast-bytes", f.broadcastBytes); err != nil {
		return nil, err
	}
	if r.Output == "" {
		return nil, usagef("dist plan: name the output with --output")
	}
	if r.Work = f.work; r.Work == "" {
		r.Work = strings.TrimRight(r.Output, "/") + ".work"
	}
	return r, nil
}

// ofQuery is request for a query.
func (f *planFlags) ofQuery(cmd *cobra.Command, query string) (*distributed.Request, error) {
	for _, name := range []string{"step", "set", "date"} {
		if cmd.Flags().Changed(name) {
			return nil, usagef("--%s is for a job", name)
		}
	}
	meaning, err := f.planOptions()
	if err != nil {
		return nil, err
	}
	r := &distributed.Request{Name: "query", Statement: strings.TrimSpace(query),
		Overflow: meaning.Overflow, Deterministic: meaning.Deterministic, TimeZone: meaning.TimeZone, Output: f.output}
	if r.Tables, err = tableOptions(f.tables); err != nil {
		return nil, err
	}
	if err := f.input.refuse(cmd, "is not of a distributed query: --ignore-errors leaves such rows out"); err != nil {
		return nil, err
	}
	if r.Scan, err = f.input.options(cmd); err != nil {
		return nil, err
	}
	if f.format != "" {
		if r.Layout.Format, err = sink.ParseFormat(f.format); err != nil {
			return nil, usageError{err}
		}
	}
	return r, f.layoutFlags.apply(cmd, f.output, &r.Layout)
}

// jobFlagsOnly are the flags of mpga dist plan that go with a job's file.
var jobFlagsOnly = map[string]bool{"output-plan": true, "output": true, "work": true,
	"splits": true, "split-bytes": true, "broadcast-bytes": true, "partitions": true, "merges": true,
	"combines": true, "slots": true, "step": true, "set": true, "date": true, "threads": true,
	"memory-limit": true, "temp-dir": true, "temp-limit": true}

// ofJob is request for a step of a job.
func (f *planFlags) ofJob(cmd *cobra.Command, path string) (*distributed.Request, error) {
	var err error
	cmd.LocalNonPersistentFlags().Visit(func(flag *pflag.Flag) {
		if !jobFlagsOnly[flag.Name] && err == nil {
			err = usagef("--%s: the job's file says it", flag.Name)
		}
	})
	if err != nil {
		return nil, err
	}
	run := runFlags{set: f.set, date: f.date}
	parse, err := run.parseOptions()
	if err != nil {
		return nil, err
	}
	j, err := job.Load(path, parse)
	if err != nil {
		return nil, err
	}
	r, err := j.Distributed(f.step)
	if err != nil {
		return nil, err
	}
	if f.output != "" {
		r.Output = f.output
	}
	return &r, nil
}
