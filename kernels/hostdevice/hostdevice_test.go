package hostdevice_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(checked{m}) }

// checked runs tests, after which all that devices have handed out must be given back.
type checked struct{ *testing.M }

func (c checked) Run() int { return invariants.Run(c.M) }

// rig is a device with two streams, and the breaches that it reported.
type rig struct {
	t        *testing.T
	device   kernels.Device
	a, b     kernels.Stream
	buffer   kernels.Buffer
	pinned   kernels.Pinned
	held     sync.RWMutex // while it is locked, no work of a stream is done
	breaches []string
}

const rigBytes = 1 << 16

func newRig(t *testing.T, o hostdevice.Options) *rig {
	t.Helper()
	r := &rig{t: t}
	o.Report = func(err error) { r.breaches = append(r.breaches, err.Error()) }
	o.Fail = func(c hostdevice.Call) error {
		if c.Work {
			r.held.RLock()
			defer r.held.RUnlock()
		}
		return nil
	}
	var err error
	take := func(e error) { err = errors.Join(err, e) }
	var e error
	r.device, e = hostdevice.Open(o)
	take(e)
	r.a, e = r.device.NewStream()
	take(e)
	r.b, e = r.device.NewStream()
	take(e)
	r.buffer, e = r.device.Alloc(rigBytes)
	take(e)
	r.pinned, e = r.device.AllocPinned(rigBytes)
	take(e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) wait(s kernels.Stream) error {
	r.t.Helper()
	e, err := s.Record()
	r.must(err)
	return errors.Join(e.Wait(), e.Close())
}

func (r *rig) close() {
	r.t.Helper()
	r.must(errors.Join(r.a.Close(), r.b.Close(), r.buffer.Free(), r.pinned.Free(), r.device.Close()))
}

func (r *rig) span() kernels.Span { return kernels.Span{Buffer: r.buffer} }

func (r *rig) in() kernels.Copy { return kernels.Copy{Device: r.span(), Host: r.pinned.Bytes()} }

func (r *rig) out() kernels.Copy {
	c := r.in()
	c.Out = true
	return c
}

// What breaks the rules of ownership is told, by name.
func TestBreaches(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(r *rig)
		want string // "" for what is allowed
	}{
		{"freed while a stream owns it", func(r *rig) {
			b, err := r.device.Alloc(100)
			r.must(err)
			r.must(r.a.Fill(kernels.Span{Buffer: b}, 100, 1))
			_ = b.Free()
		}, "device memory of 100 B is freed while stream 1 owns it: nothing has waited for Fill 1"},
		{"freed after an event", func(r *rig) {
			b, err := r.device.Alloc(100)
			r.must(err)
			r.must(r.a.Fill(kernels.Span{Buffer: b}, 100, 1))
			r.must(r.wait(r.a))
			r.must(b.Free())
		}, ""},
		{"freed twice", func(r *rig) {
			b, err := r.device.Alloc(100)
			r.must(err)
			r.must(b.Free())
			_ = b.Free()
		}, "device memory of 100 B is freed twice"},
		{"used after it was freed", func(r *rig) {
			b, err := r.device.Alloc(100)
			r.must(err)
			r.must(b.Free())
			_ = r.a.Fill(kernels.Span{Buffer: b}, 100, 1)
		}, "Fill: device memory of 100 B is used after it was freed"},
		{"beyond the end", func(r *rig) {
			_ = r.a.Fill(kernels.Span{Buffer: r.buffer, Offset: rigBytes - 1}, 2, 1)
		}, "Fill: bytes 65535 to 65537 of device memory of 65536 B"},
		{"written by two streams", func(r *rig) {
			r.must(r.a.Fill(r.span(), 10, 1))
			_ = r.b.Fill(r.span(), 10, 2)
		}, "Fill on stream 2: device memory of 65536 B belongs to stream 1 until an event after its Fill 1"},
		{"read while another stream writes", func(r *rig) {
			r.must(r.a.Fill(r.span(), 10, 1))
			_ = r.b.Copy(r.out())
		}, "Copy on stream 2: device memory of 65536 B belongs to stream 1"},
		{"different parts by two streams", func(r *rig) {
			r.must(r.a.Fill(r.span(), 10, 1))
			r.must(r.b.Fill(kernels.Span{Buffer: r.buffer, Offset: 10}, 10, 2))
		}, ""},
		{"handed over by an event", func(r *rig) {
			r.must(r.a.Fill(r.span(), 10, 1))
			e, err := r.a.Record()
			r.must(err)
			r.must(r.b.WaitFor(e))
			r.must(r.b.Fill(r.span(), 10, 2))
			r.must(e.Close())
		}, ""},
		{"handed over by an event before the work", func(r *rig) {
			e, err := r.a.Record()
			r.must(err)
			r.must(r.a.Fill(r.span(), 10, 1))
			r.must(r.b.WaitFor(e))
			_ = r.b.Fill(r.span(), 10, 2)
			r.must(e.Close())
		}, "Fill on stream 2: device memory"},
		{"pinned memory written too early", func(r *rig) {
			r.held.Lock()
			r.must(r.a.Copy(r.in()))
			r.pinned.Bytes()[7]++
			r.held.Unlock()
		}, "pinned memory changes while a copy of 65536 B reads it"},
		{"pinned memory copied by two streams", func(r *rig) {
			r.must(r.a.Copy(r.out()))
			other, err := r.device.Alloc(rigBytes)
			r.must(err)
			_ = r.b.Copy(kernels.Copy{Device: kernels.Span{Buffer: other}, Host: r.pinned.Bytes()})
			r.must(r.wait(r.a))
			r.must(other.Free())
		}, "Copy on stream 2: pinned memory of 65536 B belongs to stream 1"},
		{"not aligned", func(r *rig) {
			_ = r.a.Sample(&kernels.Shape{KeyBytes: 8}, &kernels.Rows{Count: 1, Keys: kernels.Span{Buffer: r.buffer, Offset: 8}}, r.span())
		}, "Sample: a span begins at byte 8 of its buffer, which is no multiple of 16"},
		{"an event closed twice", func(r *rig) {
			e, err := r.a.Record()
			r.must(err)
			r.must(e.Close())
			_ = e.Close()
		}, "an event is closed twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, hostdevice.Options{})
			tc.do(r)
			_ = r.wait(r.a)
			_ = r.wait(r.b)
			switch {
			case tc.want == "" && len(r.breaches) > 0:
				t.Errorf("reported %q", r.breaches)
			case tc.want != "" && (len(r.breaches) != 1 || !strings.HasPrefix(r.breaches[0], tc.want)):
				t.Errorf("reported %q, want %q", r.breaches, tc.want)
			}
			_ = errors.Join(r.a.Close(), r.b.Close(), r.buffer.Free(), r.pinned.Free())
		})
	}
}

// Would catch a device that is closed over what is left without a word, and work that is waited for and that no stream
// is left to do.
func TestLeaks(t *testing.T) {
	r := newRig(t, hostdevice.Options{})
	e, err := r.a.Record()
	r.must(err)
	err = r.device.Close()
	for _, want := range []string{"2 streams", "1 events", "1 device buffers", "1 pinned buffers"} {
		if err == nil || !strings.Contains(err.Error(), want+" left when the device is closed") {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if _, err := r.a.Record(); err == nil {
		t.Error("an event is recorded on a device that is closed")
	}
	r.must(e.Wait())
	r.must(e.Close())
	r.close()
}

// Results are not there before an event says so.
func TestAsynchrony(t *testing.T) {
	const latency = 20 * time.Millisecond
	r := newRig(t, hostdevice.Options{Latency: latency})
	r.held.Lock()
	r.must(r.a.Fill(r.span(), rigBytes, 1))
	r.must(r.a.Copy(r.out()))
	e, err := r.a.Record()
	r.must(err)
	if got := r.pinned.Bytes()[0]; got == 1 {
		t.Error("a result is there at once")
	}
	begin := time.Now()
	r.held.Unlock()
	r.must(e.Wait())
	if took := time.Since(begin); took < 2*latency {
		t.Errorf("two pieces of work of %v took %v", latency, took)
	}
	if !bytes.Equal(r.pinned.Bytes(), bytes.Repeat([]byte{1}, rigBytes)) {
		t.Error("not what was filled in")
	}
	r.must(e.Close())
	r.close()
}

// Copies take the time of their bytes; those of one direction take turns, those of both do not.
func TestBandwidth(t *testing.T) {
	const n = 1 << 20
	run := func(outOfB bool) time.Duration {
		r := newRig(t, hostdevice.Options{BytesPerSecond: n / 0.05}) // 50 ms a copy
		x, err := r.device.Alloc(2 * n)
		r.must(err)
		p, err := r.device.AllocPinned(2 * n)
		r.must(err)
		first, err := r.a.Record()
		r.must(err)
		r.must(r.a.Copy(kernels.Copy{Device: kernels.Span{Buffer: x}, Host: p.Bytes()[:n]}))
		r.must(r.b.Copy(kernels.Copy{Device: kernels.Span{Buffer: x, Offset: n}, Host: p.Bytes()[n:], Out: outOfB}))
		e, err := r.b.Record()
		r.must(err)
		r.must(r.a.WaitFor(e))
		last, err := r.a.Record()
		r.must(err)
		r.must(last.Wait())
		nanos, err := last.Nanos(first)
		r.must(err)
		r.must(errors.Join(e.Close(), first.Close(), last.Close(), x.Free(), p.Free()))
		r.close()
		return time.Duration(nanos)
	}
	if same := run(false); same < 100*time.Millisecond {
		t.Errorf("two copies of 50 ms took %v in one direction", same)
	}
	// On a busy machine two copies may come one after the other; that would be always, if they took
	// turns.
	both := run(true)
	for tries := 1; both >= 100*time.Millisecond && tries < 20; tries++ {
		both = run(true)
	}
	if both < 50*time.Millisecond || both >= 100*time.Millisecond {
		t.Errorf("two copies of 50 ms took %v in both directions", both)
	}
}

// The n-th call fails, for every n; so does the n-th piece of work. The error arrives, all is given
// back, and what is lost stays lost.
func TestFaults(t *testing.T) {
	fault := errors.New("injected")
	for _, cause := range []error{fault, kernels.ErrDeviceLost, kernels.ErrOutOfMemory} {
		for _, work := range []bool{false, true} {
			failed := 0
			for n := int64(1); ; n++ {
				device, err := hostdevice.Open(hostdevice.Options{Fail: hostdevice.FailNth(n, work, cause)})
				if err != nil {
					t.Fatal(err)
				}
				err = use(device)
				if err == nil {
					break
				}
				if failed++; !errors.Is(err, cause) {
					t.Errorf("call %d, work %v: %v is not %v", n, work, err, cause)
				}
				if err := device.Close(); err != nil {
					t.Errorf("call %d, work %v: %v", n, work, err)
				}
			}
			if want := map[bool]int{false: 9, true: 2}[work]; failed < want {
				t.Errorf("work %v: %d failed, want %d at least", work, failed, want)
			}
		}
	}
}

// use does a little of everything, and gives back what it took.
func use(d kernels.Device) (err error) {
	also := func(e error) { err = errors.Join(err, e) }
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	b, err := d.Alloc(100)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	p, err := d.AllocPinned(100)
	if err != nil {
		return errors.Join(err, s.Close(), b.Free())
	}
	defer func() { also(p.Free()) }()
	defer func() { also(b.Free()) }()
	defer func() { also(s.Close()) }()
	if err := s.Copy(kernels.Copy{Device: kernels.Span{Buffer: b}, Host: p.Bytes()}); err != nil {
		return err
	}
	if err := s.Fill(kernels.Span{Buffer: b}, 100, 1); err != nil {
		return err
	}
	e, err := s.Record()
	if err != nil {
		return err
	}
	defer func() { also(e.Close()) }()
	if err := s.WaitFor(e); err != nil {
		return err
	}
	if _, _, err := d.Memory(); err != nil {
		return err
	}
	return e.Wait()
}

func TestOptions(t *testing.T) {
	_, err := hostdevice.Open(hostdevice.Options{MemoryLimit: -1, Latency: -1})
	if err == nil || !strings.Contains(err.Error(), "MemoryLimit (-1) must not be negative") || !strings.Contains(err.Error(), "Latency") {
		t.Error(err)
	}
}
