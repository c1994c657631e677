package kernels

import (
	"errors"
	"fmt"
	"math"
	"unsafe"
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

// sortedLayout is how the scratch of a sort of count rows is divided: offsets in bytes.
type sortedLayout struct {
	keys, order                          [2]int64
	plan, digits, segments, bytes, zeros int64 // zeros: bytes from plan on that begin as 0
}

func layoutSorted(keyBytes int, count int64) sortedLayout {
	var l sortedLayout
	take := func(n int64) int64 {
		at := l.bytes
		l.bytes += (n + 255) &^ 255
		return at
	}
	for side := range 2 {
		l.keys[side] = take(count * int64(min(keyBytes, 8)))
		l.order[side] = take(count * 4)
	}
	l.plan = take(sortPlanBytes)
	l.digits = take(ceilDiv(count, sortTile) * digits * 8)
	l.segments = take(ceilDiv(count, segmentTile) * 8)
	l.zeros = l.bytes - l.plan
	return l
}

// sortedScratchBytes returns the scratch of KernelSorted: two copies of the keys (of a wide key, of
// one word) and of the rows' order, and 256 words a tile.
func sortedScratchBytes(shape *Shape, count int64) int64 {
	return layoutSorted(shape.KeyBytes, count).bytes
}

// aggregateSorted is Aggregate with KernelSorted. Groups come in order of their keys' words, the
// first word first, each unsigned.
func aggregateSorted(q queue, shape *Shape, rows *Rows, into *Groups, scratch Span) error {
	p := sortLaunch{rows: makeRowsParam(q, shape, rows), count: uint64(rows.Count)}
	return runSorted(q, shape, &p, "segment_reduce_rows", into, scratch)
}

// mergeSorted is Merge with KernelSorted.
func mergeSorted(q queue, shape *Shape, in *Groups, count int64, into *Groups, scratch Span) error {
	p := sortLaunch{in: makeGroupsParam(q, shape, in), count: uint64(count)}
	p.rows.keys = p.in.keys
	return runSorted(q, shape, &p, "segment_reduce_groups", into, scratch)
}

func runSorted(q queue, shape *Shape, p *sortLaunch, reduce string, into *Groups, scratch Span) error {
	if p.count > math.MaxUint32 {
		return fmt.Errorf("%d rows: %w", p.count, errTooManyRows)
	}
	p.shape = makeShapeParam(shape)
	p.groups = makeGroupsParam(q, shape, into)
	count := int64(p.count)
	l := layoutSorted(shape.KeyBytes, count)
	at := q.address(scratch, l.bytes)
	for side := range 2 {
		p.keys[side], p.order[side] = at+uint64(l.keys[side]), at+uint64(l.order[side])
	}
	p.plan, p.digits, p.segments = at+uint64(l.plan), at+uint64(l.digits), at+uint64(l.segments)

	run := &sortedRun{queue: q, param: p, blocks: 4 * q.deviceProperties().Multiprocessors}
	run.fill(p.plan, l.zeros, 0)
	run.launch("segment_begin", run.blocks, segmentThreads)
	if count > 0 {
		run.sort(shape.KeyBytes)
		run.launch(reduce, int(ceilDiv(count, segmentTile)), segmentThreads)
		run.launch("segment_end", run.blocks, segmentThreads)
	}
	if run.err != nil {
		return run.err
	}
	return q.submit("sort and reduce %d rows", count)
}

// sortedRun launches kernels until one cannot be.
type sortedRun struct {
	queue
	param  *sortLaunch
	blocks int // of a grid that strides over all rows
	err    error
}

func (r *sortedRun) launch(kernel string, grid, block int) {
	if r.err == nil {
		r.err = r.queue.launch(kernel, grid, block, 0, unsafe.Pointer(r.param), unsafe.Sizeof(*r.param))
	}
}

// sort brings the order of the rows into that of the keys: by the last word first, each by the
// lowest digit first. The kernels leave out what would change nothing.
func (r *sortedRun) sort(keyBytes int) {
	p, width := r.param, min(keyBytes, 8)
	p.passes = uint32(width * 8 / digitBits)
	words := keyBytes / width
	tiles := int(ceilDiv(int64(p.count), sortTile))
	for word := words - 1; word >= 0; word-- {
		p.word, p.firstPass = uint32(word), uint32(words-1-word)*p.passes
		p.firstWord = 0
		if word == words-1 {
			p.firstWord = 1
		}
		r.launch(fmt.Sprintf("sort_load_%d", width), r.blocks, sortThreads)
		r.launch("sort_plan", 1, digits)
		for p.pass = range p.passes {
			r.launch(fmt.Sprintf("sort_scatter_%d", width), tiles, sortThreads)
		}
	}
}
