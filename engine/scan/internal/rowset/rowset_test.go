package rowset

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// rowSetOf returns the set of some of n rows.
func rowSetOf(n int, rows []int) *Set {
	s := &Set{}
	s.Reset(n)
	for _, row := range rows {
		s.words[row/64] |= 1 << (row % 64)
	}
	s.Recount()
	return s
}

// randomRows returns rows below n in order: a part of them, here and there or in runs.
func randomRows(r *rand.Rand, n int) (rows []int) {
	share, run := r.Float64(), 1+r.IntN(200)
	if r.IntN(3) == 0 {
		run = 1
	}
	for from := 0; from < n; from += run {
		if r.Float64() < share {
			for row := from; row < min(from+run, n); row++ {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// Would catch rows that pass a second set and not the first, or at another place, where the second
// is of the same rows and where it is of the rows of the first.
func TestRowSetNarrow(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		n := 1 + r.IntN(1000)
		rows := randomRows(r, n)
		set, left := rowSetOf(n, rows), randomRows(r, n)
		of := func(row int) bool { return slices.Contains(left, row) }
		want := slices.DeleteFunc(slices.Clone(rows), func(row int) bool { return !of(row) })
		by := rowSetOf(n, left)
		if r.IntN(2) == 0 {
			left = slices.DeleteFunc(left, func(i int) bool { return i >= len(rows) })
			by, want = rowSetOf(len(rows), left), nil
			for _, i := range left {
				want = append(want, rows[i])
			}
		}
		set.Narrow(by)
		var got []int
		for row := set.Next(0); row < n; row = set.Next(row + 1) {
			got = append(got, row)
		}
		if !slices.Equal(got, want) || set.Count != len(want) {
			t.Fatalf("%d of %d rows narrowed by %d of %d: %d rows, want %d",
				len(rows), n, by.Count, by.Rows, set.Count, len(want))
		}
	}
}

// Would catch values of other rows, or at other places, at both ends of a page.
func TestPick(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		n := 1 + r.IntN(400)
		rows := randomRows(r, n)
		set, from := rowSetOf(n, rows), r.IntN(n)
		out := make([]int32, r.IntN(n-from+1))
		plain := make([]byte, 4*len(out)+r.IntN(3))
		for i := range out {
			binary.LittleEndian.PutUint32(plain[4*i:], uint32(from+i+1))
		}
		Pick(set, from, out, plain)
		for i, v := range out {
			want := int32(0)
			if slices.Contains(rows, from+i) {
				want = int32(from + i + 1)
			}
			if v != want {
				t.Fatalf("row %d of %d, read from row %d: %d, want %d", from+i, n, from, v, want)
			}
		}
	}
}

// Stretches and parts of a set are those of a list of its rows.
func TestRowSetStretches(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + r.IntN(5000)
		rows := randomRows(r, n)
		set, gap := rowSetOf(n, rows), 64+r.IntN(300)
		var got []int
		last, part := -1, &Set{}
		for at := 0; ; {
			from, to := set.Stretch(at, gap)
			if from == to {
				break
			}
			if last >= 0 && from-last <= gap {
				t.Fatalf("a stretch from %d, %d behind the one before, where a gap is more than %d", from, from-last, gap)
			}
			part.Part(set, from, to)
			inner := -1
			part.eachRun(func(first, end int) {
				if inner >= 0 && first-inner > gap {
					t.Fatalf("a gap of %d in a stretch; the limit is %d", first-inner, gap)
				}
				for row := first; row < end; row++ {
					got = append(got, from+row)
				}
				inner = end - 1
			})
			at, last = to, to-1
		}
		if !slices.Equal(got, rows) {
			t.Fatalf("%d of %d rows come back as %d", len(rows), n, len(got))
		}
	}
}

// What is taken of arrays of all widths, sliced and with NULLs, is what a list of rows says.
func TestTake(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	r := rand.New(rand.NewPCG(3, 4))
	types := []arrow.DataType{
		arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32,
		arrow.PrimitiveTypes.Float64, &arrow.Decimal128Type{Precision: 30, Scale: 1}, &arrow.FixedSizeBinaryType{ByteWidth: 5},
		arrow.BinaryTypes.String, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.StringView,
	}
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			for round := range 40 {
				whole := randomArray(t, mem, r, typ, 1+r.IntN(1000), round%2 == 0)
				from := r.IntN(whole.Len())
				a := array.NewSlice(whole, int64(from), int64(whole.Len()))
				rows := randomRows(r, a.Len())
				taken, err := Take(mem, a, rowSetOf(a.Len(), rows))
				if err != nil {
					t.Fatal(err)
				}
				if taken.Len() != len(rows) {
					t.Fatalf("%d rows, want %d", taken.Len(), len(rows))
				}
				nulls := 0
				for i, row := range rows {
					if taken.ValueStr(i) != a.ValueStr(row) {
						t.Fatalf("row %d is %s, want %s", i, taken.ValueStr(i), a.ValueStr(row))
					}
					if a.IsNull(row) {
						nulls++
					}
				}
				if taken.NullN() != nulls {
					t.Fatalf("%d NULLs, want %d", taken.NullN(), nulls)
				}
				taken.Release()
				a.Release()
				whole.Release()
			}
		})
	}
}

// randomArray returns an array of a type whose values nearly all differ.
func randomArray(t testing.TB, mem memory.Allocator, r *rand.Rand, typ arrow.DataType, n int, nulls bool) arrow.Array {
	t.Helper()
	b := array.NewBuilder(mem, typ)
	defer b.Release()
	for range n {
		if nulls && r.IntN(4) == 0 {
			b.AppendNull()
			continue
		}
		v := fmt.Sprint(r.IntN(120))
		switch b := b.(type) {
		case *array.BooleanBuilder:
			v = fmt.Sprint(r.IntN(2) == 0)
		case *array.FixedSizeBinaryBuilder:
			b.Append([]byte(fmt.Sprintf("%05d", r.IntN(99999))))
			continue
		case *array.BinaryBuilder:
			b.Append(make([]byte, r.IntN(20)))
			continue
		}
		if err := b.AppendValueFromString(v); err != nil {
			t.Fatal(err)
		}
	}
	return b.NewArray()
}

// BenchmarkTake takes rows of 65,536 by width and share.
func BenchmarkTake(b *testing.B) {
	const n = 1 << 16
	r := rand.New(rand.NewPCG(5, 6))
	for _, width := range []int{4, 8, 16} {
		values, out := make([]byte, n*width), make([]byte, n*width+compressSlack)
		for _, share := range []float64{0.02, 0.5, 0.98} {
			var rows []int
			for row := range n {
				if r.Float64() < share {
					rows = append(rows, row)
				}
			}
			set := rowSetOf(n, rows)
			b.Run(fmt.Sprintf("width=%d/share=%v", width, share), func(b *testing.B) {
				b.SetBytes(n * int64(width))
				for b.Loop() {
					takeFixed(out, values, width, set)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
			})
		}
	}
}
