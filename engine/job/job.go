package job

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/rollup"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/scan/options"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/timeformat"
)

// Job is a list of steps, and settings that hold for all steps. Its fields are the fields of the
// file; a program may fill them itself.
type Job struct {
	Name        string            `yaml:"name" doc:"Names the job in logs, metrics and traces: letters, digits, _ and -. The default is the file's name without its ending."`
	Description string            `yaml:"description" doc:"What the job is for; shown by --dry-run."`
	Variables   map[string]string `yaml:"variables" doc:"Values for ${name}, which --set name=value replaces. One without a value must be set."`
	Environment []string          `yaml:"environment" doc:"Variables of the environment that ${NAME} may read. No others are."`
	State       string            `yaml:"state" doc:"Folder of the lock and of what earlier runs did. The default is .NAME.state beside the file."`
	Limits      Limits            `yaml:"limits" doc:"What a step may take of the machine, unless it says otherwise."`
	Retry       Retry             `yaml:"retry" doc:"How often a step is tried after an error that may pass, unless it says otherwise."`
	Steps       []Step            `yaml:"steps,required" doc:"The queries, in the order in which they run."`

	source *decoder // of a job that a file holds
}

// Step is one query over files.
type Step struct {
	Name          string   `yaml:"name,required" doc:"Names the step: letters, digits, _ and -, unlike all others of the job."`
	Description   string   `yaml:"description" doc:"What the step is for; shown by --dry-run."`
	From          []string `yaml:"from" doc:"Files, folders or glob patterns to read; ${steps.NAME.output} is what an earlier step has written. Relative paths begin at the job's file."`
	Input         Input    `yaml:"input" doc:"How the files are read."`
	SQL           string   `yaml:"sql" doc:"A SELECT over what from: names, which is its table input: SELECT a, sum(b) FROM input GROUP BY a. The name of a step before is a table of what that writes. In place of by and agg."`
	By            []string `yaml:"by" doc:"Keys to group by, as mpga agg --by takes them."`
	Agg           []string `yaml:"agg" doc:"Aggregates, as mpga agg --agg takes them."`
	Where         string   `yaml:"where" doc:"Only rows for which the condition is true, as mpga agg --where."`
	Having        string   `yaml:"having" doc:"Only groups for which the condition is true, as mpga agg --having."`
	OrderBy       string   `yaml:"order_by" doc:"The order of the groups, as mpga agg --order-by."`
	Limit         int64    `yaml:"limit" doc:"Only the first so many groups, in their order."`
	Overflow      string   `yaml:"overflow" enum:"error,widen,wrap" doc:"Integer sums past 64 bits. The default is error."`
	Deterministic bool     `yaml:"deterministic" doc:"The same bits on every run: sums, means and variances of floats are exact, rounded once."`
	TimeZone      string   `yaml:"timezone" doc:"The zone of timestamps with time zone; the machine's."`
	Output        Output   `yaml:"output,required" doc:"Where the result goes: a path, or more about it."`
	Rollup        Rollup   `yaml:"rollup" doc:"Keeps states by file: a run reads new and changed files alone."`
	Limits        Limits   `yaml:"limits" doc:"What the step may take of the machine, in place of the job's."`
	Retry         Retry    `yaml:"retry" doc:"How often the step is tried, in place of the job's."`

	reads []*Step // steps before it, whose outputs its statement names
}

// Input says how the files of a step are read. A job's file sets Options by the fields that package
// options lists.
type Input struct {
	dataset.Options
	Optional bool `yaml:"optional" json:",omitzero" doc:"Pass over patterns without files, and skip a step without any."`

	Rejects string // CSV file or object to write rows with errors to, which are left out for it; "": no file

	wrong validation // of values that a file has; the fields of its errors begin with a dot
}

// Output says where the result of a step goes.
type Output struct {
	Path           string   `yaml:"path,required,short" doc:"File or directory to write, whole or not at all. A relative path begins at the job's file; folders that are missing are made."`
	Format         string   `yaml:"format" enum:"table,vertical,markdown,csv,tsv,json,parquet,arrow,arrows" doc:"The default is by the ending of the path, and parquet for a directory."`
	PartitionBy    []string `yaml:"partition_by" doc:"Write a directory with a folder column=value for each value of these columns."`
	MaxRowsPerFile int64    `yaml:"max_rows_per_file" doc:"Write a directory of files of at most so many rows."`
	Manifest       bool     `yaml:"manifest" doc:"Write a directory with a file _manifest.json, written last: names, sizes, rows and SHA-256 of the files, schema and query."`
	Codec          string   `yaml:"codec" doc:"Compresses Parquet (none, snappy, zstd, gzip, lz4, brotli) and Arrow (none, lz4, zstd)."`
	Level          int      `yaml:"level" doc:"How hard the codec works: 1 to 22 for zstd, 1 to 9 for gzip, 1 to 11 for brotli."`
	RowGroupRows   int64    `yaml:"row_group_rows" doc:"Rows of a Parquet row group."`
	Layout         string   `yaml:"layout" enum:"gpu" doc:"For whom Parquet is laid out. gpu has smaller pages and larger row groups; the default is any reader."`
}

// Rollup says how a step keeps the states of its groups, as mpga rollup does. A step without State reads all files.
type Rollup struct {
	State      string `yaml:"state,required,short" doc:"Folder of the states, from the job's file on, or a URL."`
	OnChange   string `yaml:"on_change" enum:"rebuild,fail" doc:"Where parts are lost: rebuild (the default) or fail."`
	KeepParts  int    `yaml:"keep_parts" doc:"Keep parts of this number of the newest files. The default, 0, is all."`
	Keep       Days   `yaml:"keep" doc:"Leave out files whose date, in their path, is 400d before the newest."`
	WholeBytes Size   `yaml:"whole_bytes" doc:"Tables of a join up to this size are read whole. The default is 256MiB."`
}

// Limits is what a step may take. Zero fields take the job's, then the engine's defaults.
type Limits struct {
	Threads   int      `yaml:"threads" doc:"Threads. The default is as many as there are processors."`
	Memory    Size     `yaml:"memory" doc:"Resident memory, 128MiB or more. The default is 80% of the machine or control group."`
	TempDir   string   `yaml:"temp_dir" doc:"Folder for what does not fit the memory. The default is the system's."`
	Temp      Size     `yaml:"temp" doc:"Bytes in temp_dir at a time. The default is 90% of what is free."`
	Device    string   `yaml:"device" doc:"What may do the work, as mpga agg --device takes it. The default is auto."`
	Algorithm string   `yaml:"algorithm" doc:"A system of the papers that does the query on the device, as mpga agg --algorithm takes it. The default is auto."`
	Recursion int      `yaml:"recursion" doc:"Iterations of a WITH RECURSIVE. The default is 1,000,000."`
	Pairs     int64    `yaml:"pairs" doc:"Pairs of rows that a join without a key may compare. The default is 1e12."`
	Time      Duration `yaml:"time" doc:"How long the step may take, all attempts together. The default is no limit."`

	JoinAlgorithm string `yaml:"join_algorithm" doc:"A join of the papers, as --join-algorithm takes it: auto by default."`
}

// Retry says how often a step is tried. Zero fields take the job's, then the defaults.
type Retry struct {
	Attempts int      `yaml:"attempts" doc:"Attempts in all; 1 tries once. The default is 4."`
	Wait     Duration `yaml:"wait" doc:"Pause before the second attempt, which doubles with each. The default is 1s."`
	WaitMax  Duration `yaml:"wait_max" doc:"The longest pause. The default is 1m."`
}

// The defaults of Retry: four attempts wait seven seconds together, which a restarted server needs.
const (
	attemptsDefault = 4
	waitDefault     = Duration(time.Second)
	waitMaxDefault  = Duration(time.Minute)
)

// attemptsMax bounds Retry.Attempts: above it a typing error is likelier.
const attemptsMax = 1000

// Size is a number of bytes, written as 512MiB or 2GB.
type Size int64

// UnmarshalText reads a size of at least one byte.
func (s *Size) UnmarshalText(text []byte) error {
	n, err := humanize.ParseBytes(string(text))
	if err != nil || n == 0 || n > math.MaxInt64 {
		return fmt.Errorf("%q: want a size such as 512MiB or 2GB", text)
	}
	*s = Size(n)
	return nil
}

// Duration is a time, written as 90s or 1h30m.
type Duration time.Duration

// UnmarshalText reads a duration above zero.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed <= 0 {
		return fmt.Errorf("%q: want a time such as 90s, 15m or 1h30m", text)
	}
	*d = Duration(parsed)
	return nil
}

// Days is a number of days, written as 400d.
type Days int

// UnmarshalText reads a number of days.
func (d *Days) UnmarshalText(text []byte) error {
	n, err := rollup.ParseDays(string(text))
	*d = Days(n)
	return err
}

// EnsureDefaults fills in fields that are zero; fields of steps get the values of the job.
func (j *Job) EnsureDefaults() {
	j.Retry.fill(Retry{attemptsDefault, waitDefault, waitMaxDefault})
	if j.State == "" && j.Name != "" {
		j.State = "." + j.Name + ".state"
	}
	for i := range j.Steps {
		s := &j.Steps[i]
		s.Limits.fill(j.Limits)
		s.Retry.fill(j.Retry)
		if s.Overflow == "" {
			s.Overflow = query.OverflowError.String()
		}
		s.TimeZone = cmp.Or(s.TimeZone, timeformat.LocalZone())
		j.link(i)
	}
}

func (l *Limits) fill(from Limits) {
	l.Threads = cmp.Or(l.Threads, from.Threads)
	l.Memory = cmp.Or(l.Memory, from.Memory)
	l.TempDir = cmp.Or(l.TempDir, from.TempDir)
	l.Temp = cmp.Or(l.Temp, from.Temp)
	l.Device = cmp.Or(l.Device, from.Device)
	l.Algorithm = cmp.Or(l.Algorithm, from.Algorithm)
	l.JoinAlgorithm = cmp.Or(l.JoinAlgorithm, from.JoinAlgorithm)
	l.Recursion = cmp.Or(l.Recursion, from.Recursion)
	l.Pairs = cmp.Or(l.Pairs, from.Pairs)
	l.Time = cmp.Or(l.Time, from.Time)
}

func (r *Retry) fill(from Retry) {
	r.Attempts = cmp.Or(r.Attempts, from.Attempts)
	r.Wait = cmp.Or(r.Wait, from.Wait)
	r.WaitMax = cmp.Or(r.WaitMax, from.WaitMax)
}

// name is what jobs and steps are called: part of paths, labels and variables.
var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// Validate reports everything that is wrong, as far as it shows without files. Its error is of type
// Errors.
//
// Requires: EnsureDefaults was called.
func (j *Job) Validate() error {
	v := validation{}
	if !name.MatchString(j.Name) {
		v.add("name", fmt.Errorf("%q: want letters, digits, _ and -, at most 100", j.Name))
	}
	if len(j.Steps) == 0 {
		v.add("steps", errors.New("a job has one step at least"))
	}
	if isURL(j.State) {
		v.add("state", fmt.Errorf("%s: want a folder, for the lock", j.State))
	}
	v.retry("retry", j.Retry)
	steps, outputs := make(map[string]bool), make(map[string]string)
	for i := range j.Steps {
		s, at := &j.Steps[i], fmt.Sprintf("steps[%d]", i)
		switch {
		case !name.MatchString(s.Name):
			v.add(at+".name", fmt.Errorf("%q: want letters, digits, _ and -, at most 100", s.Name))
		case steps[s.Name]:
			v.add(at+".name", fmt.Errorf("two steps are named %q", s.Name))
		}
		steps[s.Name] = true
		path := filepath.Clean(s.Output.Path)
		if other, taken := outputs[path]; taken && s.Output.Path != "" {
			v.add(at+".output.path", fmt.Errorf("step %s writes %s, too", other, s.Output.Path))
		}
		outputs[path] = s.Name
		v.step(at, s)
	}
	v.rejects(j.Steps)
	v.rollups(j.Steps)
	return v.err()
}

// stepError says which step an error is of, and where an error of its query stands in the job's
// file.
func (j *Job) stepError(i int, err error) error {
	s := &j.Steps[i]
	name := "step " + s.Name
	var text *sql.Error
	isText := errors.As(err, &text)
	if j.source == nil || !isText && !errors.Is(err, query.ErrQuery) {
		return fmt.Errorf("%s: %w", name, reworded(err))
	}
	field, within := ".sql", -1
	switch {
	case isText && s.SQL != "":
		within = text.Offset
	case isText:
		field, within = s.clauseAt(text.Offset)
	}
	e := &Error{Field: fmt.Sprintf("steps[%d]%s", i, field), Err: err}
	j.source.locate(e, within)
	e.Field = name
	return e
}

// validation collects errors.
type validation struct{ errs Errors }

func (v *validation) add(field string, err error) {
	if err == nil {
		return
	}
	if nested := (Errors)(nil); errors.As(err, &nested) {
		for _, e := range nested {
			v.errs = append(v.errs, &Error{Field: field + e.Field, Err: e.Err})
		}
		return
	}
	v.errs = append(v.errs, &Error{Field: field, Err: reworded(err)})
}

func (v *validation) err() error {
	if len(v.errs) == 0 {
		return nil
	}
	return v.errs
}

func (v *validation) step(at string, s *Step) {
	if len(s.From) == 0 && len(s.reads) == 0 {
		v.add(at+".from", errors.New("name the files to read"))
	}
	for i, from := range s.From {
		if from == "" || from == "-" {
			v.add(fmt.Sprintf("%s.from[%d]", at, i),
				fmt.Errorf("%q: a job reads files, which a second attempt can read again", from))
		}
	}
	_, err := s.query()
	v.add(at, err)
	_, err = s.Input.options()
	v.add(at+".input", err)
	_, err = s.sinkOptions()
	v.add(at+".output", err)
	v.add(at+".rollup", s.checkRollup())
	v.retry(at+".retry", s.Retry)
	o := s.engineOptions()
	o.EnsureDefaults()
	v.add(at+".limits", o.Validate())
}

// rejects refuses files of rejects that another file of the job replaces, or that replace another.
func (v *validation) rejects(steps []Step) {
	for i := range steps {
		if steps[i].Input.Rejects != "" {
			v.add(fmt.Sprintf("steps[%d].input.rejects", i), rejectsTaken(steps, i))
		}
	}
}

// rejectsTaken returns an error where a step writes what is the file of rejects of step i, too.
func rejectsTaken(steps []Step, i int) error {
	path := filepath.Clean(steps[i].Input.Rejects)
	for k := range steps {
		other := &steps[k]
		switch output := filepath.Clean(other.Output.Path); {
		case other.Output.Path == "":
		case path == output:
			return fmt.Errorf("step %s writes %s, too", other.Name, path)
		case within(path, output):
			return fmt.Errorf("%s lies in %s, which step %s replaces", path, output, other.Name)
		}
		if k < i && other.Input.Rejects != "" && path == filepath.Clean(other.Input.Rejects) {
			return fmt.Errorf("step %s writes its rejects to %s, too", other.Name, path)
		}
	}
	return nil
}

func (v *validation) retry(at string, r Retry) {
	if r.Attempts < 1 || r.Attempts > attemptsMax {
		v.add(at+".attempts", fmt.Errorf("%d: want 1 to %d", r.Attempts, attemptsMax))
	}
	if r.WaitMax < r.Wait {
		v.add(at+".wait_max", fmt.Errorf("%v is below wait (%v)", time.Duration(r.WaitMax), time.Duration(r.Wait)))
	}
}

// options returns how files are read. The fields of its errors begin with a dot.
func (in *Input) options() (dataset.Options, error) {
	v, opt := validation{errs: slices.Clone(in.wrong.errs)}, in.Options
	if in.Rejects != "" {
		opt.CSV.IgnoreErrors, opt.CSV.InferMost = true, true
	}
	opt.SkipMissing = in.Optional
	if len(v.errs) == 0 {
		opt.EnsureDefaults()
		v.add("", opt.Validate())
	}
	return opt, v.err()
}

// refuse returns an error where a field of the input is set that only a step has which one run answers whole.
func (in *Input) refuse(why string) error {
	switch {
	case in.Rejects != "":
		return fmt.Errorf("rejects: %s; ignore_errors leaves rows with errors out", why)
	case in.CSV.MaxRejects != "":
		return fmt.Errorf("max_rejects: %s; ignore_errors leaves rows with errors out", why)
	case in.Optional:
		return fmt.Errorf("optional: %s", why)
	}
	return nil
}

// set gives an option the value that a file has. What it does not take is for Validate to tell, with
// all else that is wrong.
func (in *Input) set(o *options.Option, value any) {
	switch v := value.(type) {
	case Size:
		value = int(v)
	case map[string]string:
		types := make(map[string]arrow.DataType, len(v))
		for column, text := range v {
			var err error
			types[column], err = csv.ParseType(text)
			in.wrong.add(".types."+column, err)
		}
		value = options.Columns{Types: types}
	}
	if o.Kind == options.File {
		in.Rejects = value.(string)
		return
	}
	in.wrong.add("."+o.YAML(), o.Set(&in.Options, dataset.FormatAuto, value))
}

// sinkOptions returns how the step writes, in place of what an earlier run has written. The fields
// of its errors begin with a dot.
func (s *Step) sinkOptions() (sink.Options, error) {
	out, v := &s.Output, validation{}
	opt := sink.Options{
		Format:         sink.Format(out.Format),
		PartitionBy:    out.PartitionBy,
		MaxRowsPerFile: out.MaxRowsPerFile,
		Manifest:       out.Manifest,
		Codec:          out.Codec,
		Level:          out.Level,
		RowGroupRows:   out.RowGroupRows,
		Layout:         out.Layout,
		RowsShown:      -1,
	}
	opt.Overwrite = opt.Directory()
	if out.Path == "" || sink.IsDevice(out.Path) {
		v.add(".path", fmt.Errorf("%q: a job writes files", out.Path))
		return opt, v.err()
	}
	settled, err := sink.Settle(out.Path, opt)
	v.add("", err)
	opt.Format = settled.Format
	return opt, v.err()
}

// engineOptions returns the limits of the step, without defaults.
func (s *Step) engineOptions() engine.Options {
	return engine.Options{
		Threads:     s.Limits.Threads,
		MemoryLimit: int64(s.Limits.Memory),
		TempDir:     s.Limits.TempDir,
		TempLimit:   int64(s.Limits.Temp),

		MaxRecursion: int64(s.Limits.Recursion),
		MaxPairs:     s.Limits.Pairs,
		Device:       s.Limits.Device,
		Algorithm:    s.Limits.Algorithm,

		JoinAlgorithm: s.Limits.JoinAlgorithm,
	}
}
