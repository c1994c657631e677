package spec

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// Would catch a function that was added without its line in the table, or whose name is taken.
func TestFuncs(t *testing.T) {
	if got := len(Funcs()); got != int(funcEnd)-1 {
		t.Errorf("%d functions, want %d", got, funcEnd-1)
	}
	for _, f := range Funcs() {
		if f.String() == "" || f.Help() == "" {
			t.Errorf("function %d has the name %q and the help %q", uint8(f), f, f.Help())
		}
		withParam := f.Param() == LengthParam
		if got, ok := LookupFunc(strings.ToUpper(f.String()), withParam); !ok || got != f {
			t.Errorf("%s is found as %s", f, got)
		}
		if _, known := aliases[f.String()]; known {
			t.Errorf("%s is an alias too", f)
		}
	}
	for _, name := range FuncNames() {
		if _, ok := LookupFunc(name, false); !ok {
			t.Errorf("%q is offered and not found", name)
		}
	}
	for _, name := range []string{"", "count(*)", "summ"} {
		if f, ok := LookupFunc(name, false); ok {
			t.Errorf("%q is found as %s", name, f)
		}
	}
	if s := Func(0).String() + funcEnd.String(); !strings.HasPrefix(s, "Func(0)Func(") {
		t.Errorf("no functions are named %q", s)
	}
}

// Would catch a fold, encoding or choice that is added without a name.
func TestNames(t *testing.T) {
	for k := FoldCount; k <= FoldSketch; k++ {
		if k.String() == "" {
			t.Errorf("fold %d has no name", k)
		}
	}
	for _, o := range []Overflow{OverflowError, OverflowWiden, OverflowWrap} {
		if got, err := ParseOverflow(o.String()); err != nil || got != o {
			t.Errorf("%s is read as %s, %v", o, got, err)
		}
	}
	if _, err := ParseOverflow("saturate"); err == nil || !strings.Contains(err.Error(), "error, widen, wrap") {
		t.Errorf("an unknown choice: %v", err)
	}
}

// Would catch result names that are not the SQL that asks for them.
func TestAggregateText(t *testing.T) {
	for _, c := range []struct {
		a    Aggregate
		want string
	}{
		{call(CountStar), "count(*)"},
		{call(CountDistinct, "x"), "count(distinct x)"},
		{call(Corr, "y", "x"), "corr(y, x)"},
		{Aggregate{Func: QuantileCont, Args: []string{"x"}, Fraction: 0.25}, "quantile_cont(x, 0.25)"},
		{Aggregate{Func: MaxN, Args: []string{"x"}, Length: 3}, "max(x, 3)"},
		{Aggregate{Func: StringAgg, Args: []string{"x"}, Separator: "it's"}, "string_agg(x, 'it''s')"},
	} {
		if got := c.a.ResultName(); got != c.want {
			t.Errorf("%+v is named %q, want %q", c.a, got, c.want)
		}
		c.a.Name = "y"
		if got := c.a.ResultName(); got != "y" {
			t.Errorf("%+v is named %q", c.a, got)
		}
	}
}

// Would catch a type whose values do not fit the words of its kind.
func TestKindOf(t *testing.T) {
	for dt, want := range map[arrow.DataType]Kind{
		arrow.FixedWidthTypes.Boolean:            Uint64,
		arrow.PrimitiveTypes.Uint8:               Uint64,
		arrow.PrimitiveTypes.Int8:                Int64,
		arrow.FixedWidthTypes.Time32ms:           Int64,
		arrow.FixedWidthTypes.Float16:            Float64,
		&arrow.Decimal128Type{Precision: 18}:     Int64,
		&arrow.Decimal128Type{Precision: 19}:     Int128,
		arrow.BinaryTypes.StringView:             Bytes,
		&arrow.FixedSizeBinaryType{ByteWidth: 3}: Bytes,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.Null}:         255,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: &arrow.Int64Type{}}: Int64,
		&arrow.Decimal256Type{Precision: 50}:                                                       255,
		arrow.ListOf(arrow.PrimitiveTypes.Int8):                                                    255,
	} {
		got, err := KindOf(dt)
		if (err != nil) != (want == 255) || err == nil && got != want {
			t.Errorf("%s: kind %d, %v", dt, got, err)
		}
	}
}
