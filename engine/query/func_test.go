package query

import (
	"strings"
	"testing"
)

// Would catch a function that was added without its line in the table, or whose name is taken.
func TestFuncs(t *testing.T) {
	if got := len(Funcs()); got != int(FirstPlace)-1 {
		t.Errorf("%d functions, want %d", got, FirstPlace-1)
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
	for _, name := range []string{"", "count(*)", "summ", FirstPlace.String()} {
		if f, ok := LookupFunc(name, false); ok {
			t.Errorf("%q is found as %s", name, f)
		}
	}
	if s := Func(0).String() + funcEnd.String(); !strings.HasPrefix(s, "Func(0)Func(") {
		t.Errorf("no functions are named %q", s)
	}
}

// Would catch a choice that is added without a name.
func TestOverflow(t *testing.T) {
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
		{Aggregate{Func: CountStar}, "count(*)"},
		{Aggregate{Func: CountDistinct, Args: []string{"x"}}, "count(distinct x)"},
		{Aggregate{Func: Corr, Args: []string{"y", "x"}}, "corr(y, x)"},
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
