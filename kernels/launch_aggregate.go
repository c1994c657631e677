package kernels

import "fmt"

// program is a set of folds that kernels have versions for, see programs.cuh.
type program struct {
	name      string
	slotBytes int  // of a slot's states in a block's table
	light     bool // with 4-byte keys, 40 registers are enough: kLight of program.cuh
	ofPairs   bool // there is a version for pairs of a 4-byte key and its one column, and one that is far
	isFar     bool // the upper halves of states lie in device memory
}

// far returns the version whose sums have their upper halves in device memory, which changes only
// where the lower ones carry: half as many bytes a slot.
func (p program) far() program {
	p.name += "_far"
	p.slotBytes /= 2
	p.isFar = true
	return p
}

// scattersPairs reports whether rows are pairs while they are scattered.
func (p *program) scattersPairs(shape *Shape) bool {
	return p.ofPairs && shape.KeyBytes == 4 && len(shape.Columns) == 1
}

type programVersion struct {
	program
	folds []foldKind
}

var programs = []programVersion{
	{program{name: "count", slotBytes: 4, light: true}, []foldKind{{Count, noColumn}}},
	{program{name: "sum_i32", slotBytes: 8, light: true, ofPairs: true}, []foldKind{{Sum64, Int32}}},
	{program{name: "sum_i32", slotBytes: 8, light: true, ofPairs: true}, []foldKind{{Sum128, Int32}}},
	{program{name: "sum_u32", slotBytes: 8, light: true, ofPairs: true}, []foldKind{{Sum64, Uint32}}},
	{program{name: "sum_u32", slotBytes: 8, light: true, ofPairs: true}, []foldKind{{Sum128, Uint32}}},
	{program{name: "sum_i64", slotBytes: 16}, []foldKind{{Sum128, Int64}}},
	{program{name: "sum_f64", slotBytes: 8, light: true}, []foldKind{{SumFloat, Float64}}},
	{program{name: "sum3_i64_count", slotBytes: 52}, []foldKind{{Sum128, Int64}, {Sum128, Int64}, {Sum128, Int64}, {Count, noColumn}}},
}

const noColumn ColumnType = 0xFF

// generalProgram is the program that serves every shape.
const generalProgram = "general"

type foldKind struct {
	op  FoldOp
	typ ColumnType // noColumn without one
}

// programFor returns the program for a shape: where there is a version for its folds, and keys have
// up to 8 bytes and columns no NULLs, that version, and else the general program.
func programFor(shape *Shape, valid *[ColumnsMax]uint64) program {
	if shape.KeyBytes <= 8 {
		for _, p := range programs {
			if p.serves(shape.Folds, shape.Columns, valid) {
				return p.program
			}
		}
	}
	return program{name: generalProgram, slotBytes: 8 * shape.StateWords()}
}

// serves reports whether a version of a kernel accumulates these folds.
func (p *programVersion) serves(folds []Fold, columns []ColumnType, valid *[ColumnsMax]uint64) bool {
	if len(folds) != len(p.folds) {
		return false
	}
	for i, f := range folds {
		kind := foldKind{f.Op, noColumn}
		if f.Column >= 0 {
			if valid[f.Column] != 0 {
				return false
			}
			kind.typ = columns[f.Column]
		}
		if kind != p.folds[i] {
			return false
		}
	}
	return true
}

// blockTable is the shape of a block's table in shared memory.
type blockTable struct {
	slots, homes, copiesBits int
	hotStates                int // kHotStates of block_table.cuh
	sharedBytes              int
}

// blockKeyBytes returns the bytes of a slot's key, with the tag of a wide key.
func blockKeyBytes(shape *Shape) int {
	if shape.KeyBytes > 8 {
		return shape.KeyBytes + 4
	}
	return shape.KeyBytes
}

// makeBlockTable fits a table into bytes of shared memory: of the slots that are wanted, and some
// more for searches that begin late, or as many slots as there is room for; and with as many copies
// of the states as there is room for, up to 1 << copiesBits; and states for a hot slot.
func makeBlockTable(shape *Shape, p program, wanted int64, bytes, hot, copiesBits int) (t blockTable) {
	t.hotStates = hot
	fit := bytes/(blockKeyBytes(shape)+p.slotBytes) - 6 - hot
	t.slots = int(min(wanted+blockProbeMax, int64(max(fit, 4))))
	t.slots &^= 3 // whole buckets
	t.homes = max(t.slots-blockProbeMax, t.slots/2)
	for t.copiesBits < copiesBits {
		t.copiesBits++
		if t.size(shape, p) > bytes {
			t.copiesBits--
			break
		}
	}
	t.sharedBytes = t.size(shape, p)
	return t
}

// size returns the bytes of a table, as block_table.cuh lays it out.
func (t *blockTable) size(shape *Shape, p program) int {
	keys := (t.slots + 4) * shape.KeyBytes
	if shape.KeyBytes > 8 {
		keys = (blockKeyBytes(shape)*(t.slots+2) + 15) &^ 15
	}
	return keys + ((t.slots+2)<<t.copiesBits+t.hotStates)*p.slotBytes
}

const (
	blockProbeMax = 128 // kBlockProbeMax
	hotStates     = 32  // kHotStates
	copiesBitsMax = 5   // a copy of the states for each lane of a warp
)

func (o *operation) useBlockTable(t blockTable) {
	o.param.slots, o.param.homes, o.param.copiesBits = uint32(t.slots), uint32(t.homes), uint32(t.copiesBits)
}

// blockSharedBytes returns the shared memory that each of a number of blocks of a multiprocessor
// may use.
func blockSharedBytes(device Properties, blocks int) int {
	return (device.SharedBytesMax+1024)/blocks - 3072 // of which the system and static variables take a part
}

// sharedSlotsMax returns the slots of the largest table that a block has.
func sharedSlotsMax(shape *Shape, p program, device Properties) int64 {
	return int64(blockSharedBytes(device, 1) / (blockKeyBytes(shape) + p.slotBytes))
}

func (q operators) Aggregate(shape *Shape, plan Plan, rows *Rows, into *Groups, scratch Span) error {
	if err := plan.Kernel.Takes(shape); err != nil {
		return err
	}
	switch plan.Kernel {
	case KernelSorted:
		return q.aggregateSorted(shape, sortRuns(shape.Folds), rowNumberBytes, rows, into, scratch)
	case KernelSortedColumns:
		return q.aggregateSortedColumns(shape, rows, into, scratch)
	}
	device := q.queue.deviceProperties()
	plan = plan.WithDefaults(shape, rows.Count, device)
	o := q.begin(shape)
	o.param.rows = o.rows(shape, rows)
	o.param.groups = o.groups(shape, into)
	o.startStatus(o.param.groups.status)
	at := o.address(scratch, plan.AggregateScratch(shape, rows.Count, device))
	switch plan.Kernel {
	case KernelShared, KernelBlockPrivate:
		o.aggregateShared(shape, plan, device, at)
	case KernelThreadPrivate:
		o.aggregatePrivate(shape, plan, at)
	case KernelSortedCodes:
		o.aggregateSortedCodes(shape, plan, at)
	case KernelScattered, KernelNumbered:
		o.aggregateScattered(shape, plan, device, at)
	case KernelTwoPhase:
		o.aggregateTwoPhase(shape, plan, at)
	case KernelBlockRanks:
		o.aggregateRanks(shape, plan, device, at)
	case KernelLinear:
		o.useTable(plan.Slots, at)
		o.resetTable()
		o.insert(shape, rows.Count)
		o.compactTable()
	default:
		return fmt.Errorf("no kernel of family %d", plan.Kernel)
	}
	return o.end("aggregation of %d rows", rows.Count)
}

// aggregateShared: one table per block, with as many blocks as have room for four slots a group,
// and a few hundred slots in any case: where groups are few, two groups of one slot would hold up
// most rows.
func (o *operation) aggregateShared(shape *Shape, plan Plan, device Properties, at uint64) {
	p := plan.sharedProgram(shape, &o.param.rows.valid, device)
	if shares := sharesFor(shape, p, plan.Groups, device); shares > 1 && plan.Kernel == KernelShared {
		o.aggregateShares(shape, plan, p, device, at, shares)
		return
	}
	l := layoutShared(shape, plan, p, device)
	o.useTable(plan.Slots, at)
	o.useBlockTable(l.table)
	o.param.far = at + uint64(l.far)
	o.resetTable()
	o.run("aggregate_shared"+keySuffix(shape)+"_"+p.name, o.share(o.sms*l.blocks),
		blockThreads(shape, p, device, l.blocks), l.table.sharedBytes)
	o.compactTable()
}

// sharedProgram returns the program of the plan's kernel, which has tables in shared memory.
func (p Plan) sharedProgram(shape *Shape, valid *[ColumnsMax]uint64, device Properties) program {
	version := programFor(shape, valid)
	if p.Kernel == KernelShared {
		version, _ = sharedProgram(shape, version, p.Groups, device)
	}
	return version
}

// sharedProgram returns the program that KernelShared has for a number of groups, and for how many
// groups a block's table has room: the far program where only that has room enough. 16,238 groups
// take 0.94 ms by shares, and 0.67 far, or 0.86 where half of the rows carry; 6,158 take 0.38 and,
// far, 0.77 (H200).
func sharedProgram(shape *Shape, p program, groups int64, device Properties) (program, int64) {
	room := func(p program) int64 {
		return sharedSlotsMax(shape, p, device) * int64(tuningFor(device).sharedPercent) / 100
	}
	if far := p.far(); p.scattersPairs(shape) && groups > room(p) && groups <= room(far) {
		return far, room(far)
	}
	return p, room(p)
}

// sharedLayout is how KernelShared uses its memory: scratch, which begins with the table in device
// memory, and shared memory.
type sharedLayout struct {
	scratchLayout
	far    int64
	blocks int // a multiprocessor
	table  blockTable
}

func layoutShared(shape *Shape, plan Plan, p program, device Properties) sharedLayout {
	l := sharedLayout{blocks: 2}
	wanted, copiesBits := max(4*plan.Groups, sharedSlotsMin), copiesBitsMax
	if plan.Kernel == KernelBlockPrivate {
		wanted, copiesBits = max(2*plan.Groups, 4), 0
	}
	if wanted > int64(blockSharedBytes(device, l.blocks)/(blockKeyBytes(shape)+p.slotBytes)) {
		l.blocks = 1
	}
	l.table = makeBlockTable(shape, p, wanted, blockSharedBytes(device, l.blocks), 0, copiesBits)
	l.take(shape.TableBytes(plan.Slots))
	if p.isFar {
		l.far = l.take(int64(device.Multiprocessors*l.blocks) * int64(l.table.slots+2) << l.table.copiesBits * 4)
	}
	return l
}

const sharedSlotsMin = 800

// sharesFor returns how many blocks have a share each of the keys of their rows, so that a block's
// table has room for its part of the groups.
func sharesFor(shape *Shape, p program, groups int64, device Properties) int {
	tuned := tuningFor(device)
	if p.name == generalProgram {
		return 1
	}
	inBlock := max(1, sharedSlotsMax(shape, p, device)*int64(tuned.sharedPercent)/100)
	return int(min(ceilDiv(groups, inBlock), int64(tuned.shares)))
}

func (o *operation) aggregateShares(shape *Shape, plan Plan, p program, device Properties, table uint64, shares int) {
	t := makeBlockTable(shape, p, plan.Groups, blockSharedBytes(device, 1), hotStates, 0)
	o.useTable(plan.Slots, table)
	o.useBlockTable(t)
	o.param.shares = uint32(shares)
	o.resetTable()
	o.run("aggregate_shares"+keySuffix(shape)+"_"+p.name, o.share(max(1, o.sms/shares))*shares, 1024, t.sharedBytes)
	o.compactTable()
}

// blockThreads returns the threads of each of a number of blocks of a multiprocessor, as many as it
// has registers for.
func blockThreads(shape *Shape, p program, device Properties, blocks int) int {
	threads := 1024 // of 64 registers
	if p.light && shape.KeyBytes == 4 {
		threads = tuningFor(device).threads // of 40
	}
	return min(1024, threads/blocks&^31)
}

// aggregateScattered: partitions, in one pass or two, then a table for each partition. Rows that
// are too many for a block, or groups that are too many for its table, meet in a table in device
// memory.
func (o *operation) aggregateScattered(shape *Shape, plan Plan, device Properties, at uint64) {
	l := layoutScattered(shape, plan, int64(o.param.rows.count), device)
	p, given := plan.program(shape, &o.param.rows.valid), o.param
	o.param.offsets, o.param.cursors = at+uint64(l.offsets), at+uint64(l.cursors)
	o.param.items, o.param.work = at+uint64(l.items), at+uint64(l.work)
	if l.firstBits > 0 {
		o.param.firstCursors, o.param.tiles = at+uint64(l.firstCursors), at+uint64(l.tiles)
	}
	o.param.rowsPerItem, o.param.rowsPerPart = uint64(l.rowsPerItem), uint64(l.rowsPerPart)
	o.param.seed = plan.Seed
	o.useTable(plan.Slots, at+uint64(l.table))
	o.fill(o.param.work, workBytes, 0)
	o.resetTable()
	pairs, aggregate := p.scattersPairs(shape), "aggregate_partitions"
	if pairs {
		aggregate = "aggregate_pairs"
	}
	if plan.Kernel == KernelNumbered {
		aggregate = "aggregate_numbered"
		o.numberRows(plan.scattered(shape), at+uint64(l.numbers))
	}
	moved := plan.scattered(shape)
	var passes [2]rowsParam
	passes[0] = l.passes[0].rows(moved, at, &o.param.rows, pairs)
	if l.firstBits > 0 {
		passes[1] = l.passes[1].rows(moved, at, &o.param.rows, pairs)
	}
	o.scatterPasses(moved, passes, plan.RadixBits, l.firstBits, pairs)
	if plan.Kernel == KernelNumbered {
		o.param.shape, o.param.rows = given.shape, given.rows
	} else {
		o.param.rows = o.param.out
	}
	blocks, threads, t := partitionTable(shape, plan, int64(o.param.rows.count), p, device)
	o.useBlockTable(t)
	if claimsPay(shape, p, plan.Groups, int64(o.param.rows.count)) {
		aggregate = "aggregate_claims"
	}
	o.run(aggregate+keySuffix(shape)+"_"+p.name, o.sms*blocks, threads, t.sharedBytes)
	o.compactTable()
}

// scatterPasses adds the launches that scatter rows of a shape to what the passes write: one pass, or two where the
// first has bits of its own. The last becomes out.
func (o *operation) scatterPasses(shape *Shape, passes [2]rowsParam, radixBits, firstBits int, pairs bool) {
	o.countPartitions(shape, radixBits, firstBits, pairs)
	first, second := "partition_scatter"+keySuffix(shape), "partition_scatter"+keySuffix(shape)
	if pairs {
		first, second = "partition_pairs_first", "partition_pairs_second"
	}
	o.param.out = passes[0]
	if firstBits == 0 {
		o.scatterPass(shape, first)
		return
	}
	one := o.param
	one.radixBits, one.digitBits, one.cursors, one.tiles = one.firstBits, one.firstBits, one.firstCursors, 0
	two := o.param
	o.param = one
	o.scatterPass(shape, first)
	o.param = two
	o.param.rows, o.param.out = passes[0], passes[1]
	o.scatterPass(shape, second)
}

// numberRows has the launches that follow take keys with the numbers of their rows, as rows of a shape.
func (o *operation) numberRows(shape *Shape, numbers uint64) {
	o.param.shape = makeShapeParam(shape)
	o.param.rows = rowsParam{count: o.param.rows.count, keys: o.param.rows.keys}
	o.param.rows.columns[0], o.param.out.columns[0] = numbers, numbers
	o.run("number_rows", o.blocksFor(int64(o.param.rows.count)), launchThreads, 0)
}

// rows returns where a pass writes rows. There are bitmaps for the columns that have them in from.
func (l *rowsLayout) rows(shape *Shape, at uint64, from *rowsParam, pairs bool) rowsParam {
	p := rowsParam{count: from.count, keys: at + uint64(l.keys)}
	if pairs {
		p.columns[0] = p.keys + 4
		return p
	}
	for c := range shape.Columns {
		p.columns[c] = at + uint64(l.columns[c])
		if from.valid[c] != 0 {
			p.valid[c] = at + uint64(l.valid[c])
		}
	}
	return p
}

// claimsPay reports whether groups have so few rows that these claim slots without a look
// (claims.cuh).
func claimsPay(shape *Shape, p program, groups, rows int64) bool {
	return p.scattersPairs(shape) && rows < 4*groups
}

// claimGroupsMean is how many groups a partition has on average, at most, where rows claim slots:
// so few that three blocks of a multiprocessor have tables for them.
const claimGroupsMean = 3200

// partitionTable returns how many blocks a multiprocessor has at work on partitions, their threads,
// and their tables: of four slots a group, which keeps searches short, or two where most groups
// have few rows, and tables are emptied and read as often as they are searched. Two blocks, or
// three where rows claim slots, when their part of the shared memory has room enough: buckets of
// two keys of 8 bytes want more room than buckets of four keys of 4 bytes.
func partitionTable(shape *Shape, plan Plan, rows int64, p program,
	device Properties) (blocks, threads int, t blockTable) {
	groups, slots := plan.Groups>>plan.RadixBits, int64(4)
	if rows < 4*plan.Groups {
		slots = 2
	}
	enough, queueBytes := 2*groups, 0
	blocks = 2
	switch {
	case claimsPay(shape, p, plan.Groups, rows):
		enough, queueBytes, blocks = groups*4/3, claimQueueBytes, 3
	case shape.KeyBytes == 4:
		enough = groups * 3 / 2
	}
	for ; ; blocks-- {
		threads = blockThreads(shape, p, device, blocks)
		bytes, queues := blockSharedBytes(device, blocks), threads/32*queueBytes
		if blocks == 1 || enough <= int64((bytes-queues)/(blockKeyBytes(shape)+p.slotBytes)) {
			t = makeBlockTable(shape, p, slots*groups, bytes-queues, hotStates, 0)
			t.sharedBytes += queues
			return blocks, threads, t
		}
	}
}

const claimQueueBytes = 320 // of a warp: kQueueRows of 2 bytes
