package expr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/regex"
)

// textsBatch has rows of a number, of its text, and of one of 40 texts by a dictionary.
func textsBatch(rows int) arrow.RecordBatch {
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String}, {Name: "d", Type: dict}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("%04d", i))
		if err := b.Field(2).(*array.BinaryDictionaryBuilder).AppendString(fmt.Sprintf("%02d", i%40)); err != nil {
			panic(err)
		}
	}
	return b.NewRecordBatch()
}

// Would catch long strings of all rows of a batch in memory at once, rows that are lost or doubled
// where fewer are evaluated together, and a condition whose bits move.
func TestLongTexts(t *testing.T) {
	const rows = 2101
	batch := textsBatch(rows)
	times := func(column string, n int) *Expr { return Call("repeat", Column(column), Constant(int64(n))) }
	for _, c := range []struct {
		name   string
		expr   *Expr
		length func(row int) int // of a row's result; -1 where it is NULL
	}{
		{"short", times("s", 2), func(int) int { return 8 }},
		{"16 KB", times("s", 1<<12), func(int) int { return 1 << 14 }},
		{"some 2 MB", Call("repeat", Column("s"), Call("case", Call("=", Call("%", Column("n"), Constant(int64(100))), Constant(int64(7))), Constant(int64(1<<19)), Constant(int64(1)))),
			func(row int) int {
				if row%100 == 7 {
					return 1 << 21
				}
				return 4
			}},
		{"of a dictionary", times("d", 1<<16), func(int) int { return 1 << 17 }},
		{"some NULL", Call("||", times("s", 1<<12), Call("nullif", Column("s"), Constant("0007"))), func(row int) int {
			if row == 7 {
				return -1
			}
			return 1<<14 + 4
		}},
		{"concat", Call("concat", times("s", 1<<12), Column("d")), func(int) int { return 1<<14 + 2 }},
		{"replaced", Call("replace", Call("lpad", Column("s"), Constant(int64(1<<13)), Constant("x")), Constant("x"), Constant("yy")), func(int) int { return 2<<13 - 4 }},
	} {
		p, err := Bind(t.Context(), batch.Schema(), c.expr)
		if err != nil {
			t.Fatal(err)
		}
		inputs := columnsOf(batch, p.Columns())
		e := p.NewEvaluator(memory.DefaultAllocator)
		e.Limit(64<<20, nil)
		for from := 0; from < rows; {
			arrays, n, err := e.Eval(context.Background(), inputs, from)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if n == 0 || arrays[0].Len() != n {
				t.Fatalf("%s: %d rows of %d", c.name, n, arrays[0].Len())
			}
			size := 0
			for i := range n {
				row, want := from+i, c.length(from+i)
				size += want
				switch text := textAt(arrays[0], i); {
				case arrays[0].IsNull(i) != (want < 0):
					t.Fatalf("%s: row %d is NULL: %v", c.name, row, arrays[0].IsNull(i))
				case want >= 0 && (len(text) != want || !strings.Contains(text[max(0, len(text)-8):], fmt.Sprintf("%04d", row)) && !strings.HasSuffix(text, fmt.Sprintf("%02d", row%40))):
					t.Fatalf("%s: row %d has %d B, want %d", c.name, row, len(text), want)
				}
			}
			if _, coded := arrays[0].(*array.Dictionary); size > 12<<20 && !coded { // 4 MiB, and what is added together
				t.Errorf("%s: %d B in an array", c.name, size)
			}
			arrays[0].Release()
			from += n
		}
		e.Release()

		odd := Call("=", Call("%", Column("n"), Constant(int64(3))), Constant(int64(1)))
		where := Call("and", odd, Call(">=", Call("length", c.expr), Constant(int64(0))))
		p, err = BindCondition(t.Context(), Columns{Schema: batch.Schema()}, where)
		if err != nil {
			t.Fatal(err)
		}
		selected := make([]byte, (rows+7)/8)
		e = p.NewEvaluator(memory.DefaultAllocator)
		kept, err := e.Select(context.Background(), 0, columnsOf(batch, p.Columns()), selected)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for row := range rows {
			is := row%3 == 1 && c.length(row) >= 0
			if is {
				want++
			}
			if got := selected[row/8]>>(row%8)&1 == 1; got != is {
				t.Fatalf("%s: row %d is selected: %v", c.name, row, got)
			}
		}
		if kept != want {
			t.Errorf("%s: %d rows, want %d", c.name, kept, want)
		}
		e.Release()
	}
}

// Would catch strings of one row that pass the limit, and an error that does not say what to do.
func TestTextLimit(t *testing.T) {
	batch := textsBatch(10)
	p, err := Bind(t.Context(), batch.Schema(), Call("repeat", Column("s"), Constant(int64(1<<20))))
	if err != nil {
		t.Fatal(err)
	}
	e := p.NewEvaluator(memory.DefaultAllocator)
	defer e.Release()
	full := &fakeBudget{left: 16 << 20}
	e.Limit(16<<20, full)
	_, _, err = e.Eval(context.Background(), columnsOf(batch, p.Columns()), 3)
	var row *rowError
	if !errors.Is(err, errFull) || !strings.Contains(err.Error(), "4.0 MiB, and 6 times as much") {
		t.Fatalf("a string of 4 MiB: %v", err)
	}
	if !errors.As(err, &row) || row.Row != 3 {
		t.Errorf("it is of row %v", row)
	}
	enough := &fakeBudget{left: 24 << 20}
	e.Limit(16<<20, enough)
	arrays, rows, err := e.Eval(context.Background(), columnsOf(batch, p.Columns()), 3)
	if err != nil || rows != 1 {
		t.Fatalf("%d rows: %v", rows, err)
	}
	arrays[0].Release()
	if full.left != 16<<20 || enough.left != 24<<20 || enough.least != 0 {
		t.Errorf("%d and %d B are left, %d at least", full.left, enough.left, enough.least)
	}
}

// fakeBudget has some bytes.
type fakeBudget struct{ left, least int64 }

var errFull = errors.New("full")

func (b *fakeBudget) Reserve(bytes int64) error {
	if bytes > b.left {
		return errFull
	}
	b.left -= bytes
	b.least = b.left
	return nil
}

func (b *fakeBudget) Unreserve(bytes int64) { b.left += bytes }

func (b *fakeBudget) Room(bytes int64) error {
	err := b.Reserve(bytes)
	if err == nil {
		b.Unreserve(bytes)
	}
	return err
}

// Results that grow are claimed before they are made, however long they become. Would catch a
// result whose length is known when it is there, and matches that are told apart otherwise than by
// the library where they are found one after the other.
func TestReplaceMatches(t *testing.T) {
	text := strings.Repeat("aab ä\xff-b\n", matchedAtOnce)
	for _, pattern := range []string{"", "a*", "a", "(a)(b)?", "b|", "[^a]*", "$", "(?m)$", "(?m)^", `\b`, `\B`, "ä", "x*", "a+?"} {
		re := mustCompile(t, pattern)
		e := (&Program{}).NewEvaluator(memory.DefaultAllocator)
		e.together = 1
		got, err := replaceMatches(e, &node{}, re, text, `<\0>`, true)
		if want := re.Library().ReplaceAllString(text, "<${0}>"); err != nil || got != want {
			t.Errorf("%q: %d B, want %d: %v", pattern, len(got), len(want), err)
		}
	}
	e := (&Program{}).NewEvaluator(memory.DefaultAllocator)
	budget := &fakeBudget{left: 6 << 30}
	e.Limit(16<<20, budget)
	e.together = 1
	_, err := replaceMatches(e, &node{text: "r"}, mustCompile(t, ""), strings.Repeat("a", 1_000_000), strings.Repeat("x", 2000), true)
	if err == nil || !strings.Contains(err.Error(), "more than 1.0 GiB") {
		t.Errorf("2 GB of text: %v", err)
	}
	if cap(e.bytes) > 16<<20 {
		t.Errorf("%d B were taken", cap(e.bytes))
	}
}

func columnsOf(batch arrow.RecordBatch, columns []int) arrow.RecordBatch {
	var fields []arrow.Field
	var arrays []arrow.Array
	for _, c := range columns {
		fields, arrays = append(fields, batch.Schema().Field(c)), append(arrays, batch.Column(c))
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, batch.NumRows())
}

// textAt returns a string, also of a dictionary.
func textAt(arr arrow.Array, i int) string {
	if d, ok := arr.(*array.Dictionary); ok {
		return d.Dictionary().(*array.String).Value(d.GetValueIndex(i))
	}
	return arr.(*array.String).Value(i)
}

func mustCompile(t *testing.T, pattern string) *regex.Regexp {
	t.Helper()
	re, err := regex.Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return re
}
