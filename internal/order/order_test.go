package order

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/arbiter"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// cellsOf returns the rows of batches as cells.
func cellsOf(batches []arrow.RecordBatch) (rows [][]any) {
	for _, b := range batches {
		for i := range int(b.NumRows()) {
			row := make([]any, b.NumCols())
			for c, column := range b.Columns() {
				row[c] = grouptest.Value(column, i)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// oracle orders rows by comparing cells.
func oracle(rows [][]any, by By) [][]any {
	rows = slices.Clone(rows)
	sort.SliceStable(rows, func(i, j int) bool {
		for _, k := range by.Keys {
			if c := compareCells(rows[i][k.Column], rows[j][k.Column], k); c != 0 {
				return c < 0
			}
		}
		return false
	})
	all := len(rows)
	rows = rows[min(by.Offset, int64(len(rows))):]
	if by.IsShare {
		rows = rows[:min(int(by.Share/100*float64(all)), len(rows))]
	}
	if by.Limited {
		rows = rows[:min(by.Limit, int64(len(rows)))]
	}
	return rows
}

func compareCells(a, b any, k Key) int {
	if a == nil || b == nil {
		c := 0
		if a == nil {
			c++
		}
		if b == nil {
			c--
		}
		if k.NullsFirst {
			c = -c
		}
		return c
	}
	c := grouptest.CompareValues(a, b)
	if k.Descending {
		c = -c
	}
	return c
}

// batchReader is array.NewRecordReader, which wants one batch at least.
func batchReader(t *testing.T, schema *arrow.Schema, batches []arrow.RecordBatch) array.RecordReader {
	t.Helper()
	r, err := array.NewRecordReader(schema, batches)
	check(t, err)
	return r
}

// read returns what is left of a reader as cells.
func read(r *Reader) ([][]any, error) {
	var rows [][]any
	for r.Next() {
		rows = append(rows, cellsOf([]arrow.RecordBatch{r.RecordBatch()})...)
	}
	return rows, r.Err()
}

func same(t *testing.T, got, want [][]any) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if g, w := fmt.Sprint(got[i]...), fmt.Sprint(want[i]...); g != w {
			t.Fatalf("row %d of %d: %s, want %s", i, len(want), g, w)
		}
	}
}

func sortableTypes() (types []arrow.DataType) {
	return slices.DeleteFunc(grouptest.Types(), func(dt arrow.DataType) bool { return !Sortable(dt) })
}

// randomBy orders by some columns.
func randomBy(rng *rand.Rand, schema *arrow.Schema, rows int) (by By) {
	for _, c := range rng.Perm(schema.NumFields())[:1+rng.IntN(min(3, schema.NumFields()))] {
		if Sortable(schema.Field(c).Type) {
			by.Keys = append(by.Keys, Key{Column: c, Descending: rng.IntN(2) == 0, NullsFirst: rng.IntN(2) == 0})
		}
	}
	if rng.IntN(2) == 0 {
		by.Limited, by.Limit = true, int64(rng.IntN(rows+2))
		if rng.IntN(2) == 0 {
			by.Limit /= 50
		}
	} else if rng.IntN(4) == 0 {
		by.IsShare, by.Share = true, rng.Float64()*100
	}
	if rng.IntN(3) == 0 {
		by.Offset = int64(rng.IntN(rows + 2))
	}
	return by
}

// Would catch rows in a wrong order, lost or doubled, whatever is held, cut, spilled and merged.
func TestRandom(t *testing.T) {
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 1))
		rows := grouptest.RandomRows(rng) % 30_000
		types := sortableTypes()
		if seed%4 == 0 {
			types = []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64}
		}
		schema, batches := grouptest.RandomTable(rng, rows, types...)
		by := randomBy(rng, schema, rows)
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		fsys := faultfs.New(vfs.OS)
		opt := Options{
			Bytes:     1 << (10 + rng.IntN(14)),
			Temp:      store.NewTemp(fsys, t.TempDir(), math.MaxInt64),
			Allocator: mem,
			Threads:   1 + rng.IntN(3),
			BatchRows: 1 + rng.IntN(5000),
		}
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			r := newReader(t, batchReader(t, schema, batches), by, opt)
			got, err := read(r)
			check(t, err)
			same(t, got, oracle(cellsOf(batches), by))
			r.Release()
			mem.AssertSize(t, 0)
			if used := r.sort.opt.Memory.Used(); used != 0 || fsys.OpenFiles() != 0 || opt.Temp.Used() != 0 {
				t.Errorf("%d B in use, %d files open, %d B of the temp directory", used, fsys.OpenFiles(), opt.Temp.Used())
			}
		})
	}
}

// newReader is New with a budget of any size.
func newReader(t *testing.T, in array.RecordReader, by By, opt Options) *Reader {
	t.Helper()
	bytes := opt.Bytes
	opt.Bytes = max(bytes, bytesMin)
	r, err := New(t.Context(), in, by, opt, nil)
	check(t, err)
	in.Release()
	r.sort.opt.Bytes = bytes
	return r
}

func intBatches(rows, batchRows int, value func(i int) int64) (*arrow.Schema, []arrow.RecordBatch) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "i", Type: arrow.PrimitiveTypes.Int64}}, nil)
	var batches []arrow.RecordBatch
	for from := 0; from < rows; from += batchRows {
		var k, n []any
		for i := from; i < min(from+batchRows, rows); i++ {
			k, n = append(k, value(i)), append(n, int64(i))
		}
		batches = append(batches, grouptest.Batch(schema, grouptest.Array(schema.Field(0).Type, k), grouptest.Array(schema.Field(1).Type, n)))
	}
	return schema, batches
}

// Would catch a merge of more runs than are merged at a time that loses the order of equal rows.
func TestManyRuns(t *testing.T) {
	schema, batches := intBatches(40_000, 100, func(i int) int64 { return int64(i*7919) % 97 })
	by := By{Keys: []Key{{Column: 0}}}
	r := newReader(t, batchReader(t, schema, batches), by, Options{Bytes: 12 << 10, Temp: store.NewTemp(vfs.OS, t.TempDir(), math.MaxInt64)})
	defer r.Release()
	got, err := read(r)
	check(t, err)
	same(t, got, oracle(cellsOf(batches), by))
	if s := r.Stats(); s.Runs < 150 || s.Rows != 40_000 || s.SpilledStored == 0 {
		t.Errorf("%+v", s)
	}
}

// Would catch a limit that lets memory grow with the input.
func TestLimitHoldsFewRows(t *testing.T) {
	for name, value := range map[string]func(i int) int64{
		"ascending":  func(i int) int64 { return int64(i) },
		"descending": func(i int) int64 { return int64(-i) },
		"equal":      func(int) int64 { return 0 },
	} {
		schema, batches := intBatches(400_000, 500, value)
		mem := &peakAllocator{Allocator: memory.NewGoAllocator()}
		by := By{Keys: []Key{{Column: 0}}, Limited: true, Limit: 100, Offset: 10}
		r := newReader(t, batchReader(t, schema, batches), by, Options{Bytes: 1 << 30, Allocator: mem, Threads: 1})
		got, err := read(r)
		check(t, err)
		same(t, got, oracle(cellsOf(batches), by))
		r.Release()
		if mem.peak > 1<<20 || r.Stats().Runs > 0 || r.sort.rows > 600_000 {
			t.Errorf("%s: at most %d B, %+v", name, mem.peak, r.Stats())
		}
	}
}

type peakAllocator struct {
	memory.Allocator
	used, peak int
}

func (a *peakAllocator) Allocate(n int) []byte {
	a.used += n
	a.peak = max(a.peak, a.used)
	return a.Allocator.Allocate(n)
}

func (a *peakAllocator) Reallocate(n int, b []byte) []byte {
	a.used += n - len(b)
	a.peak = max(a.peak, a.used)
	return a.Allocator.Reallocate(n, b)
}

func (a *peakAllocator) Free(b []byte) {
	a.used -= len(b)
	a.Allocator.Free(b)
}

// Would catch an order without keys that is not the input's, and columns that cannot be keys in the
// way of others.
func TestNoKeysAndLists(t *testing.T) {
	list := arrow.ListOf(arrow.PrimitiveTypes.Int64)
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "l", Type: list, Nullable: true}}, nil)
	var batches []arrow.RecordBatch
	for i := range 30 {
		var k, l []any
		for j := range 50 {
			k, l = append(k, int64((i*50+j)*7%31)), append(l, []any{int64(i), int64(j)})
		}
		batches = append(batches, grouptest.Batch(schema, grouptest.Array(schema.Field(0).Type, k), listArray(l)))
	}
	for _, by := range []By{{}, {Offset: 70}, {IsShare: true, Share: 29}, {IsShare: true, Share: 60, Offset: 300}, {Limited: true, Limit: 120, Offset: 3}, {Limited: true}, {Keys: []Key{{}}}, {Keys: []Key{{Descending: true}}, Limited: true, Limit: 9}} {
		for _, bytes := range []int64{1 << 12, 1 << 20} {
			r := newReader(t, batchReader(t, schema, batches), by, Options{Bytes: bytes, Temp: store.NewTemp(vfs.OS, t.TempDir(), math.MaxInt64)})
			got, err := read(r)
			check(t, err)
			same(t, got, oracle(cellsOf(batches), by))
			r.Release()
		}
	}
	if err := (By{Keys: []Key{{Column: 1}}}).Validate(schema); !errors.Is(err, query.ErrQuery) || !strings.Contains(err.Error(), `"l"`) || !strings.Contains(err.Error(), "BIGINT[]") {
		t.Errorf("a list as a key: %v", err)
	}
	bad := By{Keys: []Key{{Column: 2}}, Limited: true, Limit: -1, Offset: -2}
	if err := bad.Validate(schema); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%v, want three errors", err)
	}
}

func listArray(lists []any) arrow.Array {
	b := array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Int64)
	defer b.Release()
	for _, l := range lists {
		b.Append(true)
		for _, v := range l.([]any) {
			b.ValueBuilder().(*array.Int64Builder).Append(v.(int64))
		}
	}
	return b.NewArray()
}

// Would catch an error path that leaves a file, a page or a batch: each operation of the temp
// directory fails once.
func TestFaults(t *testing.T) {
	schema, batches := intBatches(3_000, 100, func(i int) int64 { return int64(i*7919) % 97 })
	by := By{Keys: []Key{{Column: 0}}}
	want := oracle(cellsOf(batches), by)
	fired := int64(0)
	for n := int64(1); ; n++ {
		fsys := faultfs.New(vfs.OS)
		fsys.FailAt(n)
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		temp := store.NewTemp(fsys, t.TempDir(), math.MaxInt64)
		r := newReader(t, batchReader(t, schema, batches), by, Options{Bytes: 12 << 10, Temp: temp, Allocator: mem})
		got, err := read(r)
		r.Release()
		mem.AssertSize(t, 0)
		if used := r.sort.opt.Memory.Used(); used != 0 || fsys.OpenFiles() != 0 {
			t.Errorf("fault %d: %d B in use, %d files open", n, used, fsys.OpenFiles())
		}
		if !fsys.Fired() {
			check(t, err)
			same(t, got, want)
			break
		}
		fired++
		if !errors.Is(err, faultfs.ErrInjected) {
			t.Errorf("fault %d: %v", n, err)
		}
	}
	if fired < 10 {
		t.Errorf("only %d operations", fired)
	}
}

// Would catch a flipped bit on disk that becomes an answer, and a full temp directory without its
// knob.
func TestBadTemp(t *testing.T) {
	schema, batches := intBatches(3_000, 100, func(i int) int64 { return int64(i*7919) % 97 })
	by := By{Keys: []Key{{Column: 0}}}
	fsys := faultfs.New(vfs.OS)
	fsys.FlipBit()
	r := newReader(t, batchReader(t, schema, batches), by, Options{Bytes: 12 << 10, Temp: store.NewTemp(fsys, t.TempDir(), math.MaxInt64)})
	if _, err := read(r); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a flipped bit: %v", err)
	}
	r.Release()
	r = newReader(t, batchReader(t, schema, batches), by, Options{Bytes: 12 << 10, Temp: store.NewTemp(vfs.OS, t.TempDir(), 1000)})
	if _, err := read(r); !errors.Is(err, store.ErrTempLimit) || !strings.Contains(err.Error(), "raise TempLimit") || strings.Contains(err.Error(), "ipc") {
		t.Errorf("a full temp directory: %v", err)
	}
	r.Release()
}

// failingReader fails after its batches.
type failingReader struct {
	array.RecordReader
	err error
}

func (r *failingReader) Err() error { return r.err }

// Would catch errors of the input and cancelling that end as a short answer.
func TestInputEndsEarly(t *testing.T) {
	schema, batches := intBatches(3_000, 100, func(i int) int64 { return int64(i) })
	by := By{Keys: []Key{{Column: 0}}}
	lost := errors.New("lost")
	for _, err := range []error{lost, io.EOF, fmt.Errorf("cut off: %w", io.EOF)} {
		r := newReader(t, &failingReader{batchReader(t, schema, batches), err}, by, Options{})
		if rows, got := read(r); !errors.Is(got, err) || len(rows) > 0 {
			t.Errorf("%d rows, %v, want %v", len(rows), got, err)
		}
		r.Release()
	}
	for _, before := range []int{0, 1} {
		ctx, cancel := context.WithCancelCause(t.Context())
		released := 0
		in := batchReader(t, schema, batches)
		r, err := New(ctx, in, by, Options{BatchRows: 100}, func() error { released++; return nil })
		check(t, err)
		in.Release()
		for range before {
			r.Next()
		}
		cancel(lost)
		if r.Next() || !errors.Is(r.Err(), lost) {
			t.Errorf("cancelled after %d batches: %v", before, r.Err())
		}
		r.Release()
		if released != 1 {
			t.Errorf("given back %d times", released)
		}
	}
}

// Would catch a sort that keeps all of its memory while others begin, so that the last of many sorts has
// none: each holds an equal part of what they share, and has all of it again once it is alone.
func TestShare(t *testing.T) {
	const rows = 400_000                                         // 23 MB with their keys
	memory := arbiter.New(func() int64 { return 128 << 20 / 3 }) // a quarter is not for sorts
	schema, batches := intBatches(rows, 10_000, func(i int) int64 { return int64(i * 7919 % rows) })
	by := By{Keys: []Key{{Column: 0}}}
	sorted := func(others int) Stats {
		t.Helper()
		ended := make([]func(), others)
		for i := range ended {
			c, err := NewCollector(t.Context(), schema, by, Options{Statement: memory.NewStatement()}, nil)
			check(t, err)
			ended[i] = c.Release
		}
		r := newReader(t, batchReader(t, schema, batches), by, Options{Bytes: 64 << 20, Statement: memory.NewStatement()})
		got, err := read(r)
		check(t, err)
		r.Release()
		for i, row := range got {
			if row[0] != int64(i) {
				t.Fatalf("row %d is %v", i, row)
			}
		}
		if len(got) != rows {
			t.Fatalf("%d rows, want %d", len(got), rows)
		}
		for _, end := range ended {
			end()
		}
		return r.Stats()
	}
	if s := sorted(0); s.Runs != 0 {
		t.Errorf("alone: %d runs", s.Runs)
	}
	if s := sorted(3); s.Runs < 2 {
		t.Errorf("beside three sorts: %d runs, want two at least", s.Runs)
	}
	if s := sorted(0); s.Runs != 0 {
		t.Errorf("alone again: %d runs", s.Runs)
	}
}
