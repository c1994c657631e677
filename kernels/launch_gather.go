package kernels

import "fmt"

// Of params_join.h.
const gatherRows = 8

// gatherColumn is GatherColumn of params_join.h.
type gatherColumn struct {
	from, fromValid, to, toValid uint64
	bytes                        uint64
}

// gatherLaunch is GatherLaunch.
type gatherLaunch struct {
	count      uint64
	counted    uint64
	numbers    uint64
	numColumns uint64
	columns    [ColumnsMax]gatherColumn
}

func (q operators) Gather(g *Gathering) error {
	if len(g.Columns) > ColumnsMax {
		return fmt.Errorf("%d columns are gathered at once, and %d can be", len(g.Columns), ColumnsMax)
	}
	o := &operation{queue: q.queue, sms: q.queue.deviceProperties().Multiprocessors}
	p := &gatherLaunch{
		count:      uint64(g.Count),
		counted:    o.address(g.Counted, 8),
		numbers:    o.address(g.Numbers, 4*g.Count),
		numColumns: uint64(len(g.Columns)),
	}
	for i := range g.Columns {
		c := &g.Columns[i]
		p.columns[i] = gatherColumn{
			from:      o.address(c.From, c.FromRows*int64(c.Bytes)),
			fromValid: o.address(c.FromValid, MatchedBytes(c.FromRows)),
			to:        o.address(c.To, g.Count*int64(c.Bytes)),
			toValid:   o.address(c.ToValid, MatchedBytes(g.Count)),
			bytes:     uint64(c.Bytes),
		}
	}
	// More blocks than run at a time: each has neighbouring rows, and ends when it has read them.
	blocks := int(max(1, min(ceilDiv(g.Count, joinThreads*gatherRows), int64(o.sms)*64)))
	if len(g.Columns) > 0 {
		launchWith(o, "gather_rows", blocks, joinThreads, 0, p)
	}
	return o.end("gather of %d rows", g.Count)
}

func (q operators) NumberRows(into Span, count int64) error {
	o := q.begin(&Shape{})
	o.param.rows.count, o.param.out.columns[0] = uint64(count), o.address(into, 4*count)
	o.run("number_rows", o.blocksFor(count), launchThreads, 0)
	return o.end("numbers of %d rows", count)
}

// sortingLayout is how the scratch of Sort is divided: one copy of what is sorted, and what a sort counts.
type sortingLayout struct {
	scratchLayout
	keys, values, plan, digits int64
	zeros                      int64 // bytes from plan on that begin as 0
}

func (s *Sorting) layout() sortingLayout {
	var l sortingLayout
	l.keys = l.take(s.Count * int64(s.KeyBytes))
	l.values = l.take(s.Count * int64(s.valueBytes()))
	l.plan = l.take(sortPlanBytes)
	l.digits = l.take(ceilDiv(s.Count, sortTile) * digits * 8)
	l.zeros = l.bytes - l.plan
	return l
}

func (s *Sorting) valueBytes() int {
	if s.Values.Buffer == nil {
		return rowNumberBytes
	}
	return s.ValueBytes
}

// SortScratch returns the bytes of scratch that Sort needs.
func (s *Sorting) SortScratch() int64 { return s.layout().bytes }

func (q operators) Sort(s *Sorting, scratch Span) error {
	if s.Count >= NoRow || (s.KeyBytes != 4 && s.KeyBytes != 8) {
		return fmt.Errorf("a sort takes fewer than 2^32 - 1 rows and keys of 4 or 8 B: %d rows of %d B", s.Count, s.KeyBytes)
	}
	o := &operation{queue: q.queue, sms: q.queue.deviceProperties().Multiprocessors}
	l, values := s.layout(), int64(s.valueBytes())
	at := o.address(scratch, l.bytes)
	p := &sortLaunch{count: uint64(s.Count), firstWord: 1, moved: noMoved}
	p.shape.keyBytes = uint32(s.KeyBytes)
	p.rows.count, p.rows.keys = uint64(s.Count), o.address(s.Keys, s.Count*int64(s.KeyBytes))
	if s.Values.Buffer != nil {
		p.moved, p.shape.columns, p.shape.columnBytes[0] = 0, 1, uint8(values)
		p.rows.columns[0] = o.address(s.Values, s.Count*values)
	}
	p.keys = [2]uint64{at + uint64(l.keys), o.address(s.ToKeys, s.Count*int64(s.KeyBytes))}
	p.order = [2]uint64{at + uint64(l.values), o.address(s.ToValues, s.Count*values)}
	p.plan, p.digits = at+uint64(l.plan), at+uint64(l.digits)
	if s.Count > 0 {
		o.fill(p.plan, l.zeros, 0)
		o.sortBy(p, sortKeys, s.KeyBytes, s.KeyBytes)
		launchWith(o, "sort_store", o.sortBlocks(), sortThreads, 0, p)
	}
	return o.end("sort of %d rows", s.Count)
}

// partitionLayout is how the scratch of Partition is divided.
type partitionLayout struct {
	scratchLayout
	cursors, firstCursors, tiles, work int64
	first                              rowsLayout // what the first of two passes writes
	firstBits                          int
}

func layoutPartition(shape *Shape, rows int64, radixBits int, device Properties) partitionLayout {
	var l partitionLayout
	l.firstBits = firstBits(radixBits, device)
	l.cursors = l.take(8 << radixBits)
	if l.firstBits == 0 {
		return l
	}
	l.work = l.take(workBytes)
	l.firstCursors = l.take(8 << l.firstBits)
	tileRows := int64(scatterThreads(device, max(radixBits-l.firstBits, l.firstBits), false) * scatterRowsPerThread)
	l.tiles = l.take(tilesMax(rows, tileRows, l.firstBits) * tileBytes)
	l.first = l.takeRows(shape, rows)
	return l
}

// PartitionScratch returns the bytes of scratch that Partition needs for a number of rows, on a device.
func PartitionScratch(shape *Shape, rows int64, radixBits int, device Properties) int64 {
	return layoutPartition(shape, rows, radixBits, device).bytes
}

func (q operators) Partition(shape *Shape, rows *Rows, radixBits int, into *Rows, offsets, scratch Span) error {
	device := q.queue.deviceProperties()
	if radixBits < 0 || radixBits > partitionBitsMax(device) {
		return fmt.Errorf("%d radix bits must be in [0, %d]", radixBits, partitionBitsMax(device))
	}
	o := q.begin(shape)
	l := layoutPartition(shape, rows.Count, radixBits, device)
	at := o.address(scratch, l.bytes)
	o.param.rows = o.rows(shape, rows)
	o.param.offsets, o.param.cursors = o.address(offsets, 8<<radixBits+8), at+uint64(l.cursors)
	passes := [2]rowsParam{o.rows(shape, into)}
	if l.firstBits > 0 {
		o.param.work, o.param.tiles, o.param.firstCursors = at+uint64(l.work), at+uint64(l.tiles), at+uint64(l.firstCursors)
		o.fill(o.param.work, workBytes, 0)
		passes = [2]rowsParam{l.first.rows(shape, at, &o.param.rows, false), passes[0]}
	}
	o.scatterPasses(shape, passes, radixBits, l.firstBits, false)
	return o.end("partition of %d rows by %d bits", rows.Count, radixBits)
}
