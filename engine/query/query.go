package query

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mpga/mpga/internal/knob"
)

// Query is SELECT keys, aggregates GROUP BY keys, before it meets a source.
//
// No keys mean one group of all rows, which an empty source has too; no aggregates mean the
// distinct keys. A query with neither is refused.
//
// Queries travel as JSON, beside partial states: every field is in it.
type Query struct {
	Keys       []Key       `json:"keys,omitempty"`
	Aggregates []Aggregate `json:"aggregates,omitempty"`

	// Overflow says what the sum of an integer column does when it passes int64.
	// The default is OverflowError.
	Overflow Overflow `json:"overflow,omitzero"`

	// Deterministic gives sums, means, variances and all other moments of floating-point values the
	// same bits for any number of threads and any order of the rows: they are the exact value,
	// rounded once. Other aggregates have the same bits in any case. The default is false: the last
	// digits depend on the order of the additions.
	Deterministic bool `json:"deterministic,omitzero"`
}

// Key is one column to group by.
type Key struct {
	Column string `json:"column"`
	Name   string `json:"name,omitzero"` // of the result column. The default is Column.
}

// Aggregate is one function over columns.
type Aggregate struct {
	Func Func     `json:"func"`
	Args []string `json:"args,omitempty"` // column names, as many as Func.Args()
	Name string   `json:"name,omitzero"`  // of the result column. The default is the call as text: sum(delay)

	Fraction  float64 `json:"fraction,omitzero"`  // of quantile_cont and quantile_disc, in [0, 1]
	Length    int     `json:"length,omitzero"`    // of min(x, n) and max(x, n), from 1 to MaxLength
	Separator string  `json:"separator,omitzero"` // of string_agg

	// Distinct takes each value once, or each pair of values of two columns. A list, and
	// string_agg, has the values in ascending order. Distinct makes no difference to min, max,
	// first and other functions that a second row of a value does not change. The default is false:
	// every row counts.
	Distinct bool `json:"distinct,omitzero"`

	// Descending takes values from the greatest on: a list or string_agg of distinct values, and
	// quantile_cont and quantile_disc. The default is false: from the least on.
	Descending bool `json:"descending,omitzero"`

	// By names a column of int64 without NULLs and without negative values: the places of the rows. A
	// list and string_agg order their values by them; mode, arg_min and arg_max choose among equals.
	// The default is "": the places of the rows in the input.
	By string `json:"by,omitzero"`
}

// MaxLength bounds n of min(x, n) and max(x, n).
const MaxLength = 1_000_000

// Overflow says what the sum of an integer column does when it passes int64.
type Overflow uint8

// The choices for Overflow.
const (
	OverflowError Overflow = iota // an error that names the group
	OverflowWiden                 // every integer sum is a decimal(38, 0)
	OverflowWrap                  // the sum modulo 2^64, as an int64
)

var overflowNames = [...]string{OverflowError: "error", OverflowWiden: "widen", OverflowWrap: "wrap"}

// ParseOverflow reads error, widen or wrap.
func ParseOverflow(s string) (Overflow, error) {
	if o := slices.Index(overflowNames[:], s); o >= 0 {
		return Overflow(o), nil
	}
	return 0, fmt.Errorf("overflow %q: want one of %s", s, strings.Join(overflowNames[:], ", "))
}

// String returns error, widen or wrap.
func (o Overflow) String() string { return overflowNames[o] }

// MarshalText implements encoding.TextMarshaler.
func (o Overflow) MarshalText() ([]byte, error) {
	if int(o) >= len(overflowNames) {
		return nil, fmt.Errorf("overflow %d: must be at most %d", o, len(overflowNames)-1)
	}
	return []byte(o.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Overflow) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOverflow(string(text))
	return err
}

// String returns the call as SQL text, which is also the default name of its result.
func (a Aggregate) String() string {
	switch a.Func {
	case CountStar:
		return "count(*)"
	case CountDistinct:
		return "count(distinct " + strings.Join(a.Args, ", ") + ")"
	}
	text := a.Func.String() + "("
	if a.Distinct {
		text += "distinct "
	}
	text += strings.Join(a.Args, ", ")
	switch a.Func.Param() {
	case FractionParam:
		text += ", " + strconv.FormatFloat(a.Fraction, 'g', -1, 64)
	case LengthParam:
		text += ", " + strconv.Itoa(a.Length)
	case SeparatorParam:
		text += ", '" + strings.ReplaceAll(a.Separator, "'", "''") + "'"
	}
	if a.Descending {
		text += " descending"
	}
	return text + ")"
}

// ResultName returns the name of the key's result column.
func (k Key) ResultName() string { return cmp.Or(k.Name, k.Column) }

// ResultName returns the name of the aggregate's result column.
func (a Aggregate) ResultName() string { return cmp.Or(a.Name, a.String()) }

// String writes the query for people: SELECT keys, aggregates GROUP BY keys.
func (q Query) String() string {
	var columns, keys []string
	named := func(text, name string) string {
		if name == "" || name == text {
			return text
		}
		return text + " AS " + name
	}
	for _, k := range q.Keys {
		keys = append(keys, k.Column)
		columns = append(columns, named(k.Column, k.Name))
	}
	for _, a := range q.Aggregates {
		columns = append(columns, named(a.String(), a.Name))
	}
	text := "SELECT " + strings.Join(columns, ", ")
	if len(keys) > 0 {
		text += " GROUP BY " + strings.Join(keys, ", ")
	}
	return text
}

// Validate reports everything that is wrong with the query before a source is known.
func (q *Query) Validate() error {
	var errs knob.Errors
	if len(q.Keys) == 0 && len(q.Aggregates) == 0 {
		errs = append(errs, errors.New("the query has neither keys nor aggregates"))
	}
	errs.If(int(q.Overflow) >= len(overflowNames),
		"%s (%d) must be at most %d", knob.Name("query.Overflow"), q.Overflow, len(overflowNames)-1)
	names := make(map[string]bool)
	unique := func(name string) {
		if names[name] {
			errs = append(errs, fmt.Errorf("two result columns are named %q: give one of them another name", name))
		}
		names[name] = true
	}
	for _, k := range q.Keys {
		unique(k.ResultName())
	}
	for _, a := range q.Aggregates {
		if err := a.validate(); err != nil {
			errs = append(errs, err)
			continue
		}
		unique(a.ResultName())
	}
	return errors.Join(errs...)
}

func (a Aggregate) validate() error {
	if a.Func == 0 || a.Func >= funcEnd {
		return fmt.Errorf("unknown aggregate function %d", a.Func)
	}
	if len(a.Args) != a.Func.Args() {
		return fmt.Errorf("%s: takes %d columns, got %d", a.Func, a.Func.Args(), len(a.Args))
	}
	if a.Distinct && a.Func == CountStar {
		return fmt.Errorf("%s: rows have no distinct values, columns have", a)
	}
	if a.Descending && !(a.Distinct && a.ordersSet()) && a.Func.Param() != FractionParam {
		return fmt.Errorf("%s: only quantiles, and a list or string_agg of distinct values, have an order", a)
	}
	if a.By != "" && (a.Distinct || !a.ordersSet() && !slices.Contains(choosing, a.Func)) {
		return fmt.Errorf("%s: only list, string_agg, mode, arg_min and arg_max of all rows take places from a column", a)
	}
	switch a.Func.Param() {
	case FractionParam:
		if !(a.Fraction >= 0 && a.Fraction <= 1) {
			return fmt.Errorf("%s: the fraction (%v) must be in [0, 1]", a, a.Fraction)
		}
	case LengthParam:
		if a.Length < 1 || a.Length > MaxLength {
			return fmt.Errorf("%s: the length (%d) must be in [1, %d]", a, a.Length, MaxLength)
		}
	}
	return nil
}

// choosing are the functions that choose among values or rows that are equal to them by the places of rows.
var choosing = []Func{Mode, ArgMin, ArgMax}

// ordersSet says whether the order of the values shows in the result.
func (a Aggregate) ordersSet() bool { return a.Func == List || a.Func == StringAgg }

// Plain returns the aggregate without Distinct, where another function does the same or Distinct
// changes nothing.
func (a Aggregate) Plain() Aggregate {
	if !a.Distinct {
		return a
	}
	switch a.Func {
	case Count:
		a.Func = CountDistinct
	case Mode: // where each value is there once: the first value
		a.Func = First
	case CountDistinct, ApproxCountDistinct, Min, Max, BoolAnd, BoolOr, BitAnd, BitOr, First, Last,
		AnyValue, ArgMin, ArgMax:
	default:
		return a
	}
	a.Distinct = false
	return a
}
