package kernels

import (
	"testing"

	"github.com/mpga/mpga/kernels/cpurun"
)

// OpenExecutorDevice returns a device whose kernels run on the CPU. Work is done when it is
// enqueued.
func OpenExecutorDevice(t testing.TB, seed uint64) Device {
	t.Helper()
	return &executorDevice{openExecutor(t, seed, "*.cu")}
}

type executorDevice struct{ *executor }

func (d *executorDevice) Properties() Properties                 { return d.deviceProperties() }
func (d *executorDevice) Memory() (free, total int64, err error) { return 1 << 30, 1 << 30, nil }
func (d *executorDevice) AllocPinned(n int64) (Pinned, error) {
	return executorPinned(make([]byte, n)), nil
}
func (d *executorDevice) NewStream() (Stream, error) {
	return &executorStream{d.executor, operators{d.executor}}, nil
}
func (d *executorDevice) Close() error { return nil } // the machine's test closes it

func (d *executorDevice) Alloc(n int64) (Buffer, error) {
	at, err := d.machine.Alloc(n)
	return &executorBuffer{d.executor, at, n}, err
}

type executorPinned []byte

func (p executorPinned) Bytes() []byte { return p }
func (p executorPinned) Free() error   { return nil }

type executorStream struct {
	*executor
	operators
}

func (s *executorStream) Copy(c Copy) error {
	at := cpurun.Address(s.address(c.Device, int64(len(c.Host))))
	if c.Out {
		return s.machine.Read(c.Host, at)
	}
	return s.machine.Write(at, c.Host)
}

func (s *executorStream) CopyBatch(copies []Copy) error {
	for _, c := range copies {
		if err := s.Copy(c); err != nil {
			return err
		}
	}
	return nil
}

func (s *executorStream) CopyWithin(to, from Span, bytes int64) error {
	s.copyWithin(s.address(to, bytes), s.address(from, bytes), bytes)
	return s.submit("copy within")
}

func (s *executorStream) Fill(at Span, bytes int64, value byte) error {
	s.fill(s.address(at, bytes), bytes, value)
	return s.submit("fill")
}

func (s *executorStream) Record() (Event, error) { return executorEvent{}, nil }
func (s *executorStream) WaitFor(Event) error    { return nil }
func (s *executorStream) Close() error           { return nil }

type executorEvent struct{}

func (executorEvent) Wait() error                { return nil }
func (executorEvent) Nanos(Event) (int64, error) { return 0, nil }
func (executorEvent) Close() error               { return nil }
