package rowdata

import "github.com/mpga/mpga/engine/query"

// SetFold says how a result is made of a set of distinct values: each value is folded once.
type SetFold struct {
	Fold      Fold
	Encodings []Encoding // by input of the fold
}

// ofElements reports whether a function's result is made of the elements of a set, rather than of a
// fold over the elements.
func ofElements(f query.Func) bool {
	switch f {
	case query.List, query.StringAgg, query.MinN, query.MaxN, query.Median, query.QuantileCont, query.QuantileDisc:
		return true
	}
	return false
}

// distinct adds the set of an aggregate's distinct values, of columns cols in rows sel.
func (b *binder) distinct(out *Output, cols []int, sel int) {
	a := out.Aggregate
	set := Fold{Kind: FoldDistinct, ElementWords: out.Column.Kind.Words()}
	set.Descending = a.Descending && a.Func.Param() != query.FractionParam // quantiles count from the end of the set
	if len(cols) == 2 {
		set.ElementWords, set.Words, set.Wide = 2, SetWords, true
		pair := Arg{Column: cols[1], Other: cols[0], Encoding: Pair, Words: 2}
		out.Fold = b.fold(set, sel, b.inputOf(pair, sel))
	} else {
		set.Descending = set.Descending || a.Func == query.MaxN
		out.Fold = b.growing(set, cols[0], sel)
	}
	if ofElements(a.Func) {
		return
	}
	scratch := newBinder(b.schema, b.stats, b.canonical)
	scratch.bound.Query, scratch.bound.Columns = b.bound.Query, b.bound.Columns
	plain := Output{Aggregate: a, Column: out.Column, Count: -1}
	plain.Aggregate.Distinct = false
	scratch.folds(&plain, cols, scratch.selection(cols))
	out.Of = &SetFold{Fold: scratch.bound.Folds[plain.Fold]}
	for _, input := range out.Of.Fold.Inputs {
		out.Of.Encodings = append(out.Of.Encodings, scratch.bound.Args[scratch.bound.Inputs[input].Arg].Encoding)
	}
}
