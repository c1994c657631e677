package expr

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/timeformat"
)

// Function is a function or an operator, with what docs/sql.md says of it.
type Function struct {
	Name    string // in lower case; of an operator, its sign
	Aliases []string
	Section string // of docs/sql.md
	Usage   string // how a call is written
	Help    string // what a call gives
	Example string // an expression of constants
	Result  string // of Example, as text

	argsMin, argsMax int // argsMax is -1 of any number
	bind             binding
	isDrawn          bool // it has another value for each row
}

// The sections of docs/sql.md.
const (
	sectionCompare = "Comparison and logic"
	sectionChoose  = "Choice"
	sectionMath    = "Numbers"
	sectionText    = "Strings"
	sectionTime    = "Dates and times"
	sectionNested  = "Lists, structs and maps"
	sectionJSON    = "JSON"
)

// Functions returns all functions, in the order of the documentation.
func Functions() []Function { return slices.Clone(functions) }

// functionNames lists the names of functions that are written as words; for "did you mean".
func functionNames() []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(functionsByName)), func(name string) bool {
		return name[0] < 'a' || name[0] > 'z' || strings.Contains(name, " ")
	})
}

// IsFunction says whether a function goes by a name, in any case.
func IsFunction(name string) bool {
	_, ok := functionsByName[strings.ToLower(name)]
	return ok
}

// IsCalled says whether a function goes by a name, in any case, and is written as a call.
func IsCalled(name string) bool {
	f, ok := functionsByName[strings.ToLower(name)]
	return ok && strings.HasPrefix(f.Usage, f.Name+"(")
}

// arguments says how many arguments a function takes.
func (f *Function) arguments() string {
	switch {
	case f.argsMax < 0:
		return fmt.Sprintf("%d arguments or more", f.argsMin)
	case f.argsMin == f.argsMax:
		return digits.Counted(int64(f.argsMin), "argument")
	}
	return fmt.Sprintf("%d to %d arguments", f.argsMin, f.argsMax)
}

// functions are the rows of the tables below, in the order of the documentation.
var functions []Function

var functionsByName map[string]*Function

func init() {
	for _, section := range []struct {
		name string
		list []Function
	}{
		{sectionCompare, comparisons()}, {sectionChoose, choices()}, {sectionMath, numberFunctions()},
		{sectionMath, moreNumbers()}, {sectionMath, drawings()}, {sectionMath, uuidFunctions()},
		{sectionText, textFunctions()}, {sectionText, partFunctions()}, {sectionText, likes()},
		{sectionText, similarities()}, {sectionText, codes()},
		{sectionText, bitFunctions()}, {sectionText, enumFunctions()}, {sectionText, formats()},
		{sectionTime, timeFunctions()}, {sectionTime, clocks()}, {sectionTime, zonedTimes()},
		{sectionNested, listFunctions()}, {sectionNested, moreLists()}, {sectionNested, distances()},
		{sectionNested, structFunctions()}, {sectionNested, partsOfStructs()}, {sectionNested, textLists()},
		{sectionJSON, jsonFunctions()}, {sectionJSON, jsonMakers()},
	} {
		for _, f := range section.list {
			f.Section = section.name
			functions = append(functions, f)
		}
	}
	functionsByName = map[string]*Function{
		MeanOfParts:    {Name: MeanOfParts, argsMin: 2, argsMax: 2, bind: meanOfParts},
		AtMostOne:      {Name: AtMostOne, argsMin: 1, argsMax: 1, bind: atMostOne},
		FieldsOfTuples: {Name: FieldsOfTuples, argsMin: 1, argsMax: 1, bind: fieldsOfTuples},
		ArrayOf:        {Name: ArrayOf, argsMin: 2, argsMax: -1, bind: arrayOf},
		FirstOfPairs:   {Name: FirstOfPairs, argsMin: 3, argsMax: 3, bind: firstOfPairs},
		RoundedTime:    {Name: RoundedTime, argsMin: 2, argsMax: 2, bind: roundedTime},
		NestedValue:    {Name: NestedValue, argsMin: 1, argsMax: 1, bind: nestedValue},
		EqualIntervals: {Name: EqualIntervals, argsMin: 1, argsMax: 1, bind: equalIntervals},
		BytesOfValue:   {Name: BytesOfValue, argsMin: 1, argsMax: 1, bind: bytesOfValue},
		JSONOfList:     {Name: JSONOfList, argsMin: 2, argsMax: 2, bind: jsonOfList},
		JSONOfPairs:    {Name: JSONOfPairs, argsMin: 2, argsMax: 2, bind: jsonOfPairs},
		Flattened:      {Name: Flattened, argsMin: 2, argsMax: 2, bind: flattened},
		PartOfPeriod:   {Name: PartOfPeriod, argsMin: 2, argsMax: 2, bind: partOfPeriod},
		MeanOfPeriods:  {Name: MeanOfPeriods, argsMin: 4, argsMax: 4, bind: meanOfPeriods},
		BitsOfNumbers:  {Name: BitsOfNumbers, argsMin: 3, argsMax: 3, bind: bitsOfNumbers},
		RowOf:          {Name: RowOf, argsMin: 1, argsMax: -1, bind: rowOf},
		NumberOfRows:   {Name: NumberOfRows, argsMin: 1, argsMax: 1, bind: numberOfRows},
		ShareOfRows:    {Name: ShareOfRows, argsMin: 2, argsMax: 2, bind: shareOfRows},
	}
	for i := range functions {
		f := &functions[i]
		functionsByName[f.Name] = f
		for _, alias := range f.Aliases {
			functionsByName[alias] = f
		}
	}
}

// operator returns a function that has a syntax of its own; argsMax is -1 if any number is taken.
func operator(name, usage, help, example, result string, argsMin, argsMax int, bind binding, aliases ...string) Function {
	return Function{name, aliases, "", usage, help, example, result, argsMin, argsMax, bind, false}
}

// function returns a function called by its name. Parameters in brackets are optional, ... is any
// number.
func function(name, params, help, example, result string, bind binding, aliases ...string) Function {
	required, optional, _ := strings.Cut(params, "[")
	argsMin := len(strings.FieldsFunc(strings.TrimSuffix(required, ", ..."), func(r rune) bool { return r == ',' }))
	argsMax := argsMin + strings.Count(optional, ",")
	if strings.HasSuffix(params, "...") {
		argsMax = -1
	}
	return operator(name, name+"("+params+")", help, example, result, argsMin, argsMax, bind, aliases...)
}

func comparisons() []Function {
	return []Function{
		operator("=", "a = b", "equal; NULL where a or b is", "1 = 1.0", "true", 2, 2, comparison("=")),
		operator("<>", "a <> b", "not equal; != too", "'a' <> 'b'", "true", 2, 2, comparison("<>")),
		operator("<", "a < b", "less", "DATE '2020-01-31' < '2020-02-01'", "true", 2, 2, comparison("<")),
		operator("<=", "a <= b", "less or equal", "2 <= 1", "false", 2, 2, comparison("<=")),
		operator(">", "a > b", "greater; NaN is the greatest number", "'nan'::DOUBLE > 1e308", "true", 2, 2, comparison(">")),
		operator(">=", "a >= b", "greater or equal", "2 >= 2", "true", 2, 2, comparison(">=")),
		operator("is distinct from", "a IS DISTINCT FROM b", "not equal, with NULL as a value", "NULL IS DISTINCT FROM 1", "true", 2, 2, distinctness(true)),
		operator("is not distinct from", "a IS NOT DISTINCT FROM b", "equal, with NULL as a value", "NULL IS NOT DISTINCT FROM NULL", "true", 2, 2, distinctness(false)),
		operator("is null", "a IS NULL", "whether there is no value", "NULL IS NULL", "true", 1, 1, nullTest(true)),
		operator("is not null", "a IS NOT NULL", "whether there is a value", "0 IS NOT NULL", "true", 1, 1, nullTest(false)),
		operator("is true", "a IS TRUE", "TRUE, never NULL", "(NULL > 1) IS TRUE", "false", 1, 1, truthTest(true, false)),
		operator("is not true", "a IS NOT TRUE", "FALSE or NULL", "(NULL > 1) IS NOT TRUE", "true", 1, 1, truthTest(true, true)),
		operator("is false", "a IS FALSE", "FALSE, never NULL", "(2 < 1) IS FALSE", "true", 1, 1, truthTest(false, false)),
		operator("is not false", "a IS NOT FALSE", "TRUE or NULL", "(2 < 1) IS NOT FALSE", "false", 1, 1, truthTest(false, true)),
		operator("and", "a AND b", "b is evaluated where a is not FALSE", "NULL AND FALSE", "false", 2, -1, conjunction(false)),
		operator("or", "a OR b", "b is evaluated where a is not TRUE", "NULL OR TRUE", "true", 2, -1, conjunction(true)),
		operator("not", "NOT a", "the other truth value", "NOT 1 = 2", "true", 1, 1, inversion),
		operator("between", "a BETWEEN low AND high", "low <= a and a <= high; NOT BETWEEN too", "2 BETWEEN 1 AND 2", "true", 3, 3, between),
		operator("in", "a IN (b, ...)", "equal to one of them; NOT IN too", "3 IN (1, 2)", "false", 2, -1, membership),
		operator("like", "a LIKE pattern [ESCAPE c]", "% is any characters, _ is one; NOT LIKE too", "'group-by' LIKE 'gr%_y'", "true", 2, 3, like(false)),
		operator("ilike", "a ILIKE pattern [ESCAPE c]", "LIKE for which upper and lower case are the same", "'Ulm' ILIKE 'u_M'", "true", 2, 3, like(true)),
	}
}

func choices() []Function {
	return []Function{
		operator("case", "CASE WHEN c THEN a ... ELSE b END", "the result of the first condition that is TRUE; CASE x WHEN v THEN a too",
			"CASE WHEN 1 > 2 THEN 'a' ELSE 'b' END", "b", 2, -1, caseOf),
		function("if", "c, a, b", "CASE WHEN c THEN a ELSE b END", "if(1 < 2, 'yes', 'no')", "yes", caseOf),
		function("coalesce", "a, ...", "the first that is not NULL", "coalesce(NULL, 2, 3)", "2", coalesce, "ifnull"),
		function("nullif", "a, b", "NULL where a = b, else a", "nullif(0, 0)", "NULL", nullIf),
		function("constant_or_null", "a, b, ...", "a, or NULL where one of the others is",
			"constant_or_null(1, NULL)", "NULL", unlessNull),
		function("try", "a", "NULL where a is an error", "try('x'::INTEGER)", "NULL", attempt),
		function("greatest", "a, ...", "the greatest value that is not NULL", "greatest(1, NULL, 3)", "3", extreme(">")),
		function("least", "a, ...", "the least value that is not NULL", "least('b', 'a')", "a", extreme("<")),
		function("typeof", "a", "the name of the type", "typeof(1.5)", "DECIMAL(2,1)", nameOfType(strings.Clone)),
		function("pg_typeof", "a", "the same in lower case", "pg_typeof(1)", "integer", nameOfType(strings.ToLower)),
		function("hash", "a, ...", "64 bits of the values, the same on every run and machine", "hash('a') = hash('a')", "true", hashOf),
	}
}

func numberFunctions() []Function {
	return []Function{
		operator("+", "a + b", "sum; an integer that does not fit its type is an error", "1.5 + 1", "2.5", 1, 2, plus, "add"),
		operator("-", "a - b, -a", "difference, negative", "DATE '2020-03-01' - DATE '2020-02-01'", "29", 1, 2, minus,
			"subtract"),
		operator("*", "a * b", "product; of decimals it has the places of both", "0.5 * 0.25", "0.125", 2, 2,
			arithmetic(multiplication), "multiply"),
		operator("/", "a / b", "quotient, as a double; by 0 inf or nan", "7 / 2", "3.5", 2, 2, division),
		operator("//", "a // b", "quotient of integers, towards 0, and of other numbers as / has it; by 0 an error",
			"-7 // 2", "-3", 2, 2, remainder("//"), "divide"),
		operator("%", "a % b, mod(a, b)", "remainder, with the sign of a; by 0 an error, of doubles nan", "-7 % 3", "-1", 2, 2, remainder("%"), "mod"),
		operator("^", "a ^ b, a ** b, pow(a, b)", "power, as a double", "pow(2, 10)", "1024.0", 2, 2, ofTwo(math.Pow), "pow", "power"),
		operator("&", "a & b", "bits that both have", "12 & 10", "8", 2, 2, ofBits(bitsTogether("&"), bitwise("&"))),
		operator("|", "a | b", "bits that either has", "12 | 10", "14", 2, 2, ofBits(bitsTogether("|"), bitwise("|"))),
		operator("xor", "xor(a, b)", "bits that one of them has", "xor(12, 10)", "6", 2, 2,
			ofBits(bitsTogether("xor"), bitwise("xor"))),
		operator("<<", "a << b", "bits shifted to the left", "1 << 10", "1024", 2, 2,
			ofBits(bitsTogether("<<"), bitwise("<<"))),
		operator(">>", "a >> b", "bits shifted to the right", "1024 >> 3", "128", 2, 2,
			ofBits(bitsTogether(">>"), bitwise(">>"))),
		function("abs", "x", "without its sign; @ x too", "abs(-2.5)", "2.5", absolute, "@"),
		function("round", "x [, digits]", "to the nearest, halves away from 0; to a number of digits after the decimal point, or before it where negative", "round(2.345, 2)", "2.35", round),
		function("floor", "x", "the integer that is not above", "floor(-1.5)", "-2", rounded(roundDown, false)),
		function("ceil", "x", "the integer that is not below", "ceil(1.2)", "2", rounded(roundUp, false), "ceiling"),
		function("trunc", "x [, digits]", "without its fraction, or what stands behind a number of digits", "trunc(-1.5)",
			"-1", rounded(roundToZero, true)),
		function("sign", "x", "-1, 0 or 1", "sign(-3)", "-1", sign),
		function("sqrt", "x", "square root; of a negative number nan", "sqrt(16)", "4.0", real(math.Sqrt)),
		function("cbrt", "x", "cube root", "cbrt(8)", "2.0", real(math.Cbrt)),
		function("exp", "x", "e to the power of x", "exp(0)", "1.0", real(math.Exp)),
		function("ln", "x", "natural logarithm; of 0 -inf, of a negative number nan", "ln(1)", "0.0", real(logarithm(math.Log))),
		function("log10", "x", "logarithm to the base 10", "log10(1000)", "3.0", real(logarithm(math.Log10))),
		operator("log", "log([base, ] x)", "logarithm to a base, without one to 10", "log(2, 8)", "3.0", 1, 2, logTo),
		function("log2", "x", "logarithm to the base 2", "log2(8)", "3.0", real(logarithm(math.Log2))),
		function("sin", "x", "sine", "sin(0)", "0.0", real(math.Sin)),
		function("cos", "x", "cosine", "cos(0)", "1.0", real(math.Cos)),
		function("tan", "x", "tangent", "tan(0)", "0.0", real(math.Tan)),
		function("asin", "x", "inverse sine", "asin(0)", "0.0", real(math.Asin)),
		function("acos", "x", "inverse cosine", "acos(1)", "0.0", real(math.Acos)),
		function("atan", "x", "inverse tangent", "atan(0)", "0.0", real(math.Atan)),
		function("atan2", "y, x", "angle of a point", "atan2(0, 1)", "0.0", ofTwo(math.Atan2)),
		function("cot", "x", "cotangent", "round(cot(1), 4)", "0.6421", real(cotangent)),
		function("sinh", "x", "hyperbolic sine", "sinh(0)", "0.0", real(math.Sinh)),
		function("cosh", "x", "hyperbolic cosine", "cosh(0)", "1.0", real(math.Cosh)),
		function("tanh", "x", "hyperbolic tangent", "tanh(0)", "0.0", real(math.Tanh)),
		function("asinh", "x", "inverse hyperbolic sine", "asinh(0)", "0.0", real(math.Asinh)),
		function("acosh", "x", "inverse hyperbolic cosine", "acosh(1)", "0.0", real(math.Acosh)),
		function("atanh", "x", "inverse hyperbolic tangent", "atanh(0)", "0.0", real(math.Atanh)),
		function("even", "x", "the next even number away from 0", "even(2.1)", "4.0", real(evenNumber)),
		function("radians", "x", "degrees as radians", "radians(0)", "0.0", real(func(v float64) float64 { return v * (math.Pi / 180) })),
		function("degrees", "x", "radians as degrees", "degrees(0)", "0.0", real(func(v float64) float64 { return v * (180 / math.Pi) })),
		function("pi", "", "3.14159...", "round(pi(), 4)", "3.1416", pi),
		function("isnan", "x", "whether it is NaN", "isnan('nan'::DOUBLE)", "true", floatTest(math.IsNaN)),
		function("isinf", "x", "whether it is an infinity", "isinf(1 / 0)", "true", floatTest(infinite)),
		function("isfinite", "x", "whether it is neither", "isfinite(1 / 0)", "false", floatTest(isFinite)),
	}
}

func textFunctions() []Function {
	return []Function{
		operator("||", "a || b", "one string, or one list, after the other; NULL where a or b is", "'a' || 1", "a1", 2, 2,
			ofLists(joinLists(true), concatenation)),
		function("length", "s", "characters; of a BLOB its bytes, of a list its elements", "length('größe')", "5",
			ofLists(listLength(Int64), ofBits(countOfBits(allBits), length(characters))),
			"array_length", "len", "char_length", "character_length"),
		function("strlen", "s", "bytes", "strlen('größe')", "7",
			ofBits(countOfBits(bytesOfBits), length(byteCount)), "octet_length"),
		function("lower", "s", "in lower case", "lower('Ulm')", "ulm", textToText(lower), "lcase"),
		function("upper", "s", "in upper case", "upper('Ulm')", "ULM", textToText(upper), "ucase"),
		function("substr", "s, start [, length]", "characters from one on, counted from 1, or from the end where negative", "substr('group', 2, 3)", "rou", substr, "substring"),
		function("left", "s, n", "the first n characters; all but the last -n where negative", "left('group', 2)", "gr", side(true)),
		function("right", "s, n", "the last n characters; all but the first -n where negative", "right('group', 2)", "up", side(false)),
		function("trim", "s [, characters]", "without spaces, or characters, at both ends", "trim('  a ')", "a", trimming(true, true), "btrim"),
		function("ltrim", "s [, characters]", "the same at the beginning", "ltrim('xxa', 'x')", "a", trimming(true, false)),
		function("rtrim", "s [, characters]", "the same at the end", "rtrim('axx', 'x')", "a", trimming(false, true)),
		function("lpad", "s, n, fill", "n characters, filled up or cut off, fill first", "lpad('7', 3, '0')", "007", padding(true)),
		function("rpad", "s, n, fill", "n characters, filled up or cut off, fill last", "rpad('7', 3, '.')", "7..", padding(false)),
		function("repeat", "s, n", "n times", "repeat('ab', 2)", "abab", repeat),
		function("reverse", "s", "the last character first", "reverse('abc')", "cba", textToText(reversed)),
		function("md5", "s", "MD5, in hexadecimal digits", "md5('a')", "0cc175b9c0f1b6a831c399e269772661",
			digest(md5.New)),
		function("sha1", "s", "SHA-1, in hexadecimal digits", "left(sha1('a'), 8)", "86f7e437", digest(sha1.New)),
		function("sha256", "s", "SHA-256, in hexadecimal digits", "left(sha256('a'), 8)", "ca978112", digest(sha256.New)),
		function("concat", "a, ...", "one string after the other, without NULL", "concat('a', NULL, 1)", "a1", concat(false)),
		function("concat_ws", "separator, a, ...", "the same with a separator between", "concat_ws('-', 'a', 'b')", "a-b", concat(true)),
		function("replace", "s, old, new", "with new in place of every old", "replace('banana', 'an', 'o')", "booa", replacement),
		function("split_part", "s, separator, n", "part n between separators, counted from 1, or from the end where negative", "split_part('a,b,c', ',', 2)", "b", splitPart, "string_split_part"),
		function("strpos", "s, part", "place of the first match in characters, or 0", "strpos('group', 'o')", "3", position, "instr", "position"),
		function("contains", "s, part", "whether s has the part", "contains('group', 'ou')", "true",
			ofLists(listContains, contains)),
		function("starts_with", "s, part", "whether s begins with it", "starts_with('group', 'gr')", "true", textTest(strings.HasPrefix, partBefore), "prefix"),
		function("ends_with", "s, part", "whether s ends with it", "ends_with('group', 'up')", "true", textTest(strings.HasSuffix, partBehind), "suffix"),
		function("ascii", "s", "number of the first character, or 0", "ascii('a')", "97", firstRune(0)),
		function("unicode", "s", "the same, or -1", "unicode('')", "-1", firstRune(-1), "ord"),
		function("chr", "n", "character of a number", "chr(97)", "a", character),
		function("regexp_matches", "s, pattern [, options]", "whether a part of s matches (RE2); s ~ pattern too", "regexp_matches('group', '^g.*p$')", "true", regexpTest(false), "~"),
		function("regexp_full_match", "s, pattern [, options]", "whether all of s matches", "regexp_full_match('group', 'g.')", "false", regexpTest(true)),
		function("regexp_replace", "s, pattern, new [, options]", `with new for the first match, or with 'g' for all; \1 is the first group`, `regexp_replace('banana', '(a)n', '\1m', 'g')`, "bamama", regexpReplace),
		function("regexp_extract", "s, pattern [, group] [, options]",
			"the first match, or a group of it, or ''; a struct of the groups for a list of their names",
			"regexp_extract('a=1', '=(.)', 1)", "1", regexpExtract),
	}
}

func timeFunctions() []Function {
	list := []Function{
		function("date_trunc", "unit, t", "beginning of its microsecond, millisecond, second, minute, hour, day, week, month, quarter, year, decade, century or millennium",
			"date_trunc('month', DATE '2020-02-03')", "2020-02-01 00:00:00", truncation, "datetrunc"),
		operator("age", "age([to,] from)", "years, months, days and the rest of a day from one time to another, or to today",
			"age(DATE '2001-04-10', DATE '1957-06-13')", "43 years 9 months 27 days", 2, 2, age),
		function("date_part", "part, t", "a part, or 'epoch': seconds since 1970 as a double; EXTRACT(part FROM t) too", "date_part('year', DATE '2020-02-03')", "2020", extraction, "extract", "datepart"),
		function("date_diff", "unit, from, to", "how many borders of the unit lie between; whole weeks", "date_diff('month', DATE '2020-01-31', DATE '2020-03-01')", "2", difference, "datediff"),
		function("strftime", "t, format", "as text: %Y %m %d %H %M %S %f %g %y %j %a %A %b %B %p %I %U %W %V %G %u %w %n %c %x %X %T, %-d without zeros",
			"strftime(DATE '2020-02-03', '%d.%m.%y')", "03.02.20", strftime),
		function("strptime", "text, format, ...", "the time that a text has, by a format of strftime, or the first of a list that it is of; else an error; with %z or %Z a TIMESTAMPTZ, with %n a TIMESTAMP_NS",
			"strptime('31.12.2025 14:05', '%d.%m.%Y %H:%M')", "2025-12-31 14:05:00", strptime(false)),
		function("try_strptime", "text, format, ...", "strptime that is NULL where a text is of no format",
			"try_strptime('31.12.', '%d.%m.%Y')", "NULL", strptime(true)),
		function("last_day", "t", "last day of its month", "last_day(DATE '2020-02-03')", "2020-02-29", lastDay),
		function("days_in_month", "t", "the number of days of its month", "days_in_month(DATE '2020-02-03')", "29",
			func(b *binder, n *node) { b.becomes(n, "day", b.made(n, "last_day", n.args...)) }),
		operator("make_date", "make_date(year, month, day), make_date(days)", "a date, of its parts, or of days since 1970",
			"make_date(2020, 2, 29)", "2020-02-29", 1, 3, makeDate),
		function("dayname", "t", "name of the weekday", "dayname(DATE '2020-02-03')", "Monday", nameOf(func(m moment) string { return timeformat.DayNames[weekday(m.days)] })),
		function("monthname", "t", "name of the month", "monthname(DATE '2020-02-03')", "February", nameOf(func(m moment) string { return timeformat.MonthNames[m.month-1] })),
		function("epoch", "t", "seconds since 1970, as a double", "epoch(TIMESTAMP '1970-01-01 00:01:00.5')", "60.5", epoch),
		function("epoch_ms", "t", "nearest milliseconds since 1970; of an integer the timestamp",
			"epoch_ms(TIMESTAMP '1970-01-01 00:00:01')", "1000", epochMillis),
		function("epoch_us", "t", "microseconds since 1970", "epoch_us(TIMESTAMP '1970-01-01 00:00:01')", "1000000", epochIn(1)),
		function("to_timestamp", "seconds", "a timestamp with time zone, of seconds since 1970", "to_timestamp(1.5)", "1970-01-01 00:00:01.5+00", toTimestamp(TimestampTZ, secondMicros)),
		operator("make_timestamp", "make_timestamp(year, month, day, hour, minute, seconds), make_timestamp(microseconds)",
			"a timestamp, of its parts, or of microseconds since 1970", "make_timestamp(2020, 2, 3, 4, 5, 6.7)",
			"2020-02-03 04:05:06.7",
			1, 6, makeTimestamp),
		function("make_timestamp_ms", "milliseconds", "a timestamp, of milliseconds since 1970", "make_timestamp_ms(1000)", "1970-01-01 00:00:01", toTimestamp(Timestamp, 1000)),
	}
	for i := range dateParts {
		part := &dateParts[i]
		name := part.names[0]
		if name == "timezone" { // which is a function of a zone, too
			continue
		}
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
		list = append(list, function(name, "t", "part of a date or a time", name+"("+example+")", result, partOf(part), aliases...))
	}
	return list
}
