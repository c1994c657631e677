package device

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/stream"
)

// Layout says how the rows and states of a query lie on a device. It turns the CPU's tiles into a
// device's and a device's groups into the CPU's. A layout is read-only once made, but for rankings, which are made when
// all rows have come.
type Layout struct {
	bound    *rowdata.Bound
	shape    kernels.Shape
	nullable []bool
	columns  []layoutColumn
	args     []int // by argument of the query: the device's column

	keys *rowdata.KeyLayout // of packed keys on the device

	// The device's folds are the query's folds, in its order, and behind them quantiles whose fold has another
	// quantile. quantiles are the devices' folds by output of the query; -1 of outputs that are no quantiles.
	quantiles []int

	// numbered: strings have numbers on devices alone, so that all rows come to devices as pages. strings are,
	// by key, what numbers the strings of which keys on the device have numbers, and the CPU's keys have not; nil
	// where there are none. rankings are, by column, the strings in order, once they are known.
	numbered bool
	strings  []*encode.Interner
	rankings []*ranking

	notDecoded error // why devices do not decode the query's files; nil where they do
	decoder    *decoder

	rows *rowsLayout // of rows that are decoded, and not aggregated; nil of others

	// Where a device partitions the rows of the query for the CPU:
	parts  error // why it does no more; nil where it aggregates
	hashed bool  // its keys are what gives the hash of the CPU's, whose words are columns
	refers bool  // rows may refer to their batches
}

// layoutColumn says where the values of a device's column come from.
type layoutColumn struct {
	column int // of Bound.Columns; -1 of none
	arg    int // of Bound.Args that has the values; -1 where only NULLs count
	double bool

	numbers *encode.Interner // of strings, which have numbers on the device; nil of other columns
	ranked  bool             // the numbers become ranks
	decoded int              // of Decoding.Columns, that has them

	words int // of an argument as it is, or of a key; 0 where a device knows the type
	key   int // of a key, where they begin, where arg is -1
}

// sum64RowsMax is how many values of 4 bytes a 64-bit sum is sure to hold.
const sum64RowsMax = 1 << 32

// newLayout returns the layout of a query whose rows a device aggregates, or partitions for the
// CPU; or why a device can do neither. rows is -1 where it is not known.
func newLayout(b *rowdata.Bound, rows int64) (*Layout, error) {
	l, err := newFoldLayout(b, &b.Keys, rows, nil)
	if err != nil {
		return newPartLayout(b, err)
	}
	return l, nil
}

// newFoldLayout returns the layout of a query whose rows a device aggregates by packed keys, or why a
// device cannot. numbers are, by column of the query, what numbers the strings of arguments; nil where nothing does.
func newFoldLayout(b *rowdata.Bound, keys *rowdata.KeyLayout, rows int64, numbers []*encode.Interner) (*Layout, error) {
	l := &Layout{bound: b, keys: keys, args: make([]int, len(b.Args)), numbered: numbers != nil}
	switch {
	case len(keys.Longs) > 0:
		return nil, errNotOnDevice("a key is a string without a dictionary")
	case keys.Bytes() > kernels.KeyBytesMax:
		return nil, errNotOnDevice(fmt.Sprintf("packed keys take %d B, more than %d", keys.Bytes(), kernels.KeyBytesMax))
	}
	l.shape.KeyBytes = keys.Bytes()
	for a := range b.Args {
		l.args[a] = l.columnOf(a)
		if i := l.args[a]; i >= 0 && numbers != nil {
			l.columns[i].numbers = numbers[l.columns[i].column]
		}
	}
	for i := range b.Folds {
		f, err := l.fold(i, rows)
		if err != nil {
			return nil, err
		}
		l.shape.Folds = append(l.shape.Folds, f)
	}
	l.addQuantiles()
	l.rankings = make([]*ranking, len(l.columns))
	return l, l.finish()
}

// finish fills in the types of the columns.
func (l *Layout) finish() error {
	for i := range l.columns {
		column := l.columns[i].column
		l.shape.Columns = append(l.shape.Columns, l.typeOf(i))
		l.nullable = append(l.nullable, column >= 0 && l.bound.Columns[column].Nullable)
	}
	if len(l.shape.Columns) > kernels.ColumnsMax || len(l.shape.Folds) > kernels.FoldsMax {
		return errNotOnDevice(fmt.Sprintf("%d columns and %d folds are more than the %d and %d that a kernel takes",
			len(l.shape.Columns), len(l.shape.Folds), kernels.ColumnsMax, kernels.FoldsMax))
	}
	return nil
}

// forCPU returns why the devices do no more than partition or decode rows for the CPU; nil where they do.
func (l *Layout) forCPU() error {
	if l.rows != nil {
		return l.rows.why
	}
	return l.parts
}

// isOneGroup reports whether the query has no keys.
func (l *Layout) isOneGroup() bool { return l.bound.Keys.Words == 0 }

// errNotOnDevice is why a query runs on the CPU.
type errNotOnDevice string

func (e errNotOnDevice) Error() string { return string(e) }

// errSlower is why a query runs on the CPU that devices are expected to answer no sooner.
type errSlower string

func (e errSlower) Error() string { return string(e) }

// columnOf returns the index of an argument's column on a device, which is added where there is
// none; -1 where the argument has no column.
func (l *Layout) columnOf(a int) int {
	arg := &l.bound.Args[a]
	if arg.Column < 0 || arg.Encoding == rowdata.Hashed {
		return -1
	}
	double := arg.Encoding == rowdata.Double
	i := slices.IndexFunc(l.columns, func(c layoutColumn) bool {
		return c.column == arg.Column && c.double == double && c.words == 0
	})
	if i < 0 {
		l.columns = append(l.columns, layoutColumn{column: arg.Column, arg: a, double: double})
		return len(l.columns) - 1
	}
	if arg.Encoding == rowdata.Natural {
		l.columns[i].arg = a // which needs no decoding
	}
	return i
}

// anyColumnOf returns the index of a device's column for a column of the query, in whatever
// encoding.
func (l *Layout) anyColumnOf(column int) int {
	i := slices.IndexFunc(l.columns, func(c layoutColumn) bool { return c.column == column })
	if i < 0 {
		l.columns = append(l.columns, layoutColumn{column: column, arg: -1})
		return len(l.columns) - 1
	}
	return i
}

// typeOf returns the type of a device's column.
func (l *Layout) typeOf(i int) kernels.ColumnType {
	c := &l.columns[i]
	switch {
	case c.words == 2:
		return kernels.Int128
	case c.words == 1:
		return kernels.Uint64
	case c.arg < 0:
		return kernels.Uint32
	}
	if c.double {
		return kernels.Float64
	}
	if c.numbers != nil {
		return kernels.Uint32
	}
	return columnTypeOf(&l.bound.Columns[c.column])
}

// columnTypeOf returns the type that values of a column have on a device.
func columnTypeOf(col *rowdata.Column) kernels.ColumnType {
	bits := 64
	if fixed, ok := col.Type.(arrow.FixedWidthDataType); ok {
		bits = fixed.BitWidth()
	}
	switch {
	case col.Kind == rowdata.Float64:
		return kernels.Float64
	case col.Kind == rowdata.Int64 && bits <= 32:
		return kernels.Int32
	case col.Kind == rowdata.Int64:
		return kernels.Int64
	case col.Kind == rowdata.Uint64 && bits <= 32:
		return kernels.Uint32
	}
	return kernels.Uint64
}

// ops are the folds whose states on a device are the CPU's, or nearly so.
var ops = map[rowdata.FoldKind]kernels.FoldOp{
	rowdata.FoldSumFloat:  kernels.SumFloat,
	rowdata.FoldExactSum:  kernels.SumExact,
	rowdata.FoldMin:       kernels.Min,
	rowdata.FoldMax:       kernels.Max,
	rowdata.FoldBitAnd:    kernels.BitAnd,
	rowdata.FoldBitOr:     kernels.BitOr,
	rowdata.FoldBitXor:    kernels.BitXor,
	rowdata.FoldMoments2:  kernels.Moments2,
	rowdata.FoldMoments4:  kernels.Moments4,
	rowdata.FoldComoments: kernels.Comoments,
}

// fold returns the device's fold for one of the query.
func (l *Layout) fold(i int, rows int64) (kernels.Fold, error) {
	f := &l.bound.Folds[i]
	out := kernels.Fold{Column: -1, Other: -1}
	if f.Kind == rowdata.FoldCount {
		for i, c := range l.bound.Selections[f.Selection] {
			if i == 0 {
				out.Column = l.anyColumnOf(c)
			} else {
				out.Other = l.anyColumnOf(c)
			}
		}
		return out, nil
	}
	column := func(i int) int { return l.args[l.bound.Inputs[f.Inputs[i]].Arg] }
	op, ok := ops[f.Kind]
	switch {
	case f.Kind == rowdata.FoldDistinct || f.Kind == rowdata.FoldCollect:
		return l.sortedFold(i)
	case f.Kind == rowdata.FoldBest:
		return l.bestFold(f)
	case f.Kind == rowdata.FoldTop:
		return l.topFold(f)
	case f.Kind == rowdata.FoldSumInt || f.Kind == rowdata.FoldSumUint:
		op = kernels.Sum128
		if l.typeOf(column(0)).Bytes() == 4 && rows >= 0 && rows < sum64RowsMax {
			op = kernels.Sum64
		}
	case !ok:
		return out, errNotOnDevice(fmt.Sprintf("a device has no fold for %s", f.Kind))
	case column(0) < 0:
		return out, errNotOnDevice("a device does not know the places of rows")
	}
	out.Op, out.Column = op, column(0)
	if op == kernels.Comoments {
		out.Other = column(1)
	}
	return out, nil
}

// sortedFold returns the device's fold for a set of which only the size is wanted, or for the first of the quantiles
// of a fold that has all values.
func (l *Layout) sortedFold(i int) (kernels.Fold, error) {
	f := &l.bound.Folds[i]
	no := errNotOnDevice(fmt.Sprintf("a device has no fold for %s", f.Kind))
	isNumbered := f.Kind == rowdata.FoldDistinct && f.Long && l.numbered // so that equal strings are equal numbers
	if l.bound.Partial || f.ElementWords != 1 && !isNumbered {
		return kernels.Fold{}, no
	}
	var first kernels.Fold
	for o := len(l.bound.Outputs) - 1; o >= 0; o-- {
		if out := &l.bound.Outputs[o]; out.Fold == i {
			if first = l.outputFold(out); !first.Op.Sorts() {
				return kernels.Fold{}, no
			}
		}
	}
	return first, nil
}

// bestFold returns the device's fold for the least or the greatest string.
func (l *Layout) bestFold(f *rowdata.Fold) (kernels.Fold, error) {
	out := kernels.Fold{Op: kernels.Min, Column: -1, Other: -1}
	if f.Descending {
		out.Op = kernels.Max
	}
	if f.Long && len(f.Inputs) == 1 {
		out.Column = l.args[l.bound.Inputs[f.Inputs[0]].Arg]
	}
	if out.Column < 0 || l.columns[out.Column].numbers == nil {
		return out, errNotOnDevice(fmt.Sprintf("a device has no fold for %s", f.Kind))
	}
	l.columns[out.Column].ranked = true
	return out, nil
}

// topFold returns the device's fold for the least or the greatest values.
func (l *Layout) topFold(f *rowdata.Fold) (kernels.Fold, error) {
	out := kernels.Fold{Op: kernels.MinN, Column: l.args[l.bound.Inputs[f.Inputs[0]].Arg], Other: -1, Limit: f.Limit}
	if f.Descending {
		out.Op = kernels.MaxN
	}
	isNumbered := out.Column >= 0 && f.Long && l.columns[out.Column].numbers != nil
	switch {
	case out.Column < 0 || f.ElementWords != 1 && !isNumbered:
		return out, errNotOnDevice(fmt.Sprintf("a device has no fold for %s of such a type", f.Kind))
	case f.Limit > kernels.LimitMax:
		return out, errNotOnDevice(fmt.Sprintf("%d values of a group are more than the %d that a device keeps",
			f.Limit, kernels.LimitMax))
	}
	l.columns[out.Column].ranked = l.columns[out.Column].ranked || isNumbered
	return out, nil
}

// outputFold returns the device's fold for an output that needs values in order; another where a device cannot
// have it: of a set, only its size.
func (l *Layout) outputFold(o *rowdata.Output) kernels.Fold {
	fold := &l.bound.Folds[o.Fold]
	out := kernels.Fold{Column: l.args[l.bound.Inputs[fold.Inputs[0]].Arg], Other: -1}
	if fold.Kind == rowdata.FoldDistinct {
		if o.Aggregate.Func == query.CountDistinct {
			out.Op = kernels.CountDistinct
		}
		return out
	}
	switch f := o.Aggregate.Func; {
	case o.Aggregate.Descending: // a device counts from the least value
	case f == query.Median:
		out.Op, out.Fraction = kernels.QuantileCont, 0.5
	case f == query.QuantileCont:
		out.Op, out.Fraction = kernels.QuantileCont, o.Aggregate.Fraction
	case f == query.QuantileDisc:
		out.Op, out.Fraction = kernels.QuantileDisc, o.Aggregate.Fraction
	}
	return out
}

// addQuantiles adds folds for the quantiles that have none.
func (l *Layout) addQuantiles() {
	for i := range l.bound.Outputs {
		o, fold := &l.bound.Outputs[i], -1
		if l.bound.Folds[o.Fold].Kind == rowdata.FoldCollect {
			of := l.outputFold(o)
			if fold = slices.Index(l.shape.Folds, of); fold < 0 {
				fold, l.shape.Folds = len(l.shape.Folds), append(l.shape.Folds, of)
			}
		}
		l.quantiles = append(l.quantiles, fold)
	}
}

// rowBytes returns how many bytes a row takes on the link to a device.
func (l *Layout) rowBytes() int64 {
	n := int64(l.shape.KeyBytes)
	for _, t := range l.shape.Columns {
		n += int64(t.Bytes())
	}
	return n
}

// crossing returns how a row that passes the filter crosses the link. rows is how many rows pass.
func (l *Layout) crossing(rows int64) crossing {
	switch d := l.decoder; {
	case l.notDecoded != nil:
		return crossing{float64(l.rowBytes()), false}
	case d.count != nil: // rows that do not pass cross, too
		return crossing{d.bytes / float64(max(rows, 1)), true}
	default:
		return crossing{d.rowBytes, true}
	}
}

// stage writes the rows of a tile to a device's tile, from row at on, and numbers their strings. It returns an error
// where there are more strings than numbers.
func (l *Layout) stage(to *stream.Tile, at int, t *rowdata.Tile) error {
	n, keys := t.Rows, t.Keys
	if l.strings != nil {
		var err error
		if keys, err = l.numberKeys(keys, n); err != nil {
			return err
		}
	}
	switch {
	case l.hashed:
		l.stageHashes(rowdata.View[uint64](to.Keys[8*at:8*(at+n)]), keys)
	case l.shape.KeyBytes == 4:
		rowdata.Narrow[uint32](to.Keys[4*at:4*(at+n)], keys[:n])
	default:
		copy(rowdata.View[uint64](to.Keys[l.shape.KeyBytes*at:l.shape.KeyBytes*(at+n)]), keys)
	}
	for i := range l.columns {
		c := &l.columns[i]
		width := l.shape.Columns[i].Bytes()
		out := to.Columns[i][width*at : width*(at+n)]
		switch {
		case c.words > 0 && c.arg < 0:
			stageKeys(rowdata.View[uint64](out), t.Keys, c, l.bound.Keys.Words)
		case c.words > 0:
			copy(rowdata.View[uint64](out), t.Args[c.arg][:n*c.words])
		case c.arg < 0:
			clear(out)
		case c.numbers != nil:
			if err := stageStrings(out, c.numbers, t.Args[c.arg], n, t.Valid[c.column]); err != nil {
				return err
			}
		case l.bound.Args[c.arg].Encoding == rowdata.Ordered:
			kind := l.bound.Columns[c.column].Kind
			for j, w := range t.Args[c.arg][:n] {
				if w = encode.Unorder(w, kind); width == 4 {
					rowdata.View[uint32](out)[j] = uint32(w)
				} else {
					rowdata.View[uint64](out)[j] = w
				}
			}
		case width == 4:
			rowdata.Narrow[uint32](out, t.Args[c.arg][:n])
		default:
			copy(rowdata.View[uint64](out), t.Args[c.arg][:n])
		}
		if l.nullable[i] {
			stageBits(to.Valid[i], at, t.Valid[c.column], n)
		}
	}
	return nil
}

// copyPlain copies n rows of the batch from row from on to a device's tile, from row at on, where
// all columns of the batch lie in memory as on a device. Where a column does not, copyPlain does
// nothing and returns false.
func (l *Layout) copyPlain(to *stream.Tile, at int, e *encode.Encoder, from, n int) bool {
	if !l.plainKeys() || l.strings != nil {
		return false
	}
	key := e.Plain(l.bound.KeyColumns[0], l.shape.KeyBytes, from, n)
	if key == nil {
		return false
	}
	var columns [kernels.ColumnsMax][]byte
	for i := range l.columns {
		c := &l.columns[i]
		if c.double || c.arg < 0 || c.words > 0 || c.numbers != nil {
			return false
		}
		if columns[i] = e.Plain(c.column, l.shape.Columns[i].Bytes(), from, n); columns[i] == nil {
			return false
		}
	}
	copy(to.Keys[l.shape.KeyBytes*at:], key)
	for i := range l.columns {
		copy(to.Columns[i][l.shape.Columns[i].Bytes()*at:], columns[i])
		if l.nullable[i] {
			stageBits(to.Valid[i], at, nil, n)
		}
	}
	return true
}

// stageBits writes n bits of a bitmap, whose bits are zero before, from a bit on. bytes of 1 and 0
// are the bits; nil sets all bits. Other goroutines may write to the words at both ends.
func stageBits(bitmap []uint32, at int, valid []uint8, n int) {
	for i := 0; i < n; {
		first := (at + i) % 32
		take := min(32-first, n-i)
		word := uint32(math.MaxUint32)
		if valid != nil {
			word = 0
			for j, v := range valid[i : i+take] {
				word |= uint32(v) << j
			}
		} else if take < 32 {
			word = 1<<take - 1
		}
		to := &bitmap[(at+i)/32]
		if take == 32 {
			*to = word
		} else {
			atomic.OrUint32(to, word<<first)
		}
		i += take
	}
}

// unstage makes a tile of at most rowdata.TileRows rows of a device's tile, from a row on, and
// returns the tile.
func (l *Layout) unstage(t *rowdata.Tile, from *stream.Tile, at int) *rowdata.Tile {
	n := min(rowdata.TileRows, from.Rows-at)
	if t == nil {
		t = &rowdata.Tile{Args: make([][]uint64, len(l.bound.Args)), Valid: make([][]uint8, len(l.bound.Columns))}
	}
	t.Rows = n
	switch {
	case l.isOneGroup():
		t.Keys = nil
	case l.hashed:
		t.Keys = l.unstageKeys(t.Keys, from, at, n)
	case l.strings != nil:
		t.Keys = l.stringKeys(t.Keys, l.words(nil, from.Keys, l.shape.KeyBytes, at, n, kernels.Uint32), n)
	default:
		t.Keys = l.words(t.Keys, from.Keys, l.shape.KeyBytes, at, n, kernels.Uint32)
	}
	for a := range l.bound.Args {
		i := l.args[a]
		if in := l.columns[i].numbers; in != nil {
			t.Args[a] = stringsOf(t.Args[a], rowdata.View[uint32](from.Columns[i])[at:at+n], in.Strings())
			continue
		}
		t.Args[a] = l.words(t.Args[a], from.Columns[i], l.shape.Columns[i].Bytes(), at, n, l.shape.Columns[i])
		if l.bound.Args[a].Encoding == rowdata.Ordered && l.columns[i].words == 0 {
			encode.Order(t.Args[a], t.Args[a], l.bound.Columns[l.bound.Args[a].Column].Kind)
		}
	}
	for i := range l.columns {
		c := l.columns[i].column
		if !l.nullable[i] {
			continue
		}
		t.Valid[c] = rowdata.Grow(t.Valid[c], n)
		for j := range n {
			t.Valid[c][j] = uint8(from.Valid[i][(at+j)/32] >> ((at + j) % 32) & 1)
		}
	}
	return t
}

// words returns values at to at+n-1 of b, of width bytes each, as words. Values of 4 bytes are
// extended as their type says.
func (l *Layout) words(buf []uint64, b []byte, width, at, n int, t kernels.ColumnType) []uint64 {
	b = b[width*at : width*(at+n)]
	buf = rowdata.Grow(buf, max(len(b)/8, n))
	switch {
	case width > 4:
		copy(buf, rowdata.View[uint64](b))
	case t == kernels.Int32:
		for i, v := range rowdata.View[int32](b) {
			buf[i] = uint64(int64(v))
		}
	default:
		for i, v := range rowdata.View[uint32](b) {
			buf[i] = uint64(v)
		}
	}
	return buf
}

// groupBuffers hold a device's groups in the CPU's form, until the next call.
type groupBuffers struct {
	keys    []uint64
	strings []uint64 // keys with strings in place of numbers
	states  [][]uint64

	elements  [][]uint64 // by fold: what states refer to
	quantiles [][]uint64 // by output
}

// groups returns groups from to to of a device in the CPU's form.
func (l *Layout) groups(buf *groupBuffers, g *stream.Groups, from, to int) *cpuagg.Groups {
	n := to - from
	buf.keys = l.words(buf.keys, g.Keys, l.shape.KeyBytes, from, n, kernels.Uint32)
	if buf.states == nil {
		folds := len(l.bound.Folds)
		buf.states, buf.elements, buf.quantiles = make([][]uint64, folds), make([][]uint64, folds),
			make([][]uint64, len(l.quantiles))
	}
	words := func(fold int) []uint64 {
		words := l.shape.Folds[fold].Words()
		b := g.States[fold][8*words*from : 8*words*to]
		return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), n*words)
	}
	for i := range buf.states {
		if l.bound.Folds[i].Kind == rowdata.FoldTop {
			buf.states[i], buf.elements[i] = l.topStates(buf.states[i], buf.elements[i], i, words(i))
			continue
		}
		buf.states[i] = l.states(buf.states[i], i, words(i), g.Shape.Folds[i].Unit)
	}
	for o, fold := range l.quantiles {
		if fold >= 0 {
			buf.quantiles[o] = words(fold)
		}
	}
	keys := buf.keys
	if l.isOneGroup() {
		keys = nil
	}
	if l.strings != nil {
		buf.strings = l.stringKeys(buf.strings, keys, n)
		keys = buf.strings
	}
	groups := cpuagg.GroupsOf(n, keys, buf.states)
	groups.Quantiles = buf.quantiles
	return groups
}

// states returns a fold's states in the CPU's form; unit is that of exact sums. A set has its size and no elements.
// Folds of all values have no states: their quantiles are known.
func (l *Layout) states(buf []uint64, i int, words []uint64, unit int) []uint64 {
	f, fold := &l.shape.Folds[i], &l.bound.Folds[i]
	switch {
	case fold.Kind == rowdata.FoldCollect:
		return nil
	case f.Op == kernels.SumExact:
		n := len(words) / 2
		buf = rowdata.Grow(buf, 3*n)
		for j := range n {
			buf[3*j], buf[3*j+1], buf[3*j+2] = uint64(unit+rowdata.ExactUnitMin), words[2*j], words[2*j+1]
		}
	case f.Op == kernels.CountDistinct:
		buf = rowdata.Grow(buf, rowdata.SetWords*len(words))
		clear(buf)
		for j, w := range words {
			buf[rowdata.SetWords*j] = w
		}
	case fold.Kind == rowdata.FoldBest:
		return l.rankings[f.Column].states(buf, words)
	case f.Op == kernels.Sum64:
		buf = rowdata.Grow(buf, 2*len(words))
		for j, w := range words {
			buf[2*j], buf[2*j+1] = w, 0
			if fold.Kind == rowdata.FoldSumInt {
				buf[2*j+1] = uint64(int64(w) >> 63)
			}
		}
	case fold.Kind == rowdata.FoldMin || fold.Kind == rowdata.FoldMax:
		buf = rowdata.Grow(buf, len(words))
		encode.Order(buf, words, l.bound.Columns[l.columns[f.Column].column].Kind)
	default:
		return words
	}
	return buf
}

// topStates returns the states of a fold of the least or greatest values in the CPU's form, and the elements that they
// refer to. The CPU has the last of the values first.
func (l *Layout) topStates(buf, elements []uint64, i int, words []uint64) (_, _ []uint64) {
	f, width := &l.shape.Folds[i], l.bound.Folds[i].ElementWords
	per := f.Words()
	n, block := len(words)/per, width*f.Limit
	buf, elements = rowdata.Grow(buf, rowdata.VectorWords*n), rowdata.Grow(elements, block*n)
	for g := range n {
		state, list := words[per*g:per*(g+1)], elements[block*g:block*(g+1)]
		count := int(min(state[0], uint64(f.Limit)))
		for j := range count {
			value := state[count-j]
			if f.Op == kernels.MinN {
				value = ^value
			}
			if r := l.rankings[f.Column]; r != nil {
				s := r.at(value)
				copy(list[width*j:], s[:])
			} else {
				list[j] = value
			}
		}
		buf[rowdata.VectorWords*g], buf[rowdata.VectorWords*g+1] = uint64(count), rowdata.Address(list)
	}
	return buf, elements
}
