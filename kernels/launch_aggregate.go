package kernels

import "fmt"

// program is a set of folds that kernels have versions for, see programs.cuh.
type program struct {
	name      string
	slotBytes int // of a slot's states in a block's table
}

type programVersion struct {
	program
	folds []foldKind
}

var programs = []programVersion{
	{program{"count", 4}, []foldKind{{Count, noColumn}}},
	{program{"sum_i32", 8}, []foldKind{{Sum64, Int32}}},
	{program{"sum_i32", 8}, []foldKind{{Sum128, Int32}}},
	{program{"sum_u32", 8}, []foldKind{{Sum64, Uint32}}},
	{program{"sum_u32", 8}, []foldKind{{Sum128, Uint32}}},
	{program{"sum_i64", 16}, []foldKind{{Sum128, Int64}}},
	{program{"sum_f64", 8}, []foldKind{{SumFloat, Float64}}},
	{program{"sum3_i64_count", 52}, []foldKind{{Sum128, Int64}, {Sum128, Int64}, {Sum128, Int64}, {Count, noColumn}}},
}

const noColumn ColumnType = 0xFF

type foldKind struct {
	op  FoldOp
	typ ColumnType // noColumn without one
}

// programFor returns the program for a shape: a version of its own where there is one, for keys of
// up to 8 bytes and columns without NULLs.
func programFor(shape *Shape, valid *[ColumnsMax]uint64) program {
	if shape.KeyBytes <= 8 {
		for _, p := range programs {
			if p.serves(shape.Folds, shape.Columns, valid) {
				return p.program
			}
		}
	}
	return program{"general", 8 * shape.StateWords()}
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
	slots, copiesBits int
	sharedBytes       int
}

// blockKeyBytes are of a slot's key, with the tag of a wide one.
func blockKeyBytes(shape *Shape) int {
	if shape.KeyBytes > 8 {
		return shape.KeyBytes + 4
	}
	return shape.KeyBytes
}

// makeBlockTable fits a table into bytes of shared memory: of the slots that are wanted or as many
// as there is room for, at least one, and with as many copies of the states, up to one a lane.
func makeBlockTable(shape *Shape, p program, wanted int64, bytes int, copies bool) blockTable {
	key := blockKeyBytes(shape)
	fit := bytes/(key+p.slotBytes) - 2
	t := blockTable{slots: int(min(max(wanted, 31), int64(max(fit, 1))))}
	t.slots |= 1 // with the last slot an even number: arrays of 8-byte words follow arrays of slots
	size := func() int { return (t.slots + 1) * (key + p.slotBytes<<t.copiesBits) }
	for copies && t.copiesBits < 5 {
		t.copiesBits++
		if size() > bytes {
			t.copiesBits--
			break
		}
	}
	t.sharedBytes = size()
	return t
}

func (o *operation) useBlockTable(t blockTable) {
	o.param.slots, o.param.copiesBits = uint32(t.slots), uint32(t.copiesBits)
}

// blockSharedBytes is what each of a number of blocks of a multiprocessor may use of shared memory.
func blockSharedBytes(device Properties, blocks int) int {
	return (device.SharedBytesMax+1024)/blocks - 3072 // of which the system and static variables take a part
}

// sharedSlotsMax returns the slots of the largest table that a block has.
func sharedSlotsMax(shape *Shape, p program, device Properties) int64 {
	return int64(blockSharedBytes(device, 1) / (blockKeyBytes(shape) + p.slotBytes))
}

func aggregate(q queue, shape *Shape, plan Plan, rows *Rows, into *Groups, scratch Span) error {
	if plan.Kernel == KernelSorted {
		return aggregateSorted(q, shape, rows, into, scratch)
	}
	device := q.deviceProperties()
	plan = plan.withDefaults(shape, rows.Count, device)
	o := begin(q, shape)
	o.param.rows = makeRowsParam(q, shape, rows)
	o.param.groups = makeGroupsParam(q, shape, into)
	o.startStatus(o.param.groups.status)
	at := q.address(scratch, plan.AggregateScratch(shape, rows.Count, device))
	switch plan.Kernel {
	case KernelShared:
		o.aggregateShared(shape, plan, device, at)
	case KernelScattered:
		o.aggregateScattered(shape, plan, device, at)
	case KernelTwoPhase:
		o.aggregateTwoPhase(shape, plan, at)
	case KernelLinear:
		o.useTable(plan.Slots, at)
		o.resetTable()
		o.run("table_insert"+keySuffix(shape), o.blocksFor(rows.Count), launchThreads, 0)
		o.compactTable()
	default:
		return fmt.Errorf("no kernel of family %d", plan.Kernel)
	}
	return o.end("aggregation of %d rows", rows.Count)
}

// aggregateShared: one table per block, with as many blocks as have room.
func (o *operation) aggregateShared(shape *Shape, plan Plan, device Properties, table uint64) {
	p := programFor(shape, &o.param.rows.valid)
	wanted := 4 * plan.Groups
	blocks, threads := 4, launchThreads
	for blocks > 1 && wanted > int64(blockSharedBytes(device, blocks)/(blockKeyBytes(shape)+p.slotBytes)) {
		blocks /= 2
		threads = min(1024, threads*2)
	}
	t := makeBlockTable(shape, p, wanted, blockSharedBytes(device, blocks), true)
	o.useTable(plan.Slots, table)
	o.useBlockTable(t)
	o.resetTable()
	o.run("aggregate_shared"+keySuffix(shape)+"_"+p.name, o.share(o.sms*blocks), threads, t.sharedBytes)
	o.compactTable()
}

// scatteredLayout is the scratch of KernelScattered.
type scatteredLayout struct {
	scratchLayout
	keys, table, offsets, cursors, items, work int64
	columns, valid                             []int64
	rowsPerItem                                int64
}

func layoutScattered(shape *Shape, plan Plan, rows int64, device Properties) scatteredLayout {
	var l scatteredLayout
	partitions := int64(1) << plan.RadixBits
	l.keys = l.take(rows * int64(shape.KeyBytes))
	for _, c := range shape.Columns {
		l.columns = append(l.columns, l.take(rows*int64(c.Bytes())))
		l.valid = append(l.valid, l.take(ceilDiv(rows, 32)*4))
	}
	l.table = l.take(shape.TableBytes(plan.Slots))
	l.offsets = l.take(8*partitions + 8)
	l.cursors = l.take(8 * partitions)
	l.rowsPerItem = max(2*ceilDiv(rows, partitions), rowsPerItemMin)
	l.items = l.take((partitions + rows/l.rowsPerItem) * workItemBytes)
	l.work = l.take(workBytes)
	return l
}

// rowsPerItemMin is how many rows at least a block takes of a partition that is cut.
const rowsPerItemMin = 1 << 15

// aggregateScattered: partitions, then one table per partition. Rows that are too many for one
// block, or groups that are too many for its table, meet in a table in device memory.
func (o *operation) aggregateScattered(shape *Shape, plan Plan, device Properties, at uint64) {
	l := layoutScattered(shape, plan, int64(o.param.rows.count), device)
	from := o.param.rows
	o.param.out = rowsParam{count: from.count, keys: at + uint64(l.keys)}
	for c := range shape.Columns {
		o.param.out.columns[c] = at + uint64(l.columns[c])
		if from.valid[c] != 0 {
			o.param.out.valid[c] = at + uint64(l.valid[c])
		}
	}
	o.param.offsets, o.param.cursors = at+uint64(l.offsets), at+uint64(l.cursors)
	o.param.items, o.param.work = at+uint64(l.items), at+uint64(l.work)
	o.param.rowsPerItem = uint64(l.rowsPerItem)
	o.param.seed = plan.Seed
	o.useTable(plan.Slots, at+uint64(l.table))
	o.fill(o.param.work, workBytes, 0)
	o.resetTable()
	o.scatter(shape, plan.RadixBits)

	o.param.rows = o.param.out
	p := programFor(shape, &from.valid)
	blocks, threads := partitionBlocks(shape, plan, p, device)
	t := makeBlockTable(shape, p, 2*(plan.Groups>>plan.RadixBits), blockSharedBytes(device, blocks), false)
	o.useBlockTable(t)
	o.run("aggregate_partitions"+keySuffix(shape)+"_"+p.name, o.sms*blocks, threads, t.sharedBytes)
	o.compactTable()
}

// partitionBlocks returns how many blocks a multiprocessor has at work on partitions, and their
// threads: two, when a table of two thirds the shared memory's half holds a partition's groups.
func partitionBlocks(shape *Shape, plan Plan, p program, device Properties) (blocks, threads int) {
	groups := plan.Groups >> plan.RadixBits
	if groups*3/2 <= int64(blockSharedBytes(device, 2)/(blockKeyBytes(shape)+p.slotBytes)) {
		return 2, 512
	}
	return 1, 1024
}

func merge(q queue, shape *Shape, plan Plan, in *Groups, count int64, into *Groups, scratch Span) error {
	if plan.Kernel == KernelSorted {
		return mergeSorted(q, shape, in, count, into, scratch)
	}
	slots := plan.mergeSlots(count)
	o := begin(q, shape)
	o.param.rows.count = uint64(count)
	o.param.in = makeGroupsParam(q, shape, in)
	o.param.groups = makeGroupsParam(q, shape, into)
	o.startStatus(o.param.groups.status)
	o.useTable(slots, q.address(scratch, shape.TableBytes(slots)))
	o.resetTable()
	o.run("table_merge"+keySuffix(shape), o.blocksFor(count), launchThreads, 0)
	o.compactTable()
	return o.end("merge of %d groups", count)
}
