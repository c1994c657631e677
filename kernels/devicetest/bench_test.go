package devicetest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mpga/mpga/kernels"
)

// bench is a device with what copies need.
type bench struct {
	*testing.B
	device kernels.Device
	stream kernels.Stream
	buffer kernels.Buffer
}

// copyBytes is what one round of a benchmark copies.
const copyBytes = 1 << 30

func newBench(b *testing.B) *bench {
	b.Helper()
	device, err := kernels.Open(kernels.Options{PinnedLimit: 20 << 30})
	if err != nil {
		b.Skip(err)
	}
	stream, err := device.NewStream()
	if err != nil {
		b.Fatal(err)
	}
	buffer, err := device.Alloc(copyBytes)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(stream.Close(), buffer.Free(), device.Close()); err != nil {
			b.Error(err)
		}
	})
	return &bench{b, device, stream, buffer}
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// measure reports the rate of work that moves copyBytes, between events.
func (b *bench) measure(work func() error) {
	nanos := int64(0)
	for b.Loop() {
		first, err := b.stream.Record()
		b.must(err)
		b.must(work())
		last, err := b.stream.Record()
		b.must(err)
		b.must(last.Wait())
		n, err := last.Nanos(first)
		b.must(err)
		nanos += n
		b.must(errors.Join(first.Close(), last.Close()))
	}
	b.ReportMetric(float64(copyBytes)*float64(b.N)/float64(nanos), "GB/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkCopy measures the link: pinned and ordinary memory, and pieces in one call and in many.
func BenchmarkCopy(outer *testing.B) {
	b := newBench(outer)
	pinned, err := b.device.AllocPinned(copyBytes)
	b.must(err)
	defer func() { b.must(pinned.Free()) }()
	ordinary := make([]byte, copyBytes)
	for i := 0; i < copyBytes; i += 4096 {
		ordinary[i] = 1
	}
	run := func(name string, work func() error) {
		outer.Run(name, func(inner *testing.B) {
			(&bench{inner, b.device, b.stream, b.buffer}).measure(work)
		})
	}
	at := kernels.Span{Buffer: b.buffer}
	for _, memory := range []struct {
		name string
		host []byte
	}{{"pinned", pinned.Bytes()}, {"ordinary", ordinary}} {
		for _, out := range []bool{false, true} {
			run(fmt.Sprintf("%s/out=%v", memory.name, out), func() error {
				return b.stream.Copy(kernels.Copy{Device: at, Host: memory.host, Out: out})
			})
		}
	}
	for _, piece := range []int{64 << 10, 256 << 10, 1 << 20} {
		var copies []kernels.Copy
		for from := 0; from < copyBytes; from += piece {
			copies = append(copies, kernels.Copy{Device: kernels.Span{Buffer: b.buffer, Offset: int64(from)}, Host: pinned.Bytes()[from : from+piece]})
		}
		run(fmt.Sprintf("pieces=%d/calls=1", piece), func() error { return b.stream.CopyBatch(copies) })
		run(fmt.Sprintf("pieces=%d/calls=%d", piece, len(copies)), func() error {
			for _, c := range copies {
				if err := b.stream.Copy(c); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// BenchmarkPin measures how long memory takes to be pinned, for the first time and from the pool.
func BenchmarkPin(outer *testing.B) {
	const bytes = 8 << 30
	for _, pooled := range []bool{false, true} {
		outer.Run(fmt.Sprintf("pooled=%v", pooled), func(inner *testing.B) {
			for inner.Loop() {
				inner.StopTimer()
				device, err := kernels.Open(kernels.Options{PinnedLimit: bytes})
				if err != nil {
					inner.Skip(err)
				}
				if pooled {
					first, err := device.AllocPinned(bytes)
					if err = errors.Join(err, first.Free()); err != nil {
						inner.Fatal(err)
					}
				}
				inner.StartTimer()
				p, err := device.AllocPinned(bytes)
				inner.StopTimer()
				if err != nil {
					inner.Fatal(err)
				}
				if err := errors.Join(p.Free(), device.Close()); err != nil {
					inner.Fatal(err)
				}
				inner.StartTimer()
			}
			inner.SetBytes(bytes)
		})
	}
}
