package tests

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

var distQueriesFlag = flag.Int("distqueries", 100, "how many random statements are answered in parts")

var distMetFlag = flag.Bool("distmet", false, "random statements in parts are such whose rows meet by keys")

// Random statements over tables of many files, cut into any number of splits, partitions, merges and nodes,
// whose tasks run in any order and some of them twice, answer as one run does: to the byte. Would catch a
// split that sees other columns, types or formats of dates than the table has, states that do not travel,
// rows that two splits read or none, and groups that depend on which attempt counts.
func TestDistRandomSQL(t *testing.T) {
	seed, first := *seedFlag, *firstFlag
	fmt.Printf("again: go test -run '^%s$' -seed=%d -first=%d -distqueries=%d\n", t.Name(), seed, first, *distQueriesFlag)
	layouts, queries := distTables(t, seed), *distQueriesFlag
	if testing.Short() {
		queries = min(queries, 30)
	}
	counts := make(map[string]int)
	for i := first; i < first+queries; i++ {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		g := &distGenerator{sqlGenerator{rng}}
		c := distCase{rng: rng, layout: layouts[rng.IntN(len(layouts))]}
		for range randomTables {
			c.others = append(c.others, layouts[rng.IntN(len(layouts))])
		}
		switch kind := rng.IntN(4); {
		case *distMetFlag || kind == 3:
			c.text = g.met()
			c.layout = layouts[0] // a row once
			for i := range c.others {
				c.others[i] = layouts[rng.IntN(len(layouts)-1)]
			}
		case kind == 2:
			c.text = g.several()
		default:
			c.text, c.ordered = g.statement()
		}
		outcome, err := c.check(t)
		counts[outcome]++
		if err != nil {
			t.Errorf("%s\nof %s: %v\nagain: go test -run TestDistRandomSQL -seed=%d -first=%d -distqueries=1", c.text, c.layout.name, err, seed, i)
			if testing.Short() {
				t.FailNow()
			}
		}
	}
	t.Logf("of %d statements: %v", queries, counts)
	if n := counts["answered"] + counts["exchanged"]; queries >= 20 && (n < queries/3 || counts["exchanged"] < queries/20) {
		t.Errorf("of %d statements: %v; the generator asks for too much", queries, counts)
	}
}

// distLayout is a table as it lies in files.
type distLayout struct {
	name  string
	files []string
	scan  *dataset.Options // how they are read; nil for the default
}

// distTables makes random tables of the columns of mixedTable.
func distTables(t *testing.T, seed uint64) []distLayout {
	s := openSQL(t)
	rng := rand.New(rand.NewPCG(seed, 1<<40))
	eng, err := engine.Open(engine.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	// part writes some of the rows to a file, or to folders.
	part := func(columns string, from, to int, path string, layout sink.Options) {
		t.Helper()
		whole := filepath.Join(s.dir, "part.parquet")
		s.exec(t, fmt.Sprintf("COPY (SELECT %s FROM (%s) WHERE id >= %d AND id < %d ORDER BY id) TO '%s' (FORMAT parquet)", columns, mixedTable, from, to, whole))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := writeAnswer(t.Context(), eng, "SELECT * FROM '"+whole+"'", plan.Options{}, path, layout); err != nil {
			t.Fatal(err)
		}
	}
	// parts writes a table as files of any numbers of rows.
	parts := func(dir, columns string, files int, name string, layout sink.Options) {
		t.Helper()
		from := rng.IntN(1000)
		for i := range files {
			to := from + rng.IntN(2000/files)
			part(columns, from, to, filepath.Join(s.dir, dir, fmt.Sprintf(name, i)), layout)
			from = to
		}
	}
	in := func(name, pattern string) distLayout {
		return distLayout{name, []string{filepath.Join(s.dir, pattern)}, nil}
	}
	parts("pq", "*", 6, "%d.parquet", sink.Options{RowGroupRows: 70})
	parts("arrow", "*", 4, "%d.arrow", sink.Options{})
	parts("arrows", "*", 3, "%d.arrows", sink.Options{})
	parts("csv", "*", 5, "%d.csv", sink.Options{})
	parts("gz", "*", 3, "%d.csv.gz", sink.Options{})
	parts("json", "*", 4, "%d.json", sink.Options{})
	parts("mixed", "*", 2, "a%d.parquet", sink.Options{RowGroupRows: 200})
	parts("mixed", "*", 2, "b%d.arrow", sink.Options{})
	// Folders give the columns b and ti, NULLs included.
	hive := "* REPLACE ((ti % 3)::TINYINT AS ti)"
	parts("hive", hive, 1, "%d", sink.Options{PartitionBy: []string{"b", "ti"}, Format: sink.Parquet})
	parts("hivecsv", hive, 1, "%d", sink.Options{PartitionBy: []string{"ti"}, Format: sink.CSV})
	// What a column is follows from all files together: alone, the first has days that may be months,
	// columns of NULLs, whole numbers, and texts that look like numbers.
	const date = "strftime(dt, '%d/%m/%Y')"
	for i, replaced := range []struct{ dates, others string }{
		{"CASE WHEN day(dt) <= 12 THEN " + date + " END AS dt", "NULL AS i, NULL AS s, id AS d, id AS n"},
		{date + " AS dt", "NULL AS b, NULL AS p, id AS w"},
		{date + " AS dt", "n AS n"},
	} {
		from, to := 400*i, 400*i+150+rng.IntN(250)
		part("* REPLACE (strftime(ts, '%d/%m/%Y %H:%M:%S') AS ts, "+replaced.dates+", "+replaced.others+")", from, to, filepath.Join(s.dir, fmt.Sprintf("guess/%d.csv", i)), sink.Options{})
		part("* REPLACE ("+replaced.others+")", from, to, filepath.Join(s.dir, fmt.Sprintf("guessjson/%d.json", i)), sink.Options{})
	}
	for _, c := range []struct {
		files string
		want  arrow.Type
	}{{"guess/*.csv", arrow.DATE32}, {"guess/0.csv", arrow.STRING}} {
		dt, _ := openFiles(t, dataset.Options{}, filepath.Join(s.dir, c.files)).Schema().FieldsByName("dt")
		if dt[0].Type.ID() != c.want {
			t.Fatalf("dt of %s is %s: there is nothing to guess", c.files, dt[0].Type)
		}
	}
	// Options say what the files do not.
	european := dataset.Options{CSV: csv.Options{
		Delimiter: ';', DecimalSeparator: ',', Header: csv.HeaderNo, Names: columns, NullStrings: []string{"NA"},
		Types: map[string]arrow.DataType{"si": arrow.PrimitiveTypes.Float64, "ui": arrow.BinaryTypes.String},
	}}
	for i := range 3 {
		file := filepath.Join(s.dir, fmt.Sprintf("european-%d.csv", i))
		s.exec(t, fmt.Sprintf("COPY (SELECT * REPLACE (replace(p::VARCHAR, '.', ',') AS p, replace(q::VARCHAR, '.', ',') AS q, replace(d::VARCHAR, '.', ',') AS d) FROM (%s) WHERE id >= %d AND id < %d) TO '%s' (FORMAT csv, DELIM ';', HEADER false, NULLSTR 'NA')",
			mixedTable, 200*i, 200*i+rng.IntN(200), file))
	}
	return []distLayout{
		in("Parquet", "pq/*.parquet"), in("Parquet", "pq/*.parquet"), in("Arrow files", "arrow"), in("Arrow streams", "arrows"), in("CSV", "csv/*.csv"),
		in("packed CSV", "gz/*"), in("JSON", "json"), in("Parquet and Arrow", "mixed/*"), in("folders of Parquet", "hive/0"), in("folders of CSV", "hivecsv/0"),
		in("CSV to guess", "guess/*.csv"), in("CSV to guess", "guess/*.csv"), in("JSON to guess", "guessjson"),
		{"CSV with options", []string{filepath.Join(s.dir, "european-*.csv")}, &european},
		{"a list of files", []string{filepath.Join(s.dir, "pq/3.parquet"), filepath.Join(s.dir, "pq/0.parquet"), filepath.Join(s.dir, "pq/3.parquet")}, nil},
	}
}

// distGenerator writes statements, most of which are one aggregation, over the table t.
type distGenerator struct{ sqlGenerator }

// statement returns a statement, and whether all its columns are in its order.
func (g *distGenerator) statement() (text string, ordered bool) {
	var keys, items []string
	for range g.IntN(4) {
		keys = append(keys, g.key())
	}
	items = append(items, keys...)
	for range 1 + g.IntN(4) {
		items = append(items, g.one())
	}
	from := "t"
	group := ""
	if len(keys) > 0 {
		numbers := make([]string, len(keys))
		for i := range keys {
			numbers[i] = fmt.Sprint(i + 1)
		}
		group = " GROUP BY " + g.pick(strings.Join(numbers, ", "), strings.Join(keys, ", "), "ALL")
	}
	switch g.IntN(24) { // what is no one aggregation
	case 0:
		if len(keys) > 0 {
			group = " GROUP BY ROLLUP (" + strings.Join(keys, ", ") + ")"
		}
	case 1:
		items = append(items, strings.ReplaceAll(g.ordered(), "u.", "t."))
	case 2:
		from = "(SELECT * FROM t WHERE " + g.condition(1) + " ORDER BY id LIMIT 100)"
	case 3, 4: // this one is
		from = "(SELECT * FROM t WHERE " + g.condition(1) + ")"
	}
	lists := false
	for i := range items {
		lists = lists || strings.Contains(items[i], "list(") || strings.Contains(items[i], ", 3)")
		items[i] += fmt.Sprintf(" AS c%d", i)
	}
	text = "SELECT " + strings.Join(items, ", ") + " FROM " + from
	if g.IntN(2) == 0 {
		text += " WHERE " + g.condition(2)
	}
	text += group
	if g.IntN(4) == 0 {
		text += " HAVING " + g.pick("count(*) > 2", "count(*) < 50", "count(*) <> 1", "count(DISTINCT si) > 1", "max(id) > 1000", "count(DISTINCT id) FILTER (WHERE b) > 2")
	}
	if lists || g.IntN(2) == 0 {
		return text, false
	}
	order := make([]string, len(items))
	for i, n := range g.Perm(len(items)) {
		order[i] = fmt.Sprint(n+1) + g.pick("", "", " DESC", " NULLS FIRST", " DESC NULLS LAST")
	}
	return text + " ORDER BY " + strings.Join(order, ", ") + g.pick("", "", " LIMIT 7", " LIMIT 40 OFFSET 3", " OFFSET 2", " LIMIT 0"), true
}

// several writes a statement over joins, unions, subqueries and derived tables. Its aggregates do not depend on an order,
// which rows of joins do not have.
func (g *distGenerator) several() string {
	var keys, items []string
	for range g.IntN(3) {
		keys = append(keys, g.key())
	}
	items = append(items, keys...)
	for range 1 + g.IntN(3) {
		items = append(items, g.pick(g.aggregate(), g.merging()))
	}
	for i := range items {
		items[i] += fmt.Sprintf(" AS c%d", i)
	}
	from := g.pick(g.joined(g.IntN(2)), g.joined(0), g.setOperation(0), g.table(2)) + " t"
	if g.IntN(4) == 0 {
		from += " " + g.pick("JOIN", "LEFT JOIN", "RIGHT JOIN") + " (SELECT si AS gsi, count(*) AS n1, avg(d) AS mean FROM " + g.table(0) +
			" GROUP BY si) g ON si = gsi" + g.pick("", " AND n1 < id", " AND mean > f")
	}
	text := "SELECT " + strings.Join(items, ", ") + " FROM " + from
	if g.IntN(2) == 0 {
		text += " WHERE " + g.pick(g.where(1), g.subquery())
	}
	if len(keys) > 0 {
		text += " GROUP BY ALL"
	}
	if g.IntN(6) == 0 {
		text = "SELECT " + g.pick("si, b", "i, s", "s") + " FROM " + g.table(1) + g.pick(" UNION ", " INTERSECT ", " EXCEPT ", " UNION ALL ") +
			"SELECT " + g.pick("si, b", "i, s", "s") + " FROM " + g.table(1)
	}
	return text
}

// met writes a statement whose rows meet by keys: of windows over rows, and of joins, with groups and without.
func (g *distGenerator) met() string {
	if g.IntN(3) == 0 {
		partition := g.pick("si % 3", "s", "ti % 2", "dt", "b", g.key())
		items := []string{"id"}
		for i := range 1 + g.IntN(2) {
			items = append(items, fmt.Sprintf("%s OVER (PARTITION BY %s%s ORDER BY %s) AS c%d", g.pick("row_number()", "sum(i)", "lag(s)", "count(d)", "first_value(p)", "rank()"),
				partition, g.pick("", ", si"), g.pick("id", "id DESC", "s DESC NULLS FIRST, id"), i+1))
		}
		text := "SELECT " + strings.Join(items, ", ") + " FROM " + g.pick(g.table(0), g.table(0), g.table(1)) + g.pick("", " WHERE "+g.where(1))
		text += g.pick("", "", " QUALIFY row_number() OVER (PARTITION BY "+partition+" ORDER BY id) <= 5", " QUALIFY c1 IS NOT NULL")
		return g.pick(text, text+" ORDER BY id LIMIT 40", "SELECT c1, count(*) AS n, min(id) AS least FROM ("+text+") GROUP BY ALL", g.windows(),
			"SELECT DISTINCT ON ("+partition+") * FROM "+g.table(0)+" ORDER BY "+partition+", id")
	}
	on := g.pick("USING (id)", "USING (si)", "USING (si, b)", "ON x.s = y.s", "ON x.i = y.id AND x.d < y.d", "ON x.ti = y.si", "ON x.p = y.q",
		"ON x.dt = y.dt AND x.si % 7 = y.si % 7", "ON x.si + 1 = y.si AND x.s IS NOT DISTINCT FROM y.s", "ON x.f = y.d", "ON x.n = y.n")
	from := g.table(g.IntN(2)) + " x " + g.pick("JOIN ", "LEFT JOIN ", "RIGHT JOIN ", "FULL JOIN ", "FULL JOIN ") + g.table(g.IntN(2)) + " y " + on
	if g.IntN(3) == 0 {
		from += g.pick(" JOIN ", " LEFT JOIN ", " FULL JOIN ") + g.table(0) + " z ON " + g.pick("y.si = z.si", "x.si = z.si", "y.s = z.s", "x.id = z.id")
		from += g.pick("", " AND z.id < 900")
	}
	where := g.pick("", " WHERE "+g.pick("x.id % 3 = 1", "y.i > 20", "x.b", "y.s IS NULL", "x.id > y.si OR x.d IS NULL"))
	if g.IntN(3) == 0 { // of rows that are unique: many equal ones come of keys that repeat
		return "SELECT x.id AS a, y.id AS b, x.s AS s, y.p AS p FROM " + from + cmp.Or(where, " WHERE x.id % 5 = 1") + g.pick("", " ORDER BY a, b, s, p LIMIT 40")
	}
	return "SELECT " + g.pick("x.ti % 3", "y.s", "x.si", "y.b") + " AS k, count(*) AS n, count(x.id) AS l, sum(y.id) AS r, " +
		g.pick("max(x.s)", "min(y.dt)", "sum(x.d)", "count(DISTINCT y.i)") + " AS m FROM " + from + where + " GROUP BY ALL"
}

// one writes an aggregate, or an expression of some.
func (g *distGenerator) one() string {
	x := g.pick(columns...)
	switch g.IntN(8) {
	case 0:
		return g.pick("first", "last", "any_value", "mode") + "(" + g.pick(x, g.text(1), g.number(1)) + ")" + g.filter()
	case 1:
		return g.pick("list("+x+")", "string_agg(s, '+')", "string_agg(n)", "max("+g.pick("si", "s", "dt")+", 3)", "min(d, 3)") + g.filter()
	case 2:
		return g.pick("arg_min", "arg_max") + "(" + x + ", " + g.pick("si", "s", "dt", "p", "i % 3") + ")" + g.filter()
	case 3:
		return g.pick("sum", "avg", "var_pop", "stddev_samp", "skewness", "kurtosis") + "(" + g.pick("d", "f", "d / 3", "p") + ")" + g.filter()
	case 4:
		return g.pick("approx_count_distinct("+x+")", "corr(d, f)", "covar_samp(d, si)", "regr_r2(f, d)", "quantile_cont(d, 0.3)", "mad(si)", "histogram(i % 5)::VARCHAR", "arg_max(id, id, 2)::VARCHAR", "bool_and(b)", "bool_or(i > 90)", "bit_or(id)")
	case 5:
		return g.pick("-count(*) + count(i)", "coalesce(sum(si), 0) + 1", "round(avg(q), 1) > 0", "max(i) - min(i)", "CASE WHEN count(*) > 3 THEN max(s) ELSE min(n) END")
	case 6:
		return g.merging()
	}
	return g.aggregate()
}

// distCase is a statement, and how it is answered in parts.
type distCase struct {
	rng     *rand.Rand
	layout  distLayout
	others  []distLayout // of the tables of randomTables that are not t
	text    string
	ordered bool
}

// check answers a statement in one run and in parts, and says what came of it.
func (c *distCase) check(t *testing.T) (outcome string, err error) {
	ctx, dir := t.Context(), t.TempDir()
	defer os.RemoveAll(dir)
	eng, err := engine.Open(engine.Options{Threads: 1 + c.rng.IntN(3), TempDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	tables := map[string]plan.Table{}
	for i, name := range randomTables {
		of := c.layout
		if name != "t" {
			of = c.others[i]
		}
		tables[name] = plan.Table{Files: of.files, Scan: of.scan}
	}
	single := filepath.Join(dir, "single.csv")
	wrong := writeAnswer(ctx, eng, c.text, plan.Options{Tables: tables, Deterministic: true}, single, sink.Options{FS: faultfs.Unsynced{FS: vfs.OS}})
	r := distributed.Request{
		Statement: c.text, Tables: tables, Deterministic: true, Work: filepath.Join(dir, "work"), Output: filepath.Join(dir, "out"), Layout: sink.Options{Format: sink.CSV},
		Splits: 1 + c.rng.IntN(12), Partitions: 1 << c.rng.IntN(6), Merges: 1 + c.rng.IntN(8), Combines: c.rng.IntN(5) - 1,
	}
	if c.rng.IntN(3) == 0 {
		r.Output += ".csv"
	}
	if *distMetFlag || c.rng.IntN(2) == 0 {
		r.BroadcastBytes = 1 + c.rng.Int64N(50_000)
	}
	j, err := planDist(ctx, eng, faultfs.Unsynced{FS: vfs.OS}, dir, r)
	if err == nil {
		err = c.run(ctx, j)
	}
	switch {
	case errors.Is(err, distributed.ErrPlan):
		return "refused", nil
	case err != nil && (wrong != nil || strings.HasSuffix(c.text, " LIMIT 0")): // where one run reads no rows
		return "wrong", nil
	case wrong != nil:
		return "differs", fmt.Errorf("one run fails, and the parts do not: %w", wrong)
	case err != nil:
		return "differs", err
	}
	if c.ordered {
		err = sameLines(linesOf(t, single), linesOf(t, r.Output))
	} else {
		err = sameLines(sortedLines(t, single), sortedLines(t, r.Output))
	}
	if err != nil {
		return "differs", fmt.Errorf("%d splits, %d partitions, %d merges, %d nodes: %w", len(j.plan.Splits), j.plan.Partitions, len(j.plan.Merges), j.plan.Combines, err)
	}
	if j.plan.Exchange != nil {
		return "exchanged", nil
	}
	return "answered", nil
}

// run does the tasks of a plan in a random order, some of them twice.
func (c *distCase) run(ctx context.Context, j *distJob) error {
	for _, s := range j.plan.Stages {
		if s.Name == distributed.StageCommit {
			break
		}
		if s.Name == distributed.StageMerge && c.rng.IntN(2) == 0 {
			if err := c.mergeRanges(ctx, j); err != nil {
				return err
			}
			continue
		}
		for _, n := range c.rng.Perm(s.Tasks) {
			if err := c.task(ctx, j, distTask{s.Name, n}); err != nil {
				return err
			}
		}
	}
	if c.rng.IntN(2) == 0 { // a zombie, whose attempt comes too late to count
		if _, err := j.again(ctx, distTask{distributed.StagePartial, c.rng.IntN(len(j.plan.Splits))}); err != nil {
			return err
		}
	}
	for _, want := range []string{"done", "already"} {
		done, err := j.do(ctx, distTask{distributed.StageCommit, 0})
		if err != nil || done.State != want {
			return fmt.Errorf("commit: %+v, %w; want %s", done, err, want)
		}
	}
	return nil
}

// task does a task, and may do it again, and as a twin that does not know of it.
func (c *distCase) task(ctx context.Context, j *distJob, task distTask) error {
	done, err := j.do(ctx, task)
	if err != nil {
		return fmt.Errorf("%s: %w", task, err)
	}
	switch c.rng.IntN(6) {
	case 0:
		if done, err = j.do(ctx, task); err != nil || done.State != "already" {
			return fmt.Errorf("%s again: %+v, %w", task, done, err)
		}
	case 1:
		if task.stage != distributed.StageMerge {
			if done, err = j.again(ctx, task); err != nil || done.State != "done" {
				return fmt.Errorf("a twin of %s: %+v, %w", task, done, err)
			}
		}
	}
	return nil
}

// mergeRanges merges ranges that are not the plan's, and one more that is not needed.
func (c *distCase) mergeRanges(ctx context.Context, j *distJob) error {
	var list []distributed.Range
	for from := 0; from < j.plan.Partitions; {
		to := from + c.rng.IntN(j.plan.Partitions-from)
		list = append(list, distributed.Range{First: from, Last: to})
		from = to + 1
	}
	first := c.rng.IntN(j.plan.Partitions)
	list = append(list, distributed.Range{First: first, Last: first + c.rng.IntN(j.plan.Partitions-first)})
	for _, n := range c.rng.Perm(len(list)) {
		if _, err := j.tasks().MergeRange(ctx, list[n]); err != nil {
			return fmt.Errorf("merge %s: %w", list[n], err)
		}
	}
	return nil
}
