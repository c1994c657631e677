//go:build cgo

package temporary

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
)

func newStore(t *testing.T, memory int64) *Store {
	t.Helper()
	eng, err := engine.Open(engine.Options{Threads: 2, Device: "cpu", MemoryLimit: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s := NewStore(Options{Engine: eng, Dir: t.TempDir(), MemoryBytes: memory, DiskKnob: "x.Knob"})
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), eng.Close()); err != nil || s.MemoryBytes() != 0 || s.DiskBytes() != 0 {
			t.Errorf("%d B in memory and %d B on disk are left, %v", s.MemoryBytes(), s.DiskBytes(), err)
		}
	})
	return s
}

// create runs a CREATE.
func create(t *testing.T, tables *Tables, text string) (rows int64, err error) {
	t.Helper()
	c, err := sql.ParseCreate(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	run := func(q *plan.Query) (*plan.Result, error) { return q.Run(t.Context()) }
	rows, _, err = tables.Run(t.Context(), c, plan.Options{}, run)
	return rows, err
}

// The range of a column holds all its values, and NULLs are none. Would catch a promise that a later batch breaks.
func TestRanges(t *testing.T) {
	numbers := func(values []int64, valid []bool) arrow.Array {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		b.AppendValues(values, valid)
		return b.NewArray()
	}
	for name, c := range map[string]struct {
		batches  []arrow.Array
		has      bool
		min, max int64
	}{
		"one":          {[]arrow.Array{numbers([]int64{3, -1, 7}, nil)}, true, -1, 7},
		"two":          {[]arrow.Array{numbers([]int64{3}, nil), numbers([]int64{9, -2}, nil)}, true, -2, 9},
		"NULLs":        {[]arrow.Array{numbers([]int64{3, 100}, []bool{true, false})}, true, 3, 3},
		"NULLs alone":  {[]arrow.Array{numbers([]int64{3}, []bool{false}), numbers([]int64{4}, nil)}, false, 0, 0},
		"other values": {[]arrow.Array{array.MakeArrayOfNull(memory.DefaultAllocator, arrow.BinaryTypes.String, 2)}, false, 0, 0},
	} {
		var known scan.ColumnStats
		for i, batch := range c.batches {
			widen(&known, batch, i == 0)
		}
		if known.HasRange != c.has || c.has && (known.Min != c.min || known.Max != c.max) {
			t.Errorf("%s: %+v", name, known)
		}
	}
}

// A table that outgrows the disk's limit leaves what was there, and nothing of itself; a failure of its statement, too.
// T3.
func TestFailedTables(t *testing.T) {
	s := newStore(t, 1)
	s.opt.DiskBytes = 100
	tables := s.NewTables(nil)
	defer tables.Close()
	if rows, err := create(t, tables, "CREATE TABLE x AS VALUES (1), (2)"); err != nil || rows != 2 {
		t.Fatalf("%d rows, %v", rows, err)
	}
	held := s.DiskBytes()
	for text, want := range map[string]string{
		"CREATE OR REPLACE TABLE x AS SELECT a.col0 FROM x a, x b, x c, x d, x e, x f": "of 100 B (Knob)",
		"CREATE OR REPLACE TABLE x AS SELECT CAST('a' || col0 AS INTEGER) FROM x":      "does not fit INTEGER",
	} {
		if _, err := create(t, tables, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
		if s.DiskBytes() != held {
			t.Errorf("%s: %d B on disk, and %d before", text, s.DiskBytes(), held)
		}
	}
	if rows, err := create(t, tables, "CREATE TABLE y AS FROM x"); err != nil || rows != 2 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// A session has namesMax names at most, and memory for its views is counted and given back.
func TestNamesMax(t *testing.T) {
	s := newStore(t, 1<<20)
	tables := s.NewTables(func(name string) bool { return name == "given" })
	c, err := sql.ParseCreate(t.Context(), "CREATE VIEW v AS SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range namesMax + 1 {
		c.Name = "v" + strings.Repeat("x", i%100) + string(rune('a'+i/100%26)) + string(rune('a'+i/2600))
		if err = tables.Define(c, nil, nil); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrBusy) || len(tables.List()) != namesMax {
		t.Errorf("%d names, %v", len(tables.List()), err)
	}
	if err := tables.Close(); err != nil {
		t.Error(err)
	}
	if err := tables.Define(c, nil, nil); !errors.Is(err, ErrUnknown) {
		t.Errorf("once closed: %v", err)
	}
}
