package window

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/rowdata"
)

// row is a row of the table of TestFrames: a partition, a key of the order, and a value, nil of NULL.
type row struct {
	partition, key int64
	value          *int64
}

// randomRows returns rows in the order of their partitions and keys.
func randomRows(rng *rand.Rand, n int) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{partition: rng.Int64N(1 + rng.Int64N(8)), key: rng.Int64N(12)}
		if v := rng.Int64N(100); v > 20 {
			rows[i].value = &v
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if a.partition != b.partition {
			return int(a.partition - b.partition)
		}
		return int(a.key - b.key)
	})
	return rows
}

// batches returns the rows in batches of random sizes.
func batches(rng *rand.Rand, schema *arrow.Schema, rows []row) (list []arrow.RecordBatch) {
	for len(rows) > 0 {
		n := min(1+rng.IntN(20), len(rows))
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for _, r := range rows[:n] {
			b.Field(0).(*array.Int64Builder).Append(r.partition)
			b.Field(1).(*array.Int64Builder).Append(r.key)
			if r.value == nil {
				b.Field(2).AppendNull()
			} else {
				b.Field(2).(*array.Int64Builder).Append(*r.value)
			}
			b.Field(3).(*array.Int64Builder).Append(2) // an offset
			b.Field(4).(*array.Int64Builder).Append(r.key - 2)
			b.Field(5).(*array.Int64Builder).Append(r.key + 3)
		}
		list = append(list, b.NewRecordBatch())
		rows = rows[n:]
	}
	return list
}

// frameOf returns the rows of the frame of a row, as the standard has it, row by row.
func frameOf(rows []row, at int, w expr.Window) (frame []int) {
	peers := func(i int) (number int) { // of the row's peers in the partition
		for j := 1; j <= i; j++ {
			if rows[j].partition == rows[i].partition && rows[j-1].partition == rows[i].partition && rows[j].key != rows[j-1].key {
				number++
			}
		}
		return number
	}
	for i, r := range rows {
		if r.partition != rows[at].partition {
			continue
		}
		distance := int64(i - at)
		switch w.Frame {
		case expr.FrameGroups:
			distance = int64(peers(i) - peers(at))
		case expr.FrameRange, "":
			distance = r.key - rows[at].key
		}
		begins := map[expr.FrameBound]bool{
			"": true, expr.UnboundedPreceding: true, expr.OffsetPreceding: distance >= -2, expr.CurrentRow: distance >= 0,
		}
		ends := map[expr.FrameBound]bool{
			"": distance <= 0, expr.CurrentRow: distance <= 0, expr.OffsetFollowing: distance <= 2, expr.UnboundedFollowing: true,
		}
		if w.Frame == expr.FrameRange {
			ends[expr.OffsetFollowing] = distance <= 3
		}
		isPeer := r.key == rows[at].key
		excluded := map[expr.FrameExclusion]bool{
			expr.ExcludeCurrent: i == at, expr.ExcludeGroup: isPeer, expr.ExcludeTies: isPeer && i != at,
		}
		if begins[w.Start] && ends[w.End] && !excluded[w.Exclude] {
			frame = append(frame, i)
		}
	}
	return frame
}

// Would catch frames that begin or end at the wrong row, running states that are lost between blocks, and trees that
// leave out or repeat a node: of random rows in small batches and blocks every frame is compared with its rows.
func TestFrames(t *testing.T) {
	field := func(name string) arrow.Field {
		return arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	}
	fields := []arrow.Field{field("p"), field("k"), field("v"), field("n"), field("low"), field("high")}
	schema := arrow.NewSchema(fields, nil)
	of := query.Query{Aggregates: []query.Aggregate{{Func: query.Sum, Args: []string{"v"}, Name: "sum"}}}
	sum, err := rowdata.Bind(of, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	made := arrow.NewSchema(append(slices.Clone(fields), field("sum"), field("first"), field("number"), field("near")), nil)
	units := []expr.FrameUnit{"", expr.FrameRows, expr.FrameRange, expr.FrameGroups}
	starts := []expr.FrameBound{expr.UnboundedPreceding, expr.OffsetPreceding, expr.CurrentRow}
	ends := []expr.FrameBound{expr.CurrentRow, expr.OffsetFollowing, expr.UnboundedFollowing}
	exclusions := []expr.FrameExclusion{expr.ExcludeNone, expr.ExcludeNone, expr.ExcludeCurrent, expr.ExcludeGroup, expr.ExcludeTies}
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		rows := randomRows(rng, 1+rng.IntN(300))
		w := expr.Window{Frame: units[rng.IntN(4)]}
		if w.Frame != "" {
			w.Start, w.End, w.Exclude = starts[rng.IntN(3)], ends[rng.IntN(3)], exclusions[rng.IntN(5)]
		}
		call := Call{Aggregate: sum, Args: []int{2}, Window: w, Offsets: [2]int{3, 3}, Range: 1}
		if w.Frame == expr.FrameRange {
			call.Offsets = [2]int{4, 5}
		}
		first := call
		first.Aggregate, first.Func, first.Window.IgnoreNulls = nil, FirstValue, true
		number := Call{Func: []Func{RowNumber, Rank, DenseRank}[rng.IntN(3)]}
		distance := 1 + rng.Int64N(2)
		near := Call{Func: []Func{Lag, Lead}[rng.IntN(2)], Args: []int{2, 3}[:distance]}
		if rng.IntN(3) > 0 { // blocks may end within a partition
			two := int64(2)
			near.Distances[0] = &distance
			if w.Frame == expr.FrameRows {
				call.Distances, first.Distances = [2]*int64{&two, &two}, [2]*int64{&two, &two}
			}
		}
		calls := []Call{call, first, number, near}
		if rng.IntN(2) == 0 { // blocks may end within a partition, where the frame ends at the row
			calls = []Call{call, call, number, near}
			if rng.IntN(2) == 0 {
				calls[0].Window = expr.Window{Frame: units[rng.IntN(2)], Start: expr.UnboundedPreceding, End: expr.CurrentRow}
				calls[1] = calls[0]
			}
		}
		in := batches(rng, schema, rows)
		from, err := array.NewRecordReader(schema, in)
		if err != nil {
			t.Fatal(err)
		}
		by := order.By{Keys: []order.Key{{Column: 0}, {Column: 1}}}
		sorted, err := order.New(t.Context(), from, by, order.Options{BatchRows: 1 + rng.IntN(20)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		from.Release()
		r := New(t.Context(), sorted, Options{
			Schema: made, Partition: []order.Key{{Column: 0}}, Order: []order.Key{{Column: 1}}, Calls: calls,
			Allocator: memory.DefaultAllocator, Memory: rowdata.GoMemory, BlockRows: 1 + rng.IntN(40),
			Threads: 1 + rng.IntN(4),
		})
		at := 0
		for r.Next() {
			for i := range int(r.RecordBatch().NumRows()) {
				check(t, seed, rows, at, calls, r.RecordBatch(), i)
				at++
			}
		}
		if r.Err() != nil || at != len(rows) {
			t.Fatalf("seed %d: %d of %d rows, %v", seed, at, len(rows), r.Err())
		}
		r.Release()
	}
}

// check compares row i of a batch, which is row at of all, with what its frames give.
func check(t *testing.T, seed uint64, rows []row, at int, calls []Call, batch arrow.RecordBatch, i int) {
	t.Helper()
	sum, first, number := "(null)", "(null)", 1
	total, some := int64(0), false
	for _, f := range frameOf(rows, at, calls[0].Window) {
		if v := rows[f].value; v != nil {
			if !some {
				first = fmt.Sprint(*v)
			}
			total, some = total+*v, true
		}
	}
	if some {
		sum = fmt.Sprint(total)
	}
	for j := at - 1; j >= 0 && rows[j].partition == rows[at].partition; j-- {
		counts := map[Func]bool{
			RowNumber: true, Rank: rows[j].key != rows[at].key, DenseRank: rows[j].key != rows[j+1].key,
		}
		if counts[calls[2].Func] {
			number++
		}
	}
	if calls[1].Func == "" {
		first = sum
	}
	there := at + len(calls[3].Args)
	if calls[3].Func == Lag {
		there = at - len(calls[3].Args)
	}
	near := "(null)"
	if there >= 0 && there < len(rows) && rows[there].partition == rows[at].partition && rows[there].value != nil {
		near = fmt.Sprint(*rows[there].value)
	}
	var got []string
	for column := 6; column < 10; column++ {
		got = append(got, batch.Column(column).ValueStr(i))
	}
	if want := []string{sum, first, fmt.Sprint(number), near}; !slices.Equal(got, want) {
		t.Fatalf("seed %d, %+v, %s: row %d has %q, want %q", seed, calls[0].Window, calls[3].Func, at, got, want)
	}
}
