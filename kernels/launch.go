package kernels

import (
	"fmt"
	"unsafe"

	"github.com/mpga/mpga/partition"
)

// launchParam is Launch of params.h.
type launchParam struct {
	shape        shapeParam
	rows         rowsParam
	out          rowsParam
	in           groupsParam
	groups       groupsParam
	tableSlots   uint64
	tableMemory  uint64
	status       uint64
	seed         uint64
	radixBits    uint32
	digitBits    uint32
	firstBits    uint32
	tileRows     uint32
	slots        uint32
	copiesBits   uint32
	homes        uint32
	shares       uint32
	probeMax     uint32
	slotBegin    uint64
	slotEnd      uint64
	rowsPerItem  uint64
	rowsPerPart  uint64
	rowsPerBlock uint64
	offsets      uint64
	cursors      uint64
	firstCursors uint64
	tiles        uint64
	items        uint64
	work         uint64
	registers    uint64
	exponents    uint64
	far          uint64
}

const (
	launchThreads   = 512  // of most kernels: two to four blocks a multiprocessor
	tableThreads    = 256  // of kernels that search a table in device memory
	probeMaxDefault = 4096 // steps in a table in device memory, which is seldom more than half full
)

// keySuffix names the version of a kernel for a width of keys.
func keySuffix(shape *Shape) string {
	switch shape.KeyBytes {
	case 4:
		return "_k4"
	case 8:
		return "_k8"
	}
	return "_kn"
}

// operation gathers the launches of one operator.
type operation struct {
	queue
	param launchParam
	sms   int
	err   error
}

func (q operators) begin(shape *Shape) *operation {
	o := &operation{queue: q.queue, sms: q.queue.deviceProperties().Multiprocessors}
	o.param.shape = makeShapeParam(shape)
	return o
}

// launchWith launches a kernel with a parameter, unless a launch before it has failed.
func launchWith[P any](o *operation, kernel string, grid, block, sharedBytes int, param *P) {
	if o.err == nil {
		o.err = o.launch(kernel, grid, block, sharedBytes, unsafe.Pointer(param), unsafe.Sizeof(*param))
	}
}

func (o *operation) run(kernel string, grid, block, sharedBytes int) {
	launchWith(o, kernel, grid, block, sharedBytes, &o.param)
}

// share lets each block of a grid of blocks have an equal part of the rows, in whole steps of
// warps, and returns how many blocks are needed.
func (o *operation) share(blocks int) int {
	rows := int64(o.param.rows.count)
	perBlock := max(ceilDiv(ceilDiv(rows, int64(blocks)), 1024)*1024, 1024)
	o.param.rowsPerBlock = uint64(perBlock)
	return int(max(1, ceilDiv(rows, perBlock)))
}

// blocksFor returns the blocks of a grid that loops over n things, with a thread for each.
func (o *operation) blocksFor(n int64) int {
	return int(max(1, min(ceilDiv(n, launchThreads), int64(o.sms)*8)))
}

// tableBlocksFor is blocksFor where threads look for slots in device memory, one each at a time. On an H200, 768 of
// them on each multiprocessor take 1e9 rows to 1e7 groups in 83 ms, 2,048 in 161 ms.
func (o *operation) tableBlocksFor(n int64) int {
	return int(max(1, min(ceilDiv(n, tableThreads), int64(o.sms)*3)))
}

// looks is how a kernel is launched whose threads look for slots of a table in device memory, several at a time each:
// table_program.cuh.
type looks struct {
	version     string // of the kernel
	blocks      int
	sharedBytes int
}

// lookBlocks is how many blocks a multiprocessor has at work where the table is in the device's cache. Where it is in
// memory, there is one: more looks at a time slow each other down. 1e8 rows of 4.3e7 groups take
// SP-EGA 14.5 ms, with two blocks 16.2, and 15.0 with a block for every second multiprocessor
// (H100).
const lookBlocks = 4

// looksFor returns how n rows look for slots of the table that is set. Where it has few slots, each block has a sum for
// each in shared memory.
func (o *operation) looksFor(shape *Shape, n int64) looks {
	device := o.queue.deviceProperties()
	l := looks{version: keySuffix(shape) + "_" + generalProgram}
	blocks := o.sms * lookBlocks
	if o.param.tableSlots*uint64(shape.TableBytes(1)-shape.TableBytes(0)) > uint64(device.L2Bytes)/4*3 {
		blocks = o.sms
	}
	o.param.slots = 0
	if p := programFor(shape, &o.param.rows.valid); p.name == "sum_i32" || p.name == "sum_u32" {
		l.version = keySuffix(shape) + "_sum_4"
		if bytes := 8 * (int64(o.param.tableSlots) + 1); bytes <= int64(blockSharedBytes(device, 1)) {
			o.param.slots, l.sharedBytes = uint32(o.param.tableSlots)+1, int(bytes)
			for per := lookBlocks; per > 1 && bytes > int64(blockSharedBytes(device, per)); per-- {
				blocks = o.sms * (per - 1)
			}
		}
	}
	l.blocks = int(max(1, min(ceilDiv(n, lookThreads*lookRows), int64(blocks))))
	return l
}

// useTable sets the table of the launches.
func (o *operation) useTable(slots int64, memory uint64) {
	o.param.tableSlots, o.param.tableMemory = uint64(slots), memory
	o.param.probeMax = uint32(min(slots, probeMaxDefault))
}

// insert launches the kernel that takes n rows to the table that is set.
func (o *operation) insert(shape *Shape, n int64) {
	l := o.looksFor(shape, n)
	o.run("table_insert"+l.version, l.blocks, lookThreads, l.sharedBytes)
}

func (o *operation) resetTable() {
	o.run("table_reset", o.blocksFor(int64(o.param.tableSlots)+1), launchThreads, 0)
}

// compactTable writes the groups of all slots, and of the slot behind them.
func (o *operation) compactTable() { o.compactSlots(0, int64(o.param.tableSlots)+1) }

func (o *operation) compactSlots(first, end int64) {
	o.param.slotBegin, o.param.slotEnd = uint64(first), uint64(end)
	o.run("table_compact", o.blocksFor(end-first), launchThreads, 0)
}

// startStatus makes a status all zeros, and sets it as the status of the launches.
func (o *operation) startStatus(at uint64) {
	o.param.status = at
	o.fill(at, groupsStatusBytes, 0)
}

func (o *operation) end(format string, operands ...any) error {
	if o.err != nil {
		return fmt.Errorf("%s: %w", fmt.Sprintf(format, operands...), o.err)
	}
	return o.submit(format, operands...)
}

func (q operators) Sample(shape *Shape, rows *Rows, registers Span) error {
	o := q.begin(shape)
	o.param.rows = o.rows(shape, rows)
	o.param.registers = o.address(registers, partition.SketchRegisters)
	o.run("sample"+keySuffix(shape),
		int(max(1, min(ceilDiv(rows.Count, 16*launchThreads), int64(o.sms)*4))), launchThreads,
		partition.SketchRegisters)
	return o.end("sample of %d rows", rows.Count)
}

func (q operators) Exponents(shape *Shape, rows *Rows, exponents Span) error {
	o := q.begin(shape)
	o.param.rows = o.rows(shape, rows)
	o.param.exponents = o.address(exponents, ExponentsBytes*int64(shape.ExactFolds()))
	o.run("exponents", o.blocksFor(rows.Count), launchThreads, 0)
	return o.end("exponents of %d rows", rows.Count)
}

// ExactFolds returns how many folds are SumExact.
func (s *Shape) ExactFolds() (n int) {
	for _, f := range s.Folds {
		if f.Op == SumExact {
			n++
		}
	}
	return n
}

func (q operators) ResetTable(shape *Shape, table Table) error {
	if shape.Sorts() {
		return errSorts
	}
	o := q.begin(shape)
	if table.Packed {
		n := table.Bytes(shape)
		o.fill(o.address(table.Memory, n), n, 0)
	} else {
		o.useTable(table.Slots, o.address(table.Memory, shape.TableBytes(table.Slots)))
		o.resetTable()
	}
	return o.end("reset of a table of %d slots", table.Slots)
}

func (q operators) Insert(shape *Shape, rows *Rows, table Table, overflow *Rows, status Span) error {
	o := q.begin(shape)
	o.param.rows = o.rows(shape, rows)
	o.param.out = o.rows(shape, overflow)
	o.startStatus(o.address(status, groupsStatusBytes))
	kernel := "insert"
	if table.Sealed {
		kernel = "insert_sealed"
	}
	o.fillTable(shape, table, kernel, rows.Count)
	return o.end("insertion of %d rows into %d slots", rows.Count, table.Slots)
}

func (q operators) InsertGroups(shape *Shape, in *Groups, count int64, table Table,
	overflow *Groups, status Span) error {
	o := q.begin(shape)
	o.param.rows.count = uint64(count)
	o.param.in = o.groups(shape, in)
	o.param.groups = o.groups(shape, overflow)
	o.startStatus(o.address(status, groupsStatusBytes))
	o.fillTable(shape, table, "merge", count)
	return o.end("insertion of %d groups into %d slots", count, table.Slots)
}

// fillTable launches the kernel that takes n rows or groups to a table, and puts the number of the
// table's groups into the status.
func (o *operation) fillTable(shape *Shape, table Table, kernel string, n int64) {
	if table.Packed {
		o.runPacked(table, "packed_"+kernel, o.tableBlocksFor(n), tableThreads)
	} else {
		o.useTable(table.Slots, o.address(table.Memory, shape.TableBytes(table.Slots)))
		if kernel == "insert" {
			o.insert(shape, n)
		} else {
			o.run("table_"+kernel+keySuffix(shape), o.tableBlocksFor(n), tableThreads, 0)
		}
	}
	o.copyWithin(o.param.status, o.param.tableMemory, 8) // from its header
}

func (q operators) Compact(shape *Shape, table Table, first, end int64, into *Groups) error {
	o := q.begin(shape)
	o.param.groups = o.groups(shape, into)
	o.startStatus(o.param.groups.status)
	if table.Packed {
		o.compactPacked(table, first, end)
	} else {
		o.useTable(table.Slots, o.address(table.Memory, shape.TableBytes(table.Slots)))
		if end == table.Slots {
			end++
		}
		o.compactSlots(first, end)
	}
	return o.end("compaction of the slots from %d to %d", first, end)
}

// scratchLayout is how scratch is divided: offsets in bytes.
type scratchLayout struct{ bytes int64 }

func (l *scratchLayout) take(n int64) int64 {
	at := l.bytes
	l.bytes += (n + 255) &^ 255
	return at
}

// AggregateScratch returns the bytes of scratch that Aggregate needs for a number of rows, on a
// device.
func (p Plan) AggregateScratch(shape *Shape, rows int64, device Properties) int64 {
	p = p.WithDefaults(shape, rows, device)
	switch p.Kernel {
	case KernelSorted:
		return layoutSorted(shape, rows, rowNumberBytes).bytes
	case KernelSortedColumns:
		return layoutSorted(shape, rows, movedBytes(shape)).bytes
	case KernelSortedCodes:
		return layoutSortedCodes(shape, p, rows).bytes
	case KernelShared, KernelBlockPrivate:
		return layoutShared(shape, p, p.sharedProgram(shape, &noBitmaps, device), device).bytes
	case KernelThreadPrivate:
		return layoutPrivate(shape, p, rows, device).bytes
	case KernelScattered, KernelNumbered:
		return layoutScattered(shape, p, rows, device).bytes
	case KernelTwoPhase:
		return layoutTwoPhase(shape, p, rows).bytes
	case KernelBlockRanks:
		return layoutRanks(p, rows, device).bytes
	}
	return shape.TableBytes(p.Slots) + 256
}
