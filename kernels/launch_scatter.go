package kernels

import (
	"fmt"
	"math"
)

const (
	scatterRowsPerThread = 16 // kRowsPerThread
	digitBitsMax         = 13 // a digit and the rank of a row fit 32 bits
	workItemBytes        = 24
	tileBytes            = 16
	workBytes            = 64
	offsetsThreads       = 1024 // of partition_offsets, and the partitions of a block of it
)

// ScatterScratch returns the bytes of scratch that Scatter needs.
func ScatterScratch(radixBits int) int64 { return 8 << radixBits }

func (q operators) Scatter(shape *Shape, rows *Rows, seed uint64, radixBits int, into *Rows,
	offsets, scratch Span) error {
	if radixBits < 0 || radixBits > digitBitsMax {
		return fmt.Errorf("%d radix bits must be in [0, %d]", radixBits, digitBitsMax)
	}
	o := q.begin(shape)
	o.param.rows = o.rows(shape, rows)
	o.param.out = o.rows(shape, into)
	o.param.offsets = o.address(offsets, 8<<radixBits+8)
	o.param.cursors = o.address(scratch, ScatterScratch(radixBits))
	o.param.seed = seed
	o.countPartitions(shape, radixBits, 0, false)
	o.scatterPass(shape, "partition_scatter"+keySuffix(shape))
	return o.end("scatter of %d rows by %d bits", rows.Count, radixBits)
}

// countPartitions adds the launches that find where partitions begin; for two passes, also where
// the partitions of the first pass, of firstBits, begin. Pairs: rows are pairs. The caller has set
// cursors, offsets and, if they are wanted, items and tiles.
func (o *operation) countPartitions(shape *Shape, radixBits, firstBits int, pairs bool) {
	if o.param.rows.count > math.MaxUint32 {
		o.err = fmt.Errorf("%d rows: a scatter takes fewer than 2^32 rows", o.param.rows.count)
		return
	}
	device := o.deviceProperties()
	o.param.radixBits, o.param.firstBits = uint32(radixBits), uint32(firstBits)
	o.param.digitBits = uint32(radixBits - firstBits)
	threads := scatterThreads(device, max(radixBits-firstBits, firstBits), pairs)
	o.param.tileRows = uint32(threads * scatterRowsPerThread)
	o.fill(o.param.cursors, 8<<radixBits, 0)
	// As many blocks as have room for their counts: more blocks have more counts to add up.
	blocks := min(4, max(1, (device.SharedBytesMax+1024)/(4<<radixBits+1024)))
	o.run("partition_index"+keySuffix(shape), o.share(o.sms*blocks), min(1024, 4*launchThreads/blocks), 4<<radixBits)
	o.run("partition_offsets", int(ceilDiv(1<<radixBits, offsetsThreads)), offsetsThreads, 0)
	o.copyWithin(o.param.cursors, o.param.offsets, 8<<radixBits)
}

// scatterPass adds the launches that write rows to out by partition.
func (o *operation) scatterPass(shape *Shape, kernel string) {
	rows := int64(o.param.rows.count)
	if rows == 0 {
		return
	}
	for c := range shape.Columns {
		if valid := o.param.out.valid[c]; valid != 0 {
			value := byte(0)
			if o.param.rows.valid[c] == 0 {
				value = 0xFF
			}
			o.fill(valid, ceilDiv(rows, 32)*4, value)
		}
	}
	p := &o.param
	tiles := ceilDiv(rows, int64(p.tileRows))
	if p.tiles != 0 {
		tiles = tilesMax(rows, int64(p.tileRows), int(p.firstBits))
	}
	o.run(kernel, int(tiles), int(p.tileRows)/scatterRowsPerThread, scatterSharedBytes(int(p.tileRows), int(p.digitBits)))
}

// tilesMax is how many tiles the partitions of a first pass have at most.
func tilesMax(rows, tileRows int64, firstBits int) int64 { return rows/tileRows + 1<<firstBits }

// pairTileBits is log2 of the partitions up to which tiles of 8,192 pairs have runs long enough, of
// 32 rows, for two blocks of a multiprocessor to be faster than one of twice the tile. Two passes
// of 7 bits each over 1e8 pairs take 0.12 ms less, one of 10 bits 0.2 ms more; one of 8 bits over
// 1e8 rows in two columns of 8 bytes, 0.23 more (H200).
const pairTileBits = 8

// scatterThreads returns the threads of a block that scatters: as many as there is shared memory
// for, or half, for pairs and few partitions.
func scatterThreads(device Properties, digitBits int, pairs bool) int {
	threads := 1024
	if pairs && digitBits <= pairTileBits {
		threads = 512
	}
	for threads > 128 && scatterSharedBytes(threads*scatterRowsPerThread, digitBits)+1024 > device.SharedBytesMax {
		threads /= 2
	}
	return threads
}

// scatterSharedBytes: a stage of 8 bytes a row, two words a partition, two bytes a row.
func scatterSharedBytes(tileRows, digitBits int) int { return tileRows*10 + 8<<digitBits }

// scatteredLayout is the scratch of KernelScattered. Rows lie in the last of the passes' outputs.
type scatteredLayout struct {
	scratchLayout
	passes                                                    [2]rowsLayout
	table, offsets, cursors, firstCursors, tiles, items, work int64
	numbers                                                   int64 // of rows, before they are scattered: KernelNumbered's
	rowsPerItem, rowsPerPart                                  int64
	firstBits                                                 int
}

// rowsLayout is where a pass writes rows. Pairs of a key and a value begin where keys do, and end
// in the column behind them.
type rowsLayout struct {
	keys           int64
	columns, valid []int64
}

// takeRows takes room for rows of a shape.
func (l *scratchLayout) takeRows(shape *Shape, rows int64) rowsLayout {
	to := rowsLayout{keys: l.take(rows * int64(shape.KeyBytes))}
	for _, c := range shape.Columns {
		to.columns = append(to.columns, l.take(rows*int64(c.Bytes())))
		to.valid = append(to.valid, l.take(ceilDiv(rows, 32)*4))
	}
	return to
}

// A partition of more than twice the average rows is cut, or of a quarter more than that where an
// item is a large share of a block's work, and no smaller one than rowsPerItemMin: of 1e8 rows with
// 1e6 groups of Zipf distributions of 1 and 1.5, 1.23 and 1.11 ms instead of 1.38 and 1.35 (H200).
// Parts are of a quarter of the average, since what makes a partition large is keys whose rows wait
// for each other.
const (
	rowsPerItemMin = 1 << 15
	rowsPerPartMin = 1 << 14
)

func layoutScattered(shape *Shape, plan Plan, rows int64, device Properties) scatteredLayout {
	var l scatteredLayout
	partitions := int64(1) << plan.RadixBits
	l.firstBits = firstBits(plan.RadixBits, device)
	program := plan.program(shape, &noBitmaps)
	pairs := program.scattersPairs(shape)
	moved := plan.scattered(shape)
	passes := 1
	if l.firstBits > 0 {
		passes = 2
		l.firstCursors = l.take(8 << l.firstBits)
		tileRows := int64(scatterThreads(device, max(plan.RadixBits-l.firstBits, l.firstBits), pairs) * scatterRowsPerThread)
		l.tiles = l.take(tilesMax(rows, tileRows, l.firstBits) * tileBytes)
	}
	for i := range passes {
		l.passes[i] = l.takeRows(moved, rows)
	}
	l.table = l.take(shape.TableBytes(plan.Slots))
	l.offsets = l.take(8*partitions + 8)
	l.cursors = l.take(8 * partitions)
	mean, share := ceilDiv(rows, partitions), rows/int64(4*max(1, device.Multiprocessors))
	l.rowsPerItem = max(mean*5/4, min(2*mean, share), rowsPerItemMin)
	l.rowsPerPart = max(mean/4, rowsPerPartMin)
	l.items = l.take((partitions + rows/l.rowsPerPart + rows/l.rowsPerItem) * workItemBytes)
	l.work = l.take(workBytes)
	if plan.Kernel == KernelNumbered {
		l.numbers = l.take(4 * rows)
	}
	return l
}

// scattered returns the shape of the rows that a plan scatters, for rows of a shape.
func (p Plan) scattered(shape *Shape) *Shape {
	if p.Kernel == KernelNumbered {
		return &Shape{KeyBytes: shape.KeyBytes, Columns: []ColumnType{Uint32}}
	}
	return shape
}
