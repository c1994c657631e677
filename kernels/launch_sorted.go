package kernels

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Of params_sorted.h.
const (
	digitBits      = 8
	digits         = 1 << digitBits
	sortThreads    = 256
	sortTile       = sortThreads * 16
	wordPasses     = 8
	passesMax      = KeyBytesMax + wordPasses + 1
	segmentThreads = 256
	segmentTile    = segmentThreads * 8
)

// What rows are sorted by.
const (
	sortKeys = iota
	sortValues
	sortNulls
)

const (
	noMoved        = 255 // kNoColumn: no column is sorted with the keys
	rowNumberBytes = 4
)

// sortPlanBytes is the size of SortPlan, which only kernels look into.
const sortPlanBytes = (4*(2+2*wordPasses+passesMax)+7)&^7 + 8*passesMax*digits

// sortLaunch is SortLaunch.
type sortLaunch struct {
	shape     shapeParam
	rows      rowsParam
	groups    groupsParam
	count     uint64
	source    uint32
	word      uint32
	passes    uint32
	firstPass uint32
	pass      uint32
	firstWord uint32
	fold      uint32
	folds     uint32
	last      uint32
	moved     uint32
	fraction  float64
	keys      [2]uint64
	order     [2]uint64
	digits    uint64
	segments  uint64
	starts    uint64
	plan      uint64
}

// errSorts: a plan or a table cannot have the folds of a shape that sorts.
var errSorts = errors.New("the folds need values in order, which the sorted kernel alone has")

// errTooManyRows: rows are named by 32 bits.
var errTooManyRows = errors.New("a kernel that lists rows takes fewer than 2^32")

// sortedLayout is how the scratch of a sort of count rows is divided: two copies of the words that are
// sorted by and of what is moved with them, 256 words a tile, and where groups begin, where a fold needs that.
type sortedLayout struct {
	scratchLayout
	keys, order                   [2]int64
	starts                        int64
	plan, digits, segments, zeros int64 // zeros: bytes from plan on that begin as 0
}

// layoutSorted divides scratch for a sort of count rows that moves moved bytes with each key.
func layoutSorted(shape *Shape, count, moved int64) sortedLayout {
	var l sortedLayout
	width := min(shape.KeyBytes, 8)
	for _, f := range shape.Folds {
		if f.Op.Sorts() {
			width = max(width, shape.Columns[f.Column].Bytes())
		}
	}
	for side := range 2 {
		l.keys[side] = l.take(count * int64(width))
		l.order[side] = l.take(count * moved)
	}
	if shape.Sorts() {
		l.starts = l.take(count * 4)
	}
	l.plan = l.take(sortPlanBytes)
	l.digits = l.take(ceilDiv(count, sortTile) * digits * 8)
	l.segments = l.take(ceilDiv(count, segmentTile) * 8)
	l.zeros = l.bytes - l.plan
	return l
}

// sortRun is an order of the rows, by key and then by a column's values, and the folds that it serves.
type sortRun struct {
	column    int    // -1: by key alone
	moved     int    // column whose values are sorted with the keys; -1: row numbers are
	first     int    // one of the folds over the column
	reduced   uint32 // a bit for each fold that segment_reduce reduces
	quantiles []int  // folds
}

// sortRuns returns the orders that folds need. The last serves all folds that need none, too.
func sortRuns(folds []Fold) []sortRun {
	var runs []sortRun
	plain := uint32(0)
	for i, f := range folds {
		if !f.Op.Sorts() {
			plain |= 1 << i
			continue
		}
		at := slices.IndexFunc(runs, func(r sortRun) bool { return r.column == f.Column })
		if at < 0 {
			at, runs = len(runs), append(runs, sortRun{column: f.Column, moved: -1, first: i})
		}
		if f.Op == CountDistinct {
			runs[at].reduced |= 1 << i
		} else {
			runs[at].quantiles = append(runs[at].quantiles, i)
		}
	}
	if len(runs) == 0 {
		runs = []sortRun{{column: -1, moved: -1}}
	}
	runs[len(runs)-1].reduced |= plain
	return runs
}

// columnRuns returns an order for each column that is sorted with the keys, and one of row numbers for the other
// columns. Folds of no column are of the first order.
func columnRuns(shape *Shape, valid *[ColumnsMax]uint64) []sortRun {
	var runs []sortRun
	ofNone, ofOthers := uint32(0), uint32(0) // folds
	for i, f := range shape.Folds {
		at := slices.IndexFunc(runs, func(r sortRun) bool { return r.moved == f.Column })
		switch {
		case f.Column < 0:
			ofNone |= 1 << i
			continue
		case f.Other >= 0 || valid[f.Column] != 0 || shape.Columns[f.Column].Bytes() > 8:
			ofOthers |= 1 << i
			continue
		case at < 0:
			at, runs = len(runs), append(runs, sortRun{column: -1, moved: f.Column})
		}
		runs[at].reduced |= 1 << i
	}
	if len(runs) == 0 || ofOthers != 0 {
		runs = append(runs, sortRun{column: -1, moved: -1, reduced: ofOthers})
	}
	runs[0].reduced |= ofNone
	return runs
}

// movedBytes returns the bytes of the widest thing that is sorted with the keys: a column's value or a row's number.
func movedBytes(shape *Shape) int64 {
	widest := rowNumberBytes
	for _, c := range shape.Columns {
		if c.Bytes() == 8 {
			widest = 8
		}
	}
	return int64(widest)
}

// aggregateSortedColumns is Aggregate with KernelSortedColumns.
func (q operators) aggregateSortedColumns(shape *Shape, rows *Rows, into *Groups, scratch Span) error {
	valid := q.begin(shape).rows(shape, rows).valid
	return q.aggregateSorted(shape, columnRuns(shape, &valid), movedBytes(shape), rows, into, scratch)
}

// aggregateSorted is Aggregate by orders of the rows. moved is how many bytes a sort moves with each key. Groups come
// in order of their keys' words, the first word first, each unsigned.
func (q operators) aggregateSorted(
	shape *Shape, runs []sortRun, moved int64, rows *Rows, into *Groups, scratch Span,
) error {
	count := rows.Count
	if count > math.MaxUint32 {
		return fmt.Errorf("%d rows: %w", count, errTooManyRows)
	}
	for _, f := range shape.Folds {
		if f.Op.Sorts() && shape.Columns[f.Column].Bytes() > 8 {
			return fmt.Errorf("values of %d B are not sorted", shape.Columns[f.Column].Bytes())
		}
	}
	o := q.begin(shape)
	l := layoutSorted(shape, count, moved)
	p := &sortLaunch{rows: o.rows(shape, rows), groups: o.groups(shape, into)}
	o.sortAndReduce(shape, runs, p, &l, o.address(scratch, l.bytes))
	return o.end("sort of %d rows", count)
}

// sortAndReduce adds the launches that group the rows of p to its groups by some orders. p has no more than both.
func (o *operation) sortAndReduce(shape *Shape, runs []sortRun, p *sortLaunch, l *sortedLayout, at uint64) {
	p.shape, p.count = makeShapeParam(shape), p.rows.count
	for side := range 2 {
		p.keys[side], p.order[side] = at+uint64(l.keys[side]), at+uint64(l.order[side])
	}
	p.plan, p.digits, p.segments = at+uint64(l.plan), at+uint64(l.digits), at+uint64(l.segments)
	launchWith(o, "segment_begin", o.sortBlocks(), segmentThreads, 0, p)
	if p.count == 0 {
		return
	}
	for i := range runs {
		if len(runs[i].quantiles) > 0 {
			p.starts = at + uint64(l.starts)
		}
		if i == len(runs)-1 {
			p.last = 1
		}
		p.moved = noMoved
		if runs[i].moved >= 0 {
			p.moved = uint32(runs[i].moved)
		}
		o.fill(p.plan, l.zeros, 0)
		o.reduceSorted(p, shape, &runs[i])
	}
	launchWith(o, "segment_end", o.sortBlocks(), segmentThreads, 0, p)
}

// reduceSorted brings the rows into an order, and reduces the folds that it serves. Requires: the plan is
// zeroed.
func (o *operation) reduceSorted(p *sortLaunch, shape *Shape, run *sortRun) {
	o.sort(p, shape, run)
	p.folds = run.reduced
	launchWith(o, "segment_reduce", int(ceilDiv(int64(p.count), segmentTile)), segmentThreads, 0, p)
	for _, f := range run.quantiles {
		p.fold, p.fraction = uint32(f), shape.Folds[f].Fraction
		launchWith(o, "segment_quantiles", o.sortBlocks(), segmentThreads, 0, p)
	}
}

// sortBlocks returns the blocks of a grid that strides over all rows.
func (o *operation) sortBlocks() int { return 4 * o.sms }

// sort brings the order of the rows into that of a run: the sort is stable, so that what counts least comes
// first. The kernels leave out what would change nothing.
func (o *operation) sort(p *sortLaunch, shape *Shape, run *sortRun) {
	p.firstPass, p.firstWord = 0, 1
	if c := run.column; c >= 0 {
		p.fold = uint32(run.first)
		width := shape.Columns[c].Bytes()
		o.sortBy(p, sortValues, width, width)
		if p.rows.valid[c] != 0 {
			o.sortBy(p, sortNulls, 4, 1)
		}
	}
	width := min(shape.KeyBytes, 8)
	for word := shape.KeyBytes/width - 1; word >= 0; word-- {
		p.word = uint32(word)
		o.sortBy(p, sortKeys, width, width)
	}
}

// sortBy sorts by words of width bytes each, by the lowest bytes of a word: one a pass, the lowest
// first.
func (o *operation) sortBy(p *sortLaunch, source uint32, width, passes int) {
	p.source, p.passes = source, uint32(passes)
	tiles, moved := int(ceilDiv(int64(p.count), sortTile)), rowNumberBytes
	if p.moved != noMoved {
		moved = int(p.shape.columnBytes[p.moved])
	}
	scatter := fmt.Sprintf("sort_scatter_%d_%d", width, moved)
	launchWith(o, fmt.Sprintf("sort_load_%d", width), o.sortBlocks(), sortThreads, 0, p)
	launchWith(o, "sort_plan", 1, digits, 0, p)
	for p.pass = range p.passes {
		launchWith(o, scatter, tiles, sortThreads, 0, p)
	}
	p.firstPass += p.passes
	p.firstWord = 0
}
