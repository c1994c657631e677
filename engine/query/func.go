package query

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Func names an aggregate function. The zero value is no function.
type Func uint8

// The aggregate functions, in the order of their table below.
const (
	CountStar Func = iota + 1
	Count
	Sum
	Min
	Max
	Avg
	VarSamp
	VarPop
	StddevSamp
	StddevPop
	BoolAnd
	BoolOr
	BitAnd
	BitOr
	BitXor
	First
	Last
	AnyValue
	CountDistinct
	ApproxCountDistinct
	Median
	QuantileCont
	QuantileDisc
	Mode
	Corr
	CovarSamp
	CovarPop
	RegrSlope
	RegrIntercept
	RegrR2
	ArgMin
	ArgMax
	MinN
	MaxN
	StringAgg
	List
	Skewness
	Kurtosis
	FirstPlace // of the planner alone: no text names it
	funcEnd
)

// funcInfo says how a function is called.
type funcInfo struct {
	name  string
	args  int    // columns it reads
	param Params // the constant that follows them
	help  string // one line for `mpga agg --help` and the docs
}

// Params says which constant argument a function takes after its columns.
type Params uint8

// The kinds of constant argument.
const (
	NoParam        Params = iota
	FractionParam         // a number in [0, 1]
	LengthParam           // an integer from 1 to MaxLength
	SeparatorParam        // a string, optional; the default is ","
)

var funcs = [funcEnd]funcInfo{
	CountStar:           {"count_star", 0, NoParam, "rows"},
	Count:               {"count", 1, NoParam, "values that are not NULL"},
	Sum:                 {"sum", 1, NoParam, "sum; exact for integers and decimals"},
	Min:                 {"min", 1, NoParam, "smallest value; NaN is the largest"},
	Max:                 {"max", 1, NoParam, "largest value; NaN is the largest"},
	Avg:                 {"avg", 1, NoParam, "mean, as a double"},
	VarSamp:             {"var_samp", 1, NoParam, "sample variance"},
	VarPop:              {"var_pop", 1, NoParam, "population variance"},
	StddevSamp:          {"stddev_samp", 1, NoParam, "sample standard deviation"},
	StddevPop:           {"stddev_pop", 1, NoParam, "population standard deviation"},
	BoolAnd:             {"bool_and", 1, NoParam, "true if every value is"},
	BoolOr:              {"bool_or", 1, NoParam, "true if any value is"},
	BitAnd:              {"bit_and", 1, NoParam, "bitwise and of integers"},
	BitOr:               {"bit_or", 1, NoParam, "bitwise or of integers"},
	BitXor:              {"bit_xor", 1, NoParam, "bitwise exclusive or of integers"},
	First:               {"first", 1, NoParam, "first value in input order"},
	Last:                {"last", 1, NoParam, "last value in input order"},
	AnyValue:            {"any_value", 1, NoParam, "some value: the first in input order"},
	CountDistinct:       {"count_distinct", 1, NoParam, "distinct values"},
	ApproxCountDistinct: {"approx_count_distinct", 1, NoParam, "distinct values by HyperLogLog, within about 1%"},
	Median:              {"median", 1, NoParam, "quantile_cont at 0.5"},
	QuantileCont:        {"quantile_cont", 1, FractionParam, "quantile, interpolated between two values"},
	QuantileDisc:        {"quantile_disc", 1, FractionParam, "quantile, always one of the values"},
	Mode:                {"mode", 1, NoParam, "most frequent value; of equals, the first in input order"},
	Corr:                {"corr", 2, NoParam, "correlation of (y, x)"},
	CovarSamp:           {"covar_samp", 2, NoParam, "sample covariance of (y, x)"},
	CovarPop:            {"covar_pop", 2, NoParam, "population covariance of (y, x)"},
	RegrSlope:           {"regr_slope", 2, NoParam, "slope of the least-squares line of (y, x)"},
	RegrIntercept:       {"regr_intercept", 2, NoParam, "its intercept"},
	RegrR2:              {"regr_r2", 2, NoParam, "its coefficient of determination"},
	ArgMin:              {"arg_min", 2, NoParam, "x where y is smallest, of (x, y)"},
	ArgMax:              {"arg_max", 2, NoParam, "x where y is largest, of (x, y)"},
	MinN:                {"min", 1, LengthParam, "the n smallest values, as a list"},
	MaxN:                {"max", 1, LengthParam, "the n largest values, as a list"},
	StringAgg:           {"string_agg", 1, SeparatorParam, "strings in input order, joined by a separator"},
	List:                {"list", 1, NoParam, "values in input order, as a list"},
	Skewness:            {"skewness", 1, NoParam, "sample skewness"},
	Kurtosis:            {"kurtosis", 1, NoParam, "sample excess kurtosis"},
	FirstPlace:          {"first_place", 0, NoParam, "place in the input of the first row"},
}

// aliases are the other names that SQL dialects give to the functions.
var aliases = map[string]Func{
	"mean":               Avg,
	"favg":               Avg,
	"variance":           VarSamp,
	"stddev":             StddevSamp,
	"every":              BoolAnd,
	"arbitrary":          AnyValue,
	"argmin":             ArgMin,
	"argmax":             ArgMax,
	"min_by":             ArgMin,
	"max_by":             ArgMax,
	"array_agg":          List,
	"group_concat":       StringAgg,
	"listagg":            StringAgg,
	"quantile":           QuantileDisc,
	"approx_quantile":    QuantileDisc,
	"reservoir_quantile": QuantileDisc,
	"first_value":        First,
	"last_value":         Last,
}

// Funcs lists every aggregate function that a caller may name, in a stable order.
func Funcs() []Func {
	list := make([]Func, 0, FirstPlace-1)
	for f := Func(1); f < FirstPlace; f++ {
		list = append(list, f)
	}
	return list
}

// LookupFunc returns the function of a name, in any case, and of the shape of its call: min and
// max with a length are other functions than min and max. LookupFunc does not know `count(*)` and
// `count(distinct x)`, whose syntax is their name.
func LookupFunc(name string, withParam bool) (Func, bool) {
	name = strings.ToLower(name)
	if f, ok := aliases[name]; ok {
		return f, true
	}
	for f := Func(1); f < FirstPlace; f++ {
		if funcs[f].name == name && (f != MinN && f != MaxN || withParam) && (f != Min && f != Max || !withParam) {
			return f, true
		}
	}
	return 0, false
}

// FuncNames lists the names that LookupFunc knows, aliases included; for "did you mean".
func FuncNames() []string {
	names := slices.Collect(maps.Keys(aliases))
	for f := Func(1); f < FirstPlace; f++ {
		if f != MinN && f != MaxN {
			names = append(names, funcs[f].name)
		}
	}
	return names
}

// Args returns how many columns the function reads.
func (f Func) Args() int { return funcs[f].args }

// Param returns which constant follows the columns.
func (f Func) Param() Params { return funcs[f].param }

// Help describes the result in one line.
func (f Func) Help() string { return funcs[f].help }

// String returns the function's name in lower case.
func (f Func) String() string {
	if f == 0 || f >= funcEnd {
		return fmt.Sprintf("Func(%d)", uint8(f))
	}
	return funcs[f].name
}

// MarshalText implements encoding.TextMarshaler: the function's name, with _n behind the functions
// that keep n values.
func (f Func) MarshalText() ([]byte, error) {
	if f == 0 || f >= funcEnd {
		return nil, fmt.Errorf("unknown aggregate function %d", uint8(f))
	}
	return []byte(f.textName()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Func) UnmarshalText(text []byte) error {
	for g := Func(1); g < funcEnd; g++ {
		if g.textName() == string(text) {
			*f = g
			return nil
		}
	}
	return fmt.Errorf("unknown aggregate function %q", text)
}

// textName is the name that no other function has.
func (f Func) textName() string {
	if f == MinN || f == MaxN {
		return funcs[f].name + "_n"
	}
	return funcs[f].name
}
