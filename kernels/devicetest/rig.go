package devicetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"unsafe"

	"github.com/mpga/mpga/kernels"
)

// Rig is a device with a stream, and the memory of a test, between guards.
type Rig struct {
	t      testing.TB
	device kernels.Device
	stream kernels.Stream
	blocks []block
}

// block is guarded device memory.
type block struct {
	buffer kernels.Buffer
	bytes  int64 // between the guards
}

const (
	guardBytes = 256
	guardByte  = 0xA7
	poisonByte = 0xDB
)

func newRig(t testing.TB, device kernels.Device) *Rig {
	t.Helper()
	s, err := device.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	return &Rig{t: t, device: device, stream: s}
}

func (r *Rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// alloc returns poisoned memory between guards.
func (r *Rig) alloc(n int64) kernels.Span {
	r.t.Helper()
	b, err := r.device.Alloc(n + 2*guardBytes)
	r.must(err)
	r.blocks = append(r.blocks, block{b, n})
	r.must(r.stream.Fill(kernels.Span{Buffer: b}, n+2*guardBytes, guardByte))
	at := kernels.Span{Buffer: b, Offset: guardBytes}
	r.must(r.stream.Fill(at, n, poisonByte))
	return at
}

// put returns memory that holds host memory.
func (r *Rig) put(host []byte) kernels.Span {
	r.t.Helper()
	at := r.alloc(int64(len(host)))
	r.must(r.stream.Copy(kernels.Copy{Device: at, Host: host}))
	return at
}

// padded returns the first bytes of memory in memory of more bytes.
func (r *Rig) padded(at kernels.Span, bytes, room int64) kernels.Span {
	r.t.Helper()
	to := r.alloc(room)
	r.must(r.stream.Copy(kernels.Copy{Device: to, Host: r.get(at, bytes)}))
	return to
}

// get waits for all work, and returns device memory.
func (r *Rig) get(at kernels.Span, n int64) []byte {
	r.t.Helper()
	host := make([]byte, n)
	r.must(r.stream.Copy(kernels.Copy{Device: at, Host: host, Out: true}))
	r.wait()
	return host
}

func (r *Rig) words(at kernels.Span, n int64) []uint64 {
	r.t.Helper()
	out := make([]uint64, n)
	_, err := binary.Decode(r.get(at, 8*n), binary.LittleEndian, out)
	r.must(err)
	return out
}

func (r *Rig) status(at kernels.Span) kernels.GroupsStatus {
	r.t.Helper()
	return kernels.StatusOf(r.get(at, int64(unsafe.Sizeof(kernels.GroupsStatus{}))))
}

// wait waits for all work of the stream.
func (r *Rig) wait() {
	r.t.Helper()
	e, err := r.stream.Record()
	r.must(err)
	r.must(e.Wait())
	r.must(e.Close())
}

// free looks at all guards and gives the memory back.
func (r *Rig) free() {
	r.t.Helper()
	p, err := r.device.AllocPinned(int64(len(r.blocks)) * 2 * guardBytes)
	r.must(err)
	var copies []kernels.Copy
	for _, b := range r.blocks {
		for _, at := range []int64{0, guardBytes + b.bytes} {
			host := p.Bytes()[len(copies)*guardBytes:][:guardBytes]
			copies = append(copies, kernels.Copy{Device: kernels.Span{Buffer: b.buffer, Offset: at}, Host: host, Out: true})
		}
	}
	r.must(r.stream.CopyBatch(copies))
	r.wait()
	guard := bytes.Repeat([]byte{guardByte}, guardBytes)
	for i, c := range copies {
		if !bytes.Equal(c.Host, guard) {
			r.t.Errorf("block %d of %d B: the guard at %d was overwritten", i/2, r.blocks[i/2].bytes, c.Device.Offset)
		}
	}
	for _, b := range r.blocks {
		r.must(b.buffer.Free())
	}
	r.blocks = nil
	r.must(p.Free())
}

func (r *Rig) close() {
	r.t.Helper()
	r.free()
	r.must(r.stream.Close())
}

// putRows returns the rows of data in device memory.
func (r *Rig) putRows(d *Data) *kernels.Rows {
	rows := &kernels.Rows{Count: int64(d.Rows), Keys: r.put(d.Keys)}
	for i := range d.Columns {
		rows.Columns = append(rows.Columns, r.put(d.Columns[i]))
		valid := kernels.Span{}
		if d.Valid[i] != nil {
			valid = r.put(d.Valid[i])
		}
		rows.Valid = append(rows.Valid, valid)
	}
	return rows
}

// room returns poisoned memory for rows of a shape.
func (r *Rig) room(shape *kernels.Shape, like *kernels.Rows) *kernels.Rows {
	rows := &kernels.Rows{Count: like.Count, Keys: r.alloc(like.Count * int64(shape.KeyBytes))}
	for i, t := range shape.Columns {
		rows.Columns = append(rows.Columns, r.alloc(like.Count*int64(t.Bytes())))
		valid := kernels.Span{}
		if like.Valid[i].Buffer != nil {
			valid = r.alloc((like.Count + 31) / 32 * 4)
		}
		rows.Valid = append(rows.Valid, valid)
	}
	return rows
}

// getRows returns the first n rows as host memory.
func (r *Rig) getRows(shape *kernels.Shape, rows *kernels.Rows, n int64) *Data {
	d := &Data{Rows: int(n), Keys: r.get(rows.Keys, n*int64(shape.KeyBytes))}
	for i, t := range shape.Columns {
		d.Columns = append(d.Columns, r.get(rows.Columns[i], n*int64(t.Bytes())))
		var valid []byte
		if rows.Valid[i].Buffer != nil {
			valid = r.get(rows.Valid[i], (n+31)/32*4)
		}
		d.Valid = append(d.Valid, valid)
	}
	return d
}

// groups returns poisoned memory for groups.
func (r *Rig) groups(shape *kernels.Shape, capacity int64) *kernels.Groups {
	g := &kernels.Groups{
		Capacity: capacity,
		Status:   r.alloc(int64(unsafe.Sizeof(kernels.GroupsStatus{}))),
		Keys:     r.alloc(capacity * int64(shape.KeyBytes)),
	}
	for _, f := range shape.Folds {
		g.States = append(g.States, r.alloc(capacity*8*int64(f.Words())))
	}
	return g
}

// poison makes groups hold nothing again.
func (r *Rig) poison(shape *kernels.Shape, g *kernels.Groups) {
	r.must(r.stream.Fill(g.Status, int64(unsafe.Sizeof(kernels.GroupsStatus{})), poisonByte))
	r.must(r.stream.Fill(g.Keys, g.Capacity*int64(shape.KeyBytes), poisonByte))
	for i, f := range shape.Folds {
		r.must(r.stream.Fill(g.States[i], g.Capacity*8*int64(f.Words()), poisonByte))
	}
}

// getGroups returns groups as host memory.
func (r *Rig) getGroups(shape *kernels.Shape, g *kernels.Groups, n int64) *Groups {
	out := &Groups{Keys: r.get(g.Keys, n*int64(shape.KeyBytes))}
	for i, f := range shape.Folds {
		out.States = append(out.States, r.words(g.States[i], n*int64(f.Words())))
	}
	return out
}

// checkGroups compares groups of all rows with the answer.
func (r *Rig) checkGroups(a *Answer, g *kernels.Groups) error {
	s := r.status(g.Status)
	switch {
	case s.Overflow != 0:
		return fmt.Errorf("%d rows found no slot; %d groups, capacity %d", s.Overflow, s.Groups, g.Capacity)
	case s.Groups != uint64(len(a.rows)):
		return fmt.Errorf("%d groups, want %d", s.Groups, len(a.rows))
	}
	return a.Check(r.getGroups(a.shape, g, int64(s.Groups)))
}
