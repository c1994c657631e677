package stream

import (
	"slices"

	"github.com/mpga/mpga/kernels"
)

// layout is where the columns of rows lie in a block of memory, on a device or in the host:
//
//	keys | columns | bitmaps of the nullable columns
type layout struct {
	shape    *kernels.Shape
	capacity int64 // rows
	keys     int64 // offsets, in bytes
	columns  []int64
	valid    []int64 // offsets of the bitmaps, by column; -1 without a bitmap
	bitmaps  int64   // where the bitmaps begin
	bytes    int64   // of the block
}

// columnAlignment suits every load of a kernel.
const columnAlignment = 256

func align(n int64) int64 { return (n + columnAlignment - 1) &^ (columnAlignment - 1) }

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

func newLayout(shape *kernels.Shape, nullable []bool, capacity int64) layout {
	l := layout{shape: shape, capacity: capacity}
	take := func(n int64) int64 {
		at := l.bytes
		l.bytes += align(n)
		return at
	}
	l.keys = take(capacity * int64(shape.KeyBytes))
	for _, t := range shape.Columns {
		l.columns = append(l.columns, take(capacity*int64(t.Bytes())))
	}
	l.bitmaps = l.bytes
	for _, has := range nullable {
		at := int64(-1)
		if has {
			at = take(kernels.BitmapBytes(capacity))
		}
		l.valid = append(l.valid, at)
	}
	return l
}

// rowBytes returns the bytes of a row; each of its bits counts as a byte.
func rowBytes(shape *kernels.Shape, nullable []bool) int64 {
	n := int64(shape.KeyBytes)
	for c, t := range shape.Columns {
		n += int64(t.Bytes())
		if nullable[c] {
			n++
		}
	}
	return n
}

// rows returns rows in a buffer whose block begins at a byte.
func (l *layout) rows(b kernels.Buffer, at, count int64) kernels.Rows {
	block := kernels.Span{Buffer: b, Offset: at}
	r := kernels.Rows{Count: count, Keys: block.At(l.keys)}
	for c, offset := range l.columns {
		r.Columns = append(r.Columns, block.At(offset))
		valid := kernels.Span{}
		if l.valid[c] >= 0 {
			valid = block.At(l.valid[c])
		}
		r.Valid = append(r.Valid, valid)
	}
	return r
}

// stripe is the place in a block of the keys, or of one column, of all rows.
type stripe struct {
	offset int64 // bytes from the begin of the block
	width  int64 // bytes of a row
}

// stripes returns where keys and columns lie, without the bitmaps.
func (l *layout) stripes() []stripe {
	stripes := []stripe{{l.keys, int64(l.shape.KeyBytes)}}
	for c, t := range l.shape.Columns {
		stripes = append(stripes, stripe{l.columns[c], int64(t.Bytes())})
	}
	return stripes
}

// copies returns the copies of the first n rows between a block of the host and one of a device.
func (l *layout) copies(b kernels.Buffer, at int64, host []byte, n int64, out bool) []kernels.Copy {
	var copies []kernels.Copy
	add := func(offset, bytes int64) {
		device := kernels.Span{Buffer: b, Offset: at + offset}
		copies = append(copies, kernels.Copy{Device: device, Host: host[offset : offset+bytes], Out: out})
	}
	for _, p := range l.stripes() {
		if p.width > 0 {
			add(p.offset, n*p.width)
		}
	}
	for _, offset := range l.valid {
		if offset >= 0 {
			add(offset, kernels.BitmapBytes(n))
		}
	}
	return copies
}

// groupLayout is where the columns of groups lie in a block of memory: status, keys, states by
// fold.
type groupLayout struct {
	shape    *kernels.Shape
	capacity int64
	keys     int64
	states   []int64
	bytes    int64
}

// statusBytes is the size of a kernels.GroupsStatus.
const statusBytes = 64

func newGroupLayout(shape *kernels.Shape, capacity int64) groupLayout {
	l := groupLayout{shape: shape, capacity: capacity, keys: columnAlignment}
	l.bytes = l.keys + align(capacity*int64(shape.KeyBytes))
	for _, f := range shape.Folds {
		l.states = append(l.states, l.bytes)
		l.bytes += align(capacity * 8 * int64(f.Words()))
	}
	return l
}

// slotsIn returns how many slots a table that is not packed has in `bytes` bytes.
func slotsIn(shape *kernels.Shape, bytes int64) int64 {
	empty := shape.TableBytes(0)
	return max((bytes-empty)/(shape.TableBytes(1)-empty), 0)
}

// groupsIn returns how many groups `bytes` bytes have room for; none, where the result is negative.
func groupsIn(shape *kernels.Shape, bytes int64) int64 {
	return (bytes - newGroupLayout(shape, 0).bytes - int64(len(shape.Folds)+1)*columnAlignment) / groupBytes(shape)
}

// groupBytes returns the bytes of a group.
func groupBytes(shape *kernels.Shape) int64 {
	return int64(shape.KeyBytes) + 8*int64(shape.StateWords())
}

// groups returns groups in a block of device memory.
func (l *groupLayout) groups(block kernels.Span) *kernels.Groups {
	g := &kernels.Groups{Capacity: l.capacity, Status: block, Keys: block.At(l.keys)}
	for _, offset := range l.states {
		g.States = append(g.States, block.At(offset))
	}
	return g
}

// hostGroups returns n groups of a block that was copied to the host.
func (l *groupLayout) hostGroups(block []byte, n int64) *Groups {
	g := &Groups{Shape: l.shape, Count: int(n), Keys: block[l.keys:][:n*int64(l.shape.KeyBytes)]}
	for i, f := range l.shape.Folds {
		g.States = append(g.States, block[l.states[i]:][:n*8*int64(f.Words())])
	}
	return g
}

// hostGroups returns n groups in memory of n * groupBytes.
func hostGroups(shape *kernels.Shape, host []byte, n int64) *Groups {
	take := func(bytes int64) []byte {
		to := host[:bytes:bytes]
		host = host[bytes:]
		return to
	}
	g := &Groups{Shape: shape, Count: int(n)}
	// States first: they are words, and keep their alignment.
	for _, f := range shape.Folds {
		g.States = append(g.States, take(n*8*int64(f.Words())))
	}
	g.Keys = take(n * int64(shape.KeyBytes))
	return g
}

// copies returns the copies of n groups of a block of device memory, from the first on, to groups
// of the host from row on, or back.
func (l *groupLayout) copies(block kernels.Span, first int64, g *Groups, row, n int64, out bool) []kernels.Copy {
	copy := func(offset int64, host []byte, bytes int64) kernels.Copy {
		return kernels.Copy{Device: block.At(offset + first*bytes), Host: host[row*bytes : (row+n)*bytes], Out: out}
	}
	copies := []kernels.Copy{copy(l.keys, g.Keys, int64(l.shape.KeyBytes))}
	for i, f := range l.shape.Folds {
		copies = append(copies, copy(l.states[i], g.States[i], 8*int64(f.Words())))
	}
	return copies
}

// Groups are groups in host memory, by column.
type Groups struct {
	Shape  *kernels.Shape // whose folds tell the units of exact sums
	Count  int
	Keys   []byte   // Count * Shape.KeyBytes
	States [][]byte // of each fold: Count * its words * 8

	// Partitions are the partitions of which these are all groups; nil when they are the groups of
	// all partitions.
	Partitions []int

	// Rows is how many rows of Partitions were aggregated to the groups; 0 where Partitions is nil.
	Rows int64

	// Parts is set where the groups of Partitions are emitted in several Groups: all of these have
	// the same pointer, to how many they are. It is nil otherwise.
	Parts *int

	pinned kernels.Pinned
}

// Release gives the memory back.
func (g *Groups) Release() error {
	return failure(freePinned(&g.pinned))
}

// copyBits copies n bits of a bitmap to another, whose bits from there on are zero.
func copyBits(to []uint32, toBit int64, from []uint32, fromBit, n int64) {
	for n > 0 {
		// Up to 32 bits from one or two words, to what is left of a word.
		take := min(n, 32-toBit%32)
		i, shift := fromBit/32, uint(fromBit%32)
		bits := uint64(from[i]) >> shift
		if int64(shift)+take > 32 {
			bits |= uint64(from[i+1]) << (32 - shift)
		}
		bits &= 1<<take - 1
		to[toBit/32] |= uint32(bits << uint(toBit%32))
		toBit, fromBit, n = toBit+take, fromBit+take, n-take
	}
}

// rangesOf cuts a list of partitions into half-open ranges of neighbours, in ascending order.
func rangesOf(partitions []int) (ranges [][2]int) {
	for _, p := range slices.Sorted(slices.Values(partitions)) {
		if n := len(ranges); n > 0 && ranges[n-1][1] == p {
			ranges[n-1][1]++
			continue
		}
		ranges = append(ranges, [2]int{p, p + 1})
	}
	return ranges
}
