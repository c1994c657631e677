package stream

import (
	"errors"
	"slices"
	"unsafe"

	"github.com/mpga/mpga/kernels"
)

// Tile is rows in the host's memory, on their way to a device.
type Tile struct {
	// Rows is how many rows the tile has, up to Capacity. Who fills the tile sets it.
	Rows, Capacity int

	// Keys are Rows * Shape.KeyBytes, Columns[i] Rows values of Shape.Columns[i]. Valid[i] is a
	// bitmap, least bit first, set where the value is not NULL: all bits of a tile are written.
	// Valid[i] is nil where column i is not nullable.
	Keys    []byte
	Columns [][]byte
	Valid   [][]uint32

	// Encoded has the rows in place of Keys, Columns and Valid, from Encode to SubmitEncoded; else nil.
	Encoded *Encoded

	markedStream
	host    kernels.Pinned
	input   kernels.Buffer
	encoded kernels.Buffer // of an encoded tile; nil where tiles cannot be encoded
	decoded bool           // input has the rows, and the host has none

	exponents kernels.Buffer // of all rows that it has had, of exact sums; nil without one

	stringsSeen int64 // device.stringsAdded when its strings were last looked up

	// Of the route:
	output  kernels.Buffer // overflow, scattered rows, or groups
	scratch kernels.Buffer // of an aggregation or a scatter; of a table the status
}

// A tile's host memory ends with a status and offsets, or with a block of few groups, which its route copies
// out beside rows.
const tailBytesMin = statusBytes + (1<<radixBitsMax+1)*8

func (d *device) newTile() (*Tile, error) {
	t := &Tile{Capacity: int(d.layout.capacity), markedStream: markedStream{device: d, number: len(d.tiles)}}
	err := d.alloc(&t.input, d.layout.bytes)
	bytes := d.layout.bytes
	if l := d.encoded; err == nil && l != nil {
		t.encoded, err = d.guard.alloc(l.bytes)
		bytes = max(bytes, l.host)
	}
	if err == nil {
		t.host, err = d.guard.allocPinned(bytes + d.tailBytes())
	}
	if err == nil {
		t.stream, err = d.guard.newStream()
	}
	if err == nil {
		err = t.openExponents()
	}
	if err != nil {
		return nil, errors.Join(err, t.release())
	}
	t.view(&d.layout, t.host.Bytes(), d.layout.capacity)
	return t, nil
}

// view points the columns to n rows of a block of host memory.
func (t *Tile) view(l *layout, host []byte, n int64) {
	t.Keys = host[l.keys : l.keys+n*int64(l.shape.KeyBytes)]
	for c, typ := range l.shape.Columns {
		t.Columns = append(t.Columns, host[l.columns[c]:l.columns[c]+n*int64(typ.Bytes())])
		var valid []uint32
		if at := l.valid[c]; at >= 0 {
			valid = wordsOf[uint32](host[at : at+kernels.BitmapBytes(n)])
		}
		t.Valid = append(t.Valid, valid)
	}
}

// hostTile returns n rows of a block of host memory as a tile of no device.
func hostTile(l *layout, host []byte, n int64) *Tile {
	t := &Tile{Rows: int(n), Capacity: int(l.capacity)}
	t.view(l, host, n)
	return t
}

// wordsOf views bytes as words.
func wordsOf[T uint32 | uint64 | int64](b []byte) []T {
	var w T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(w)))
}

// tail is the host memory behind the rows.
func (t *Tile) tail() []byte {
	host := t.host.Bytes()
	return host[int64(len(host))-t.device.tailBytes():]
}

// copies returns the copies of the tile's rows to the device, if they are not there.
func (t *Tile) copies() []kernels.Copy {
	if t.decoded {
		return nil
	}
	return t.device.layout.copies(t.input, 0, t.host.Bytes(), int64(t.Rows), false)
}

// rows returns the tile's rows on the device.
func (t *Tile) rows() kernels.Rows { return t.device.layout.rows(t.input, 0, int64(t.Rows)) }

// copyIn enqueues the copy to the device, and a look at what exact sums are to add.
func (t *Tile) copyIn() error {
	err := t.stream.CopyBatch(t.copies())
	if err != nil || t.exponents == nil {
		return err
	}
	rows := t.rows()
	return t.stream.Exponents(&t.device.run.opt.Shape, &rows, kernels.Span{Buffer: t.exponents})
}

// send enqueues a copy to the device, work there, and copies back, with marks between them.
func (t *Tile) send(in, work, out func() error) error {
	return t.stream.together(func() error {
		return errors.Join(t.mark(0), in(), t.mark(1), work(), t.mark(2), out(), t.mark(3))
	})
}

// finish waits for the work of a tile, which has a name, and notes when it was done.
func (t *Tile) finish(work string) error {
	switch {
	case !slices.ContainsFunc(t.marks[:], (*guardedEvent).recorded):
		return nil
	case !t.marks[lanes].recorded():
		_ = t.device.finish(t.stream) // an error came between, and is known: what follows the marks must end, too
		return t.closeMarks()
	}
	if err := t.marks[lanes].Wait(); err != nil {
		return errors.Join(err, t.closeMarks())
	}
	return t.note(work)
}

// leave gives the buffers of a route back. Requires: the device's lock is held.
func (t *Tile) leave() error {
	return errors.Join(t.device.freeBuffer(&t.output), t.device.freeBuffer(&t.scratch))
}

// drop gives all device memory of the tile back. Requires: the device's lock is held.
func (t *Tile) drop() error {
	err := errors.Join(t.leave(), t.device.freeBuffer(&t.input), t.device.freeBuffer(&t.exponents))
	if t.encoded != nil {
		err = errors.Join(err, t.device.guard.free(t.encoded.Free))
		t.encoded = nil
	}
	return err
}

func (t *Tile) release() error {
	return errors.Join(t.stop(), t.drop(), freePinned(&t.host))
}
