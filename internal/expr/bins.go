package expr

import (
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/timeformat"
)

// histogramOf binds the map of the values to their counts, or of bins to the counts of the values up to each of them;
// of exact bins, which must be there, to the counts of the values that are equal to them.
func histogramOf(isExact bool) func(b *binder, n *node, t Type) {
	return func(b *binder, n *node, t Type) {
		var bins []nested.Element
		hasBins := isExact || len(n.args) > 1
		other := ""
		if hasBins {
			bins = b.binsOf(n, t)
			var ok bool
			if other, ok = otherBin(t); !ok {
				b.fail(n.at, "not supported: %s: bins of type %s", n.text, t)
			}
		}
		n.typ = newNested(Map, nil, t, typeOf(Uint64))
		l, count := n.args[0].typ.layout, layoutOf(typeOf(Uint64))
		n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
			all := frequencies(sortedValues(e.list(l, s)))
			if len(all) == 0 {
				return "", errNull
			}
			if hasBins {
				all = binned(all, bins, other, isExact)
			}
			d := e.draft[:0]
			for _, f := range all {
				d = nested.Append(append(d, nested.Some), nested.Element{Value: f.value})
				d = count.AppendWide(append(d, nested.Some), wideOf(f.count))
			}
			return e.keeping(n, append(d, nested.End))
		})
	}
}

// binsOf takes the bins from behind a list of values of a type, in ascending order.
func (b *binder) binsOf(n *node, t Type) []nested.Element {
	if len(n.args) > 1 {
		b.list(n, 1)
		b.castList(n, 1, t)
	}
	a := b.takeArg(n)
	if a.value == nil {
		b.fail(a.at, "%s: the bins are NULL", n.text)
	}
	bins := a.typ.layout.Elements(nil, a.value.(string))
	if slices.ContainsFunc(bins, func(x nested.Element) bool { return x.Null }) {
		b.fail(a.at, "%s: a bin is NULL", n.text)
	}
	slices.SortFunc(bins, elementOrder{}.compare)
	return slices.Compact(bins)
}

// otherBin returns the key that a histogram has for values that are in no bin: the greatest value of numbers and times,
// an empty string or list, a struct of NULLs.
func otherBin(t Type) (key string, ok bool) {
	switch of := layoutOf(t); {
	case t.ID == Uint64:
		return string(of.AppendWide(nil, decimal128.FromU64(math.MaxUint64))), true
	case t.integer() && t.kind() == intKind:
		_, high := bounds(t)
		return string(of.AppendInt(nil, high)), true
	case t.float():
		return string(of.AppendFloat(nil, math.Inf(1))), true
	case t.ID == Date:
		return string(of.AppendInt(nil, timeformat.InfiniteDays)), true
	case t.temporal():
		return string(of.AppendInt(nil, timeformat.InfiniteTime)), true
	case t.ID == Time:
		return string(of.AppendInt(nil, dayMicros)), true
	case t.ID == Text, t.ID == Blob:
		return string(nested.AppendText(nil, "")), true
	case t.ID == List, t.ID == Map:
		return string([]byte{nested.End}), true
	case t.ID == Struct:
		return strings.Repeat(string([]byte{nested.None}), len(t.parts)), true
	}
	return "", false
}

// isOtherBin binds is_histogram_other_bin.
func isOtherBin(b *binder, n *node) {
	n.typ = typeOf(Bool)
	if isNull(n.args[0]) {
		n.isConst = true
		return
	}
	other, ok := otherBin(n.args[0].typ)
	n.args[0] = asPart(b, n.args[0])
	n.eval = test1(n, func(s string) bool { return ok && s == other })
}

// binned returns the bins with the counts of the values up to each of them, or equal to it, and perhaps how many others
// there are.
func binned(all []frequency, bins []nested.Element, other string, isExact bool) []frequency {
	made := make([]frequency, len(bins), len(bins)+1)
	for i, x := range bins {
		made[i].value = x.Value
	}
	beyond := int64(0)
	for _, f := range all {
		at, isBin := slices.BinarySearchFunc(bins, f.value, func(x nested.Element, v string) int {
			return strings.Compare(x.Value, v)
		})
		if at == len(bins) || isExact && !isBin {
			beyond += f.count
			continue
		}
		made[at].count += f.count
	}
	if beyond > 0 {
		made = append(made, frequency{other, beyond})
	}
	return made
}
