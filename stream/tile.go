package stream

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"github.com/mpga/mpga/kernels"
)

// Tile is rows in the host's memory, on their way to a device.
type Tile struct {
	// Rows are filled in by who submits the tile, up to Capacity.
	Rows, Capacity int

	// Keys are Rows * Shape.KeyBytes, Columns[i] Rows values of Shape.Columns[i]. Valid[i] is a bitmap,
	// least bit first, set where the value is not NULL: all bits of a tile are written; nil of a column
	// that is not nullable.
	Keys    []byte
	Columns [][]byte
	Valid   [][]uint32

	device *device
	number int
	stream *guardedStream
	host   kernels.Pinned
	input  kernels.Buffer

	// Of the route:
	output  kernels.Buffer // overflow, scattered rows, or groups
	scratch kernels.Buffer // of an aggregation or a scatter; of a table the status
	marks   [lanes + 1]kernels.Event
}

// lanes are how many there are.
const lanes = int(LaneCopyOut) + 1

// A tile's host memory ends with what its route copies out beside rows: a status, and offsets.
const tailBytes = statusBytes + (1<<radixBitsMax+1)*8

func (d *device) newTile() (*Tile, error) {
	t := &Tile{device: d, number: len(d.tiles), Capacity: int(d.layout.capacity)}
	err := firstError(
		func() (err error) {
			t.input, err = d.alloc(d.layout.bytes)
			return err
		},
		func() (err error) {
			t.host, err = d.guard.allocPinned(d.layout.bytes + tailBytes)
			return err
		},
		func() (err error) {
			t.stream, err = d.guard.newStream()
			return err
		},
	)
	if err != nil {
		return nil, errors.Join(err, t.release())
	}
	t.view()
	return t, nil
}

// view points the columns to the host memory.
func (t *Tile) view() {
	l, host := &t.device.layout, t.host.Bytes()
	t.Keys = host[l.keys : l.keys+l.capacity*int64(l.shape.KeyBytes)]
	t.Columns, t.Valid = nil, nil
	for c, typ := range l.shape.Columns {
		t.Columns = append(t.Columns, host[l.columns[c]:l.columns[c]+l.capacity*int64(typ.Bytes())])
		var valid []uint32
		if at := l.valid[c]; at >= 0 {
			valid = wordsOf[uint32](host[at : at+bitmapBytes(l.capacity)])
		}
		t.Valid = append(t.Valid, valid)
	}
}

// wordsOf views bytes as words.
func wordsOf[T uint32 | uint64](b []byte) []T {
	var w T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(w)))
}

// tail is the host memory behind the columns.
func (t *Tile) tail() []byte { return t.host.Bytes()[t.device.layout.bytes:] }

// bytes returns what is copied of the tile.
func (t *Tile) bytes() int64 {
	var n int64
	for _, c := range t.device.layout.copies(nil, 0, t.host.Bytes(), int64(t.Rows), false) {
		n += int64(len(c.Host))
	}
	return n
}

// rows returns the tile's rows on the device.
func (t *Tile) rows() kernels.Rows { return t.device.layout.rows(t.input, 0, int64(t.Rows)) }

// copyIn enqueues the copy to the device.
func (t *Tile) copyIn() error {
	return t.stream.CopyBatch(t.device.layout.copies(t.input, 0, t.host.Bytes(), int64(t.Rows), false))
}

// mark records where a lane begins, and the one before ends.
func (t *Tile) mark(i int) (err error) {
	t.marks[i], err = t.stream.Record()
	return err
}

// send enqueues a copy to the device, work there, and copies back, with marks between them.
func (t *Tile) send(copyIn, work, copyOut func() error) error {
	return t.stream.together(func() error {
		return firstError(
			func() error { return t.mark(0) },
			copyIn,
			func() error { return t.mark(1) },
			work,
			func() error { return t.mark(2) },
			copyOut,
			func() error { return t.mark(3) },
		)
	})
}

// finishMarks waits for the work of a tile, and notes when it was done.
func (d *device) finishMarks(t *Tile, work string) error {
	var last kernels.Event
	for _, e := range t.marks {
		if recorded(e) {
			last = e
		}
	}
	if last == nil {
		return nil
	}
	var err error
	if last != t.marks[lanes] {
		_ = d.finish(t.stream) // an error came between, and is known: what follows the mark must end, too
	} else if err = last.Wait(); err == nil {
		d.note(t.number, work, t.marks[:])
	}
	return errors.Join(err, t.closeMarks())
}

func (t *Tile) closeMarks() error { return t.device.guard.closeEvents(t.marks[:]) }

// leave gives the buffers of a route back. Requires: the device's lock is held.
func (t *Tile) leave() error {
	return errors.Join(t.device.freeBuffer(&t.output), t.device.freeBuffer(&t.scratch))
}

// dropInput gives back what is of no use without tiles. Requires: the device's lock is held.
func (t *Tile) dropInput() error { return t.device.freeBuffer(&t.input) }

// stop waits for the work of the tile's stream, and closes it.
func (t *Tile) stop() error {
	err := t.closeMarks()
	if t.stream != nil {
		_ = t.stream.Close() // its events have told its errors
		t.stream = nil
	}
	return err
}

func (t *Tile) release() error {
	errs := []error{t.stop(), t.leave(), t.dropInput()}
	if t.host != nil {
		errs = append(errs, t.host.Free())
		t.host = nil
	}
	return errors.Join(errs...)
}

// readStatus reads a status that was copied out.
func readStatus(b []byte) kernels.GroupsStatus {
	w := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	return kernels.GroupsStatus{Groups: w(0), Rows: w(1), Overflow: w(2), Probes: w(3)}
}
