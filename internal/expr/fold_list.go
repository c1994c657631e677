package expr

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/nested"
)

// listFold is an aggregate function of the elements of a list, beside the ones that foldList binds by itself.
type listFold struct {
	args int // constants behind the list, at most
	bind func(b *binder, n *node, t Type)
}

// listFolds are aggregate functions by their names.
var listFolds map[string]listFold

func init() {
	listFolds = map[string]listFold{
		"var_samp": {0, ofNumbers(varSamp)}, "var_pop": {0, ofNumbers(varPop)},
		"stddev_samp": {0, ofNumbers(root(varSamp))}, "stddev_pop": {0, ofNumbers(root(varPop))},
		"sem": {0, ofNumbers(standardError)}, "skewness": {0, ofNumbers(skewnessOf)},
		"kurtosis": {0, ofNumbers(kurtosisOf)}, "kurtosis_pop": {0, ofNumbers(kurtosisPop)},
		"fsum": {0, sumOfDoubles}, "kahan_sum": {0, sumOfDoubles}, "sumkahan": {0, sumOfDoubles},
		"median":        {0, func(b *binder, n *node, t Type) { b.quantiles(n, t, true, b.constant(typeOf(Float64), 0.5)) }},
		"mad":           {0, deviation},
		"quantile_cont": {1, func(b *binder, n *node, t Type) { b.quantiles(n, t, true, b.takeArg(n)) }},
		"quantile_disc": {1, func(b *binder, n *node, t Type) { b.quantiles(n, t, false, b.takeArg(n)) }},
		"mode":          {0, modeOf}, "entropy": {0, entropyOf},
		"histogram": {1, histogramOf(false)}, "histogram_exact": {1, histogramOf(true)},
		"approx_top_k": {1, mostFrequent}, "list": {0, sameList},
		"approx_count_distinct": {0, distinctCount}, "count_if": {0, trueCount}, "countif": {0, trueCount},
		"string_agg": {1, joinedElements}, "max_n": {1, leastOf(true)}, "min_n": {1, leastOf(false)},
		"bit_and": {0, bitsOf(func(a, b uint64) uint64 { return a & b })},
		"bit_or":  {0, bitsOf(func(a, b uint64) uint64 { return a | b })},
		"bit_xor": {0, bitsOf(func(a, b uint64) uint64 { return a ^ b })},
	}
}

// takeArg removes the constant behind the list from a node's arguments, and returns it.
func (b *binder) takeArg(n *node) *node {
	if len(n.args) < 2 || !n.args[1].isConst {
		b.fail(n.at, "%s: a constant must stand behind the list", n.text)
	}
	a := n.args[1]
	n.args = n.args[:1]
	return a
}

// takeCount is takeArg for a number of elements, from 1 on.
func (b *binder) takeCount(n *node) int {
	count, ok := b.takeArg(n).value.(int64)
	if !ok || count < 1 || count > seriesMax {
		b.fail(n.at, "%s: want a number of elements from 1 to %d behind the list", n.text, seriesMax)
	}
	return int(count)
}

// valuesOf returns the elements that are not NULL.
func valuesOf(list []nested.Element) []nested.Element {
	return slices.DeleteFunc(list, func(x nested.Element) bool { return x.Null })
}

func sortedValues(list []nested.Element) []nested.Element {
	list = valuesOf(list)
	slices.SortFunc(list, elementOrder{}.compare)
	return list
}

// ofNumbers binds a function of the elements as doubles; errNull is NULL.
func ofNumbers(fn func(x []float64) (float64, error)) func(b *binder, n *node, t Type) {
	return func(b *binder, n *node, t Type) {
		if !t.numeric() && t.ID != Null {
			b.fail(n.at, "%s: not for a list of %s", n.text, t)
		}
		b.castList(n, 0, typeOf(Float64))
		l := n.args[0].typ.layout
		n.typ = typeOf(Float64)
		n.eval = map1f(n, func(e *Evaluator, s string) (float64, error) {
			list := valuesOf(e.list(l, s))
			numbers := make([]float64, len(list))
			for i, x := range list {
				numbers[i] = l.Parts[0].Float(x.Value)
			}
			return fn(numbers)
		})
	}
}

func sumOfDoubles(b *binder, n *node, t Type) {
	b.castList(n, 0, typeOf(Float64))
	foldNumbers(b, n, typeOf(Float64), query.Sum.String())
}

// central returns the mean of the k-th powers of the distances from the mean, which it takes itself.
func central(x []float64, k int) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v - x[0] // of equal values exactly 0
	}
	away := sum / float64(len(x))
	sum = 0
	for _, v := range x {
		sum += math.Pow(v-x[0]-away, float64(k))
	}
	return sum / float64(len(x))
}

func varSamp(x []float64) (float64, error) {
	if len(x) < 2 {
		return 0, errNull
	}
	return central(x, 2) * float64(len(x)) / float64(len(x)-1), nil
}

func varPop(x []float64) (float64, error) {
	if len(x) == 0 {
		return 0, errNull
	}
	return central(x, 2), nil
}

func root(of func([]float64) (float64, error)) func([]float64) (float64, error) {
	return func(x []float64) (float64, error) {
		v, err := of(x)
		return math.Sqrt(v), err
	}
}

func standardError(x []float64) (float64, error) {
	v, err := varPop(x)
	return math.Sqrt(v / float64(len(x))), err
}

// skewnessOf returns the estimator G1 of Joanes and Gill, "Comparing measures of sample skewness and kurtosis", 1998.
func skewnessOf(x []float64) (float64, error) {
	n, m2 := float64(len(x)), central(x, 2)
	if n < 3 || m2 == 0 {
		return 0, errNull
	}
	return math.Sqrt(n*(n-1)) / (n - 2) * central(x, 3) / math.Pow(m2, 1.5), nil
}

// kurtosisOf returns the estimator G2 of the same.
func kurtosisOf(x []float64) (float64, error) {
	n := float64(len(x))
	pop, err := kurtosisPop(x)
	if err != nil || n < 4 {
		return 0, errNull
	}
	return (n - 1) / ((n - 2) * (n - 3)) * ((n+1)*pop + 6), nil
}

// kurtosisPop returns the excess kurtosis g2 of the same.
func kurtosisPop(x []float64) (float64, error) {
	m2 := central(x, 2)
	if len(x) < 2 || m2 == 0 {
		return 0, errNull
	}
	return central(x, 4)/(m2*m2) - 3, nil
}

// quantiles binds a quantile of a fraction, or a list of them of a list. A continuous one is between two elements.
func (b *binder) quantiles(n *node, t Type, continuous bool, fractions *node) {
	isList := fractions.typ.ID == List
	of := b.fractions(n, fractions)
	between := b.between(n, t, continuous)
	l := n.args[0].typ.layout
	kernel := func(e *Evaluator, s string) (string, error) {
		list := sortedValues(e.list(l, s))
		if len(list) == 0 {
			return "", errNull
		}
		if !isList {
			return between(list, of[0]), nil
		}
		d := e.draft[:0]
		for _, f := range of {
			d = nested.Append(d, nested.Element{Value: between(list, f)})
		}
		return e.keeping(n, append(d, nested.End))
	}
	result := n.args[0].typ.parts[0]
	if n.eval = map1f(n, kernel); isList {
		n.typ = ListOf(result)
		return
	}
	n.setParts(result, n.eval)
}

// fractions returns the numbers from 0 to 1 that a constant is, or that are the elements of a constant list.
func (b *binder) fractions(n, of *node) []float64 {
	list := &node{typ: ListOf(of.typ), text: n.text, at: n.at, column: -1, single: -1, args: []*node{of}}
	if of.typ.ID == List {
		list = of
	} else {
		listOf(b, list)
		list = b.finish(list)
	}
	double := ListOf(typeOf(Float64))
	if list.typ != double {
		list, _ = b.converted(list, double)
	}
	if list == nil || list.value == nil {
		b.fail(n.at, "%s: want a number from 0 to 1 behind the list, or a list of them", n.text)
	}
	var all []float64
	for _, x := range double.layout.Elements(nil, list.value.(string)) {
		f := math.NaN()
		if !x.Null {
			f = double.layout.Parts[0].Float(x.Value)
		}
		if !(f >= 0 && f <= 1) {
			b.fail(n.at, "%s: a fraction is %v, want a number from 0 to 1", n.text, f)
		}
		all = append(all, f)
	}
	return all
}

// between casts the list to the type that its quantiles have, and returns what has a quantile of values in order.
func (b *binder) between(n *node, t Type, continuous bool) func(list []nested.Element, f float64) string {
	switch {
	case continuous && t.ID == Period:
		return periodBetween
	case !continuous, t.ID == Text, t.ID == Bool, t.ID == Null, t.nested():
		return func(list []nested.Element, f float64) string {
			count := float64(len(list))
			return list[max(int(count-math.Floor(count-f*count)), 1)-1].Value
		}
	case t.integer():
		t = typeOf(Float64)
	case t.ID == Date:
		t = typeOf(Timestamp)
	case !t.float() && t.kind() != intKind && t.kind() != wideKind:
		b.fail(n.at, "%s: not for a list of %s", n.text, t)
	}
	b.castList(n, 0, t)
	of := layoutOf(t)
	return func(list []nested.Element, f float64) string {
		at := f * float64(len(list)-1)
		low := math.Floor(at)
		a, c := list[int(low)].Value, list[int(math.Ceil(at))].Value
		return string(inSpan(of, t.kind(), a, c, at-low))
	}
}

// periodBetween returns a quantile of intervals in order; between two of them it is of days and a part of a day.
func periodBetween(list []nested.Element, f float64) string {
	at := f * float64(len(list)-1)
	low, high := int(math.Floor(at)), int(math.Ceil(at))
	if low == high {
		return list[low].Value
	}
	from, to := intervalFrom(list[low].Value).length(), intervalFrom(list[high].Value).length()
	distance, _ := wideOfFloat(math.Trunc(to.Sub(from).ToFloat64(0) * (at - float64(low)))) // of at most 38 digits
	days, micros := from.Add(distance).Div(int128(dayMicros))
	v, _ := intervalOf(wide{}, days, micros) // between two that are there
	return v.text()
}

// inSpan returns the value that lies between two at a part of their distance.
func inSpan(of *nested.Layout, k kind, a, c string, part float64) []byte {
	switch k {
	case floatKind:
		from, to := of.Float(a), of.Float(c)
		if from == to {
			return []byte(a) // also of infinities
		}
		return of.AppendFloat(nil, from+(to-from)*part)
	case wideKind:
		from, to := of.Wide(a), of.Wide(c)
		distance, _ := wideOfFloat(math.Trunc(to.Sub(from).ToFloat64(0) * part)) // of at most 38 digits
		return of.AppendWide(nil, from.Add(distance))
	}
	from, to := of.Int(a), of.Int(c)
	return of.AppendInt(nil, from+int64(float64(to-from)*part))
}

// deviation binds mad: the median of the distances from the median.
func deviation(b *binder, n *node, t Type) {
	isTime := t.ID == Date || t.ID == Timestamp || t.ID == TimestampTZ || t.ID == Time
	if !t.numeric() && t.ID != Null && !isTime {
		b.fail(n.at, "not supported: %s: the mad of a list of %s", n.text, t)
	}
	if t.ID == Null {
		b.castList(n, 0, typeOf(Float64))
		t = typeOf(Float64)
	}
	median := b.between(n, t, true)
	t = n.args[0].typ.parts[0]
	l, of, result := n.args[0].typ.layout, layoutOf(t), t
	if isTime {
		result = typeOf(Duration) // whose microseconds are written as a time's are
	}
	n.setParts(result, map1f(n, func(e *Evaluator, s string) (string, error) {
		list := sortedValues(e.list(l, s))
		if len(list) == 0 {
			return "", errNull
		}
		middle := median(list, 0.5)
		for i, x := range list {
			list[i].Value = string(distanceOf(of, t.kind(), x.Value, middle))
		}
		return median(sortedValues(list), 0.5), nil
	}))
}

func distanceOf(of *nested.Layout, k kind, a, c string) []byte {
	switch k {
	case floatKind:
		return of.AppendFloat(nil, math.Abs(of.Float(a)-of.Float(c)))
	case wideKind:
		return of.AppendWide(nil, of.Wide(a).Sub(of.Wide(c)).Abs())
	}
	d := of.Int(a) - of.Int(c)
	return of.AppendInt(nil, max(d, -d))
}

// frequency is how often a value is in a list.
type frequency struct {
	value string
	count int64
}

// frequencies returns how often each value is there, in the order in which they come first.
func frequencies(list []nested.Element) []frequency {
	places := map[string]int{}
	var all []frequency
	for _, x := range list {
		if x.Null {
			continue
		}
		at, ok := places[x.Value]
		if !ok {
			at = len(all)
			places[x.Value] = at
			all = append(all, frequency{value: x.Value})
		}
		all[at].count++
	}
	return all
}

// byCount compares frequencies: the greatest first.
func byCount(a, b frequency) int { return cmp.Compare(b.count, a.count) }

func modeOf(b *binder, n *node, t Type) {
	l := n.args[0].typ.layout
	n.setParts(t, map1f(n, func(e *Evaluator, s string) (string, error) {
		all := frequencies(e.list(l, s))
		if len(all) == 0 {
			return "", errNull
		}
		slices.SortStableFunc(all, byCount)
		return all[0].value, nil
	}))
}

func mostFrequent(b *binder, n *node, t Type) {
	most := b.takeCount(n)
	n.typ = n.args[0].typ
	l := n.typ.layout
	n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
		all := frequencies(e.list(l, s))
		if len(all) == 0 {
			return "", errNull
		}
		slices.SortStableFunc(all, byCount)
		list := e.elements[:0]
		for _, f := range all[:min(most, len(all))] {
			list = append(list, nested.Element{Value: f.value})
		}
		return e.newList(n, list)
	})
}

// entropyOf binds the entropy of the values in bits; 0 of none.
func entropyOf(b *binder, n *node, t Type) {
	l := n.args[0].typ.layout
	n.typ = typeOf(Float64)
	n.eval = map1f(n, func(e *Evaluator, s string) (float64, error) {
		total, sum := 0.0, 0.0
		all := frequencies(e.list(l, s))
		for _, f := range all {
			total += float64(f.count)
		}
		for _, f := range all {
			sum += float64(f.count) / total * math.Log2(total/float64(f.count))
		}
		return sum, nil
	})
}

func sameList(b *binder, n *node, t Type) {
	n.typ = n.args[0].typ
	l := n.typ.layout
	n.eval = map1e(n, func(s string) (string, error) {
		if l.Len(s) == 0 {
			return "", errNull
		}
		return s, nil
	})
}

func distinctCount(b *binder, n *node, t Type) {
	l := n.args[0].typ.layout
	n.typ = typeOf(Int64)
	n.eval = map1f(n, func(e *Evaluator, s string) (int64, error) {
		return int64(len(distinctElements(e.list(l, s)))), nil
	})
}

func trueCount(b *binder, n *node, t Type) {
	b.castList(n, 0, typeOf(Bool))
	l := n.args[0].typ.layout
	n.typ = typeOf(Huge)
	n.eval = map1f(n, func(e *Evaluator, s string) (wide, error) {
		count := int64(0)
		list := valuesOf(e.list(l, s))
		for _, x := range list {
			count += int64(x.Value[0])
		}
		if len(list) == 0 {
			return wide{}, errNull
		}
		return wideOf(count), nil
	})
}

func joinedElements(b *binder, n *node, t Type) {
	separator := b.constant(typeOf(Text), ",")
	if len(n.args) > 1 {
		separator = b.takeArg(n)
	}
	n.args = append(n.args[:1], separator)
	joinElements(b, n)
	l, joined := n.args[0].typ.layout, n.eval
	n.eval = func(f *frame) (*vector, error) {
		out, err := joined(f)
		if err != nil {
			return nil, err
		}
		lists, err := f.eval(n.args[0])
		if err != nil {
			return nil, err
		}
		for i, s := range lists.texts {
			if !out.isNull(i) && len(valuesOf(f.e.list(l, s))) == 0 {
				if err := out.setNull(f, i, errNull, lists.null); err != nil {
					return nil, err
				}
			}
		}
		return out, nil
	}
}

// FirstOfPairs is the function that makes a list of the second fields of the first n pairs in the order of their first
// fields, or in the opposite order where a third argument is true. Pairs that are NULL are left out.
const FirstOfPairs = "first of pairs"

func firstOfPairs(b *binder, n *node) {
	t, descending := b.list(n, 0), n.args[2].value == true
	count := b.takeCount(n)
	n.typ = ListOf(t.parts[1])
	l := n.args[0].typ.layout
	pair := l.Parts[0]
	n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
		list := valuesOf(e.list(l, s))
		if len(list) == 0 {
			return "", errNull
		}
		slices.SortStableFunc(list, func(a, b nested.Element) int {
			of, _ := pair.Field(a.Value, 0)
			with, _ := pair.Field(b.Value, 0)
			if descending {
				of, with = with, of
			}
			return strings.Compare(of, with)
		})
		list = list[:min(count, len(list))]
		for i, x := range list {
			list[i].Value, _ = pair.Field(x.Value, 1)
		}
		return e.newList(n, list)
	})
}

// leastOf binds the n least, or greatest, elements in order.
func leastOf(most bool) func(b *binder, n *node, t Type) {
	return func(b *binder, n *node, t Type) {
		count := b.takeCount(n)
		n.typ = n.args[0].typ
		l := n.typ.layout
		n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
			list := sortedValues(e.list(l, s))
			if len(list) == 0 {
				return "", errNull
			}
			if most {
				slices.Reverse(list)
			}
			return e.newList(n, list[:min(count, len(list))])
		})
	}
}

// bitsOf binds a function of the bits of integers.
func bitsOf(fn func(a, b uint64) uint64) func(b *binder, n *node, t Type) {
	return func(b *binder, n *node, t Type) {
		if t.ID == Null {
			t = typeOf(Int32)
			b.castList(n, 0, t)
		}
		if !t.integer() || t.ID == Huge {
			b.fail(n.at, "%s: not for a list of %s", n.text, t)
		}
		l, of := n.args[0].typ.layout, layoutOf(t)
		n.setParts(t, map1f(n, func(e *Evaluator, s string) (string, error) {
			list := valuesOf(e.list(l, s))
			if len(list) == 0 {
				return "", errNull
			}
			at := func(i int) uint64 {
				if t.ID == Uint64 {
					return of.Wide(list[i].Value).LowBits()
				}
				return uint64(of.Int(list[i].Value))
			}
			bits := at(0)
			for i := range list[1:] {
				bits = fn(bits, at(i+1))
			}
			if t.ID == Uint64 {
				return string(of.AppendWide(nil, decimal128.FromU64(bits))), nil
			}
			return string(of.AppendInt(nil, int64(bits))), nil
		}))
	}
}
