package kernels

// privateThreads is kPrivateThreads of params_private.h.
const privateThreads = 1024

// privateLaunch is PrivateLaunch.
type privateLaunch struct {
	launch launchParam
	tables uint64
	slots  uint32
	_      uint32
}

// privateLayout is the scratch of KernelThreadPrivate: the table that all threads share, and theirs.
type privateLayout struct {
	scratchLayout
	table, tables int64
	slots, blocks int64
}

// A thread has at least privateSlotsMin slots, and, unless there is one block, privateRowsMin rows.
// Such tables are good for up to 6 groups.
const (
	privateSlotsMin, privateSlotsMax = 4, 64
	privateRowsMin                   = 64
)

func layoutPrivate(shape *Shape, plan Plan, rows int64, device Properties) privateLayout {
	var l privateLayout
	l.blocks = min(int64(device.Multiprocessors), max(1, rows/(privateThreads*privateRowsMin)))
	most := min(privateSlotsMax, rows/(l.blocks*privateThreads*2)) // no more slots than half of the rows
	l.slots = max(min(2*plan.Groups, most), privateSlotsMin)
	words := 1 + shape.StateWords()
	if shape.KeyBytes > 4 {
		words += shape.KeyBytes / 8
	}
	l.table = l.take(shape.TableBytes(plan.Slots))
	l.tables = l.take(8 * int64(words) * l.slots * l.blocks * privateThreads)
	return l
}

// aggregatePrivate: a table for each thread, and one for all, which takes the groups in the end.
func (o *operation) aggregatePrivate(shape *Shape, plan Plan, at uint64) {
	l := layoutPrivate(shape, plan, int64(o.param.rows.count), o.queue.deviceProperties())
	o.useTable(plan.Slots, at+uint64(l.table))
	o.resetTable()
	p := privateLaunch{launch: o.param, tables: at + uint64(l.tables), slots: uint32(l.slots)}
	launchWith(o, "aggregate_private"+keySuffix(shape), int(l.blocks), privateThreads, 0, &p)
	o.compactTable()
}
