package expr

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/rowdata"
)

// folded returns the text of an expression of constants, or its error.
func folded(ctx context.Context, e *Expr) (string, error) {
	p, err := func() (p *Program, err error) { // Bind takes no intervals
		b := newBinder(ctx, Columns{Schema: arrow.NewSchema(nil, nil)})
		defer b.caught(&p, &err)
		b.program.nodes = []*node{b.bind(e, 0)}
		return b.program, nil
	}()
	if err != nil {
		return "", err
	}
	value, ok := p.Constant(0)
	if !ok { // an error is left to the rows
		_, err := p.nodes[0].eval(p.NewEvaluator(nil).frameOf(0, 1, nil))
		return "", err
	}
	if v, ok := value.(IntervalValue); ok {
		return fmt.Sprint(v), nil
	}
	return formatValue(p.Type(0), value), nil
}

func parsed(t *testing.T, text string) *Expr {
	t.Helper()
	e, err := Number(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Would catch numbers that Go's syntax reads otherwise than SQL's.
func TestNumber(t *testing.T) {
	for text, want := range map[string]string{
		"7": "7", "0": "0", "007": "7", "0777777777777": "777777777777", "089": "89", "0x1F": "31", "0x1E": "30", "0o17": "15", "0b101": "5",
		"1_000": "1000", "00.50": "0.50", "9223372036854775808": "9223372036854775808", "1e3": "1000.0",
	} {
		if got, err := folded(t.Context(), parsed(t, text)); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"true", "", "0xFFFFFFFFFFFFFFFFFFFF", "--1", "1.2.3"} {
		if e, err := Number(text); err == nil {
			t.Errorf("%q is the number %s", text, e)
		}
	}
}

// Would catch a sign that counts as a digit, which makes a type wider than what is written and a
// number of 38 digits a double, and zeros behind a sign that are read as octal.
func TestNegativeNumber(t *testing.T) {
	const digits = "99999999999999999999999999999999999999"
	for _, text := range []string{
		"7", "2147483649", "007", "0777777777777", "9223372036854775807", "9223372036854775809", digits, digits + ".0",
		digits[:28] + "." + digits[28:], "1.5", "00.5", ".5", "0.0", "1e3", "0x1F",
	} {
		positive, negative := parsed(t, text), parsed(t, "-"+text)
		if positive.Type != negative.Type {
			t.Errorf("%s is a %s, -%s a %s", text, positive.Type, text, negative.Type)
		}
		want, err := folded(t.Context(), Call("-", positive))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := folded(t.Context(), negative); err != nil || got != want {
			t.Errorf("-%s is %s, %v, want %s", text, got, err, want)
		}
	}
}

// Would catch constants that stand for numbers and have no kernel, and casts between numbers of 64
// and of 128 bits.
func TestNumberKinds(t *testing.T) {
	cast := func(e *Expr, typ Type) *Expr { return &Expr{Op: OpCast, Type: typ, Args: []*Expr{e}, At: -1} }
	try := func(e *Expr, typ Type) *Expr { return &Expr{Op: OpTryCast, Type: typ, Args: []*Expr{e}, At: -1} }
	large := parsed(t, "9223372036854775808")
	for _, c := range []struct {
		expr *Expr
		want string
	}{
		{Call("sign", Constant("-7.25")), "-1"}, {Call("sign", Constant(nil)), "NULL"}, {Call("sign", large), "1"},
		{Call("<<", cast(Constant(int64(0)), typeOf(Int64)), Constant(int64(64))), "0"},
		{Call("<<", cast(Constant(int64(1)), typeOf(Int64)), Constant(int64(62))), "4611686018427387904"},
		{Call("<<", cast(Constant(int64(1)), typeOf(Int64)), Constant(int64(63))), "does not fit BIGINT"},
		{Call("<<", cast(Constant(int64(1)), typeOf(Int8)), Constant(int64(7))), "does not fit TINYINT"},
		{Call("<<", cast(Constant(int64(1)), typeOf(Uint64)), Constant(int64(63))), "9223372036854775808"},
		{cast(cast(Constant(int64(-8)), decimalOf(38, 5)), typeOf(Int32)), "-8"}, {cast(parsed(t, "1.5"), typeOf(Int8)), "2"},
		{cast(cast(large, decimalOf(38, 5)), typeOf(Int64)), "does not fit BIGINT"}, {try(cast(large, typeOf(Uint64)), typeOf(Int64)), "NULL"},
	} {
		got, err := folded(t.Context(), c.expr)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s is %s, want %s", c.expr, got, c.want)
		}
	}
}

// Would catch an operand that overflows beside a NULL that decides the result, as in (v * 2) <>
// TRY_CAST('a' AS INTEGER).
func TestNullOperand(t *testing.T) {
	tiny := &Expr{Op: OpCast, Type: typeOf(Int8), Args: []*Expr{Constant(int64(100))}, At: -1}
	over := Call("*", tiny, tiny)
	if v, err := folded(t.Context(), over); err == nil {
		t.Fatalf("%s is %s", over, v)
	}
	for _, op := range []string{"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "//"} {
		for _, e := range []*Expr{Call(op, over, Constant(nil)), Call(op, Constant(nil), over)} {
			if got, err := folded(t.Context(), e); err != nil || got != "NULL" {
				t.Errorf("%s is %s, %v", e, got, err)
			}
		}
	}
}

// Would catch a cast that may give NULL and is taken for one that loses nothing.
func TestTriedStats(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "u", Type: arrow.PrimitiveTypes.Uint64}, {Name: "t", Type: &arrow.TimestampType{Unit: arrow.Microsecond}}}, nil)
	for column, typ := range map[string]TypeID{"u": Int64, "t": TimestampNS} {
		p, err := Bind(t.Context(), schema, &Expr{Op: OpTryCast, Type: typeOf(typ), Args: []*Expr{Column(column)}, At: -1})
		if err != nil {
			t.Fatal(err)
		}
		if p.Stats(0, []rowdata.ColumnStats{{NoNulls: true}, {NoNulls: true}}).NoNulls {
			t.Errorf("TRY_CAST(%s AS %s) is never NULL, the statistics say", column, typeOf(typ))
		}
	}
}

// Would catch an interval whose parts change where it becomes a value.
func TestIntervalResult(t *testing.T) {
	interval := Constant(IntervalValue{Months: 1, Days: -40, Micros: 5})
	p, err := Bind(t.Context(), arrow.NewSchema(nil, nil), Call("-", interval))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := p.Constant(0)
	want := IntervalValue{Months: -1, Days: 40, Micros: -5}
	if got := intervalFrom(text.(string)); p.Type(0) != period || got != want {
		t.Errorf("an interval as a result: %v of type %s", got, p.Type(0))
	}
}

// Would catch strings made without a bound: a loop that does not end, a length that wraps, or
// memory for what was only asked for.
func TestMadeTexts(t *testing.T) {
	call := func(name string, args ...any) *Expr {
		e := Call(name)
		for _, a := range args {
			if n, ok := a.(int); ok {
				a = int64(n)
			}
			e.Args = append(e.Args, Constant(a))
		}
		return e
	}
	long := call("repeat", "a", textBytesMax)
	for _, c := range []struct {
		expr *Expr
		want string // "" is an error
	}{
		{call("repeat", "ab", 3), "ababab"},
		{call("repeat", "", math.MaxInt64), ""},
		{call("repeat", "ab", -1), ""},
		{call("repeat", "ab", math.MaxInt64), "longer than 64 MiB"},
		{call("lpad", "7", 3, "0"), "007"},
		{call("lpad", "7", 6, "äö"), "äöäöä7"},
		{call("rpad", "a", 4, "xy"), "axyx"},
		{call("lpad", "7", 1<<62, "abcd"), "longer than 64 MiB"},
		{call("rpad", "7", 5, ""), "empty string"},
		{call("replace", "banana", "an", "o"), "booa"},
		{Call("replace", long, Constant("a"), Constant("bb")), "longer than 64 MiB"},
		{Call("length", Call("replace", call("repeat", "a", foldedBytes/2), Constant("a"), Constant("b"))), fmt.Sprint(foldedBytes / 2)},
	} {
		got, err := folded(t.Context(), c.expr)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%.60s is %.200s, want %s", c.expr, got, c.want)
		}
	}
}

// Would catch constants that are folded in the vectors of a whole batch: a query may have a hundred,
// and 16 KiB for each took longer than small tables.
func TestFoldedRow(t *testing.T) {
	b := newBinder(t.Context(), Columns{Schema: arrow.NewSchema(nil, nil)})
	n := b.bind(Call("+", Constant(int64(7)), Call("length", Call("||", Constant("a"), Constant("b")))), 0)
	if n.value != int64(9) {
		t.Fatalf("%s is %v", n.text, n.value)
	}
	ints, texts := b.folder.ints.items, b.folder.texts.items
	if len(ints) == 0 || len(texts) == 0 {
		t.Fatal("folding took no vectors")
	}
	for _, item := range ints {
		if len(item) != 1 {
			t.Errorf("a vector of numbers has room for %d rows, want 1", len(item))
		}
	}
	for _, item := range texts {
		if len(item) != 1 {
			t.Errorf("a vector of strings has room for %d rows, want 1", len(item))
		}
	}
}

// Would catch intervals that wrap.
func TestIntervalBounds(t *testing.T) {
	interval := func(v IntervalValue) *Expr { return Constant(v) }
	text := func(s string) *Expr {
		return &Expr{Op: OpCast, Type: typeOf(Interval), Args: []*Expr{Constant(s)}, At: -1}
	}
	for _, c := range []struct {
		expr *Expr
		want string
	}{
		{Call("*", interval(IntervalValue{1, 2, 3}), Constant(int64(-2))), "{-2 -4 -6}"},
		{Call("+", interval(IntervalValue{1, 2, 3}), interval(IntervalValue{4, 5, 6})), "{5 7 9}"},
		{Call("*", interval(IntervalValue{12, 0, 0}), Constant(int64(math.MaxInt64))), "overflow"},
		{Call("*", interval(IntervalValue{0, 1, 0}), parsed(t, "18446744073709551617")), "overflow"},
		{Call("*", interval(IntervalValue{0, 0, 3}), Constant(int64(math.MaxInt64/2))), "overflow"},
		{Call("-", interval(IntervalValue{0, 0, math.MinInt64 + 1}), interval(IntervalValue{0, 0, 2})), "overflow"},
		{text("1 month 2 days 00:00:01"), "{1 2 1000000}"},
		{text("1e9 hours 1e9 hours 1e9 hours"), "not an interval"},
		{text("1e9 years"), "not an interval"},
		{text("nan days"), "not an interval"},
	} {
		got, err := folded(t.Context(), c.expr)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s is %s, want %s", c.expr, got, c.want)
		}
	}
}

// Would catch a regular expression that matches a line where all of the string is wanted.
func TestFullMatch(t *testing.T) {
	for _, c := range []struct{ s, pattern, options, want string }{
		{"a", "a", "m", "true"}, {"a\nb", "a", "m", "false"}, {"a\nb", "a.b", "s", "true"}, {"ab", "a|ab", "c", "true"}, {"xa", "a", "c", "false"},
	} {
		e := Call("regexp_full_match", Constant(c.s), Constant(c.pattern), Constant(c.options))
		if got, err := folded(t.Context(), e); err != nil || got != c.want {
			t.Errorf("%s is %s, %v, want %s", e, got, err, c.want)
		}
	}
}

// Would catch constants of a list that are folded at a cost that grows with the list.
func TestLongList(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil)
	list := func(n int) *Expr {
		e := Call("in", Column("x"))
		for i := range n {
			e.Args = append(e.Args, Constant(int64(i))) // an INTEGER, each cast to BIGINT
		}
		return e
	}
	bytes := func(n int) uint64 {
		e := list(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Bind(t.Context(), schema, e); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := bytes(500), bytes(5000); many > 20*few {
		t.Errorf("binding 500 constants takes %d B, 5000 take %d B", few, many)
	}
}

// Would catch terms that are not true of all rows that a pattern matches.
func TestLikeTerms(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	for _, c := range []struct {
		expr *Expr
		want string
	}{
		{Call("like", Column("s"), Constant("ab%c")), "[{0 >= [ab]} {0 < [ac]}]"},
		{Call("like", Column("s"), Constant("%a")), "[]"},
		{Call("like", Column("s"), Constant("a!%b%"), Constant("!")), "[]"}, // matches a%b
		{Call("ilike", Column("s"), Constant("ab%")), "[]"},
	} {
		p, err := BindCondition(t.Context(), Columns{Schema: schema}, c.expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(p.Terms(0)); got != c.want {
			t.Errorf("%s has the terms %s, want %s", c.expr, got, c.want)
		}
	}
}
