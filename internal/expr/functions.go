package expr

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Function is a function or an operator, with what docs/sql.md says of it.
type Function struct {
	Name    string // in lower case; of an operator, its sign
	Aliases []string
	Section string
	Usage   string // how a call is written
	Help    string
	Example string // an expression, and what it gives
	Result  string

	argsMin, argsMax int // argsMax is -1 of any number
	intervals        bool
	bind             binding
}

// The sections of docs/sql.md.
const (
	sectionCompare = "Comparison and logic"
	sectionMath    = "Numbers"
	sectionText    = "Strings"
	sectionTime    = "Dates and times"
	sectionChoose  = "Choice"
)

// Functions returns all functions, in the order of the documentation.
func Functions() []Function { return slices.Clone(functions) }

// functionNames lists the names of functions that are written as words; for "did you mean".
func functionNames() []string {
	var names []string
	for name := range functionsByName {
		if name[0] >= 'a' && name[0] <= 'z' && !strings.Contains(name, " ") {
			names = append(names, name)
		}
	}
	return names
}

// IsFunction says whether a function goes by a name, in any case.
func IsFunction(name string) bool {
	_, ok := functionsByName[strings.ToLower(name)]
	return ok
}

// arguments says how many arguments a function takes.
func (f *Function) arguments() string {
	switch {
	case f.argsMax < 0:
		return fmt.Sprintf("%d arguments or more", f.argsMin)
	case f.argsMin == f.argsMax && f.argsMin == 1:
		return "1 argument"
	case f.argsMin == f.argsMax:
		return fmt.Sprintf("%d arguments", f.argsMin)
	}
	return fmt.Sprintf("%d to %d arguments", f.argsMin, f.argsMax)
}

var functions []Function

var functionsByName map[string]*Function

func init() {
	functions = slices.Concat(operators(), choices(), numberFunctions(), textFunctions(), timeFunctions())
	functionsByName = make(map[string]*Function, len(functions)+1)
	functionsByName[MeanOfParts] = &Function{Name: MeanOfParts, argsMin: 2, argsMax: 2, bind: meanOfParts}
	for i := range functions {
		f := &functions[i]
		functionsByName[f.Name] = f
		for _, alias := range f.Aliases {
			functionsByName[alias] = f
		}
	}
}

func operators() []Function {
	compared := func(sign, help, example, result string) Function {
		return Function{Name: sign, Section: sectionCompare, Usage: "a " + sign + " b", Help: help,
			Example: example, Result: result, argsMin: 2, argsMax: 2, bind: comparison(sign), intervals: true}
	}
	return []Function{
		compared("=", "equal; NULL where a or b is", "1 = 1.0", "true"),
		compared("<>", "not equal; != too", "'a' <> 'b'", "true"),
		compared("<", "less", "DATE '2020-01-31' < '2020-02-01'", "true"),
		compared("<=", "less or equal", "2 <= 1", "false"),
		compared(">", "greater; NaN is the greatest number", "'nan'::DOUBLE > 1e308", "true"),
		compared(">=", "greater or equal", "2 >= 2", "true"),
		{Name: "is distinct from", Section: sectionCompare, Usage: "a IS DISTINCT FROM b", Help: "not equal, with NULL as a value",
			Example: "NULL IS DISTINCT FROM 1", Result: "true", argsMin: 2, argsMax: 2, bind: distinctness(true)},
		{Name: "is not distinct from", Section: sectionCompare, Usage: "a IS NOT DISTINCT FROM b", Help: "equal, with NULL as a value",
			Example: "NULL IS NOT DISTINCT FROM NULL", Result: "true", argsMin: 2, argsMax: 2, bind: distinctness(false)},
		{Name: "is null", Section: sectionCompare, Usage: "a IS NULL", Help: "whether there is no value",
			Example: "NULL IS NULL", Result: "true", argsMin: 1, argsMax: 1, bind: nullTest(true)},
		{Name: "is not null", Section: sectionCompare, Usage: "a IS NOT NULL", Help: "whether there is a value",
			Example: "0 IS NOT NULL", Result: "true", argsMin: 1, argsMax: 1, bind: nullTest(false)},
		{Name: "is true", Section: sectionCompare, Usage: "a IS TRUE", Help: "TRUE, never NULL", Example: "(NULL > 1) IS TRUE", Result: "false",
			argsMin: 1, argsMax: 1, bind: truthTest(true, false)},
		{Name: "is not true", Section: sectionCompare, Usage: "a IS NOT TRUE", Help: "FALSE or NULL", Example: "(NULL > 1) IS NOT TRUE", Result: "true",
			argsMin: 1, argsMax: 1, bind: truthTest(true, true)},
		{Name: "is false", Section: sectionCompare, Usage: "a IS FALSE", Help: "FALSE, never NULL", Example: "(2 < 1) IS FALSE", Result: "true",
			argsMin: 1, argsMax: 1, bind: truthTest(false, false)},
		{Name: "is not false", Section: sectionCompare, Usage: "a IS NOT FALSE", Help: "TRUE or NULL", Example: "(2 < 1) IS NOT FALSE", Result: "false",
			argsMin: 1, argsMax: 1, bind: truthTest(false, true)},
		{Name: "and", Section: sectionCompare, Usage: "a AND b", Help: "b is evaluated where a is not FALSE", Example: "NULL AND FALSE", Result: "false",
			argsMin: 2, argsMax: -1, bind: conjunction(false)},
		{Name: "or", Section: sectionCompare, Usage: "a OR b", Help: "b is evaluated where a is not TRUE", Example: "NULL OR TRUE", Result: "true",
			argsMin: 2, argsMax: -1, bind: conjunction(true)},
		{Name: "not", Section: sectionCompare, Usage: "NOT a", Help: "the other truth value", Example: "NOT 1 = 2", Result: "true",
			argsMin: 1, argsMax: 1, bind: inversion},
		{Name: "between", Section: sectionCompare, Usage: "a BETWEEN low AND high", Help: "low <= a and a <= high; NOT BETWEEN too",
			Example: "2 BETWEEN 1 AND 2", Result: "true", argsMin: 3, argsMax: 3, bind: between},
		{Name: "in", Section: sectionCompare, Usage: "a IN (b, ...)", Help: "equal to one of them; NOT IN too", Example: "3 IN (1, 2)", Result: "false",
			argsMin: 2, argsMax: -1, bind: membership},
		{Name: "like", Section: sectionCompare, Usage: "a LIKE pattern [ESCAPE c]", Help: "% is any characters, _ is one; NOT LIKE too",
			Example: "'group-by' LIKE 'gr%_y'", Result: "true", argsMin: 2, argsMax: 3, bind: like(false)},
		{Name: "ilike", Section: sectionCompare, Usage: "a ILIKE pattern [ESCAPE c]", Help: "LIKE for which upper and lower case are the same",
			Example: "'Ulm' ILIKE 'u_M'", Result: "true", argsMin: 2, argsMax: 3, bind: like(true)},

		{Name: "+", Section: sectionMath, Usage: "a + b", Help: "sum; an integer that does not fit its type is an error", Example: "1.5 + 1", Result: "2.5",
			argsMin: 1, argsMax: 2, bind: plus, intervals: true},
		{Name: "-", Section: sectionMath, Usage: "a - b, -a", Help: "difference, negative", Example: "DATE '2020-03-01' - DATE '2020-02-01'", Result: "29",
			argsMin: 1, argsMax: 2, bind: minus, intervals: true},
		{Name: "*", Section: sectionMath, Usage: "a * b", Help: "product; of decimals it has the places of both", Example: "0.5 * 0.25", Result: "0.125",
			argsMin: 2, argsMax: 2, bind: arithmetic(multiplication), intervals: true},
		{Name: "/", Section: sectionMath, Usage: "a / b", Help: "quotient, as a double; by 0 inf or nan", Example: "7 / 2", Result: "3.5",
			argsMin: 2, argsMax: 2, bind: division},
		{Name: "//", Section: sectionMath, Usage: "a // b", Help: "quotient of integers, towards 0, and of other numbers as / has it; by 0 NULL", Example: "-7 // 2", Result: "-3",
			argsMin: 2, argsMax: 2, bind: remainder("//")},
		{Name: "%", Aliases: []string{"mod"}, Section: sectionMath, Usage: "a % b, mod(a, b)", Help: "remainder, with the sign of a; by 0 NULL, of doubles nan",
			Example: "-7 % 3", Result: "-1", argsMin: 2, argsMax: 2, bind: remainder("%")},
		{Name: "^", Aliases: []string{"pow", "power"}, Section: sectionMath, Usage: "a ^ b, a ** b, pow(a, b)", Help: "power, as a double",
			Example: "pow(2, 10)", Result: "1024.0", argsMin: 2, argsMax: 2, bind: power},
		{Name: "&", Section: sectionMath, Usage: "a & b", Help: "bits that both have", Example: "12 & 10", Result: "8", argsMin: 2, argsMax: 2, bind: bitwise("&")},
		{Name: "|", Section: sectionMath, Usage: "a | b", Help: "bits that either has", Example: "12 | 10", Result: "14", argsMin: 2, argsMax: 2, bind: bitwise("|")},
		{Name: "xor", Section: sectionMath, Usage: "xor(a, b)", Help: "bits that one of them has", Example: "xor(12, 10)", Result: "6", argsMin: 2, argsMax: 2, bind: bitwise("xor")},
		{Name: "<<", Section: sectionMath, Usage: "a << b", Help: "bits shifted to the left", Example: "1 << 10", Result: "1024", argsMin: 2, argsMax: 2, bind: bitwise("<<")},
		{Name: ">>", Section: sectionMath, Usage: "a >> b", Help: "bits shifted to the right", Example: "1024 >> 3", Result: "128", argsMin: 2, argsMax: 2, bind: bitwise(">>")},
		{Name: "||", Section: sectionText, Usage: "a || b", Help: "one string after the other; NULL where a or b is", Example: "'a' || 1", Result: "a1",
			argsMin: 2, argsMax: 2, bind: concatenation},
	}
}

func plus(b *binder, n *node) error {
	if len(n.args) == 2 {
		return arithmetic(addition)(b, n)
	}
	t := n.args[0].typ
	if !t.numeric() && t.ID != Null {
		return b.mismatch(n)
	}
	n.typ, n.literal = t, n.args[0].literal
	n.eval = func(f *frame) (*vector, error) { return f.eval(n.args[0]) }
	return nil
}

func minus(b *binder, n *node) error {
	if len(n.args) == 2 {
		return arithmetic(subtraction)(b, n)
	}
	return negation(b, n)
}

func choices() []Function {
	s := sectionChoose
	return []Function{
		{Name: "case", Section: s, Usage: "CASE WHEN c THEN a ... ELSE b END", Help: "the result of the first condition that is TRUE; CASE x WHEN v THEN a too",
			Example: "CASE WHEN 1 > 2 THEN 'a' ELSE 'b' END", Result: "b", argsMin: 2, argsMax: -1, bind: caseOf},
		{Name: "if", Section: s, Usage: "if(c, a, b)", Help: "CASE WHEN c THEN a ELSE b END", Example: "if(1 < 2, 'yes', 'no')", Result: "yes", argsMin: 3, argsMax: 3, bind: caseOf},
		{Name: "coalesce", Aliases: []string{"ifnull"}, Section: s, Usage: "coalesce(a, ...)", Help: "the first that is not NULL", Example: "coalesce(NULL, 2, 3)", Result: "2",
			argsMin: 1, argsMax: -1, bind: coalesce},
		{Name: "nullif", Section: s, Usage: "nullif(a, b)", Help: "NULL where a = b, else a", Example: "nullif(0, 0)", Result: "NULL", argsMin: 2, argsMax: 2, bind: nullIf},
		{Name: "greatest", Section: s, Usage: "greatest(a, ...)", Help: "the greatest of those that are not NULL", Example: "greatest(1, NULL, 3)", Result: "3",
			argsMin: 1, argsMax: -1, bind: extreme(">")},
		{Name: "least", Section: s, Usage: "least(a, ...)", Help: "the least of those that are not NULL", Example: "least('b', 'a')", Result: "a", argsMin: 1, argsMax: -1, bind: extreme("<")},
		{Name: "hash", Section: s, Usage: "hash(a, ...)", Help: "64 bits of the values, the same on every run and machine", Example: "hash('a') = hash('a')", Result: "true",
			argsMin: 1, argsMax: -1, bind: hashOf},
	}
}

func numberFunctions() []Function {
	f := func(name, help, example, result string, bind binding, aliases ...string) Function {
		return Function{Name: name, Aliases: aliases, Section: sectionMath, Usage: name + "(x)", Help: help, Example: example, Result: result, argsMin: 1, argsMax: 1, bind: bind}
	}
	g := func(name, help, example, result string, bind binding, aliases ...string) Function {
		h := f(name, help, example, result, bind, aliases...)
		h.Usage, h.argsMax = name+"(x [, digits])", 2
		return h
	}
	return []Function{
		f("abs", "without its sign", "abs(-2.5)", "2.5", absolute),
		g("round", "to the nearest, halves away from 0; to a number of digits after the decimal point, or before it where negative", "round(2.345, 2)", "2.35", round),
		f("floor", "the integer that is not above", "floor(-1.5)", "-2", rounded(roundDown, false)),
		f("ceil", "the integer that is not below", "ceil(1.2)", "2", rounded(roundUp, false), "ceiling"),
		f("trunc", "without its fraction", "trunc(-1.5)", "-1", rounded(roundToZero, true)),
		f("sign", "-1, 0 or 1", "sign(-3)", "-1", sign),
		f("sqrt", "square root; of a negative number an error", "sqrt(16)", "4.0", realAbove(math.Sqrt, false)),
		f("cbrt", "cube root", "cbrt(8)", "2.0", real(math.Cbrt)),
		f("exp", "e to the power of x", "exp(0)", "1.0", real(math.Exp)),
		f("ln", "natural logarithm; of what is not above 0 an error", "ln(1)", "0.0", realAbove(math.Log, true)),
		f("log10", "logarithm to the base 10", "log10(1000)", "3.0", realAbove(math.Log10, true), "log"),
		f("log2", "logarithm to the base 2", "log2(8)", "3.0", realAbove(math.Log2, true)),
		f("sin", "sine", "sin(0)", "0.0", circular(math.Sin)),
		f("cos", "cosine", "cos(0)", "1.0", circular(math.Cos)),
		f("tan", "tangent", "tan(0)", "0.0", circular(math.Tan)),
		f("asin", "inverse sine", "asin(0)", "0.0", arc(math.Asin)),
		f("acos", "inverse cosine", "acos(1)", "0.0", arc(math.Acos)),
		f("atan", "inverse tangent", "atan(0)", "0.0", real(math.Atan)),
		{Name: "atan2", Section: sectionMath, Usage: "atan2(y, x)", Help: "angle of a point", Example: "atan2(0, 1)", Result: "0.0", argsMin: 2, argsMax: 2, bind: atan2},
		f("radians", "degrees as radians", "radians(0)", "0.0", real(func(v float64) float64 { return v * (math.Pi / 180) })),
		f("degrees", "radians as degrees", "degrees(0)", "0.0", real(func(v float64) float64 { return v * (180 / math.Pi) })),
		{Name: "pi", Section: sectionMath, Usage: "pi()", Help: "3.14159...", Example: "round(pi(), 4)", Result: "3.1416", bind: pi},
		f("isnan", "whether it is NaN", "isnan('nan'::DOUBLE)", "true", floatTest(math.IsNaN)),
		f("isinf", "whether it is an infinity", "isinf(1 / 0)", "true", floatTest(func(v float64) bool { return math.IsInf(v, 0) })),
		f("isfinite", "whether it is neither", "isfinite(1 / 0)", "false", floatTest(isFinite)),
	}
}

func textFunctions() []Function {
	f := func(name, params, help, example, result string, argsMin, argsMax int, bind binding, aliases ...string) Function {
		return Function{Name: name, Aliases: aliases, Section: sectionText, Usage: name + "(" + params + ")", Help: help,
			Example: example, Result: result, argsMin: argsMin, argsMax: argsMax, bind: bind}
	}
	return []Function{
		f("length", "s", "characters; of a BLOB its bytes", "length('größe')", "5", 1, 1, length, "len", "char_length", "character_length"),
		f("strlen", "s", "bytes", "strlen('größe')", "7", 1, 1, textToInt(func(s string) int64 { return int64(len(s)) }), "octet_length"),
		f("lower", "s", "in lower case", "lower('Ulm')", "ulm", 1, 1, textToText(lower), "lcase"),
		f("upper", "s", "in upper case", "upper('Ulm')", "ULM", 1, 1, textToText(upper), "ucase"),
		f("substr", "s, start [, length]", "characters from one on, counted from 1, or from the end where negative", "substr('group', 2, 3)", "rou", 2, 3, substr, "substring"),
		f("left", "s, n", "the first n characters; all but the last -n where negative", "left('group', 2)", "gr", 2, 2, side(true)),
		f("right", "s, n", "the last n characters; all but the first -n where negative", "right('group', 2)", "up", 2, 2, side(false)),
		f("trim", "s [, characters]", "without spaces, or characters, at both ends", "trim('  a ')", "a", 1, 2, trimming(true, true), "btrim"),
		f("ltrim", "s [, characters]", "the same at the beginning", "ltrim('xxa', 'x')", "a", 1, 2, trimming(true, false)),
		f("rtrim", "s [, characters]", "the same at the end", "rtrim('axx', 'x')", "a", 1, 2, trimming(false, true)),
		f("lpad", "s, n, fill", "n characters, filled up or cut off, fill first", "lpad('7', 3, '0')", "007", 3, 3, padding(true)),
		f("rpad", "s, n, fill", "n characters, filled up or cut off, fill last", "rpad('7', 3, '.')", "7..", 3, 3, padding(false)),
		f("repeat", "s, n", "n times", "repeat('ab', 2)", "abab", 2, 2, repeat),
		f("reverse", "s", "the last character first", "reverse('abc')", "cba", 1, 1, textToText(reversed)),
		f("concat", "a, ...", "one string after the other, without NULL", "concat('a', NULL, 1)", "a1", 1, -1, concat(false)),
		f("concat_ws", "separator, a, ...", "the same with a separator between", "concat_ws('-', 'a', 'b')", "a-b", 2, -1, concat(true)),
		f("replace", "s, old, new", "with new in place of every old", "replace('banana', 'an', 'o')", "booa", 3, 3, replacement),
		f("split_part", "s, separator, n", "part n between separators, counted from 1, or from the end where negative", "split_part('a,b,c', ',', 2)", "b", 3, 3, splitPart, "string_split_part"),
		f("strpos", "s, part", "place of the first match in characters, or 0", "strpos('group', 'o')", "3", 2, 2, position, "instr"),
		f("contains", "s, part", "whether s has the part", "contains('group', 'ou')", "true", 2, 2, textTest(strings.Contains)),
		f("starts_with", "s, part", "whether s begins with it", "starts_with('group', 'gr')", "true", 2, 2, textTest(strings.HasPrefix), "prefix"),
		f("ends_with", "s, part", "whether s ends with it", "ends_with('group', 'up')", "true", 2, 2, textTest(strings.HasSuffix), "suffix"),
		f("ascii", "s", "number of the first character, or 0", "ascii('a')", "97", 1, 1, firstRune(0)),
		f("unicode", "s", "the same, or -1", "unicode('')", "-1", 1, 1, firstRune(-1), "ord"),
		f("chr", "n", "character of a number", "chr(97)", "a", 1, 1, character),
		f("regexp_matches", "s, pattern [, options]", "whether a part of s matches (RE2); s ~ pattern too", "regexp_matches('group', '^g.*p$')", "true", 2, 3, regexpTest(false), "~"),
		f("regexp_full_match", "s, pattern [, options]", "whether all of s matches", "regexp_full_match('group', 'g.')", "false", 2, 3, regexpTest(true)),
		f("regexp_replace", "s, pattern, new [, options]", `with new for the first match, or with 'g' for all; \1 is the first group`, `regexp_replace('banana', '(a)n', '\1m', 'g')`, "bamama", 3, 4, regexpReplace),
		f("regexp_extract", "s, pattern [, group]", "the first match, or a group of it, or ''", "regexp_extract('a=1', '=(.)', 1)", "1", 2, 3, regexpExtract),
	}
}

func timeFunctions() []Function {
	f := func(name, params, help, example, result string, args int, bind binding, aliases ...string) Function {
		return Function{Name: name, Aliases: aliases, Section: sectionTime, Usage: name + "(" + params + ")", Help: help,
			Example: example, Result: result, argsMin: args, argsMax: args, bind: bind}
	}
	list := []Function{
		f("date_trunc", "unit, t", "beginning of its microsecond, millisecond, second, minute, hour, day, week, month, quarter, year, decade, century or millennium",
			"date_trunc('month', DATE '2020-02-03')", "2020-02-01 00:00:00", 2, truncation, "datetrunc"),
		f("date_part", "part, t", "a part, or 'epoch': seconds since 1970 as a double; EXTRACT(part FROM t) too", "date_part('year', DATE '2020-02-03')", "2020", 2, extraction, "extract", "datepart"),
		f("date_diff", "unit, from, to", "how many borders of the unit lie between; whole weeks", "date_diff('month', DATE '2020-01-31', DATE '2020-03-01')", "2", 3, difference, "datediff"),
		f("strftime", "t, format", "as text: %Y %m %d %H %M %S %f %g %y %j %a %A %b %B %p %I %U %W %V %G %u %w %c %x %X, %-d without zeros",
			"strftime(DATE '2020-02-03', '%d.%m.%y')", "03.02.20", 2, strftime),
		f("last_day", "t", "last day of its month", "last_day(DATE '2020-02-03')", "2020-02-29", 1, lastDay),
		f("make_date", "year, month, day", "a date", "make_date(2020, 2, 29)", "2020-02-29", 3, makeDate),
		f("dayname", "t", "name of the weekday", "dayname(DATE '2020-02-03')", "Monday", 1, nameOf(func(m moment) string { return dayNames[weekday(m.days)] })),
		f("monthname", "t", "name of the month", "monthname(DATE '2020-02-03')", "February", 1, nameOf(func(m moment) string { return monthNames[m.month-1] })),
		f("epoch", "t", "seconds since 1970, as a double", "epoch(TIMESTAMP '1970-01-01 00:01:00.5')", "60.5", 1, epoch),
		f("epoch_ms", "t", "whole milliseconds since 1970", "epoch_ms(TIMESTAMP '1970-01-01 00:00:01')", "1000", 1, epochIn(1000)),
		f("epoch_us", "t", "microseconds since 1970", "epoch_us(TIMESTAMP '1970-01-01 00:00:01')", "1000000", 1, epochIn(1)),
		f("to_timestamp", "seconds", "a timestamp with time zone, of seconds since 1970", "to_timestamp(1.5)", "1970-01-01 00:00:01.5+00", 1, toTimestamp(TimestampTZ, secondMicros)),
		f("make_timestamp", "microseconds", "a timestamp, of microseconds since 1970", "make_timestamp(1000000)", "1970-01-01 00:00:01", 1, toTimestamp(Timestamp, 1)),
		f("make_timestamp_ms", "milliseconds", "a timestamp, of milliseconds since 1970", "make_timestamp_ms(1000)", "1970-01-01 00:00:01", 1, toTimestamp(Timestamp, 1000)),
	}
	for _, part := range dateParts {
		name := part.names[0]
		example, result := "DATE '2020-02-03'", formatValue(typeOf(Int64), part.of(civil{2020, 2, 3}.days(), 0))
		if part.time {
			clock := int64(4*hourMicros + 5*minuteMicros + 6_700_000)
			example, result = "TIMESTAMP '2020-02-03 04:05:06.7'", formatValue(typeOf(Int64), part.of(0, clock))
		}
		var aliases []string
		for _, alias := range part.names[1:] {
			if len(alias) > 6 { // year(t) and dayofmonth(t), but no y(t) and no ms(t)
				aliases = append(aliases, alias)
			}
		}
		list = append(list, f(name, "t", "part of a date or a time", name+"("+example+")", result, 1, partOf(name), aliases...))
	}
	return list
}
