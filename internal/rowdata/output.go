package rowdata

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// output chooses the folds of one aggregate and the type of its result.
func (b *binder) output(a query.Aggregate) (Output, error) {
	a = a.Plain()
	out := Output{Aggregate: a, Count: -1}
	cols := make([]int, len(a.Args))
	for i, name := range a.Args {
		c, err := b.column(name)
		if err != nil {
			return out, err
		}
		cols[i] = c
		if want := argClass(a.Func); classOf(b.bound.Columns[c].Type)&want == 0 {
			return out, query.Errorf("column %q has type %s; %s takes %s", name,
				query.TypeName(b.bound.Columns[c].Type), a.Func, describeClass(want))
		}
	}
	if len(cols) > 0 {
		out.Column = b.bound.Columns[cols[0]]
	}
	out.Type = resultType(a.Func, &out.Column, b.bound.Query.Overflow)
	sel := b.selection(cols)
	if a.By != "" {
		by, err := b.column(a.By)
		if err != nil {
			return out, err
		}
		if b.bound.Columns[by].Type.ID() != arrow.INT64 {
			return out, query.Errorf("column %q has type %s; places are int64", a.By, query.TypeName(b.bound.Columns[by].Type))
		}
		cols = append(cols, by)
	}
	b.folds(&out, cols, sel)
	return out, nil
}

// folds adds the folds of one aggregate over columns cols, in rows sel.
func (b *binder) folds(out *Output, cols []int, sel int) {
	if out.Aggregate.Distinct {
		b.distinct(out, cols, sel)
		return
	}
	f := out.Aggregate.Func
	col := &out.Column
	long, wide := col.Kind == Bytes, col.Kind == Int128
	switch f {
	case query.CountStar, query.Count:
		out.Fold = b.count(sel)
	case query.FirstPlace:
		out.Fold = b.fold(Fold{Kind: FoldMin, Words: 1}, sel, b.position(sel))
	case query.Sum, query.Avg:
		out.Fold = b.sum(cols[0], sel)
		if f == query.Avg || b.needsCount(sel) {
			out.Count = b.count(sel)
		}
	case query.Min, query.Max:
		switch {
		case long || wide:
			out.Fold = b.best(f == query.Max, cols[0], -1, -1, sel)
		case f == query.Min:
			b.word(out, FoldMin, Ordered, cols[0], sel)
		default:
			b.word(out, FoldMax, Ordered, cols[0], sel)
		}
	case query.BoolAnd, query.BitAnd:
		b.word(out, FoldBitAnd, Natural, cols[0], sel)
	case query.BoolOr, query.BitOr:
		b.word(out, FoldBitOr, Natural, cols[0], sel)
	case query.BitXor:
		b.word(out, FoldBitXor, Natural, cols[0], sel)
	case query.VarSamp, query.VarPop, query.StddevSamp, query.StddevPop:
		out.Fold = b.moments(FoldMoments2, sel, b.input(cols[0], Double, sel))
	case query.Skewness, query.Kurtosis:
		out.Fold = b.moments(FoldMoments4, sel, b.input(cols[0], Double, sel))
	case query.Corr, query.CovarSamp, query.CovarPop, query.RegrSlope, query.RegrIntercept, query.RegrR2:
		// SQL's argument order is (y, x).
		out.Fold = b.moments(FoldComoments, sel, b.input(cols[1], Double, sel), b.input(cols[0], Double, sel))
	case query.First, query.AnyValue:
		out.Fold = b.best(false, -1, -1, cols[0], sel)
	case query.Last:
		out.Fold = b.best(true, -1, -1, cols[0], sel)
	case query.ArgMin, query.ArgMax:
		out.Fold = b.best(f == query.ArgMax, cols[1], b.place(cols[2:], sel), cols[0], sel)
	case query.CountDistinct:
		out.Fold = b.growing(Fold{Kind: FoldDistinct, ElementWords: col.Kind.Words()}, cols[0], sel)
	case query.Mode:
		out.Fold = b.growing(Fold{Kind: FoldHistogram, ElementWords: col.Kind.Words() + HistogramWords},
			cols[0], sel, b.place(cols[1:], sel))
	case query.Median, query.QuantileCont, query.QuantileDisc:
		out.Fold = b.growing(Fold{Kind: FoldCollect, ElementWords: col.Kind.Words()}, cols[0], sel)
	case query.StringAgg, query.List:
		fold := Fold{Kind: FoldCollect, ElementWords: col.Kind.Words() + 1, Words: VectorWords, Long: long, Wide: wide}
		out.Fold = b.fold(fold, sel, b.input(cols[0], Natural, sel), b.place(cols[1:], sel))
	case query.MinN, query.MaxN:
		out.Fold = b.growing(Fold{Kind: FoldTop, ElementWords: col.Kind.Words(),
			Limit: out.Aggregate.Length, Descending: f == query.MaxN}, cols[0], sel)
	case query.ApproxCountDistinct:
		out.Fold = b.fold(Fold{Kind: FoldSketch, Words: SetWords, ElementWords: 1}, sel, b.input(cols[0], Hashed, sel))
	}
}

// word adds a fold of a one-word state, and a count where the state may have seen no row, which its
// word does not tell.
func (b *binder) word(out *Output, kind FoldKind, e Encoding, col, sel int) {
	out.Fold = b.fold(Fold{Kind: kind, Words: 1}, sel, b.input(col, e, sel))
	if b.needsCount(sel) {
		out.Count = b.count(sel)
	}
}

func (b *binder) count(sel int) int { return b.fold(Fold{Kind: FoldCount, Words: 1}, sel) }

func (b *binder) sum(col, sel int) int {
	f := Fold{Kind: FoldSumInt, Words: 2}
	switch b.bound.Columns[col].Kind {
	case Uint64:
		f.Kind = FoldSumUint
	case Float64:
		return b.moments(FoldSumFloat, sel, b.input(col, Natural, sel))
	case Int128:
		f = Fold{Kind: FoldSumInt128, Words: 3}
	}
	return b.fold(f, sel, b.input(col, Natural, sel))
}

// momentFolds are the folds that add floating-point values, with the words of their states and the
// exact folds that take their place in a deterministic query.
var momentFolds = map[FoldKind]struct {
	words int
	exact FoldKind
}{
	FoldSumFloat:  {1, FoldExactSum},
	FoldMoments2:  {4, FoldExactMoments2},
	FoldMoments4:  {6, FoldExactMoments4},
	FoldComoments: {8, FoldExactComoments},
}

// moments adds a fold of momentFolds.
func (b *binder) moments(kind FoldKind, sel int, inputs ...int) int {
	f := Fold{Kind: kind, Words: momentFolds[kind].words}
	if b.bound.Query.Deterministic {
		f.Kind = momentFolds[kind].exact
		f.Words = f.Kind.exactWords()
	}
	return b.fold(f, sel, inputs...)
}

// place returns the input of the places of rows: the column that Aggregate.By names, which is the
// only one of columns by, or the position where by is empty.
func (b *binder) place(by []int, sel int) int {
	if len(by) == 0 {
		return b.position(sel)
	}
	return b.input(by[0], Natural, sel)
}

// best adds a FoldBest: the value of column payload (of column order, when payload is -1) in the
// row that is first by column order (by position, when order is -1); of rows that are equal by
// order, the first by the input tie, unless that is -1.
func (b *binder) best(descending bool, order, tie, payload, sel int) int {
	f := Fold{Kind: FoldBest, Descending: descending, Tie: tie >= 0}
	var inputs []int
	if order >= 0 {
		f.Long = b.bound.Columns[order].Kind == Bytes
		f.Wide = b.bound.Columns[order].Kind == Int128
		inputs = append(inputs, b.input(order, Ordered, sel))
	} else {
		inputs = append(inputs, b.position(sel))
	}
	if f.Tie {
		inputs = append(inputs, tie)
	}
	if payload >= 0 {
		kind := b.bound.Columns[payload].Kind
		f.PayloadWords, f.PayloadLong = kind.Words(), kind == Bytes
		inputs = append(inputs, b.input(payload, Natural, sel))
	}
	f.Words = 1 + f.OrderWords() + f.PayloadWords
	if f.Tie {
		f.Words++
	}
	return b.fold(f, sel, inputs...)
}

// growing adds a fold whose first input is a column to be compared, and whose state is a block.
func (b *binder) growing(f Fold, col, sel int, more ...int) int {
	f.Words = VectorWords
	if f.Kind == FoldDistinct || f.Kind == FoldHistogram {
		f.Words = SetWords
	}
	f.Long = b.bound.Columns[col].Kind == Bytes
	f.Wide = b.bound.Columns[col].Kind == Int128
	return b.fold(f, sel, append([]int{b.input(col, Ordered, sel)}, more...)...)
}

// fold returns the index of a fold, adding it if no aggregate has needed it yet.
func (b *binder) fold(f Fold, sel int, inputs ...int) int {
	f.Selection, f.Inputs = sel, inputs
	like := foldLike{f.Kind, sel, -1}
	if len(inputs) > 0 {
		like.input = inputs[0]
	}
	for _, i := range b.alike[like] {
		if reflect.DeepEqual(f, b.bound.Folds[i]) {
			return i
		}
	}
	b.bound.Folds = append(b.bound.Folds, f)
	b.alike[like] = append(b.alike[like], len(b.bound.Folds)-1)
	return len(b.bound.Folds) - 1
}

func (b *binder) selection(cols []int) int {
	sel := Selection{}
	for _, c := range cols {
		if (b.bound.Columns[c].Nullable || b.canonical) && !slices.Contains(sel, c) {
			sel = append(sel, c)
		}
	}
	slices.Sort(sel)
	return indexOrAppend(&b.bound.Selections, sel, b.selections, fmt.Sprint(sel))
}

// needsCount reports whether a group may have no row of a selection. Every group has a row, but
// the one group of a query without keys.
func (b *binder) needsCount(sel int) bool {
	return len(b.bound.Selections[sel]) > 0 || len(b.bound.KeyColumns) == 0
}

func (b *binder) input(col int, e Encoding, sel int) int {
	words := 1
	if e == Double && b.bound.Columns[col].Kind == Float64 {
		e = Natural
	}
	if e <= Ordered {
		words = b.bound.Columns[col].Kind.Words()
		if e == Ordered && b.bound.Columns[col].Kind == Bytes {
			e = Natural // Bytes2 has one encoding
		}
	}
	return b.inputOf(Arg{Column: col, Encoding: e, Words: words}, sel)
}

func (b *binder) position(sel int) int {
	return b.inputOf(Arg{Column: -1, Encoding: Position, Words: 1}, sel)
}

func (b *binder) inputOf(arg Arg, sel int) int {
	in := Input{Arg: indexOrAppend(&b.bound.Args, arg, b.args, arg), Selection: sel}
	return indexOrAppend(&b.bound.Inputs, in, b.inputs, in)
}

// nullable reports whether a result can be NULL.
func (b *binder) nullable(out *Output) bool {
	switch out.Aggregate.Func {
	case query.CountStar, query.Count, query.CountDistinct, query.ApproxCountDistinct, query.FirstPlace:
		return false
	case query.VarSamp, query.StddevSamp, query.Corr, query.CovarSamp, query.RegrSlope,
		query.RegrIntercept, query.RegrR2, query.Skewness, query.Kurtosis:
		return true // also for too few values
	case query.First, query.Last, query.List:
		return true // as the expressions are that stand for them where statistics do not say that no value is NULL
	}
	return b.needsCount(b.bound.Folds[out.Fold].Selection)
}

// indexOrAppend returns the place in a list that has a key, after it has appended x where no place has.
func indexOrAppend[T any, K comparable](list *[]T, x T, places map[K]int, key K) int {
	i, ok := places[key]
	if !ok {
		i = len(*list)
		places[key] = i
		*list = append(*list, x)
	}
	return i
}
