package distributed

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cockroachdb/datadriven"

	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/sink"
)

// writeGroups writes a file of Parquet of five row groups of 100 rows; each row group is a split. id ascends,
// and code has 50 values.
func writeGroups(t *testing.T, path string) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "code", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range 500 {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Int32Builder).Append(int32(i * 7 % 50))
	}
	rows := b.NewRecordBatch()
	defer rows.Release()
	reader, err := array.NewRecordReader(schema, []arrow.RecordBatch{rows})
	check(t, err)
	opt := sink.Options{Format: sink.Parquet, FS: quick, RowGroupRows: 100}
	check(t, workdir.WriteRows(t.Context(), path, schema, opt, reader))
}

// What a plan says of the place where, and of the time when, it is made.
var (
	aPlan     = regexp.MustCompile(`\b[0-9a-f]{16}\b`)
	aModified = regexp.MustCompile(`"modified": "[^"]*"`)
	aSchema   = regexp.MustCompile(`"[A-Za-z0-9+/=]{100,}"`)
)

// Would catch a statement that is cut into other tasks than before, another form of the plan's file, which
// schedulers read, and a refusal that says another thing. testdata/plans has requests by topic; what changed on
// purpose is renewed with -rewrite, and read as a diff.
//
//	plan|json|refused [output=out] [work=work] [copy=plan.json] [splits=2] ... [format=csv] [overwrite] [by=k]
//	SELECT ... FROM t (two files of CSV), parts (one file of Parquet, of five row groups), and others
//	----
//	the plan in short, its file, or why it is refused
func TestPlans(t *testing.T) {
	files, err := filepath.Abs("testdata/plans")
	check(t, err)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	writeSmall(t, filepath.Join(dir, "in"))
	writeGroups(t, filepath.Join(dir, "groups.parquet"))
	check(t, os.WriteFile(filepath.Join(dir, "empty.csv"), []byte("k,v\n"), 0o666))
	check(t, os.MkdirAll(filepath.Join(dir, "there"), 0o777))
	check(t, os.WriteFile(filepath.Join(dir, "there", sink.ManifestName), []byte("{}"), 0o666))
	tables := map[string]plan.Table{
		"t": {Files: []string{filepath.Join(dir, "in")}}, "parts": {Files: []string{filepath.Join(dir, "groups.parquet")}},
		"pair": {Files: []string{filepath.Join(dir, "in", "1.csv"), filepath.Join(dir, "in", "0.csv")}},
		"one":  {Files: []string{filepath.Join(dir, "in", "0.csv")}}, "empty": {Files: []string{filepath.Join(dir, "empty.csv")}},
		"none": {Files: []string{filepath.Join(dir, "none.csv")}}, "stdin": {Files: []string{"-"}},
	}
	eng := open(t, 1)
	datadriven.Walk(t, files, func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			r := Request{Statement: strings.ReplaceAll(d.Input, "DIR", dir), Tables: tables, Output: "out", Work: "work", Version: "v1"}
			r.Layout.FS, r.Scan.FS = quick, quick
			for _, arg := range d.CmdArgs {
				setArgument(t, d, &r, arg)
			}
			for _, place := range []*string{&r.Output, &r.Work, &r.Copy} {
				if *place != "" && *place != "-" && !filepath.IsAbs(*place) {
					*place = dir + "/" + *place
				}
			}
			p, err := New(t.Context(), eng, quick, r)
			text := ""
			switch {
			case err != nil:
				text = fmt.Sprintf("error: %v\n", err)
			case d.Cmd == "json":
				written, err := p.Encode()
				check(t, err)
				text = aModified.ReplaceAllString(string(written), `"modified": "TIME"`)
				text = aSchema.ReplaceAllString(text, `"SCHEMA"`)
			default:
				text = inShort(p)
			}
			if (d.Cmd == "refused") != (err != nil) {
				t.Errorf("%s: %s\n%s", d.Pos, d.Cmd, text)
			}
			if err == nil {
				encoded, err := p.Encode()
				check(t, err)
				if _, err := Decode(encoded, "v1"); err != nil {
					t.Errorf("%s: a plan that no task reads: %v", d.Pos, err)
				}
			}
			return aPlan.ReplaceAllString(strings.ReplaceAll(text, dir, "DIR"), "ID")
		})
	})
}

// setArgument sets what an argument of a file of plans says of a request.
func setArgument(t *testing.T, d *datadriven.TestData, r *Request, arg datadriven.CmdArg) {
	t.Helper()
	value := strings.Join(arg.Vals, ",")
	number := func() int {
		n, err := strconv.Atoi(value)
		if err != nil {
			d.Fatalf(t, "%s: %v", arg, err)
		}
		return n
	}
	switch arg.Key {
	case "output":
		r.Output = value
		if value == "none" {
			r.Output = ""
		}
	case "work":
		r.Work = value
		if value == "none" {
			r.Work = ""
		}
	case "copy":
		r.Copy = value
	case "splits":
		r.Splits = number()
	case "bytes":
		r.SplitBytes = int64(number())
	case "broadcast":
		r.BroadcastBytes = int64(number())
	case "slots":
		r.Slots = number()
	case "partitions":
		r.Partitions = number()
	case "merges":
		r.Merges = number()
	case "combines":
		r.Combines = number()
	case "format":
		r.Layout.Format = sink.Format(value)
	case "overwrite":
		r.Layout.Overwrite = true
	case "by":
		r.Layout.PartitionBy = arg.Vals
	case "name":
		r.Name = value
	case "deterministic":
		r.Deterministic = true
	default:
		d.Fatalf(t, "%s is not an argument", arg)
	}
}

// inShort writes what of a plan its request decides.
func inShort(p *Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "query: %s; tables %q; ordered %t\n", p.Query.String(), p.Tables, p.Ordered)
	for _, c := range p.Columns {
		fmt.Fprintf(&b, "column: %s %s, nullable %t\n", c.Name, c.Type, c.Nullable)
	}
	for i, in := range p.Inputs {
		if len(p.Inputs) > 1 {
			fmt.Fprintf(&b, "input %d, %s:\n", i, in.Read)
		}
		for i, f := range in.Files {
			fmt.Fprintf(&b, "file %d: %s\n", i, f.Path)
		}
	}
	for i, s := range p.Splits {
		if len(p.Inputs) > 1 {
			fmt.Fprintf(&b, "input %d, ", s.Input)
		}
		if s.None {
			fmt.Fprintf(&b, "split %d: none\n", i)
			continue
		}
		to := "the end"
		if s.To > 0 {
			to = fmt.Sprint(s.To)
		}
		fmt.Fprintf(&b, "split %d: file %d from %d to file %d, %s; %d rows, %d B\n", i, s.First, s.From, s.Last, to, s.Rows, s.Bytes)
	}
	if e := p.Exchange; e != nil {
		for _, s := range e.Sides {
			fmt.Fprintf(&b, "sent: inputs %v, by %q: %s\n", s.Inputs, s.Keys, s.What)
		}
		fmt.Fprintf(&b, "to %d partitions; rows %t; nodes: %v\n", e.Partitions, e.Rows, ranges(e.Partitions, max(p.Combines, 1)))
	}
	for n := range p.Combines {
		if from, to := p.combined(n); p.Exchange == nil {
			fmt.Fprintf(&b, "node %d: splits [%d, %d)\n", n, from, to)
		}
	}
	fmt.Fprintf(&b, "partitions: %d of about %d groups; merges: %v\nstages: %v\n", p.Partitions, p.Groups, p.Merges, p.Stages)
	o := p.Output
	fmt.Fprintf(&b, "output: %s, %s; directory %t, assembled %t, by %q\n", o.Path, o.Format, o.Directory(), p.assembled(), o.PartitionBy)
	fmt.Fprintf(&b, "work: %s\n", p.Work)
	if p.Replaces != nil {
		fmt.Fprintf(&b, "replaces: %s, %d B\n", p.Replaces.Path, p.Replaces.Bytes)
	}
	return b.String()
}

// Would catch two plans that differ and share a work directory, whose packs would be mixed up, and a plan that
// is made again and does not find what an earlier run has done: R3.
func TestPlanID(t *testing.T) {
	eng := open(t, 1)
	dir := t.TempDir()
	writeSmall(t, filepath.Join(dir, "in"))
	id := func(change func(r *Request)) string {
		t.Helper()
		r := smallRequest(quick, dir)
		change(&r)
		p, err := New(t.Context(), eng, quick, r)
		check(t, err)
		if workdir.BaseName(p.Work) != p.ID {
			t.Errorf("the work directory %s is not the plan's, %s", p.Work, p.ID)
		}
		return p.ID
	}
	first := id(func(r *Request) {})
	for name, change := range map[string]func(r *Request){
		"nothing":                func(r *Request) {},
		"another work directory": func(r *Request) { r.Work = filepath.Join(dir, "elsewhere") },
		"a copy":                 func(r *Request) { r.Copy = filepath.Join(dir, "copy.json") },
		"slots beside splits":    func(r *Request) { r.Slots = 7 },
		"a way to the same": func(r *Request) {
			r.Tables = map[string]plan.Table{"t": {Files: []string{dir + "/./x/../in"}}}
			r.Output = dir + "/x/../out/"
		},
	} {
		if got := id(change); got != first {
			t.Errorf("%s: another plan %s, want %s", name, got, first)
		}
	}
	seen := map[string]string{first: "nothing"}
	for name, change := range map[string]func(r *Request){
		"another name":      func(r *Request) { r.Name = "x" },
		"another statement": func(r *Request) { r.Statement += " " },
		"another version":   func(r *Request) { r.Version = "other" },
		"another output":    func(r *Request) { r.Output += "2" },
		"another format":    func(r *Request) { r.Layout.Format = sink.Arrow },
		"overwriting":       func(r *Request) { r.Layout.Overwrite = true },
		"one split":         func(r *Request) { r.Splits = 1 },
		"other partitions":  func(r *Request) { r.Partitions = 8 },
		"one merge":         func(r *Request) { r.Merges = 1 },
		"no tree":           func(r *Request) { r.Combines = -1 },
		"deterministic":     func(r *Request) { r.Deterministic = true },
		"overflow":          func(r *Request) { r.Overflow = query.OverflowWrap },
		"a file of them": func(r *Request) {
			r.Tables = map[string]plan.Table{"t": {Files: []string{filepath.Join(dir, "in", "0.csv")}}}
		},
	} {
		got := id(change)
		if other, there := seen[got]; there {
			t.Errorf("%s has the plan of %s", name, other)
		}
		seen[got] = name
	}
	check(t, os.WriteFile(filepath.Join(dir, "in", "1.csv"), []byte("k,v,s\n1,2,3\n"), 0o666))
	if got := id(func(r *Request) {}); got == first {
		t.Error("another input has the same plan")
	}
}

// Would catch a plan that names another table than the statement reads, by chance: where names of tables
// differ in case alone, the name that the statement writes counts.
func TestNamedTables(t *testing.T) {
	eng := open(t, 1)
	dir := t.TempDir()
	writeSmall(t, filepath.Join(dir, "in"))
	r := smallRequest(quick, dir)
	one, other := plan.Table{Files: []string{filepath.Join(dir, "in", "0.csv")}}, plan.Table{Files: []string{filepath.Join(dir, "in", "1.csv")}}
	for _, c := range []struct {
		from   string
		tables map[string]plan.Table
		want   string
		file   string
	}{
		{"t", map[string]plan.Table{"t": one}, "t", "0.csv"},
		{"T", map[string]plan.Table{"t": one}, "t", "0.csv"},
		{`"T"`, map[string]plan.Table{"T": one, "t": other}, "T", "0.csv"},
		{"t", map[string]plan.Table{"T": one, "t": other}, "t", "1.csv"},
		{"(SELECT k, s FROM t)", map[string]plan.Table{"T": one, "t": other}, "t", "1.csv"},
		{"'" + filepath.Join(dir, "in", "1.csv") + "'", map[string]plan.Table{"t": one}, "", "1.csv"},
	} {
		for range 10 { // the order of a map is another each time
			r.Statement, r.Tables = "SELECT k, count(*) FROM "+c.from+" GROUP BY k", c.tables
			p, err := New(t.Context(), eng, quick, r)
			check(t, err)
			files := p.AllFiles()
			if strings.Join(p.Tables, ", ") != c.want || workdir.BaseName(files[0].Path) != c.file || len(files) != 1 {
				t.Errorf("FROM %s: tables %q, want %q; files %v, want %s", c.from, p.Tables, c.want, files, c.file)
				break
			}
		}
	}
}

// Would catch a plan of a statement that has other values in each attempt of a task.
func TestUnrepeatable(t *testing.T) {
	eng := open(t, 1)
	dir := t.TempDir()
	writeSmall(t, filepath.Join(dir, "in"))
	r := smallRequest(quick, dir)
	from := " FROM '" + filepath.Join(dir, "in", "0.csv") + "'"
	for statement, want := range map[string]string{
		"SELECT k, max(random())" + from + " GROUP BY k":                                     "random() in a distributed statement",
		"SELECT k, count(*)" + from + " WHERE random() < 0.5 GROUP BY k":                     "random() in a distributed statement",
		"WITH q AS (SELECT k, random() AS n" + from + ") SELECT k, max(n) FROM q GROUP BY k": "random() in a distributed statement",
		"SELECT k, count(*)" + from + " WHERE now() > TIMESTAMP '2020-01-01' GROUP BY k":     "now() in a distributed statement",
	} {
		r.Statement = statement
		_, err := New(t.Context(), eng, quick, r)
		says(t, statement, err, ErrPlan, "not supported: "+want)
	}
}
