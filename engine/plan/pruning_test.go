//go:build cgo

package plan

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// A table of days of 2,000 rows each, which rise with the rows, and six columns of noise; a row
// group is two days.
const (
	prunedDays    = 200
	prunedPerDay  = 2000
	prunedPerFile = prunedDays * prunedPerDay
)

func writeDays(t *testing.T) string {
	t.Helper()
	fields := []arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "t", Type: &arrow.TimestampType{Unit: arrow.Microsecond}}, {Name: "d", Type: arrow.FixedWidthTypes.Date32}}
	for i := range 6 {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("v%d", i), Type: arrow.PrimitiveTypes.Float64})
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	const dayMicros, firstDay = 86_400_000_000, 18_262 - 100 // 2019-09-23
	for i := range prunedPerFile {
		day := firstDay + i/prunedPerDay
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.TimestampBuilder).Append(arrow.Timestamp(int64(day)*dayMicros + int64(i%prunedPerDay)*40_000_000))
		b.Field(2).(*array.Date32Builder).Append(arrow.Date32(day))
		for c := range 6 {
			b.Field(3 + c).(*array.Float64Builder).Append(float64(i*(c+7)%104_729) / 8)
		}
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	file := filepath.Join(t.TempDir(), "days.parquet")
	out, err := vfs.OS.Create(file, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pqarrow.NewFileWriter(schema, out, parquet.NewWriterProperties(parquet.WithMaxRowGroupLength(2*prunedPerDay)), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteBuffered(batch); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// countDays runs a statement that reads the columns of noise, and returns its plan and how many rows there were.
func countDays(t *testing.T, eng *engine.Engine, fs vfs.FS, file, from string) (q *Query, rows int64) {
	t.Helper()
	s, err := sql.Parse("SELECT count(*), sum(v0), sum(v1), sum(v2), sum(v3), sum(v4), sum(v5) FROM " + from)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]Table{"days": {Files: []string{file}}}
	if q, err = Prepare(t.Context(), eng, s, Options{Tables: tables, Scan: dataset.Options{FS: fs}}); err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	r, err := q.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for r.Next() {
		rows = r.RecordBatch().Column(0).(*array.Int64).Value(0)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return q, rows
}

// Conditions leave row groups out by what they say of columns: each branch of an OR, and times that
// are rounded down. A share of 1% of the rows, which are sorted, takes less than 5% of the bytes.
func TestPruning(t *testing.T) {
	file := writeDays(t)
	eng, err := engine.Open(engine.Options{Threads: 2, Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	fs := faultfs.New(vfs.OS)
	ask := func(where string) (rows, bytes, groups int64) {
		t.Helper()
		before := fs.BytesRead()
		q, rows := countDays(t, eng, fs, file, "days WHERE "+where)
		pruned := q.root.input().(*groupsNode).of.in.(*filterNode).described.Pruning()
		left := pruned.RowGroups
		for _, by := range pruned.By {
			left -= by.RowGroups
		}
		return rows, fs.BytesRead() - before, left
	}
	_, whole, _ := ask("v0 IS NOT NULL OR v1 > 0")
	for _, c := range []struct {
		where        string
		rows, groups int64
	}{
		{"id BETWEEN 100000 AND 103999", 4000, 1},
		{"id < 2000 OR id >= 398000", 4000, 2},
		{"id < 1000 OR d = '2020-01-01' OR t < '2019-09-23 00:00:40'", 3000, 2},
		{"(id < 2000 OR id >= 398000) AND v0 >= 0", 4000, 2},
		{"(id < 2000 AND v0 >= 0 OR id >= 398000) AND d < '2020-01-01'", 2000, 1},
		{"id IN (5, 399999) OR id = 200000", 3, 3},
		{"CAST(t AS DATE) = DATE '2020-01-01'", 2000, 1},
		{"date_trunc('day', t) = TIMESTAMP '2020-01-01'", 2000, 1},
		{"date_trunc('day', t) < '2019-09-24'", 2000, 1},
		{"date_trunc('hour', t) = TIMESTAMP '2019-12-31 12:00:00'", 90, 1},
		{"date_trunc('month', d) > '2020-03-01'", 18000, 20},
		{"date_trunc('month', t) <= '2019-09-01'", 16000, 5},
		{"year(t) = 2020 AND t < '2020-01-02'", 2000, 1},
		{"extract(year FROM d) < 2020 AND id >= 196000", 4000, 1},
		{"year(d) > 2020 OR id = 7", 1, 1},
		{"year(d) = 2021", 0, 0},
	} {
		rows, bytes, groups := ask(c.where)
		if rows != c.rows || groups > c.groups {
			t.Errorf("%s: %d rows of %d row groups, want %d of at most %d", c.where, rows, groups, c.rows, c.groups)
		}
		if share := float64(bytes) / float64(whole); c.groups <= 3 && share > 0.05 {
			t.Errorf("%s: %.1f%% of the bytes", c.where, 100*share)
		}
	}
}

// A join asks the reader of one side for the keys of the other: through filters, computed columns, unions and either
// side of other joins, and not where rows without a partner are wanted.
func TestKeysAreAskedOfReaders(t *testing.T) {
	file := writeDays(t)
	eng, err := engine.Open(engine.Options{Threads: 2, Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	fs := faultfs.New(vfs.OS)
	ask := func(from string) (rows, bytes int64) {
		t.Helper()
		before := fs.BytesRead()
		_, rows = countDays(t, eng, fs, file, from)
		return rows, fs.BytesRead() - before
	}
	_, whole := ask("days")
	const few, none = "(VALUES (5), (7), (399999), (NULL)) few (k)", "(VALUES (-1), (NULL)) none (k)"
	for _, c := range []struct {
		from string
		rows int64
		all  bool // most of the file is read
	}{
		{from: "days JOIN " + few + " ON id = k", rows: 3},
		{from: "days JOIN " + few + " ON id = k WHERE v0 < 50", rows: 2},
		{from: "days JOIN " + few + " ON id = k WHERE id < 100", rows: 2}, // readers test rows beyond the range of the rest
		{from: few + " JOIN days ON id = k AND v0 + v1 > k", rows: 2},
		{from: "days WHERE id IN (SELECT k FROM " + few + ")", rows: 3},
		{from: "days JOIN " + none + " ON id = k"},
		{from: "(SELECT *, v0 * 2 AS w FROM days) days JOIN " + few + " ON id = k AND w >= 0", rows: 3},
		{from: "(FROM days WHERE v0 >= 0 UNION ALL FROM days WHERE id < 6) days JOIN " + few + " ON id = k", rows: 4},
		{from: "days JOIN (SELECT id AS other FROM days) b ON id = other JOIN " + few + " ON id = k", rows: 3, all: true},
		{from: "days JOIN (SELECT id AS other, d FROM days) b ON id = other JOIN " + few + " ON other = k", rows: 3},
		{from: "days JOIN (SELECT id, d FROM days WHERE d < '2019-09-24') b USING (id, d)", rows: 2000, all: true},
		{from: "days LEFT JOIN " + few + " ON id = k", rows: prunedPerFile, all: true},
		{from: "days WHERE id NOT IN (SELECT k FROM " + few + " WHERE k IS NOT NULL)", rows: prunedPerFile - 3, all: true},
	} {
		rows, bytes := ask(c.from)
		if rows != c.rows {
			t.Errorf("%s: %d rows, want %d", c.from, rows, c.rows)
		}
		if share := float64(bytes) / float64(whole); !c.all && share > 0.05 {
			t.Errorf("%s: %.1f%% of the bytes", c.from, 100*share)
		}
	}
}
