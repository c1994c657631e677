package expr

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/timeformat"
)

// moreLists are the functions that cut lists, reduce them, or call a lambda for their elements.
func moreLists() []Function {
	list := []Function{
		operator("range", "range([start,] stop [, step])",
			"whole numbers up to the one before stop, as a list; of times the step is an interval",
			"range(1, 4)", "[1, 2, 3]", 1, 3, series(false)),
		operator("generate_series", "generate_series([start,] stop [, step])", "whole numbers up to stop, as a list",
			"generate_series(1, 3)", "[1, 2, 3]", 1, 3, series(true)),
		function("list_where", "list, flags", "the elements whose flag is true", "list_where([1, 2], [false, true])", "[2]",
			listWhere, "array_where"),
		function("list_select", "list, numbers", "the elements with some numbers", "list_select([4, 5, 6], [3, 1])", "[6, 4]",
			listSelect, "array_select"),
		function("list_resize", "list, n [, a]", "n elements, cut off or filled up with a, or NULL", "list_resize([1], 2, 0)",
			"[1, 0]", resize, "array_resize"),
		function("array_to_string", "list, separator", "the elements as one string, without NULL; NULL of NULLs alone",
			"array_to_string([1, 2], '-')", "1-2", joinElements, "list_to_string"),
		function("array_to_string_comma_default", "list [, separator]",
			"array_to_string with a comma where nothing else is given", "array_to_string_comma_default([1, 2])", "1,2",
			joinByCommas),
		function("list_transform", "list, lambda", "what a lambda makes of each element, and perhaps of its number",
			"list_transform([1, 2], lambda x: x + 1)", "[2, 3]", transform,
			"list_apply", "apply", "array_transform", "array_apply"),
		function("list_filter", "list, lambda", "the elements for which a lambda is true",
			"list_filter([1, 2], lambda x: x > 1)", "[2]", filterList, "filter", "array_filter"),
		function("list_reduce", "list, lambda [, first]", "what a lambda makes of the result so far and the next element",
			"list_reduce([1, 2, 3], lambda a, b: a + b)", "6", reduce, "reduce", "array_reduce"),
		operator("list_aggregate", "list_aggregate(list, name [, constant])",
			"the aggregate function of a name, of the elements, with the constant that it takes",
			"list_aggregate([1, 2], 'sum')", "3", 2, 3, aggregateList,
			"list_aggr", "array_aggregate", "array_aggr", "aggregate"),
		function("is_histogram_other_bin", "a", "whether it is the key that a histogram has for values in none of its bins",
			"is_histogram_other_bin('')", "true", isOtherBin),
		function("invoke", "lambda, a, ...", "what a lambda makes of values", "invoke(lambda x, y: x * y, 3, 4)", "12",
			invoke),
	}
	for _, name := range slices.Sorted(maps.Keys(foldExamples)) {
		call, example := "list_"+name, foldExamples[name]
		list = append(list, function(call, "list", "list_aggregate of "+name, call+"("+example[0]+")", example[1],
			func(b *binder, n *node) { foldList(b, n, name) }))
	}
	return list
}

var foldExamples = map[string][2]string{
	"sum": {"[1, 2]", "3"}, "avg": {"[1, 2]", "1.5"}, "min": {"[1, 2]", "1"}, "max": {"[1, 2]", "2"},
	"count": {"[1, NULL]", "1"}, "product": {"[2, 3]", "6.0"}, "any_value": {"[NULL, 3]", "3"}, "first": {"[1, 2]", "1"},
	"last": {"[1, 2]", "2"}, "bool_and": {"[true, false]", "false"}, "bool_or": {"[true, false]", "true"},
	"approx_count_distinct": {"[1, 1, 2]", "2"}, "bit_and": {"[3, 1]", "1"}, "bit_or": {"[1, 2]", "3"},
	"bit_xor": {"[1, 3]", "2"}, "entropy": {"[1, 2]", "1.0"}, "histogram": {"['a', 'b', 'a']", "{a=2, b=1}"},
	"kurtosis": {"[0, 0, 2, 2]", "-6.0"}, "kurtosis_pop": {"[1, 2]", "-2.0"}, "mad": {"[1, 2, 5]", "1.0"},
	"median": {"[1, 2]", "1.5"}, "mode": {"[1, 2, 2]", "2"}, "sem": {"[1, 1]", "0.0"},
	"skewness": {"[1, 2, 3]", "0.0"}, "stddev_pop": {"[1, 3]", "1.0"}, "stddev_samp": {"[1, 1]", "0.0"},
	"string_agg": {"['a', 'b']", "a,b"}, "var_pop": {"[1, 3]", "1.0"}, "var_samp": {"[1, 3]", "2.0"},
}

// sliceList binds list[from:to:step].
func sliceList(b *binder, n *node) {
	n.fallible = len(n.args) == 4
	b.list(n, 0)
	n.typ = n.args[0].typ
	for i := 1; i < len(n.args); i++ {
		b.castArg(n, i, typeOf(Int64))
	}
	n.eval = rowKernel(n, ofAny, func(e *Evaluator, args []*vector, row int) (string, error) {
		step := int64(1)
		if len(args) == 4 {
			step = args[3].ints[row]
		}
		if step == 0 {
			return "", valueError(n, "the step is 0")
		}
		kept := slicedElements(e.list(n.typ.layout, args[0].texts[row]), args[1].ints[row], args[2].ints[row], step)
		return e.newList(n, kept)
	})
}

// slicedElements returns every step-th element between two places, which count from the end where negative. A negative
// step leads from the place behind to the one before.
func slicedElements(list []nested.Element, from, to, step int64) []nested.Element {
	n := int64(len(list))
	if from < 0 {
		from = max(from, -n-1) + n + 1
	}
	if to < 0 {
		to = max(to, -n-1) + n + 1
	}
	if step < 0 {
		slices.Reverse(list)
		from, to, step = n+1-min(from, n), n+1-max(to, 1), -max(step, -n-1)
	}
	from, to = max(from, 1), min(to, n)
	kept := list[:0]
	for i := from; i <= to; i += min(step, n) {
		kept = append(kept, list[i-1])
	}
	return kept
}

// seriesMax bounds the elements of a list that is made of two numbers.
const seriesMax = 1 << 27

// series binds range and generate_series.
func series(closed bool) binding {
	return func(b *binder, n *node) {
		if isTime := func(a *node) bool { return a.typ.temporal() }; slices.ContainsFunc(n.args, isTime) {
			b.timeSeries(n, closed)
			return
		}
		if len(n.args) == 1 {
			n.args = []*node{b.constant(typeOf(Int64), int64(0)), n.args[0]}
		}
		if len(n.args) == 2 {
			n.args = append(n.args, b.constant(typeOf(Int64), int64(1)))
		}
		for i, a := range n.args {
			if !a.typ.integer() && a.typ.ID != Null {
				b.fail(a.at, "not supported: %s: a list of other than whole numbers and times", n.text)
			}
			b.castArg(n, i, typeOf(Int64))
		}
		n.fallible = true
		n.typ = ListOf(typeOf(Int64))
		of := n.typ.layout.Parts[0]
		n.eval = map3f(n, func(e *Evaluator, from, to, step int64) (string, error) {
			if step == 0 {
				return "\x00", nil
			}
			d := e.draft[:0]
			for v, count := from, 0; closed && v == to || step > 0 && v < to || step < 0 && v > to; v += step {
				if count++; count > seriesMax {
					return "", valueError(n, "a list of more than %d elements", seriesMax)
				}
				d = of.AppendInt(append(d, nested.Some), v)
				if step > 0 && v > math.MaxInt64-step || step < 0 && v < math.MinInt64-step {
					break
				}
			}
			return e.keeping(n, append(d, nested.End))
		})
	}
}

// timeSeries binds range and generate_series of points in time and an interval.
func (b *binder) timeSeries(n *node, closed bool) {
	if len(n.args) != 3 {
		b.fail(n.at, "%s: of times want the first, the last and an interval", n.text)
	}
	t := typeOf(Timestamp)
	if n.args[0].typ.ID == TimestampTZ || n.args[1].typ.ID == TimestampTZ {
		t = typeOf(TimestampTZ)
	}
	zone := b.zoneFor(t)
	b.castArg(n, 0, t)
	b.castArg(n, 1, t)
	b.periods(n, 2)
	n.typ, n.fallible = ListOf(t), true
	of := n.typ.layout.Parts[0]
	n.eval = map3f(n, func(e *Evaluator, from, to int64, s string) (string, error) {
		step := intervalFrom(s)
		sign := step.length().Sign()
		reaches := func(v int64) bool { return v != to && (v < to) == (sign > 0) || closed && v == to }
		if isDown := step.Months < 0 || step.Days < 0 || step.Micros < 0; isDown &&
			(step.Months > 0 || step.Days > 0 || step.Micros > 0) {
			return "", valueError(n, "the interval has positive and negative parts")
		}
		for _, v := range []int64{from, to} {
			if timeformat.InfinitySign(v, timeformat.InfiniteTime) != 0 {
				return "", valueError(n, "a time is infinite")
			}
		}
		d := e.draft[:0]
		for count, ok := 0, sign != 0; ok && reaches(from); count++ {
			if count == seriesMax {
				return "", valueError(n, "a list of more than %d elements", seriesMax)
			}
			d = of.AppendInt(append(d, nested.Some), from)
			from, ok = shiftedIn(zone, step)(from)
		}
		return e.keeping(n, append(d, nested.End))
	})
}

func listWhere(b *binder, n *node) {
	b.list(n, 0)
	b.castArg(n, 1, ListOf(typeOf(Bool)))
	n.typ, n.fallible = n.args[0].typ, true
	flags := n.args[1].typ.layout
	n.eval = map2f(n, func(e *Evaluator, s, t string) (string, error) {
		list := e.list(n.typ.layout, s)
		var kept []nested.Element
		for i, flag := range flags.Elements(nil, t) {
			if flag.Null {
				return "", noNullElements(n)
			}
			if flag.Value[0] != 0 {
				x := nested.Element{Null: true}
				if i < len(list) {
					x = list[i]
				}
				kept = append(kept, x)
			}
		}
		return e.newList(n, kept)
	})
}

// noNullElements is the error of a list that has NULL where a function wants none.
func noNullElements(n *node) error { return valueError(n, "argument 2 has NULL as an element") }

func listSelect(b *binder, n *node) {
	b.list(n, 0)
	b.castArg(n, 1, ListOf(typeOf(Int64)))
	n.typ, n.fallible = n.args[0].typ, true
	numbers := n.args[1].typ.layout
	n.eval = map2f(n, func(e *Evaluator, s, t string) (string, error) {
		list := e.list(n.typ.layout, s)
		var kept []nested.Element
		for _, number := range numbers.Elements(nil, t) {
			if number.Null {
				return "", noNullElements(n)
			}
			x := nested.Element{Null: true}
			if at := numbers.Parts[0].Int(number.Value); at >= 1 && at <= int64(len(list)) {
				x = list[at-1]
			}
			kept = append(kept, x)
		}
		return e.newList(n, kept)
	})
}

// ArrayOf is the function that checks how many elements a list has, and, by further numbers, the lists in it.
const ArrayOf = "array of"

func arrayOf(b *binder, n *node) {
	n.typ, n.fallible = n.args[0].typ, true
	var sizes []int64
	for _, a := range n.args[1:] {
		sizes = append(sizes, a.value.(int64))
	}
	n.args = n.args[:1]
	if isNull(n.args[0]) {
		n.isConst = true
		return
	}
	var check func(l *nested.Layout, s string, sizes []int64) error
	check = func(l *nested.Layout, s string, sizes []int64) error {
		list := l.Elements(nil, s)
		if int64(len(list)) != sizes[0] {
			return valueError(n, "a list of %d elements, want %d", len(list), sizes[0])
		}
		for _, x := range list {
			if len(sizes) > 1 && sizes[1] > 0 && !x.Null {
				if err := check(l.Parts[0], x.Value, sizes[1:]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	n.eval = map1e(n, func(s string) (string, error) { return s, check(n.typ.layout, s, sizes) })
}

func resize(b *binder, n *node) {
	if t := b.list(n, 0); len(n.args) == 3 {
		if a, ok := b.converted(n.args[2], t); ok && n.args[2].typ != t {
			n.args[2] = a
		}
		b.alike(n, 0, 2)
	}
	b.castArg(n, 1, typeOf(Int64))
	n.fallible = true
	n.typ = n.args[0].typ
	n.eval = rowKernel(n, ofFirst, func(e *Evaluator, args []*vector, row int) (string, error) {
		size, filler := args[1].ints[row], nested.Element{Null: true}
		if args[1].isNull(row) {
			size = 0
		}
		if size < 0 || size > seriesMax {
			return "", valueError(n, "a list of %d elements", size)
		}
		if len(args) == 3 {
			filler = nested.Element{Value: args[2].texts[row], Null: args[2].isNull(row)}
		}
		list := e.list(n.typ.layout, args[0].texts[row])
		for int64(len(list)) < size {
			list = append(list, filler)
		}
		return e.newList(n, list[:size])
	})
}

// repeatList binds repeat of a list.
func (b *binder) repeatList(n *node) {
	b.castArg(n, 1, typeOf(Int64))
	n.typ = n.args[0].typ
	n.eval = map2f(n, func(e *Evaluator, s string, times int64) (string, error) {
		elements := s[:len(s)-1]
		if times > 0 && len(elements) > 0 && times > int64(textBytesMax/len(elements)) {
			return "", tooLong(n)
		}
		d := e.draft[:0]
		for range max(times, 0) {
			d = append(d, elements...)
		}
		return e.keeping(n, append(d, nested.End))
	})
}

func joinElements(b *binder, n *node) {
	b.list(n, 0)
	b.castList(n, 0, typeOf(Text))
	b.castArg(n, 1, typeOf(Text))
	l := n.args[0].typ.layout
	n.typ = typeOf(Text)
	n.eval = map2f(n, func(e *Evaluator, s, separator string) (string, error) {
		d, list := e.draft[:0], e.list(l, s)
		first := true
		for _, x := range list {
			if x.Null {
				continue
			}
			if !first {
				d = append(d, separator...)
			}
			d, first = append(d, nested.TextOf(x.Value)...), false
		}
		if first && len(list) > 0 {
			return "", errNull
		}
		return e.keeping(n, d)
	})
}

func joinByCommas(b *binder, n *node) {
	if len(n.args) == 1 {
		n.args = append(n.args, b.constant(typeOf(Text), ","))
	}
	joinElements(b, n)
}

// castList casts the elements of a list that is an argument.
func (b *binder) castList(n *node, i int, element Type) {
	a := n.args[i]
	if to := ListOf(element); a.typ != to {
		c, ok := b.converted(a, to)
		if !ok {
			b.fail(a.at, "%s: no cast from %s to %s", n.text, a.typ, to)
		}
		n.args[i] = c
	}
}

// aggregateList binds list_aggregate.
func aggregateList(b *binder, n *node) {
	name := strings.ToLower(b.word(n, 1))
	n.args = slices.Delete(n.args, 1, 2)
	if f, ok := query.LookupFunc(name, len(n.args) > 1); ok {
		if name = f.String(); f == query.MinN || f == query.MaxN {
			name += "_n"
		}
	}
	of := listFolds[name]
	if _, ok := foldExamples[name]; !ok && of.bind == nil {
		b.fail(n.at, "not supported: %s: the aggregate function %s of a list; want FROM ..., unnest(list) AS t(x) and %s(x)",
			n.text, name, name)
	}
	if len(n.args)-1 > of.args {
		b.fail(n.at, "%s: nothing may stand behind %s", n.text, name)
	}
	foldList(b, n, name)
}

// foldList binds an aggregate function of the elements of a list.
func foldList(b *binder, n *node, name string) {
	t := b.list(n, 0)
	if f, ok := listFolds[name]; ok {
		f.bind(b, n, t)
		return
	}
	l := n.args[0].typ.layout
	fold := func(fn func(list []nested.Element) (string, error)) kernel {
		return map1f(n, func(e *Evaluator, s string) (string, error) { return fn(e.list(l, s)) })
	}
	switch name {
	case "count":
		n.typ = typeOf(Int64)
		n.eval = map1f(n, func(e *Evaluator, s string) (int64, error) {
			count := int64(0)
			for _, x := range e.list(l, s) {
				count += int64(bitOf(!x.Null))
			}
			return count, nil
		})
	case "min", "max":
		n.setParts(t, fold(func(list []nested.Element) (string, error) { return extremeElement(list, name == "max") }))
	case "first", "last", "any_value":
		n.setParts(t, fold(func(list []nested.Element) (string, error) { return placedElement(list, name) }))
	case "bool_and", "bool_or":
		b.castList(n, 0, typeOf(Bool))
		n.setParts(typeOf(Bool), fold(func(list []nested.Element) (string, error) {
			return extremeElement(list, name == "bool_or")
		}))
	default:
		foldNumbers(b, n, t, name)
	}
}

// extremeElement returns the least or the greatest element.
func extremeElement(list []nested.Element, most bool) (string, error) {
	best, found := "", false
	for _, x := range list {
		if !x.Null && (!found || (x.Value > best) == most && x.Value != best) {
			best, found = x.Value, true
		}
	}
	if !found {
		return "", errNull
	}
	return best, nil
}

func placedElement(list []nested.Element, name string) (string, error) {
	at := 0
	switch name {
	case "last":
		at = len(list) - 1
	case "any_value":
		at = slices.IndexFunc(list, func(x nested.Element) bool { return !x.Null })
	}
	if at < 0 || at >= len(list) || list[at].Null {
		return "", errNull
	}
	return list[at].Value, nil
}

// foldNumbers binds sums, means and products of lists of numbers.
func foldNumbers(b *binder, n *node, t Type, name string) {
	if !t.numeric() && t.ID != Null && t.ID != Bool {
		b.fail(n.at, "%s: not for a list of %s", n.text, t)
	}
	exact := name == "sum" && !t.float()
	switch {
	case exact && t.ID == Decimal:
		n.typ = decimalOf(digitsMax, int(t.Scale))
	case exact:
		n.typ = typeOf(Huge)
	default:
		n.typ = typeOf(Float64)
	}
	if exact {
		b.castList(n, 0, n.typ)
	} else {
		b.castList(n, 0, typeOf(Float64))
	}
	l := n.args[0].typ.layout
	of := l.Parts[0]
	if exact {
		n.fallible = true
		n.eval = map1f(n, func(e *Evaluator, s string) (wide, error) {
			var sum wide
			err := error(errNull)
			for _, x := range e.list(l, s) {
				if !x.Null {
					before, value := sum, of.Wide(x.Value)
					sum, err = sum.Add(value), nil
					isNegative := value.HighBits() < 0
					if (before.HighBits() < 0) == isNegative && (sum.HighBits() < 0) != isNegative {
						return sum, query.Valuef("%s: overflow: the sum does not fit %s", n.text, n.typ)
					}
				}
			}
			return sum, err
		})
		return
	}
	n.eval = map1f(n, func(e *Evaluator, s string) (float64, error) {
		sum, count := 0.0, 0
		if name == "product" {
			sum = 1
		}
		for _, x := range e.list(l, s) {
			switch {
			case x.Null:
				continue
			case name == "product":
				sum *= of.Float(x.Value)
			default:
				sum += of.Float(x.Value)
			}
			count++
		}
		switch {
		case count == 0:
			return 0, errNull
		case name == "avg":
			return sum / float64(count), nil
		}
		return sum, nil
	})
}
