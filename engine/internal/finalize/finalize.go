package finalize

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vector"
	"github.com/mpga/mpga/partition"
)

// ErrOverflow marks a sum that passes its type.
var ErrOverflow = errors.New("overflow")

var errStringTooLong = errors.New("a string of more than 2^31-1 bytes does not fit the result")

// Finalizer makes result batches of finished groups. It is safe for concurrent use on different
// groups.
type Finalizer struct {
	Bound     *rowdata.Bound
	Allocator memory.Allocator   // of the batches
	Interners []*encode.Interner // by column of Bound, of the columns that are interned keys

	// Room returns an error where a result has no room for `bytes` bytes.
	Room func(bytes int64) error

	keyWords sync.Pool // *[]uint64

	textsMu sync.Mutex
	texts   map[int]arrow.Array // by column of Bound: the interner's strings, where results have codes
}

// Batch returns the results of groups from to to.
//
// Requires: a group with runs is alone.
func (f *Finalizer) Batch(ctx context.Context, g *cpuagg.Groups, from, to int) (arrow.RecordBatch, error) {
	keys, err := f.Keys(g, from, to)
	if err != nil {
		return nil, err
	}
	defer keys.Release()
	columns := make([]arrow.Array, 0, f.Bound.Schema.NumFields())
	defer func() { recordreader.ReleaseAll(columns) }()
	for _, key := range keys.Columns() {
		key.Retain()
		columns = append(columns, key)
	}
	for o := range f.Bound.Outputs {
		a, err := f.output(ctx, g, o, from, to)
		if err != nil {
			return nil, err
		}
		columns = append(columns, a)
	}
	return array.NewRecordBatch(f.Bound.Schema, columns, int64(to-from)), nil
}

// Keys returns the keys of groups from to to.
func (f *Finalizer) Keys(g *cpuagg.Groups, from, to int) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, 0, len(f.Bound.KeyColumns))
	defer func() { recordreader.ReleaseAll(columns) }()
	for k := range f.Bound.KeyColumns {
		a, err := f.key(g, k, from, to)
		if err != nil {
			return nil, err
		}
		columns = append(columns, a)
	}
	fields := f.Bound.Schema.Fields()[:len(columns)]
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(to-from)), nil
}

// Varies says whether some column of the results has values of no fixed width.
func (f *Finalizer) Varies() bool {
	return slices.ContainsFunc(f.Bound.Schema.Fields(), func(f arrow.Field) bool {
		_, fixed := f.Type.(arrow.FixedWidthDataType)
		return !fixed
	})
}

// key returns one key column of groups from to to.
func (f *Finalizer) key(g *cpuagg.Groups, k, from, to int) (arrow.Array, error) {
	if f.Bound.Coded {
		switch keys := g.Keys[from*f.Bound.Keys.Words : to*f.Bound.Keys.Words]; {
		case f.Bound.Counted[k]:
			return f.presence(keys, k), nil
		case f.Bound.Keys.Fields[k].Interned:
			return f.codes(keys, k)
		}
	}
	buf, _ := f.keyWords.Get().(*[]uint64)
	if buf == nil {
		buf = new([]uint64)
	}
	defer f.keyWords.Put(buf)
	col := &f.Bound.Columns[f.Bound.KeyColumns[k]]
	*buf = rowdata.Grow(*buf, (to-from)*col.Kind.Words())
	v := &vector.Vector{Kind: col.Kind, Words: *buf}
	f.unpackKeys(v, g.Keys[from*f.Bound.Keys.Words:to*f.Bound.Keys.Words], k)
	return v.Array(f.Allocator, col.Type)
}

// presence returns false for each packed key, and NULL where the field of a key is NULL.
func (f *Finalizer) presence(keys []uint64, k int) arrow.Array {
	field, width := &f.Bound.Keys.Fields[k], f.Bound.Keys.Words
	n := len(keys) / width
	bits := func() *memory.Buffer {
		b := memory.NewResizableBuffer(f.Allocator)
		b.Resize(int(bitutil.BytesForBits(int64(n))))
		clear(b.Bytes())
		return b
	}
	values := bits()
	defer values.Release()
	var present *memory.Buffer
	nulls := 0
	if f.Bound.Columns[f.Bound.KeyColumns[k]].Nullable {
		present = bits()
		defer present.Release()
		for i := range n {
			if field.IsNull(keys[i*width : (i+1)*width]) {
				nulls++
			} else {
				bitutil.SetBit(present.Bytes(), i)
			}
		}
	}
	data := array.NewData(arrow.FixedWidthTypes.Boolean, n, []*memory.Buffer{present, values}, nil, nulls, 0)
	defer data.Release()
	return array.NewBooleanData(data)
}

// codes returns an interned key column of packed keys as a dictionary array.
func (f *Finalizer) codes(keys []uint64, k int) (arrow.Array, error) {
	texts, err := f.textsOf(f.Bound.KeyColumns[k])
	if err != nil {
		return nil, err
	}
	field, width := &f.Bound.Keys.Fields[k], f.Bound.Keys.Words
	v := &vector.Vector{Kind: rowdata.Int64, Words: make([]uint64, len(keys)/width)}
	for i := range v.Words {
		number := field.Value(keys[i*width : (i+1)*width])
		if number == 0 {
			v.SetNull(i)
			continue
		}
		v.Words[i] = number - 1
	}
	indices, err := v.Array(f.Allocator, arrow.PrimitiveTypes.Int32)
	if err != nil {
		return nil, err
	}
	defer indices.Release()
	return array.NewDictionaryArray(f.Bound.Schema.Field(k).Type, indices, texts), nil
}

// textsOf returns all strings of a column's interner, which lie on the Go heap. No row comes any
// more: all batches share one array.
func (f *Finalizer) textsOf(column int) (arrow.Array, error) {
	f.textsMu.Lock()
	defer f.textsMu.Unlock()
	in := f.Interners[column]
	if texts := f.texts[column]; texts != nil && texts.Len() == in.Len() {
		return texts, nil
	}
	v := &vector.Vector{Kind: rowdata.Bytes, Words: make([]uint64, 2*in.Len())}
	values := rowdata.View[rowdata.Bytes2](v.Words)
	for i := range values {
		values[i] = in.String(uint64(i) + 1)
	}
	texts, err := v.Array(memory.DefaultAllocator, f.Bound.Columns[column].Type)
	if err != nil {
		return nil, err
	}
	if f.texts == nil {
		f.texts = make(map[int]arrow.Array)
	}
	f.texts[column] = texts
	return texts, nil
}

// KeyVector returns one key column of groups from to to, in memory of its own.
func (f *Finalizer) KeyVector(g *cpuagg.Groups, k, from, to int) *vector.Vector {
	kind := f.Bound.Columns[f.Bound.KeyColumns[k]].Kind
	v := &vector.Vector{Kind: kind, Words: make([]uint64, (to-from)*kind.Words())}
	f.unpackKeys(v, g.Keys[from*f.Bound.Keys.Words:to*f.Bound.Keys.Words], k)
	return v
}

// unpackKeys writes one column of packed keys to a vector of as many values.
func (f *Finalizer) unpackKeys(v *vector.Vector, keys []uint64, k int) {
	field, width := &f.Bound.Keys.Fields[k], f.Bound.Keys.Words
	shift, mask, base := field.Shift&63, field.Mask(), uint64(field.Base)
	switch {
	case field.Interned:
		f.unpackStrings(v, keys, k)
		return
	case field.Kind.Words() == 2:
		for i, at := 0, field.Word; i+1 < len(v.Words) && at+1 < len(keys); i, at = i+2, at+width {
			v.Words[i], v.Words[i+1] = keys[at], keys[at+1]
		}
	case field.Kind == rowdata.Float64 && field.Span < math.MaxUint64:
		for i := range v.Words {
			v.Words[i] = math.Float64bits(float64(math.Float32frombits(uint32(keys[i*width+field.Word] >> shift & mask))))
		}
	default:
		for i := range v.Words {
			v.Words[i] = keys[i*width+field.Word]>>shift&mask + base
		}
	}
	if !field.Nullable {
		return
	}
	for i := range v.Len() {
		if field.IsNull(keys[i*width : (i+1)*width]) {
			v.SetNull(i)
		}
	}
}

// unpackStrings is unpackKeys for an interned key: numbers of strings, where 0 is NULL.
func (f *Finalizer) unpackStrings(v *vector.Vector, keys []uint64, k int) {
	field, width, strings := &f.Bound.Keys.Fields[k], f.Bound.Keys.Words, f.Interners[f.Bound.KeyColumns[k]]
	shift, mask := field.Shift&63, field.Mask()
	values := unsafe.Slice((*rowdata.Bytes2)(unsafe.Pointer(unsafe.SliceData(v.Words))), v.Len())
	for i := range values {
		if number := keys[i*width+field.Word] >> shift & mask; number > 0 {
			values[i] = strings.String(number)
		} else {
			v.SetNull(i)
		}
	}
}

// output returns one aggregate's column of groups from to to.
func (f *Finalizer) output(ctx context.Context, g *cpuagg.Groups, o, from, to int) (arrow.Array, error) {
	out := &f.Bound.Outputs[o]
	fold := &f.Bound.Folds[out.Fold]
	s := finalStates{Finalizer: f, out: out, fold: fold, n: to - from}
	if g.Quantiles != nil && g.Quantiles[o] != nil {
		s.found = g.Quantiles[o][from*rowdata.QuantileWords : to*rowdata.QuantileWords]
	} else {
		s.states = g.States[out.Fold][from*fold.Words : to*fold.Words]
	}
	if out.Count >= 0 {
		s.counts = g.States[out.Count][from:to]
	}
	array, err := s.array(ctx, g.Runs(out.Fold, from))
	var overflow *groupOverflow
	if errors.As(err, &overflow) {
		err = withKnob(out, fmt.Errorf("%s: the group %s has a sum of %s, which does not fit %s: %w", out.Aggregate,
			f.groupName(g, from+overflow.group), overflow.sum, query.TypeName(out.Type), ErrOverflow))
	} else if err != nil && !errors.Is(err, vector.ErrTooLarge) {
		err = fmt.Errorf("%s: %w", out.Aggregate, err)
	}
	return array, err
}

// withKnob adds to an overflow what a user can do about it.
func withKnob(out *rowdata.Output, err error) error {
	if out.Type.ID() != arrow.INT64 {
		return err
	}
	const help = "%w; cast what is summed to HUGEINT, or %[2]s=widen gives decimals, %[2]s=wrap drops the upper bits"
	return knob.Errorf(help, err, knob.Name("query.Overflow"))
}

// groupOverflow is a sum that passes its type, and the sum's group.
type groupOverflow struct {
	group int // of finalStates
	sum   *big.Int
}

func (e *groupOverflow) Error() string { return "sum overflows" }

// groupName describes a group by its keys.
func (f *Finalizer) groupName(g *cpuagg.Groups, i int) string {
	if len(f.Bound.KeyColumns) == 0 {
		return "of all rows"
	}
	parts := make([]string, len(f.Bound.KeyColumns))
	for k := range parts {
		value := "?"
		if a, err := f.key(g, k, i, i+1); err == nil {
			value = a.ValueStr(0)
			a.Release()
		}
		parts[k] = f.Bound.Columns[f.Bound.KeyColumns[k]].Name + " = " + value
	}
	return strings.Join(parts, ", ")
}

// finalStates turns the states of n groups into one aggregate's column.
type finalStates struct {
	*Finalizer
	out    *rowdata.Output
	fold   *rowdata.Fold // of out
	n      int           // groups
	states []uint64      // by group, fold.Words each
	counts []uint64      // rows, by group; nil when the state tells whether it has seen a row
	found  []uint64      // in place of states: cpuagg.Groups.Quantiles

	integers integers // of exact folds
}

// state returns the state of one group.
func (s *finalStates) state(i int) []uint64 {
	return s.states[i*s.fold.Words : (i+1)*s.fold.Words]
}

func (s *finalStates) array(ctx context.Context, runs *cpuagg.SortedRuns) (arrow.Array, error) {
	switch {
	case runs != nil && s.out.Of != nil:
		return s.mergedSet(ctx, runs)
	case runs != nil:
		return s.merged(ctx, runs)
	case s.out.Of != nil:
		return s.ofSets()
	}
	switch s.out.Aggregate.Func {
	case query.MinN, query.MaxN, query.List:
		return s.lists()
	case query.StringAgg:
		return s.joined()
	}
	v, err := s.vector()
	if err != nil {
		return nil, err
	}
	return v.Array(s.Allocator, s.out.Type)
}

// vector finalizes the aggregates whose results are single values.
func (s *finalStates) vector() (*vector.Vector, error) {
	if s.fold.Kind.Exact() {
		return s.doubles(s.exact), nil
	}
	col := &s.out.Column
	switch f := s.out.Aggregate.Func; f {
	case query.CountStar, query.Count, query.CountDistinct, query.FirstPlace:
		return s.counted(func(state []uint64) uint64 { return state[0] }), nil
	case query.ApproxCountDistinct:
		return s.counted(sketched), nil
	case query.Sum:
		return s.sums()
	case query.Avg:
		return s.doubles(s.average), nil
	case query.VarSamp, query.VarPop, query.StddevSamp, query.StddevPop:
		return s.doubles(func(i int) (float64, bool) { return variance(f, s.state(i)) }), nil
	case query.Skewness, query.Kurtosis:
		return s.doubles(func(i int) (float64, bool) { return shape(f, s.state(i)) }), nil
	case query.Corr, query.CovarSamp, query.CovarPop, query.RegrSlope, query.RegrIntercept, query.RegrR2:
		return s.doubles(func(i int) (float64, bool) { return comoment(f, s.state(i)) }), nil
	case query.Min, query.Max:
		if s.fold.Kind == rowdata.FoldBest {
			return s.best(1, col.Kind, true), nil
		}
		v := s.words(col.Kind)
		for i, w := range v.Words {
			v.Words[i] = encode.Unorder(w, col.Kind)
		}
		return v, nil
	case query.First, query.Last, query.AnyValue, query.ArgMin, query.ArgMax:
		return s.best(s.fold.Words-s.fold.PayloadWords, col.Kind, false), nil
	case query.Median, query.QuantileCont:
		return s.quantiles(), nil
	case query.QuantileDisc:
		a := &s.out.Aggregate
		return s.chosen(func(i, n int) []uint64 { return s.nth(i, discIndex(n, a.Fraction, a.Descending)) }), nil
	case query.Mode:
		return s.chosen(func(i, _ int) []uint64 { return mode(s.fold, s.fold.Elements(s.state(i))) }), nil
	}
	return s.words(col.Kind), nil // bool_and and the bitwise functions: the state is the value
}

// words copies states of one word; a group without rows is NULL.
func (s *finalStates) words(kind rowdata.Kind) *vector.Vector {
	v := &vector.Vector{Kind: kind, Words: slices.Clone(s.states)}
	for i, count := range s.counts {
		if count == 0 {
			v.SetNull(i)
			v.Words[i] = 0
		}
	}
	return v
}

func (s *finalStates) counted(count func(state []uint64) uint64) *vector.Vector {
	v := &vector.Vector{Kind: rowdata.Int64, Words: make([]uint64, s.n)}
	for i := range v.Words {
		v.Words[i] = count(s.state(i))
	}
	return v
}

func sketched(state []uint64) uint64 {
	if state[0] != rowdata.SketchDense {
		return state[0]
	}
	return uint64(math.Round(partition.EstimateRegisters(rowdata.SketchRegisters(state))))
}

// doubles finalizes states to floating-point values; ok is false for NULL.
func (s *finalStates) doubles(value func(i int) (v float64, ok bool)) *vector.Vector {
	v := &vector.Vector{Kind: rowdata.Float64, Words: make([]uint64, s.n)}
	for i := range v.Words {
		x, ok := value(i)
		if !ok {
			v.SetNull(i)
			continue
		}
		v.Words[i] = math.Float64bits(x)
	}
	return v
}

// best copies the words of a FoldBest at an offset; ordered says that these words are in the
// Ordered encoding.
func (s *finalStates) best(offset int, kind rowdata.Kind, ordered bool) *vector.Vector {
	w := kind.Words()
	v := &vector.Vector{Kind: kind, Words: make([]uint64, s.n*w)}
	for i := range s.n {
		state := s.state(i)
		if state[0] == 0 {
			v.SetNull(i)
			continue
		}
		copy(v.Words[i*w:(i+1)*w], state[offset:])
		if ordered {
			encode.UnorderValue(v.Words[i*w:(i+1)*w], kind)
		}
	}
	return v
}

// chosen finalizes growing states to one of their elements: of each group, one of its n.
func (s *finalStates) chosen(choose func(group, n int) []uint64) *vector.Vector {
	kind := s.out.Column.Kind
	w := kind.Words()
	v := &vector.Vector{Kind: kind, Words: make([]uint64, s.n*w)}
	for i := range s.n {
		n := s.elements(i)
		if n == 0 {
			v.SetNull(i)
			continue
		}
		copy(v.Words[i*w:(i+1)*w], choose(i, n))
		encode.UnorderValue(v.Words[i*w:(i+1)*w], kind)
	}
	return v
}
