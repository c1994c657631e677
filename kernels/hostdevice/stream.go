package hostdevice

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/kernels"
)

// stream is a queue of work and the goroutine that does it.
type stream struct {
	handle
	name int

	// Under device.mu.
	number uint64 // of the last work enqueued
	clock  clock  // of the work to be enqueued next

	mu    sync.Mutex
	ready sync.Cond
	queue []work
	end   bool
	ended chan struct{}

	failed error // of the goroutine: the first error of its work
}

// work is a piece of a stream's work. Events and waits for them come to pass whatever failed
// before.
type work struct {
	name   string
	run    func() error
	always bool
}

// access is memory that work takes.
type access struct {
	memory *memory
	begin  int64
	end    int64
	write  bool
}

func (d *device) NewStream() (kernels.Stream, error) {
	if err := d.begin("NewStream", false); err != nil {
		return nil, err
	}
	s := &stream{handle: handle{device: d}, clock: clock{}, ended: make(chan struct{})}
	s.ready.L = &s.mu
	d.mu.Lock()
	if d.streams == nil {
		d.streams = make(map[*stream]bool)
	}
	d.streams[s] = true
	d.named++
	s.name = d.named
	d.mu.Unlock()
	s.start()
	return s, nil
}

func (s *stream) String() string { return fmt.Sprintf("stream %d", s.name) }

// start does the work of the stream, on a goroutine of its own. Should the goroutine panic, another
// does the work that is always done, so that nobody waits for an event in vain.
func (s *stream) start() {
	spawn.Go(s.work, func(err error) {
		if err == nil {
			close(s.ended)
			return
		}
		s.failed = err
		s.start()
	})
}

// work does what is in the queue until the stream is closed.
func (s *stream) work() error {
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.end {
			s.ready.Wait()
		}
		if len(s.queue) == 0 {
			s.mu.Unlock()
			return nil
		}
		w := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		s.do(w)
	}
}

func (s *stream) do(w work) {
	d := s.device
	if w.always {
		_ = w.run()
		return
	}
	if s.failed == nil {
		s.failed = d.begin(w.name, true)
	}
	if s.failed == nil {
		time.Sleep(d.options.Latency)
		s.failed = spawn.Call(func() error {
			spawn.Step()
			return w.run()
		})
	}
}

// enqueue adds work that takes memory.
func (s *stream) enqueue(name string, accesses []access, run func() error) error {
	return s.add(work{name: name, run: run}, accesses, func() {})
}

// add adds work that takes memory to the queue, after the checks of H2. The device's lock is held
// while noted is called, once the stream owns the memory.
func (s *stream) add(w work, accesses []access, noted func()) error {
	d := s.device
	if err := d.begin(w.name, false); err != nil {
		return err
	}
	if err := s.take(w.name, accesses, noted); err != nil {
		if errors.Is(err, errClosed) {
			return err
		}
		return d.breach("%w", err)
	}
	s.mu.Lock()
	s.queue = append(s.queue, w)
	s.mu.Unlock()
	s.ready.Signal()
	return nil
}

// errClosed is the error of work for a stream whose device was closed before the stream: nobody would do it.
var errClosed = errors.New("the device is closed")

// take lets the stream own memory.
func (s *stream) take(name string, accesses []access, noted func()) error {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%s: %v is closed", name, s)
	}
	if s.ends() {
		return fmt.Errorf("%s on %v: %w", name, s, errClosed)
	}
	for _, a := range accesses {
		m := a.memory
		if m.closed {
			return fmt.Errorf("%s: %s of %d B is used after it was freed", name, m.arena.name, len(m.data))
		}
		if a.begin < 0 || a.end < a.begin || a.end > int64(len(m.data)) {
			return fmt.Errorf("%s: bytes %d to %d of %s of %d B", name, a.begin, a.end, m.arena.name, len(m.data))
		}
		m.forget()
		if other, ok := m.conflict(s, a); ok {
			return fmt.Errorf("%s on %v: %s of %d B belongs to %v until an event after its %s %d",
				name, s, m.arena.name, len(m.data), other.stream, other.work, other.number)
		}
	}
	s.number++
	s.clock[s] = s.number
	for _, a := range accesses {
		a.memory.uses = append(a.memory.uses, use{s, s.number, name, a.begin, a.end, a.write})
	}
	noted()
	return nil
}

func (s *stream) Copy(c kernels.Copy) error { return s.copies("Copy", []kernels.Copy{c}) }

func (s *stream) CopyBatch(c []kernels.Copy) error { return s.copies("CopyBatch", slices.Clone(c)) }

// transfer is a copy with its memory found.
type transfer struct {
	device []byte
	host   []byte
	out    bool
	read   []byte // what host must hold until the copy has read it; nil where that is not known
}

func (s *stream) copies(name string, copies []kernels.Copy) error {
	var accesses []access
	var transfers []transfer
	for _, c := range copies {
		n := int64(len(c.Host))
		if n == 0 {
			continue
		}
		m, at := span(c.Device)
		accesses = append(accesses, access{m, at, at + n, !c.Out})
		transfers = append(transfers, transfer{host: c.Host, out: c.Out})
		t := &transfers[len(transfers)-1]
		s.device.mu.Lock()
		if p, from := s.device.pinnedHolding(c.Host); p != nil {
			p.forget()
			idle := !slices.ContainsFunc(p.uses, func(u use) bool { return u.begin < from+n && from < u.end })
			accesses = append(accesses, access{p, from, from + n, c.Out})
			switch {
			case idle && c.Out:
				fill(c.Host, poison)
			case idle:
				t.read = slices.Clone(c.Host)
			}
		}
		s.device.mu.Unlock()
		if at >= 0 && at+n <= int64(len(m.data)) {
			t.device = m.data[at : at+n]
		}
	}
	return s.enqueue(name, accesses, func() error {
		for _, t := range transfers {
			if err := s.device.transfer(t); err != nil {
				return err
			}
		}
		return nil
	})
}

// transfer copies on the engine of a direction, at the device's bandwidth.
func (d *device) transfer(t transfer) error {
	engine := &d.engines[0]
	if t.out {
		engine = &d.engines[1]
	}
	engine.Lock()
	defer engine.Unlock()
	begin := time.Now()
	if t.out {
		copy(t.host, t.device)
	} else {
		if t.read != nil && !bytes.Equal(t.read, t.host) {
			return d.breach("pinned memory changes while a copy of %d B reads it", len(t.host))
		}
		copy(t.device, t.host)
	}
	if d.options.BytesPerSecond > 0 {
		takes := time.Duration(float64(len(t.host)) / d.options.BytesPerSecond * float64(time.Second))
		time.Sleep(takes - time.Since(begin))
	}
	return nil
}

func (s *stream) CopyWithin(to, from kernels.Span, bytes int64) error {
	out, at := span(to)
	in, since := span(from)
	return s.enqueue("CopyWithin", []access{{out, at, at + bytes, true}, {in, since, since + bytes, false}}, func() error {
		copy(out.data[at:at+bytes], in.data[since:since+bytes])
		return nil
	})
}

func (s *stream) Fill(at kernels.Span, bytes int64, value byte) error {
	m, from := span(at)
	return s.enqueue("Fill", []access{{m, from, from + bytes, true}}, func() error {
		fill(m.data[from:from+bytes], value)
		return nil
	})
}

// quit lets the goroutine of the stream end, after the work that is in the queue.
func (s *stream) quit() {
	s.mu.Lock()
	s.end = true
	s.mu.Unlock()
	s.ready.Signal()
}

// ends reports whether the goroutine of the stream takes no more work.
func (s *stream) ends() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end
}

func (s *stream) Close() error {
	d := s.device
	again, err := s.close("Close", func() {})
	if again {
		return d.breach("%v is closed twice", s)
	}
	s.quit()
	<-s.ended
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.streams, s)
	d.host[s] = s.number
	return cmp.Or(s.failed, err)
}

// event is a point of a stream.
type event struct {
	handle
	clock clock // of the work before the event
	done  chan struct{}

	// Set when done is closed.
	err error
	at  time.Time
}

func (s *stream) Record() (kernels.Event, error) {
	e := &event{handle: handle{device: s.device}, done: make(chan struct{})}
	err := s.add(work{name: "Record", always: true, run: func() error {
		e.err, e.at = s.failed, time.Now()
		close(e.done)
		return nil
	}}, nil, func() {
		e.clock = maps.Clone(s.clock)
		e.device.events++
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (s *stream) WaitFor(k kernels.Event) error {
	e := k.(*event)
	return s.add(work{name: "WaitFor", always: true, run: func() error {
		<-e.done
		return nil
	}}, nil, func() { s.clock.merge(e.clock) })
}

func (e *event) Wait() error {
	if err := e.device.begin("Wait", false); err != nil {
		return err
	}
	<-e.done
	e.device.mu.Lock()
	defer e.device.mu.Unlock()
	e.device.host.merge(e.clock)
	return e.err
}

func (e *event) Nanos(since kernels.Event) (int64, error) {
	if err := e.device.begin("Nanos", false); err != nil {
		return 0, err
	}
	from := since.(*event)
	for _, done := range []chan struct{}{from.done, e.done} {
		select {
		case <-done:
		default:
			return 0, errors.New("time between events: one is not done")
		}
	}
	return e.at.Sub(from.at).Nanoseconds(), nil
}

func (e *event) Close() error {
	again, err := e.close("Close", func() { e.device.events-- })
	if again {
		return e.device.breach("an event is closed twice")
	}
	return err
}
