package expr

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/regex"
	"github.com/mpga/mpga/internal/rowdata"
)

// node is a bound expression.
type node struct {
	typ    Type
	name   string // of the function; "" if the node is no function
	text   string // the node as SQL, for errors
	at     int    // first byte of the node in the text, or -1
	column int    // index in the program's columns; -1 if the node is no column

	isConst bool
	value   any     // of a constant, as Expr.Value; nil if that is NULL, and of other nodes
	literal bool    // a constant as it was written, whose type is open
	args    []*node // the nodes that eval reads
	eval    kernel  // not called for constants and columns

	fallible bool     // some values of the arguments give an error
	inherits bool     // fallible for nothing but an argument
	slot     int      // index of the node's constant vector, or values of a dictionary's entries, in an evaluator
	single   int      // the only column that the node reads; -1 if it reads none, or several
	span     *numbers // the values that a part of a date may have; nil of other nodes
	floor    int64    // microseconds: a function that rounds times down takes off fewer; 0 of other nodes
	isYear   bool     // the year of a time
	exact    bool     // a cast that keeps the order of values, and turns different values to different values
	isJSON   bool     // of type Text: what a function of JSON has made
	drawn    bool     // another value for each row, whatever the arguments are
	shared   bool     // the node stands more than once in the program's expressions

	lambda     *Expr        // that the node stands for until its function binds it; nil of others
	conversion conversion   // noCast of other nodes
	pattern    *likePattern // that the first argument, a string, is compared with; nil of other nodes
	part       *datePart    // that the node is, of a time; nil of other nodes
	unit       *truncationUnit
	zone       *time.Location // of a cast: the zone of TIMESTAMPTZ; nil of UTC
	unitOf     *IntervalValue // of a node that is an interval times its argument; nil of other nodes
}

// conversion is what a node casts by.
type conversion uint8

const (
	noCast conversion = iota
	plainCast
	tryCast
)

// column is a column that a program reads.
type column struct {
	name  string
	index int // in the schema
	typ   Type
	arrow arrow.DataType // of the values
}

// Program is expressions that were bound to a schema. Its evaluators share the program and change
// nothing of it but the memos that it lends them.
type Program struct {
	columns []column // that the expressions read
	nodes   []*node  // by expression
	compact []bool   // by expression: its decimals are of 64 bits
	slots   int      // of all nodes
	shared  bool     // some node stands more than once
	plain   bool     // see Plain
	memos   memos
}

// Plain makes strings arrays of strings, never dictionaries. Requires: no evaluator was made.
func (p *Program) Plain() { p.plain = true }

// Columns returns the columns that the program reads, as indexes in the schema that it was bound
// to. An evaluator takes them in this order.
func (p *Program) Columns() []int {
	indexes := make([]int, len(p.columns))
	for i, c := range p.columns {
		indexes[i] = c.index
	}
	return indexes
}

// Compact makes the decimals of expression i 64-bit decimals if they have at most 18 digits.
func (p *Program) Compact(i int) {
	t := p.nodes[i].typ
	p.compact[i] = t.ID == Decimal && t.kind() == intKind
}

// Fallible says whether an expression may give an error for a row. known are the statistics of the schema's columns, or
// nil.
func (p *Program) Fallible(known []rowdata.ColumnStats) bool {
	return slices.ContainsFunc(p.nodes, func(n *node) bool { return p.fails(n, known) })
}

// fails says whether a node may give an error for a row: integers whose sum, difference or product stays within the
// bounds of its type give none.
func (p *Program) fails(n *node, known []rowdata.ColumnStats) bool {
	if !n.fallible {
		return false
	}
	if !n.inherits {
		r, ok := p.span(n, known)
		low, high := bounds(n.typ)
		if !ok || !slices.Contains(exactSigns, n.name) || r.low < low || r.high > high {
			return true
		}
	}
	return slices.ContainsFunc(n.args, func(a *node) bool { return p.fails(a, known) })
}

// exactSigns are the operators of integers that are an error only where a result is beyond the bounds of its type.
var exactSigns = []string{"+", "-", "*"}

// Arrow returns the type of the arrays that expression i gives.
func (p *Program) Arrow(i int) arrow.DataType { return p.nodes[i].typ.arrowOf(p.compact[i]) }

// Type returns the type of an expression.
func (p *Program) Type(i int) Type { return p.nodes[i].typ }

// Constant returns an expression's value if that does not depend on a row.
func (p *Program) Constant(i int) (value any, ok bool) { return p.nodes[i].value, p.nodes[i].isConst }

// Evaluator evaluates a program. One goroutine at a time may use it.
type Evaluator struct {
	arena
	program *Program
	mem     memory.Allocator // of the arrays that are results

	arrays    []arrow.Array            // the batch's columns, by column of the program
	ofColumns []*entries               // values of the dictionary of each column; nil of columns without dictionary
	ofNodes   []*entries               // by slot: the node's values for the dictionary of its column
	constants []*vector                // by slot; nil before the constant is asked for, and beyond constantsMax
	regexps   map[string]*regex.Regexp // compiled expressions, by their text
	last      lastRegexp
	memos     []*memo  // by slot; nil before the memo is asked for
	free      []*frame // frames that no evaluation uses

	constantsKept int // vectors in constants

	elements []nested.Element // of the list at hand
	draft    []byte           // of the nested value at hand

	step     int       // rows that are evaluated together at most
	together int       // rows that are evaluated together now
	text     textLimit // of the strings that functions make
}

// limited is an allocator of a budget.
type limited interface {
	memory.Allocator
	rowdata.Budget
	Share() int64 // of the memory limit, in bytes, for one worker
}

// NewEvaluator returns an evaluator whose results are allocated by mem, whose budget is its Limit.
func (p *Program) NewEvaluator(mem memory.Allocator) *Evaluator {
	e := &Evaluator{
		program:   p,
		mem:       mem,
		ofColumns: make([]*entries, len(p.columns)),
		ofNodes:   make([]*entries, p.slots),
		constants: make([]*vector, p.slots),
		regexps:   map[string]*regex.Regexp{},
		step:      vectorRows,
		text:      textLimitOf(math.MaxInt64, nil),
	}
	if l, ok := mem.(limited); ok {
		e.Limit(l.Share(), l)
	}
	return e
}

// Release gives back what the evaluator holds of dictionaries, and its memos.
func (e *Evaluator) Release() {
	if e.memos != nil {
		e.program.memos.give(e.memos)
		e.memos = nil
	}
	for _, list := range [][]*entries{e.ofColumns, e.ofNodes} {
		for i := range list {
			list[i].release()
			list[i] = nil
		}
	}
}

// frameOf returns a frame of n rows: the rows from a row on, or, if rows is not nil, these.
func (e *Evaluator) frameOf(from, n int, rows []int32) *frame {
	var f *frame
	if last := len(e.free) - 1; last >= 0 {
		f, e.free = e.free[last], e.free[:last]
	} else {
		f = &frame{e: e, loaded: make([]*vector, len(e.program.columns))}
		if e.program.shared {
			f.known = make([]*vector, e.program.slots)
		}
	}
	f.from, f.n, f.rows, f.params = from, n, rows, f.params[:0]
	clear(f.loaded)
	clear(f.known)
	return f
}

// done takes a frame back.
func (e *Evaluator) done(f *frame) { e.free = append(e.free, f) }

// eval computes a node for the rows of the frame.
func (f *frame) eval(n *node) (*vector, error) {
	switch {
	case n.isConst:
		return f.constant(n), nil
	case n.column >= 0:
		return f.column(n.column)
	case !n.shared:
		return f.compute(n)
	}
	if v := f.known[n.slot]; v != nil {
		return v, nil
	}
	v, err := f.compute(n)
	f.known[n.slot] = v
	return v, err
}

func (f *frame) compute(n *node) (*vector, error) {
	if n.single >= 0 {
		if d, ok := f.e.arrays[n.single].(*array.Dictionary); ok {
			if e := f.e.entriesOfNode(d, n, f.n); e != nil {
				return f.lookUp(d, e)
			}
		}
	}
	return n.eval(f)
}

// constant returns a vector of a constant's value for every row of the frame.
func (f *frame) constant(n *node) *vector {
	v := f.e.constants[n.slot]
	if v == nil && f.e.constantsKept == constantsMax {
		return f.e.repeated(n.typ.kind(), f.n, n.value)
	}
	if v == nil {
		f.e.constantsKept++
	}
	if v == nil || v.n < f.n {
		v = new(arena).repeated(n.typ.kind(), roomFor(f.n), n.value)
		f.e.constants[n.slot] = v
	}
	return f.e.holding(v.slice(f.n))
}

// constantsMax bounds the constants that an evaluator keeps as vectors, of 16 KiB each.
const constantsMax = 256

// slice returns the first rows of a vector.
func (v *vector) slice(n int) vector {
	return vector{n: n, null: first(v.null, wordsOf(n)), bits: first(v.bits, wordsOf(n)),
		ints: first(v.ints, n), floats: first(v.floats, n), wides: first(v.wides, n), texts: first(v.texts, n)}
}

// first returns the first n values; nil of nil.
func first[T any](values []T, n int) []T { return values[:min(n, len(values))] }

// repeated returns a vector of n times one value.
func (a *arena) repeated(k kind, n int, value any) *vector {
	v := a.vector(k, n)
	switch x := value.(type) {
	case nil:
		v.null = a.bitmap(n)
		fillAll(v.null, ^uint64(0))
	case bool:
		if x {
			fillAll(v.bits, ^uint64(0))
		}
	case int64:
		fillAll(v.ints, x)
	case float64:
		fillAll(v.floats, x)
	case wide:
		fillAll(v.wides, x)
	case string:
		fillAll(v.texts, x)
	}
	return v
}

func fillAll[T any](out []T, x T) {
	for i := range out {
		out[i] = x
	}
}

// sub evaluates a node for the rows of the frame whose bits are set.
func (f *frame) sub(n *node, selected []uint64, count int) (*vector, error) {
	s := f.only(selected, count)
	defer f.e.done(s)
	return s.eval(n)
}

// only returns a frame of the rows whose bits are set.
func (f *frame) only(selected []uint64, count int) *frame {
	rows := f.e.rows.get(count)[:0]
	eachBit(selected, f.n, func(i int) { rows = append(rows, int32(f.row(i))) })
	s := f.e.frameOf(0, count, rows)
	if len(f.params) > 0 {
		places := f.e.rows.get(count)[:0]
		eachBit(selected, f.n, func(i int) { places = append(places, int32(i)) })
		for _, p := range f.params {
			s.params = append(s.params, bound{p.id, f.e.pick(p.values, places)})
		}
	}
	return s
}

// entriesOf returns the values of the dictionary that column c has in the batch.
func (e *Evaluator) entriesOf(d *array.Dictionary, c int) (*entries, error) {
	col := &e.program.columns[c]
	place := &e.ofColumns[c]
	if known := *place; known.has(d.Dictionary()) {
		return known, known.err
	}
	return e.entriesIn(place, d.Dictionary(), col.typ.kind(), false, func(f *frame, arr arrow.Array) (*vector, error) {
		v := e.vector(col.typ.kind(), f.n)
		v.null = f.nulls(arr)
		return v, f.fill(v, arr, col)
	})
}

// entriesOfNode returns the values that a node of a single column has for the entries of a
// dictionary. rows more rows are to be looked up in it. It returns nil while a dictionary that
// has more entries than the batch has rows has more entries than rows were asked for: evaluating
// these by themselves costs at most as much again. It also returns nil if an entry gives an error:
// maybe no row has that entry.
func (e *Evaluator) entriesOfNode(d *array.Dictionary, n *node, rows int) *entries {
	dict, place := d.Dictionary(), &e.ofNodes[n.slot]
	made := *place
	if !made.has(dict) {
		if e.areFew(place, d, rows) {
			return nil
		}
		column := e.arrays[n.single]
		made, _ = e.entriesIn(place, dict, n.typ.kind(), true, func(f *frame, arr arrow.Array) (*vector, error) {
			e.arrays[n.single] = arr
			return n.eval(f)
		})
		e.arrays[n.single] = column
	}
	if made.err != nil {
		return nil
	}
	return made
}

// areFew says whether rows of a dictionary, which are to be looked at, are few beside its entries,
// with the rows that were looked at before.
func (e *Evaluator) areFew(place **entries, d *array.Dictionary, rows int) bool {
	dict := d.Dictionary()
	return !(*place).has(dict) && dict.Len() > max(d.Len(), vectorRows) &&
		(dict.Len() > entriesMax || e.asked(place, dict, rows) < dict.Len())
}

// entriesMax bounds the dictionaries whose entries have values of a node: 16 MiB of strings, beside
// their bytes.
const entriesMax = 1 << 20

// asked notes that rows of a dictionary are evaluated by themselves, and returns how many were.
func (e *Evaluator) asked(place **entries, dict arrow.Array, rows int) int {
	if old := *place; old == nil || old.of != dict.Data() {
		e.turnTo(place, dict)
	}
	(*place).asked += rows
	return (*place).asked
}

// turnTo makes a place ready for the values of a dictionary's entries, in the memory of the last
// dictionary's values.
func (e *Evaluator) turnTo(place **entries, dict arrow.Array) {
	turned := &entries{of: dict.Data()}
	turned.of.Retain()
	if old := *place; old != nil {
		turned.values = old.values.slice(0)
		turned.values.null = nil
		old.release()
	}
	*place = turned
}

// entriesIn makes the values that eval has for a dictionary's entries and for NULL, and keeps them
// at a place. copies says that strings are copied, as eval makes them; others lie in the dictionary.
func (e *Evaluator) entriesIn(
	place **entries, dict arrow.Array, k kind, copies bool, eval func(*frame, arrow.Array) (*vector, error),
) (*entries, error) {
	e.turnTo(place, dict)
	outside, together, full := e.made, e.together, e.text.full
	out := *place
	out.made = true
	out.err = func() error {
		e.made, e.together, e.text.full = 0, vectorRows, e.text.frame // for all entries
		b := collector{vector: out.values, copies: copies}
		b.reserve(k, dict.Len()+1)
		for from := 0; from < dict.Len(); from += vectorRows {
			if err := e.collect(&b, k, dict, from, min(vectorRows, dict.Len()-from), eval); err != nil {
				return err
			}
		}
		null := array.MakeArrayOfNull(memory.DefaultAllocator, dict.DataType(), 1)
		defer null.Release()
		err := e.collect(&b, k, null, 0, 1, eval)
		out.set(b.vector)
		return err
	}()
	e.made, e.together, e.text.full = outside, together, full
	return out, out.err
}

func (e *entries) set(values vector) {
	e.values = values
	if values.null != nil {
		e.nulls = flagsOf(values.null, values.n)
	}
	if values.bits != nil {
		e.truths = flagsOf(values.bits, values.n)
		if e.truths.odd < 0 && values.isNull(values.n-1) { // NULL has no truth
			e.truths.findOdd(values.n - 1)
		}
		count := values.n - 1
		trues := countBits(values.bits, count)
		e.alike = count > 0 && (trues == 0 || trues == count) && (values.null == nil || countBits(values.null, count) == 0)
	}
}

func (e *Evaluator) collect(b *collector, k kind, arr arrow.Array, from, n int,
	eval func(*frame, arrow.Array) (*vector, error)) error {
	f := e.frameOf(from, n, nil)
	defer e.done(f)
	v, err := eval(f, arr)
	if err == nil {
		b.add(k, v)
	}
	return err
}

// collector keeps the values of vectors one after the other.
type collector struct {
	vector
	copies bool // strings are copied
}

// reserve makes room for n values of a kind.
func (c *collector) reserve(k kind, n int) {
	switch k {
	case intKind:
		c.ints = slices.Grow(c.ints, n)
	case floatKind:
		c.floats = slices.Grow(c.floats, n)
	case wideKind:
		c.wides = slices.Grow(c.wides, n)
	case textKind:
		c.texts = slices.Grow(c.texts, n)
	}
}

func (c *collector) add(k kind, v *vector) {
	at := c.n
	c.n += v.n
	if v.null != nil && c.null == nil {
		c.null = make([]uint64, wordsOf(at))
	}
	if c.null != nil {
		c.null = grownBits(c.null, c.n)
		if v.null != nil {
			orBits(c.null, at, v.null, v.n)
		}
	}
	switch k {
	case bitKind:
		c.bits = grownBits(c.bits, c.n)
		orBits(c.bits, at, v.bits, v.n)
	case intKind:
		c.ints = append(c.ints, v.ints...)
	case floatKind:
		c.floats = append(c.floats, v.floats...)
	case wideKind:
		c.wides = append(c.wides, v.wides...)
	case textKind:
		if !c.copies {
			c.texts = append(c.texts, v.texts...)
			return
		}
		size := 0
		for i, s := range v.texts {
			if !v.isNull(i) {
				size += len(s)
			}
		}
		block := make([]byte, 0, size)
		for i, s := range v.texts {
			if v.isNull(i) {
				s = ""
			}
			from := len(block)
			block = append(block, s...)
			c.texts = append(c.texts, bytesText(block[from:]))
		}
	}
}

func grownBits(words []uint64, n int) []uint64 {
	return append(words, make([]uint64, wordsOf(n)-len(words))...)
}

// orBits sets the bits of out from at on that n bits of words have set.
func orBits(out []uint64, at int, words []uint64, n int) {
	shift := at & 63
	for w := range wordsOf(n) {
		m := words[w]
		if w == wordsOf(n)-1 {
			m &= lastMask(n)
		}
		out[at>>6+w] |= m << shift
		if over := m >> 1 >> (63 - shift); over != 0 {
			out[at>>6+w+1] |= over
		}
	}
}

// begin makes the evaluator read a batch, which has the program's columns.
func (e *Evaluator) begin(batch arrow.RecordBatch) error {
	if int(batch.NumCols()) != len(e.program.columns) {
		return fmt.Errorf("a batch has %d columns, %d were asked for", batch.NumCols(), len(e.program.columns))
	}
	e.arrays = append(e.arrays[:0], batch.Columns()...)
	return nil
}

// Select sets the bits of the rows for which expression i, a condition, is TRUE, and returns their
// number. The batch has the program's columns; selected has a bit for each row, all 0.
func (e *Evaluator) Select(ctx context.Context, i int, batch arrow.RecordBatch, selected []byte) (rows int, err error) {
	if err := e.begin(batch); err != nil {
		return 0, err
	}
	for from, n := 0, int(batch.NumRows()); from < n; {
		done, err := e.inSteps(from, n-from, func(from, n int) error {
			f := e.frameOf(from, n, nil)
			defer e.done(f)
			trues, err := f.trues(e.program.nodes[i])
			if err != nil {
				return err
			}
			rows += countBits(trues, n)
			if from%8 == 0 {
				putBits(selected[from/8:], trues, n)
			} else {
				eachBit(trues, n, func(i int) { bitutil.SetBit(selected, from+i) })
			}
			return nil
		})
		if err != nil {
			return rows, e.atRow(e.program.nodes[i], from, done, err)
		}
		from += done
		if err := ctx.Err(); err != nil {
			return rows, context.Cause(ctx)
		}
	}
	return rows, nil
}

// trues evaluates a condition, and returns the rows for which it is TRUE. A condition that may give
// errors is evaluated only for the rows for which the conditions before it, joined by AND, are
// TRUE: a derived table does not have other rows, so its user hears of no error of theirs.
func (f *frame) trues(n *node) ([]uint64, error) {
	switch {
	case isNever(n):
		return f.e.bitmap(f.n), nil
	case n.name != "and" || n.isConst || !n.fallible:
		v, err := f.eval(n)
		if err != nil {
			return nil, err
		}
		return f.truesOf(v), nil
	}
	open, err := f.trues(n.args[0])
	for _, next := range n.args[1:] {
		if err != nil {
			return nil, err
		}
		count := countBits(open, f.n)
		if count == 0 {
			return open, nil
		}
		var more []uint64
		more, err = f.truesAmong(next, open, count)
		if err == nil {
			all := f.e.bitmap(f.n)
			for w := range all {
				all[w] = open[w] & more[w]
			}
			open = all
		}
	}
	return open, err
}

// isNever says whether a condition is TRUE for no row, which is known without its operands.
func isNever(n *node) bool { return n.name == "between" && slices.ContainsFunc(n.args, isNull) }

// truesAmong is trues for the open rows. It may return others, too.
func (f *frame) truesAmong(n *node, open []uint64, count int) ([]uint64, error) {
	switch {
	case count == f.n || isNever(n):
		return f.trues(n)
	case n.name != "and" || !n.fallible:
		v, err := f.condition(n, open, count)
		if err != nil {
			return nil, err
		}
		return f.truesOf(v), nil
	}
	s := f.only(open, count)
	defer f.e.done(s)
	among, err := s.trues(n)
	if err != nil {
		return nil, err
	}
	trues := f.e.bitmap(f.n)
	deposit(trues, among, open, f.n)
	return trues, nil
}

// truesOf returns the rows for which a condition is TRUE.
func (f *frame) truesOf(v *vector) []uint64 {
	if v.null == nil {
		return v.bits
	}
	trues := f.e.bitmap(f.n)
	for w := range trues {
		trues[w] = v.bits[w] &^ v.null[w]
	}
	return trues
}

// putBits writes n bits as bytes.
func putBits(out []byte, words []uint64, n int) {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
	size := (n + 7) / 8
	copy(out[:size], bytes)
	if n%8 != 0 {
		out[size-1] &= 1<<(n%8) - 1
	}
}

// Eval returns the values of the expressions for the rows of a batch from a row on, and the number
// of these rows: not all if the strings take much memory. The batch has the program's columns.
// Strings are dictionaries if an expression's only column is, unless the program is plain.
func (e *Evaluator) Eval(ctx context.Context, batch arrow.RecordBatch,
	from int) (arrays []arrow.Array, rows int, err error) {
	if err := e.begin(batch); err != nil {
		return nil, 0, err
	}
	arrays = make([]arrow.Array, len(e.program.nodes))
	builders := make([]*builder, len(e.program.nodes))
	rows, err = e.evalAll(ctx, from, int(batch.NumRows())-from, arrays, builders)
	for i, b := range builders {
		switch {
		case b != nil && err == nil:
			arrays[i] = b.array()
		case b != nil:
			b.release()
		case err == nil && rows < arrays[i].Len():
			whole := arrays[i]
			arrays[i] = array.NewSlice(whole, int64(from), int64(from+rows))
			whole.Release()
		}
	}
	if err == nil {
		return arrays, rows, nil
	}
	for _, arr := range arrays {
		if arr != nil {
			arr.Release()
		}
	}
	return nil, 0, err
}

// evalAll makes an array or a builder for each expression, and returns the rows of the builders.
func (e *Evaluator) evalAll(ctx context.Context, from, rows int, arrays []arrow.Array,
	builders []*builder) (done int, err error) {
	width := 0 // of the values that are built
	for i, n := range e.program.nodes {
		if arrays[i], err = e.whole(n); err != nil {
			return 0, err
		}
		if arrays[i] == nil {
			width += e.program.widthOf(i)
		}
	}
	if width == 0 {
		return rows, nil
	}
	if most := e.text.array / width; rows > most {
		rows = max(most&^7, 8) // as many as builders add at a time, see inSteps
	}
	for i, n := range e.program.nodes {
		if arrays[i] == nil {
			builders[i] = newBuilder(n.typ, e.program.compact[i], rows, e.mem)
		}
	}
	for done < rows {
		n, err := e.inSteps(from+done, rows-done, func(from, n int) error { return e.evalRows(from, n, builders) })
		if err != nil {
			return 0, err
		}
		done += n
		if err := ctx.Err(); err != nil {
			return 0, context.Cause(ctx)
		}
		size := 0
		for _, b := range builders {
			if b != nil {
				size += b.length
			}
		}
		if size >= e.text.array || done%8 != 0 { // which builders need
			break
		}
	}
	return done, nil
}

// widthOf returns about how many bytes a value of expression i takes, strings apart.
func (p *Program) widthOf(i int) int {
	if fixed, ok := p.Arrow(i).(arrow.FixedWidthDataType); ok {
		return (fixed.BitWidth() + 7) / 8
	}
	return 4 // an offset
}

// evalRows adds the values of some rows to the builders that are not nil; with an error, to none.
func (e *Evaluator) evalRows(from, n int, builders []*builder) error {
	f := e.frameOf(from, n, nil)
	defer e.done(f)
	for i, b := range builders {
		if b == nil {
			continue
		}
		node := e.program.nodes[i]
		before := e.mark()
		v, err := f.eval(node)
		if err != nil {
			err = e.atRow(node, from, n, err)
		} else if err = b.add(v); err != nil {
			err = fmt.Errorf("%s: %w", node.text, err)
		}
		if err != nil {
			for _, added := range builders[:i] {
				if added != nil {
					added.cut(n)
				}
			}
			return err
		}
		if len(builders) > manyColumns && !e.program.shared {
			e.back(before)
			clear(f.loaded)
		}
	}
	return nil
}

// manyColumns bounds the results that are made with all columns kept: a vector takes 16 KiB.
const manyColumns = 64

// whole returns the array of a node that needs no work row by row: a column, or strings made of the
// entries of a dictionary. It returns nil for other nodes.
func (e *Evaluator) whole(n *node) (arrow.Array, error) {
	if n.column >= 0 {
		arr := e.arrays[n.column]
		if arrow.TypeEqual(arr.DataType(), n.typ.Arrow()) {
			arr.Retain()
			return arr, nil
		}
		switch views := arr.(type) {
		case *array.StringView:
			return e.textsOf(views, arrow.BinaryTypes.String), nil
		case *array.BinaryView:
			return e.textsOf(views, arrow.BinaryTypes.Binary), nil
		}
	}
	if n.single >= 0 && n.typ.kind() == textKind && !n.isConst && !e.program.plain {
		if d, ok := e.arrays[n.single].(*array.Dictionary); ok {
			e.reset()
			if made := e.entriesOfNode(d, n, d.Len()); made != nil {
				return e.recode(d, made, n.typ)
			}
		}
	}
	return nil, nil
}

// recode returns a dictionary's codes with the strings that were made of its entries and of NULL.
func (e *Evaluator) recode(d *array.Dictionary, made *entries, t Type) (arrow.Array, error) {
	if made.array == nil {
		arr, err := textArray(made.values.texts, t)
		if err != nil {
			return nil, err
		}
		made.array = arr
	}
	out := newBuilder(typeOf(Int32), false, d.Len(), e.mem)
	defer out.release()
	for from := 0; from < d.Len(); from += vectorRows {
		e.reset()
		f := e.frameOf(from, min(vectorRows, d.Len()-from), nil)
		codes, err := f.checkedCodes(d, made.values.n)
		e.done(f)
		if err != nil {
			return nil, err
		}
		v := e.vector(intKind, f.n)
		for i, c := range codes {
			v.ints[i] = int64(c)
		}
		if made.values.null != nil {
			v.null = gatherBits(e.bitmap(f.n), made.nulls, codes)
		}
		if err := out.add(v); err != nil {
			return nil, err
		}
	}
	indices := out.array()
	defer indices.Release()
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: t.Arrow()}
	return array.NewDictionaryArray(dt, indices, made.array), nil
}

// Number returns the value of an expression that is a constant number.
func (p *Program) Number(i int) (value float64, ok bool) {
	n := p.nodes[i]
	if !n.isConst || n.value == nil || !n.typ.numeric() {
		return 0, false
	}
	if v, ok := n.value.(float64); ok {
		return v, true
	}
	return toFloat(wideOf(n.value), int(n.typ.Scale)), true
}
