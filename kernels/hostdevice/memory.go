package hostdevice

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/mpga/mpga/kernels"
)

// alignment of device memory, as the driver's.
const alignment = 256

// poison is what memory holds that nobody has written.
const poison = 0xDB

// arena is memory of one kind.
type arena struct {
	name   string
	limit  int64
	full   error // marks the error of an allocation beyond the limit
	used   int64
	blocks []*memory // in use
}

// memory is a block, with what streams do with it.
type memory struct {
	handle
	arena *arena
	data  []byte
	uses  []use // that the host has not waited for
}

// use is a range of memory in the work of a stream.
type use struct {
	stream *stream
	number uint64 // of the work
	work   string
	begin  int64
	end    int64
	write  bool
}

// clock says which work of each stream comes before a point.
type clock map[*stream]uint64

// merge lets all work before another point be before this point, too.
func (c clock) merge(other clock) {
	for s, n := range other {
		c[s] = max(c[s], n)
	}
}

func (d *device) alloc(call string, a *arena, n int64) (*memory, error) {
	if err := d.begin(call, false); err != nil {
		return nil, err
	}
	if n < 0 {
		panic(fmt.Sprintf("%s of %d B", a.name, n))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.used+n > a.limit {
		return nil, fmt.Errorf("%d B of %s, %d B of %d B in use: %w", n, a.name, a.used, a.limit, a.full)
	}
	data := make([]byte, n+alignment)
	skip := int(-uintptr(unsafe.Pointer(&data[0])) % alignment)
	data = data[skip : skip+int(n) : skip+int(n)]
	fill(data, poison)
	m := &memory{handle: handle{device: d}, arena: a, data: data}
	a.used += n
	a.blocks = append(a.blocks, m)
	return m, nil
}

func fill(data []byte, value byte) {
	if len(data) == 0 {
		return
	}
	data[0] = value
	for n := 1; n < len(data); n *= 2 {
		copy(data[n:], data[:n])
	}
}

// free gives memory back, which no stream may own.
func (m *memory) free() error {
	d, lost := m.device, false
	freed, err := m.close("Free", func() {
		m.forget()
		lost = d.lost != nil
		m.arena.used -= int64(len(m.data))
		i := slices.Index(m.arena.blocks, m)
		m.arena.blocks = slices.Delete(m.arena.blocks, i, i+1)
	})
	switch {
	case freed:
		return d.breach("%s of %d B is freed twice", m.arena.name, len(m.data))
	case len(m.uses) > 0 && !lost:
		use := m.uses[0]
		return d.breach("%s of %d B is freed while %v owns it: nothing has waited for %s %d",
			m.arena.name, len(m.data), use.stream, use.work, use.number)
	}
	return err
}

// forget drops the uses that the host has waited for. Requires: m.device.mu is held.
func (m *memory) forget() {
	m.uses = slices.DeleteFunc(m.uses, func(u use) bool { return u.number <= m.device.host[u.stream] })
}

// conflict returns an earlier use that nothing orders before a new one. Requires: m.device.mu is
// held.
func (m *memory) conflict(s *stream, a access) (use, bool) {
	for _, u := range m.uses {
		if u.stream != s && (u.write || a.write) && u.begin < a.end && a.begin < u.end && u.number > s.clock[u.stream] {
			return u, true
		}
	}
	return use{}, false
}

type buffer struct{ *memory }

func (b *buffer) Bytes() int64 { return int64(len(b.data)) }
func (b *buffer) Free() error  { return b.free() }

type pinned struct{ *memory }

func (p *pinned) Bytes() []byte { return p.data }
func (p *pinned) Free() error   { return p.free() }

// span returns the memory of a span, and where it begins there.
func span(s kernels.Span) (*memory, int64) { return s.Buffer.(*buffer).memory, s.Offset }

// pinnedHolding returns the pinned memory that holds host memory, and where there; nil, if none
// does. Requires: d.mu is held.
func (d *device) pinnedHolding(host []byte) (m *memory, at int64) {
	p := uintptr(unsafe.Pointer(unsafe.SliceData(host)))
	for _, m := range d.pinned.blocks {
		begin := uintptr(unsafe.Pointer(unsafe.SliceData(m.data)))
		if begin <= p && p+uintptr(len(host)) <= begin+uintptr(len(m.data)) {
			return m, int64(p - begin)
		}
	}
	return nil, 0
}
