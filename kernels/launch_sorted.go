package kernels

import (
	"errors"
	"fmt"
	"math"
)

// Of params_sorted.h.
const (
	digitBits      = 8
	digits         = 1 << digitBits
	sortThreads    = 256
	sortTile       = sortThreads * 16
	wordPasses     = 8
	passesMax      = KeyBytesMax
	segmentThreads = 256
	segmentTile    = segmentThreads * 8
)

// sortPlanBytes is the size of SortPlan, which only kernels look into.
const sortPlanBytes = 8 + 4*(2*wordPasses+passesMax) + 8*passesMax*digits

// sortLaunch is SortLaunch.
type sortLaunch struct {
	shape     shapeParam
	rows      rowsParam
	in        groupsParam
	groups    groupsParam
	count     uint64
	word      uint32
	passes    uint32
	firstPass uint32
	pass      uint32
	firstWord uint32
	_         uint32
	keys      [2]uint64
	order     [2]uint64
	digits    uint64
	segments  uint64
	plan      uint64
}

// errTooManyRows: rows are named by 32 bits.
var errTooManyRows = errors.New("a kernel that lists rows takes fewer than 2^32")

// sortedLayout is how the scratch of a sort of count rows is divided: two copies of the keys (of a
// wide key, of one word) and of the rows' order, and 256 words a tile.
type sortedLayout struct {
	scratchLayout
	keys, order                   [2]int64
	plan, digits, segments, zeros int64 // zeros: bytes from plan on that begin as 0
}

func layoutSorted(keyBytes int, count int64) sortedLayout {
	var l sortedLayout
	for side := range 2 {
		l.keys[side] = l.take(count * int64(min(keyBytes, 8)))
		l.order[side] = l.take(count * 4)
	}
	l.plan = l.take(sortPlanBytes)
	l.digits = l.take(ceilDiv(count, sortTile) * digits * 8)
	l.segments = l.take(ceilDiv(count, segmentTile) * 8)
	l.zeros = l.bytes - l.plan
	return l
}

// aggregateSorted is Aggregate with KernelSorted. Groups come in order of their keys' words, the
// first word first, each unsigned.
func (q operators) aggregateSorted(shape *Shape, rows *Rows, into *Groups, scratch Span) error {
	count := rows.Count
	if count > math.MaxUint32 {
		return fmt.Errorf("%d rows: %w", count, errTooManyRows)
	}
	o := q.begin(shape)
	p := &sortLaunch{shape: o.param.shape, rows: o.rows(shape, rows), groups: o.groups(shape, into), count: uint64(count)}
	l := layoutSorted(shape.KeyBytes, count)
	at := o.address(scratch, l.bytes)
	for side := range 2 {
		p.keys[side], p.order[side] = at+uint64(l.keys[side]), at+uint64(l.order[side])
	}
	p.plan, p.digits, p.segments = at+uint64(l.plan), at+uint64(l.digits), at+uint64(l.segments)

	o.fill(p.plan, l.zeros, 0)
	launchWith(o, "segment_begin", o.sortBlocks(), segmentThreads, 0, p)
	if count > 0 {
		o.sort(p, shape.KeyBytes)
		launchWith(o, "segment_reduce_rows", int(ceilDiv(count, segmentTile)), segmentThreads, 0, p)
		launchWith(o, "segment_end", o.sortBlocks(), segmentThreads, 0, p)
	}
	if o.err != nil {
		return o.err
	}
	return o.submit("sort and reduce %d rows", count)
}

// sortBlocks returns the blocks of a grid that strides over all rows.
func (o *operation) sortBlocks() int { return 4 * o.sms }

// sort brings the order of the rows into the order of the keys: by the last word first, each by the
// lowest digit first. The kernels leave out what would change nothing.
func (o *operation) sort(p *sortLaunch, keyBytes int) {
	width := min(keyBytes, 8)
	p.passes = uint32(width * 8 / digitBits)
	words := keyBytes / width
	tiles := int(ceilDiv(int64(p.count), sortTile))
	for word := words - 1; word >= 0; word-- {
		p.word, p.firstPass = uint32(word), uint32(words-1-word)*p.passes
		p.firstWord = 0
		if word == words-1 {
			p.firstWord = 1
		}
		launchWith(o, fmt.Sprintf("sort_load_%d", width), o.sortBlocks(), sortThreads, 0, p)
		launchWith(o, "sort_plan", 1, digits, 0, p)
		for p.pass = range p.passes {
			launchWith(o, fmt.Sprintf("sort_scatter_%d", width), tiles, sortThreads, 0, p)
		}
	}
}
