package vector

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/rowdata"
)

// Would catch arrays without values, or of NULLs only, that have no buffers or more rows than they
// should, and words of a NULL that are followed.
func TestBuildEmptyAndNull(t *testing.T) {
	for _, dt := range grouptest.Types() {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		kind, err := rowdata.KindOf(dt)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 1, 8, 9} {
			v := &Vector{Kind: kind, Words: make([]uint64, n*kind.Words())}
			for i := range n {
				v.SetNull(i)
				if kind == rowdata.Bytes {
					*rowdata.AsBytes2(v.Words[2*i : 2*i+2]) = rowdata.NullBytes()
				}
			}
			arr, err := v.Array(mem, dt)
			if err != nil {
				t.Fatalf("%s: %v", dt, err)
			}
			if arr.Len() != n || arr.NullN() != n || !arrow.TypeEqual(arr.DataType(), dt) {
				t.Errorf("%d NULLs of %s: %d rows, %d NULL, of %s", n, dt, arr.Len(), arr.NullN(), arr.DataType())
			}
			arr.Release()
		}
		mem.AssertSize(t, 0)
	}
}

// Would catch validity bits that move at a byte's end.
func TestBuildValidity(t *testing.T) {
	for n := range 40 {
		v := &Vector{Kind: rowdata.Int64, Words: make([]uint64, n)}
		for i := range n {
			v.Words[i] = uint64(i)
			if i%3 == 1 {
				v.SetNull(i)
			}
		}
		arr, err := v.Array(memory.NewGoAllocator(), arrow.PrimitiveTypes.Int64)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if arr.IsNull(i) != (i%3 == 1) || v.IsNull(i) != (i%3 == 1) {
				t.Fatalf("%d rows: row %d is NULL: %v in the array, %v in the vector", n, i, arr.IsNull(i), v.IsNull(i))
			}
		}
	}
}

// Would catch offsets that pass 2^31-1 unseen: a query then emits fewer groups a batch. NULLs,
// whose words may be anything, do not count.
func TestBuildTooLarge(t *testing.T) {
	const gib = 1 << 30
	huge := rowdata.Bytes2{gib, 1} // is not looked at
	v := &Vector{Kind: rowdata.Bytes, Words: slices.Concat(huge[:], huge[:])}
	if _, err := v.Array(memory.NewGoAllocator(), arrow.BinaryTypes.String); !errors.Is(err, ErrTooLarge) {
		t.Errorf("2 GiB of strings: %v", err)
	}
	v.SetNull(0)
	v.SetNull(1)
	arr, err := v.Array(memory.NewGoAllocator(), arrow.BinaryTypes.String)
	if err != nil || arr.NullN() != 2 {
		t.Errorf("NULLs: %v", err)
	}
}

// Would catch lists whose elements belong to the list beside, empty ones and NULLs among them.
func TestBuildLists(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	elements := &Vector{Kind: rowdata.Int64, Words: []uint64{1, 2, 3, math.MaxUint64}}
	lists := &Vector{Kind: rowdata.Int64, Words: make([]uint64, 5)}
	lists.SetNull(1)
	arr, err := Lists(mem, arrow.ListOf(arrow.PrimitiveTypes.Int16), elements, []int{2, 2, 2, 3, 4}, lists)
	if err != nil {
		t.Fatal(err)
	}
	defer arr.Release()
	if got, want := arr.String(), "[[1 2] (null) [] [3] [-1]]"; got != want {
		t.Errorf("lists are %s, want %s", got, want)
	}
	if !arr.(*array.List).DataType().(*arrow.ListType).ElemField().Nullable {
		t.Error("elements are not nullable")
	}
}

// Would catch a type that Array cannot make although a query can have it as a result.
func TestBuildResultTypes(t *testing.T) {
	for _, dt := range grouptest.Types() {
		for _, f := range query.Funcs() {
			if f.Args() != 1 || !grouptest.Suits(f, dt) {
				continue
			}
			schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: dt}}, nil)
			b, err := rowdata.Bind(query.Query{Aggregates: []query.Aggregate{{Func: f, Args: []string{"c"}, Length: 1}}}, schema, nil)
			if err != nil {
				t.Errorf("%s of %s: %v", f, dt, err)
				continue
			}
			result := b.Outputs[0].Type
			if list, ok := result.(*arrow.ListType); ok {
				result = list.Elem()
			}
			kind, err := rowdata.KindOf(result)
			if err != nil {
				t.Errorf("%s of %s: %v", f, dt, err)
				continue
			}
			v := &Vector{Kind: kind, Words: make([]uint64, kind.Words())}
			if size, ok := result.(*arrow.FixedSizeBinaryType); ok {
				copy(v.Words, grouptest.Words(fmt.Sprintf("%*s", size.ByteWidth, "")))
			}
			arr, err := v.Array(memory.NewGoAllocator(), result)
			if err != nil || arr.Len() != 1 {
				t.Errorf("%s of %s: %v", f, dt, err)
			}
		}
	}
}
