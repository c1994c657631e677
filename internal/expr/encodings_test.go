package expr

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/rowdata"
)

// encodedRows is a batch of a column of strings and one of integers, of more than one vector, in
// one of the forms in which readers give them.
func encodedRows(t *testing.T, form string, rows int) arrow.RecordBatch {
	t.Helper()
	mem := memory.DefaultAllocator
	word := func(i int) (string, bool) { return fmt.Sprintf("Word %d", i*i%17), i%5 != 3 }
	number := func(i int) (int64, bool) { return int64(i*7%23) - 5, i%7 != 2 }
	extra := 0
	if form == "sliced" {
		extra = 13
	}
	var s, n arrow.Array
	switch form {
	case "dictionary":
		ds := array.NewDictionaryBuilder(mem, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
		dn := array.NewDictionaryBuilder(mem, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.PrimitiveTypes.Int64}).(*array.Int64DictionaryBuilder)
		for i := range rows {
			if v, ok := word(i); !ok {
				ds.AppendNull()
			} else if err := ds.AppendString(v); err != nil {
				t.Fatal(err)
			}
			if v, ok := number(i); !ok {
				dn.AppendNull()
			} else if err := dn.Append(v); err != nil {
				t.Fatal(err)
			}
		}
		s, n = ds.NewArray(), dn.NewArray()
		s.(*array.Dictionary).Dictionary() // made at the first call, without a lock
		n.(*array.Dictionary).Dictionary()
	case "views":
		b := array.NewStringViewBuilder(mem)
		for i := range rows {
			if v, ok := word(i); ok {
				b.Append(v)
			} else {
				b.AppendNull()
			}
		}
		s = b.NewArray()
	case "large":
		b := array.NewLargeStringBuilder(mem)
		for i := range rows {
			if v, ok := word(i); ok {
				b.Append(v)
			} else {
				b.AppendNull()
			}
		}
		s = b.NewArray()
	default:
		b := array.NewStringBuilder(mem)
		for i := -extra; i < rows; i++ {
			if v, ok := word(max(i, 0)); ok {
				b.Append(v)
			} else {
				b.AppendNull()
			}
		}
		s = array.NewSlice(b.NewArray(), int64(extra), int64(extra+rows))
	}
	if n == nil {
		b := array.NewInt64Builder(mem)
		for i := -extra; i < rows; i++ {
			if v, ok := number(max(i, 0)); ok {
				b.Append(v)
			} else {
				b.AppendNull()
			}
		}
		n = array.NewSlice(b.NewArray(), int64(extra), int64(extra+rows))
	}
	s.NullN() // counted at the first call, without a lock
	n.NullN()
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: s.DataType(), Nullable: true}, {Name: "n", Type: n.DataType(), Nullable: true}}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{s, n}, int64(rows))
}

// texts returns the values of an array, whatever its encoding.
func texts(arr arrow.Array) []string {
	list := make([]string, arr.Len())
	for i := range list {
		switch d, ok := arr.(*array.Dictionary); {
		case arr.IsNull(i):
			list[i] = "NULL"
		case ok:
			list[i] = d.Dictionary().ValueStr(d.GetValueIndex(i))
		default:
			list[i] = arr.ValueStr(i)
		}
	}
	return list
}

// encodedExprs are evaluated by entry, by row, and by the rows that come to a part.
func encodedExprs() []*Expr {
	s, n := Column("s"), Column("n")
	return []*Expr{
		Call("upper", s), Call("||", s, Constant("!")), Call("coalesce", s, Constant("none")), Call("nullif", s, Constant("Word 4")),
		Call("like", s, Constant("%1_")), Call("is null", s), Call("length", s), Call("+", n, Constant(int64(1))), Call("concat", s, n),
		Call("case", Call(">", n, Constant(int64(0))), Call("//", Constant(int64(100)), n), Constant(int64(-1))),
		Call("case", Call("=", s, Constant("Word 1")), Call("lower", s), Call("is not null", n), &Expr{Op: OpCast, Type: typeOf(Text), Args: []*Expr{n}, At: -1}),
		Call("and", Call("=", s, Constant("Word 16")), Call("or", Call("<", n, Constant(int64(3))), Call("is null", n))),
		Call("in", s, Constant("Word 1"), Constant("Word 9"), Constant(nil)), Call("greatest", n, Constant(int64(3))),
		Call("hash", s, n), s, n,
	}
}

// Forms and slices of a column make no difference, nor do several goroutines with one program.
func TestEncodings(t *testing.T) {
	for _, rows := range []int{0, 1, 63, 64, vectorRows, vectorRows + 65} {
		var want [][]string
		for _, form := range []string{"plain", "sliced", "large", "views", "dictionary"} {
			batch := encodedRows(t, form, rows)
			columns := []arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "n", Type: arrow.PrimitiveTypes.Int64}}
			p, err := Bind(t.Context(), arrow.NewSchema(columns, nil), encodedExprs()...)
			if err != nil {
				t.Fatal(err)
			}
			var group sync.WaitGroup
			answers := make([][][]string, 3)
			for g := range answers {
				group.Go(func() {
					e := p.NewEvaluator(memory.DefaultAllocator)
					defer e.Release()
					for range 2 { // the second time from what is kept of dictionaries
						arrays, _, err := e.Eval(context.Background(), batch, 0)
						if err != nil {
							t.Errorf("%d rows, %s: %v", rows, form, err)
							return
						}
						answers[g] = nil
						for _, arr := range arrays {
							answers[g] = append(answers[g], texts(arr))
							arr.Release()
						}
					}
				})
			}
			group.Wait()
			if want == nil {
				want = answers[0]
			}
			for _, got := range answers {
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%d rows, %s: the answers differ", rows, form)
				}
			}
		}
	}
}

// Would catch buffers and constants of a short batch that a longer batch then reads.
func TestGrowingBatches(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	p, err := Bind(t.Context(), schema, encodedExprs()...)
	if err != nil {
		t.Fatal(err)
	}
	grown := p.NewEvaluator(memory.DefaultAllocator)
	defer grown.Release()
	for _, rows := range []int{1, 2, 3, 64, 65, vectorRows + 65, 7} {
		fresh := p.NewEvaluator(memory.DefaultAllocator)
		batch := encodedRows(t, "plain", rows)
		var answers [2][][]string
		for i, e := range []*Evaluator{grown, fresh} {
			arrays, _, err := e.Eval(context.Background(), batch, 0)
			if err != nil {
				t.Fatalf("%d rows: %v", rows, err)
			}
			for _, arr := range arrays {
				answers[i] = append(answers[i], texts(arr))
				arr.Release()
			}
		}
		fresh.Release()
		if !reflect.DeepEqual(answers[0], answers[1]) {
			t.Errorf("%d rows: %v, want %v", rows, answers[0], answers[1])
		}
	}
}

// A condition selects the rows for which it is TRUE.
func TestSelect(t *testing.T) {
	for _, form := range []string{"plain", "sliced", "dictionary"} {
		const rows = vectorRows + 77
		batch := encodedRows(t, form, rows)
		schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
		where := Call("and", Call("=", Column("s"), Constant("Word 1")), Call(">", Column("n"), Constant(int64(2))))
		p, err := BindCondition(t.Context(), Columns{Schema: schema}, where)
		if err != nil {
			t.Fatal(err)
		}
		selected := make([]byte, (rows+7)/8)
		count, err := p.NewEvaluator(memory.DefaultAllocator).Select(context.Background(), 0, batch, selected)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for i := range rows {
			is := i%5 != 3 && i*i%17 == 1 && i%7 != 2 && i*7%23-5 > 2
			if is {
				want++
			}
			if got := selected[i/8]>>(i%8)&1 == 1; got != is {
				t.Fatalf("%s, row %d: selected is %v, want %v", form, i, got, is)
			}
		}
		if count != want {
			t.Errorf("%s: %d rows, want %d", form, count, want)
		}
		if terms := p.Terms(0); len(terms) != 2 || terms[0].Op != "=" || terms[1].Op != ">" || terms[1].Values[0].String() != "2" {
			t.Errorf("terms: got %v", terms)
		}
	}
}

// What an expression may be is no wider than its columns allow, and no narrower.
func TestStats(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "d", Type: arrow.FixedWidthTypes.Date32}}, nil)
	for _, c := range []struct {
		e         *Expr
		ok        bool
		low, high int64
	}{
		{Call("+", Column("n"), Constant(int64(5))), true, -5, 25}, {Call("*", Column("n"), Constant(int64(-2))), true, -40, 20},
		{Call("-", Column("n"), Column("n")), true, -30, 30}, {Call("%", Column("n"), Constant(int64(7))), true, -6, 6},
		{Call("month", Column("d")), true, 1, 12}, {Call("abs", Column("n")), false, 0, 0},
	} {
		p, err := Bind(t.Context(), schema, c.e)
		if err != nil {
			t.Fatal(err)
		}
		known := knownOf(-10, 20)
		got := p.Stats(0, known)
		if got.HasRange != c.ok || got.Min != c.low || got.Max != c.high {
			t.Errorf("%s: got %+v", c.e, got)
		}
	}
}

// Would catch arithmetic that is taken to be within its type's bounds, and is not: n + 1 has the type of n.
func TestFallible(t *testing.T) {
	narrow := &Expr{Op: OpCast, Type: typeOf(Int8), Args: []*Expr{Column("n")}, At: -1}
	for _, c := range []struct {
		dt        arrow.DataType
		low, high int64
		e         *Expr
		want      bool
	}{
		{arrow.PrimitiveTypes.Int64, 0, 1 << 50, Call("+", Column("n"), Constant(int64(1))), false},
		{arrow.PrimitiveTypes.Int64, 0, 1 << 50, Call("=", Column("n"), Call("-", Column("n"), Column("n"))), false},
		{arrow.PrimitiveTypes.Int64, 0, 1 << 50, Call("*", Column("n"), Column("n")), true},
		{arrow.PrimitiveTypes.Int64, 0, math.MaxInt64, Call("+", Column("n"), Constant(int64(1))), true},
		{arrow.PrimitiveTypes.Int64, math.MinInt64, 0, Call("-", Column("n"), Constant(int64(1))), true},
		{arrow.PrimitiveTypes.Int64, 0, 9, Call("+", narrow, Constant(int64(1))), true},
		{arrow.PrimitiveTypes.Int32, 0, math.MaxInt32, Call("+", Column("n"), Column("n")), true},
		{arrow.PrimitiveTypes.Int32, 0, math.MaxInt32 / 2, Call("+", Column("n"), Column("n")), false},
		{arrow.PrimitiveTypes.Int32, 0, 9, Call("=", Call("/", Column("n"), Constant(int64(0))), Column("n")), false},
	} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: c.dt}}, nil)
		p, err := Bind(t.Context(), schema, c.e)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Fallible(knownOf(c.low, c.high)[:1]); got != c.want {
			t.Errorf("%s of %s from %d to %d: %v", c.e, c.dt, c.low, c.high, got)
		}
		if !c.want && c.e.Name != "=" && !p.Fallible(nil) {
			t.Errorf("%s: no error, of any numbers", c.e)
		}
	}
}

func knownOf(low, high int64) []rowdata.ColumnStats {
	return []rowdata.ColumnStats{{NoNulls: true, HasRange: true, Min: low, Max: high}, {}}
}
