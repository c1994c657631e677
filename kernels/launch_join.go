package kernels

import (
	"fmt"
	"math/bits"
)

// Of params_join.h.
const (
	joinThreads   = 256
	joinRows      = 4
	mergeTile     = 4096
	joinItemBytes = 8
	joinWorkBytes = 64
)

// joinSide is JoinSide of params_join.h.
type joinSide struct {
	count   uint64
	keys    uint64
	valid   uint64
	numbers uint64
}

// joinLaunch is JoinLaunch.
type joinLaunch struct {
	keyBytes     uint32
	kind         uint32
	unique       uint32
	radixBits    uint32
	tableRows    uint32
	headBits     uint32
	listed       uint32
	isUpper      uint32
	build, probe joinSide
	capacity     uint64
	status       uint64
	outBuild     uint64
	outProbe     uint64
	matched      uint64
	slots        uint64
	table        uint64
	next         uint64
	buildOffsets uint64
	probeOffsets uint64
	probeMatched uint64
	items        uint64
	work         uint64
	itemRows     uint64
	lower        uint64
	upper        uint64
	filter       uint64
	filterWords  uint64
	passed       uint64
}

// joinOperation is an operation whose kernels take a joinLaunch.
type joinOperation struct {
	*operation
	param joinLaunch
}

func (q operators) beginJoin(j *Join) *joinOperation {
	o := &joinOperation{operation: &operation{queue: q.queue, sms: q.queue.deviceProperties().Multiprocessors}}
	p := &o.param
	p.keyBytes, p.kind, p.unique = uint32(j.KeyBytes), uint32(j.Kind), bit(j.Unique)
	p.build, p.probe = o.side(&j.Build, j.KeyBytes), o.side(&j.Probe, j.KeyBytes)
	p.matched = o.address(j.Matched, MatchedBytes(j.Build.Count))
	p.capacity, p.status = uint64(j.Into.Capacity), o.address(j.Into.Status, JoinStatusBytes)
	p.outBuild, p.outProbe = o.address(j.Into.Build, 4*j.Into.Capacity), o.address(j.Into.Probe, 4*j.Into.Capacity)
	return o
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// side turns a side into addresses.
func (o *joinOperation) side(s *JoinSide, keyBytes int) joinSide {
	return joinSide{
		count:   uint64(s.Count),
		keys:    o.address(s.Keys, s.Count*int64(keyBytes)),
		valid:   o.address(s.Valid, MatchedBytes(s.Count)),
		numbers: o.address(s.Numbers, 4*s.Count),
	}
}

func (o *joinOperation) run(kernel string, grid, block, sharedBytes int) {
	launchWith(o.operation, kernel, grid, block, sharedBytes, &o.param)
}

// blocksFor returns the blocks of a grid that loops over rows, where a thread has a number of rows at a time.
func (o *joinOperation) blocksFor(rows, each int64) int {
	return int(max(1, min(ceilDiv(rows, joinThreads*each), int64(o.sms)*8)))
}

// widthSuffix names the version of a kernel for a width of keys.
func widthSuffix(keyBytes int) string { return keySuffix(&Shape{KeyBytes: keyBytes}) }

// tableSuffix names the version of a kernel that builds or probes a table in device memory.
func (j *Join) tableSuffix() string {
	if j.Unique {
		return widthSuffix(j.KeyBytes) + "_unique"
	}
	return widthSuffix(j.KeyBytes) + "_repeated"
}

// useTable sets the table of the launches, whose lists of rows lie behind its slots.
func (o *joinOperation) useTable(j *Join, t JoinTable) {
	o.param.slots = uint64(t.Slots)
	o.param.table = o.address(t.Memory, j.JoinTableBytes(t.Slots))
	o.param.next = o.param.table + 8*uint64(t.Slots)
}

func (q operators) BuildTable(j *Join, t JoinTable) error {
	if err := j.checkSides(true); err != nil {
		return err
	}
	if t.Slots <= j.Build.Count {
		return fmt.Errorf("a table of %d slots takes fewer than %d rows", t.Slots, j.Build.Count)
	}
	o := q.beginJoin(j)
	o.useTable(j, t)
	o.fill(o.param.table, 8*t.Slots, 0)
	o.run("join_build"+j.tableSuffix(), o.blocksFor(j.Build.Count, 1), joinThreads, 0)
	return o.end("table of %d build rows in %d slots", j.Build.Count, t.Slots)
}

func (q operators) ProbeTable(j *Join, t JoinTable) error {
	if err := j.checkSides(true); err != nil {
		return err
	}
	o := q.beginJoin(j)
	o.useTable(j, t)
	o.run("join_probe"+j.tableSuffix(), o.blocksFor(j.Probe.Count, joinRows), joinThreads, 0)
	return o.end("probe of %d rows in %d slots", j.Probe.Count, t.Slots)
}

func (q operators) ListBuildRows(j *Join, matched bool) error {
	if err := j.checkSides(true); err != nil {
		return err
	}
	o := q.beginJoin(j)
	o.param.listed = bit(matched)
	o.run("join_rest", o.blocksFor(j.Build.Count, joinRows), joinThreads, 0)
	return o.end("list of build rows of %d", j.Build.Count)
}

// partitionsLayout is how the scratch of a join of partitions is divided.
type partitionsLayout struct {
	scratchLayout
	work, matched, items int64
	zeros                int64 // bytes that begin as 0
	itemRows             int64
	maxItems             int64
}

// layoutPartitions cuts probe rows into items of four average partitions at most, and of itemRowsMax, so that few
// partitions are work for all blocks, too.
func layoutPartitions(radixBits int, probeRows int64) partitionsLayout {
	var l partitionsLayout
	l.itemRows = min(max(4*ceilDiv(probeRows, 1<<radixBits), itemRowsMin), itemRowsMax)
	l.maxItems = 1<<radixBits + probeRows/l.itemRows
	l.work = l.take(joinWorkBytes)
	l.matched = l.take(MatchedBytes(probeRows))
	l.zeros = l.bytes
	l.items = l.take(l.maxItems * joinItemBytes)
	return l
}

// JoinPartitionsScratch returns the bytes of scratch that JoinPartitions needs.
func JoinPartitionsScratch(radixBits int, probeRows int64) int64 {
	return layoutPartitions(radixBits, probeRows).bytes
}

// joinSharedBytes are of a table: keys, chains' heads, and rows' next ones.
func joinSharedBytes(keyBytes, tableRows, headBits int) int {
	return tableRows*(keyBytes+2) + 4<<headBits
}

// Tables of 5,120 rows: partitions of 2^27 rows by 15 bits have 4,096, and 16 standard deviations more fit.
const (
	tableRowsDefault     = 5120
	headBitsDefault      = 12
	partitionThreads     = 512
	itemRowsMin          = 1 << 13
	itemRowsMax          = 1 << 16
	threadsPerSM         = 1536      // of join_partitions, by its registers
	tableRowsMax         = 1<<16 - 2 // a row and 1 fit 2 bytes
	partitionRowsDefault = 4096
)

// JoinRadixBits returns log2 of the partitions by which a device joins sides of numbers of rows.
func JoinRadixBits(buildRows int64, device Properties) int {
	return min(bits.Len64(uint64(max(0, ceilDiv(buildRows, partitionRowsDefault)-1))), partitionBitsMax(device))
}

func (q operators) JoinPartitions(j *Join, parts JoinPartitions, scratch Span) error {
	if err := j.checkSides(false); err != nil {
		return err
	}
	o, p := q.beginJoin(j), parts.withDefaults()
	l := layoutPartitions(p.RadixBits, j.Probe.Count)
	at := o.address(scratch, l.bytes)
	sharedBytes, sharedMax := joinSharedBytes(j.KeyBytes, p.TableRows, p.HeadBits), o.deviceProperties().SharedBytesMax
	if p.TableRows > tableRowsMax || p.TableRows%4 != 0 || p.Threads > partitionThreads || sharedBytes > sharedMax {
		return fmt.Errorf("no block of %d threads has a table of %d rows and 2^%d chains", p.Threads, p.TableRows, p.HeadBits)
	}
	o.param.radixBits, o.param.itemRows = uint32(p.RadixBits), uint64(l.itemRows)
	o.param.tableRows, o.param.headBits = uint32(p.TableRows), uint32(p.HeadBits)
	o.param.buildOffsets = o.address(p.BuildOffsets, 8<<p.RadixBits+8)
	o.param.probeOffsets = o.address(p.ProbeOffsets, 8<<p.RadixBits+8)
	o.param.work, o.param.items = at+uint64(l.work), at+uint64(l.items)
	o.param.probeMatched = at + uint64(l.matched)
	o.fill(at, l.zeros, 0)
	o.run("join_plan", int(ceilDiv(1<<p.RadixBits, joinThreads)), joinThreads, 0)
	blocks := max(1, min((sharedMax+1024)/(sharedBytes+1024), threadsPerSM/p.Threads))
	o.run("join_partitions"+widthSuffix(j.KeyBytes), o.sms*blocks, p.Threads, sharedBytes)
	return o.end("join of %d partitions", 1<<p.RadixBits)
}

func (p JoinPartitions) withDefaults() JoinPartitions {
	if p.TableRows == 0 {
		p.TableRows = tableRowsDefault
	}
	if p.HeadBits == 0 {
		p.HeadBits = headBitsDefault
	}
	if p.Threads == 0 {
		p.Threads = partitionThreads
	}
	return p
}

// JoinSortedScratch returns the bytes of scratch that JoinSorted needs: the bounds of each probe row.
func (j *Join) JoinSortedScratch() int64 {
	var l scratchLayout
	l.take(4 * j.Probe.Count)
	if !j.Unique {
		l.take(4 * j.Probe.Count)
	}
	return l.bytes
}

func (q operators) JoinSorted(j *Join, scratch Span) error {
	if err := j.checkSorted(); err != nil {
		return err
	}
	o := q.beginJoin(j)
	at := o.address(scratch, j.JoinSortedScratch())
	var l scratchLayout
	o.param.lower = at + uint64(l.take(4*j.Probe.Count))
	if !j.Unique {
		o.param.upper = at + uint64(l.take(4*j.Probe.Count))
	}
	tiles := int(ceilDiv(j.Build.Count+j.Probe.Count, mergeTile))
	for upper := range 2 {
		o.param.isUpper = uint32(upper)
		if tiles > 0 && (upper == 0 || !j.Unique) {
			o.run("join_bounds"+widthSuffix(j.KeyBytes), tiles, joinThreads, 0)
		}
	}
	o.run("join_ranges"+widthSuffix(j.KeyBytes), o.blocksFor(j.Probe.Count, joinRows), joinThreads, 0)
	return o.end("join of %d rows in order", j.Probe.Count)
}

func (q operators) FillFilter(j *Join, f JoinFilter) error {
	o := q.beginJoin(j)
	o.param.filter, o.param.filterWords = o.address(f.Memory, f.Bytes), uint64(f.Bytes/4)
	o.fill(o.param.filter, f.Bytes, 0)
	o.run("join_filter_fill"+widthSuffix(j.KeyBytes), o.blocksFor(j.Build.Count, 1), joinThreads, 0)
	return o.end("filter of %d keys", j.Build.Count)
}

func (q operators) TestFilter(j *Join, f JoinFilter, passed Span) error {
	o := q.beginJoin(j)
	o.param.filter, o.param.filterWords = o.address(f.Memory, f.Bytes), uint64(f.Bytes/4)
	o.param.passed = o.address(passed, MatchedBytes(j.Probe.Count))
	o.run("join_filter_test"+widthSuffix(j.KeyBytes), o.blocksFor(j.Probe.Count, 1), joinThreads, 0)
	return o.end("filter of %d rows", j.Probe.Count)
}
