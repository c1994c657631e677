//go:build cgo

package plan_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
)

// nestedRow is a row of nestedBatch; nil is NULL.
type nestedRow struct {
	a      bool // whether there is a struct a
	x      *int64
	inner  bool // whether there is a struct a.inner
	city   *string
	weight int64 // required in inner
	flat   int64 // the column "a.x"
}

var nestedSchema = arrow.NewSchema([]arrow.Field{
	{Name: "a", Nullable: true, Type: arrow.StructOf(
		arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: "inner", Nullable: true, Type: arrow.StructOf(
			arrow.Field{Name: "city", Type: arrow.BinaryTypes.String, Nullable: true},
			arrow.Field{Name: "weight", Type: arrow.PrimitiveTypes.Int64},
		)},
	)},
	{Name: "a.x", Type: arrow.PrimitiveTypes.Int64},
	{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
}, nil)

// nestedBatch returns random rows, as they are and as a batch.
func nestedBatch(rng *rand.Rand, n int) ([]nestedRow, arrow.RecordBatch) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, nestedSchema)
	a := b.Field(0).(*array.StructBuilder)
	inner := a.FieldBuilder(1).(*array.StructBuilder)
	rows := make([]nestedRow, n)
	for i := range rows {
		r := &rows[i]
		*r = nestedRow{a: rng.IntN(5) > 0, inner: rng.IntN(4) > 0, weight: rng.Int64N(100), flat: rng.Int64N(10)}
		b.Field(1).(*array.Int64Builder).Append(r.flat)
		b.Field(2).AppendNull()
		if !r.a {
			r.inner = false
			a.AppendNull()
			continue
		}
		a.Append(true)
		if x := rng.Int64N(8) + int64(i/100); x%3 > 0 {
			r.x = &x
			a.FieldBuilder(0).(*array.Int64Builder).Append(x)
		} else {
			a.FieldBuilder(0).AppendNull()
		}
		if !r.inner {
			inner.AppendNull()
			continue
		}
		inner.Append(true)
		if city := fmt.Sprint("c", rng.IntN(6)); city != "c0" {
			r.city = &city
			inner.FieldBuilder(0).(*array.StringBuilder).Append(city)
		} else {
			inner.FieldBuilder(0).AppendNull()
		}
		inner.FieldBuilder(1).(*array.Int64Builder).Append(r.weight)
	}
	return rows, b.NewRecordBatch()
}

// Keys, aggregates, conditions and orders of fields are those of the rows, in Parquet and in memory.
func TestFieldsOfStructs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	rows, batch := nestedBatch(rng, 3000)
	path := filepath.Join(t.TempDir(), "f.parquet")
	to, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	props := parquet.NewWriterProperties(parquet.WithMaxRowGroupLength(700), parquet.WithDataPageSize(500), parquet.WithPageIndexEnabled(true))
	w, err := pqarrow.NewFileWriter(nestedSchema, to, props, pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteBuffered(batch); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tables := map[string]plan.Table{"file": {Files: []string{path}}, "a": {Source: scan.Batches(nestedSchema, []arrow.RecordBatch{batch})}}

	type sums struct{ rows, weight, known, flat int64 }
	all, some := map[string]*sums{}, map[string]*sums{}
	for _, r := range rows {
		add := func(of map[string]*sums) {
			key := "NULL"
			if r.city != nil {
				key = *r.city
			}
			s := of[key]
			if s == nil {
				s = &sums{}
				of[key] = s
			}
			s.rows, s.flat = s.rows+1, s.flat+r.flat
			if r.inner {
				s.weight += r.weight
			}
			if r.x != nil {
				s.known += *r.x
			}
		}
		add(all)
		if r.x != nil && *r.x >= 30 {
			add(some)
		}
	}
	text := func(of map[string]*sums) string {
		var lines []string
		for key, s := range of {
			lines = append(lines, fmt.Sprint(key, " ", s.rows, " ", s.weight, " ", s.known, " ", s.flat))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	eng := openEngine(t)
	for table := range tables {
		for condition, want := range map[string]string{"": text(all), " WHERE a.x >= 30": text(some)} {
			query := `SELECT a.inner.city, count(*), coalesce(sum(a.inner.weight), 0), coalesce(sum((a).x), 0), sum("a.x") FROM ` + table + condition + " GROUP BY a.inner.city"
			got, err := ask(eng, query, tables)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, row := range got {
				lines = append(lines, strings.ReplaceAll(strings.Trim(fmt.Sprint(row), "[]"), "<nil>", "NULL"))
			}
			slices.Sort(lines)
			if joined := strings.Join(lines, "\n"); joined != want {
				t.Errorf("%s: got\n%s\nwant\n%s", query, joined, want)
			}
		}
	}
}

// Names in parts are found as DuckDB finds them, and errors say what there is.
func TestFieldNames(t *testing.T) {
	_, batch := nestedBatch(rand.New(rand.NewPCG(1, 1)), 50)
	source := plan.Table{Source: scan.Batches(nestedSchema, []arrow.RecordBatch{batch})}
	eng, tables := openEngine(t), map[string]plan.Table{"a": source, "t": source}
	same := func(one, two string) {
		t.Helper()
		got, err := ask(eng, "SELECT sum("+one+"), count("+one+") FROM a", tables)
		want, wantErr := ask(eng, "SELECT sum("+two+"), count("+two+") FROM a", tables)
		if err != nil || wantErr != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, %v; %s: %v, %v", one, got, err, two, want, wantErr)
		}
	}
	same("a.x", "(a).x")    // of a table a with a struct a
	same("a.a.x", "a['x']") // the table's name is in front
	same("A.X", "a.x")      // in another case
	same(`"(a).x"`, "a.x")  // by the name that the source gives it
	same("a.inner.weight", `"a.inner.weight"`)
	if got, err := ask(eng, `SELECT sum(a.x) = sum("a.x") FROM a`, tables); err != nil || fmt.Sprint(got) != "[[false]]" {
		t.Errorf("a field and the column of its name: %v, %v", got, err)
	}
	for text, want := range map[string]string{
		"SELECT a.y FROM t":   `there is no field "y" in STRUCT(x BIGINT, inner STRUCT(city VARCHAR, weight BIGINT))`,
		"SELECT zz.zz FROM t": `column "zz.zz" does not exist`,
	} {
		if rows, err := ask(eng, text, tables); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", text, rows, err, want)
		}
	}
	names := func(text, want string) {
		t.Helper()
		q, err := prepare(eng, text, tables)
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		var got []string
		for _, f := range q.Schema().Fields() {
			got = append(got, f.Name)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: the columns are %v, want %s", text, got, want)
		}
	}
	names("SELECT a.x, sum(a.inner.weight), (a).inner.city AS town, t.a.x + 1 FROM t GROUP BY ALL", "[x sum(a.inner.weight) town (t.a.x + 1)]")
	if got, err := ask(eng, "SELECT count(*) FROM t", tables); err != nil || fmt.Sprint(got) != "[[50]]" {
		t.Errorf("count(*): %v, %v", got, err)
	}
}

// Elements are keys, arguments and conditions, in files and in memory; row groups are left out by
// what WHERE says beside them.
func TestUnnest(t *testing.T) {
	const n = 5000
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	}, nil))
	defer b.Release()
	counts, sums, late := map[string]int{}, map[string]int{}, map[string]int{}
	lists := b.Field(1).(*array.ListBuilder)
	for id := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(id))
		if id%4 == 0 {
			lists.AppendNull()
			continue
		}
		lists.Append(true)
		for i := range id % 4 {
			tag := fmt.Sprint("t", (id+i)%7)
			lists.ValueBuilder().(*array.StringBuilder).Append(tag)
			counts[tag]++
			sums[tag] += id
			if id >= 4000 {
				late[tag]++
			}
		}
	}
	batch := b.NewRecordBatch()
	path := filepath.Join(t.TempDir(), "f.parquet")
	to, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pqarrow.NewFileWriter(batch.Schema(), to, parquet.NewWriterProperties(parquet.WithMaxRowGroupLength(500)), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.WriteBuffered(batch), w.Close()); err != nil {
		t.Fatal(err)
	}
	tables := map[string]plan.Table{"f": {Files: []string{path}}, "m": {Source: scan.Batches(batch.Schema(), []arrow.RecordBatch{batch})}}
	eng := openEngine(t)
	for _, table := range []string{"f", "m"} {
		for query, want := range map[string]func(tag string) string{
			"SELECT tag, count(*), sum(id) FROM %s, unnest(tags) AS t(tag) GROUP BY tag ORDER BY tag":                         func(tag string) string { return fmt.Sprint(tag, " ", counts[tag], " ", sums[tag]) },
			"SELECT unnest(tags) AS tag, count(*) FROM %s GROUP BY tag ORDER BY tag":                                          func(tag string) string { return fmt.Sprint(tag, " ", counts[tag]) },
			"SELECT unnest(tags), count(*) FROM %s WHERE id >= 4000 GROUP BY unnest(tags) ORDER BY 1":                         func(tag string) string { return fmt.Sprint(tag, " ", late[tag]) },
			"SELECT tag, count(*) FROM (SELECT unnest(tags) AS tag, id AS n FROM %s) WHERE n >= 4000 GROUP BY tag ORDER BY 1": func(tag string) string { return fmt.Sprint(tag, " ", late[tag]) },
		} {
			var rows []string
			for _, tag := range []string{"t0", "t1", "t2", "t3", "t4", "t5", "t6"} {
				rows = append(rows, "["+want(tag)+"]")
			}
			query = fmt.Sprintf(query, table)
			got, err := ask(eng, query, tables)
			if text := "[" + strings.Join(rows, " ") + "]"; err != nil || fmt.Sprint(got) != text {
				t.Errorf("%s: got %v, %v, want %s", query, got, err, text)
			}
		}
	}
	text, err := explained(eng, "SELECT tag, count(*) FROM f, unnest(tags) AS t(tag) WHERE id >= 4000 AND tag = 't1' GROUP BY tag", tables)
	if err != nil || !strings.Contains(text, "scan: f: 2 splits") {
		t.Errorf("2 of 10 row groups are needed: %v\n%s", err, text)
	}
	for text, want := range map[string]string{
		"SELECT max(unnest(tags)) FROM m":                            "FROM ..., unnest(list) AS t(name), and max(name)",
		"SELECT id FROM m WHERE unnest(tags) = 't1'":                 "not supported: unnest in WHERE and HAVING",
		"SELECT unnest(tags), unnest(id) FROM m":                     "is of type BIGINT, want a list",
		"SELECT unnest(id) FROM m":                                   `column "id" is of type BIGINT`,
		"SELECT unnest(tags || 'x') FROM m":                          "is of type VARCHAR, want a list",
		"SELECT unnest(tags)":                                        `column "tags" does not exist`,
		"SELECT unnest(tag) FROM m":                                  "did you mean tags",
		"SELECT count(*) FROM m, unnest(tags) AS t(id) WHERE id > 3": `column "id" is ambiguous: m.id and t.id have it`,
	} {
		if rows, err := ask(eng, text, tables); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", text, rows, err, want)
		}
	}
}
