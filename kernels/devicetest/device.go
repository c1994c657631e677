package devicetest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/mpga/mpga/kernels"
)

// Device holds everything but the operators to the contract. The device has a memory limit of
// limitBytes, which the suite reaches, and nothing else uses it.
func Device(t *testing.T, device kernels.Device, limitBytes int64) {
	t.Run("properties", func(t *testing.T) { properties(t, device) })
	t.Run("memory", func(t *testing.T) { memory(t, device, limitBytes) })
	t.Run("pinned", func(t *testing.T) { pinned(t, device) })
	t.Run("copies", func(t *testing.T) { copies(t, device) })
	t.Run("batches", func(t *testing.T) { batches(t, device) })
	t.Run("many copies", func(t *testing.T) { manyCopies(t, device) })
	t.Run("copies within", func(t *testing.T) { copiesWithin(t, device) })
	t.Run("fills", func(t *testing.T) { fills(t, device) })
	t.Run("events", func(t *testing.T) { events(t, device) })
	t.Run("streams in order", func(t *testing.T) { order(t, device) })
	t.Run("many goroutines", func(t *testing.T) { goroutines(t, device) })
}

func properties(t *testing.T, device kernels.Device) {
	p := device.Properties()
	if p.Name == "" || p.UUID == "" || p.MemoryBytes <= 0 || p.Multiprocessors < 1 ||
		p.SharedBytesMax < 48<<10 || p.CopyEngines < 1 {
		t.Errorf("%+v", p)
	}
}

// memory is counted, up to the limit and not beyond, and given back.
func memory(t *testing.T, device kernels.Device, limitBytes int64) {
	free, total, err := device.Memory()
	if err != nil || total != limitBytes || free != total {
		t.Fatalf("%d B free of %d B, want %d of %d, %v", free, total, limitBytes, limitBytes, err)
	}
	var buffers []kernels.Buffer
	for _, n := range []int64{1, 255, 256, 257, 1 << 20, 0} {
		b, err := device.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		if b.Bytes() != n {
			t.Errorf("a buffer of %d B has %d B", n, b.Bytes())
		}
		buffers = append(buffers, b)
		free -= n
	}
	if now, _, err := device.Memory(); now != free || err != nil {
		t.Errorf("%d B free, want %d, %v", now, free, err)
	}
	if _, err := device.Alloc(free + 1); !errors.Is(err, kernels.ErrOutOfMemory) {
		t.Errorf("one byte too many: %v", err)
	}
	for _, b := range buffers {
		if err := b.Free(); err != nil {
			t.Error(err)
		}
	}
	if now, _, err := device.Memory(); now != total || err != nil {
		t.Errorf("%d B free of %d B at the end, %v", now, total, err)
	}
	memoryAgain(t, device, total)
}

// memoryAgain would catch memory that was given back, and is more than is asked for now, which counts as if all of it
// were in use: less than the limit is had then.
func memoryAgain(t *testing.T, device kernels.Device, total int64) {
	const parts = 24
	for round := range int64(3) {
		var buffers []kernels.Buffer
		left := total
		for left > 0 {
			n := min(total/parts-round*(4<<10), left)
			b, err := device.Alloc(n)
			if err != nil {
				t.Fatalf("round %d, %d B with %d B of %d B free: %v", round, n, left, total, err)
			}
			buffers = append(buffers, b)
			left -= n
		}
		for _, b := range buffers {
			if err := b.Free(); err != nil {
				t.Error(err)
			}
		}
	}
}

func pinned(t *testing.T, device kernels.Device) {
	for _, n := range []int64{0, 1, 4095, 4097, 1 << 20, 3<<20 + 5} {
		p, err := device.AllocPinned(n)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(p.Bytes())) != n || int64(cap(p.Bytes())) != n {
			t.Errorf("pinned memory of %d B has %d B", n, len(p.Bytes()))
		}
		for i := range p.Bytes() {
			p.Bytes()[i] = byte(i)
		}
		if err := p.Free(); err != nil {
			t.Error(err)
		}
	}
}

func random(n int, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// copies move bytes of pinned and of ordinary memory, in and out, of any size and place.
func copies(t *testing.T, device kernels.Device) {
	r := newRig(t, device)
	defer r.close()
	for _, n := range []int{0, 1, 15, 4096, 100_003, 3 << 20} {
		want := random(n, uint64(n))
		p, err := device.AllocPinned(2 * int64(n))
		r.must(err)
		in, out := p.Bytes()[:n], p.Bytes()[n:]
		copy(in, want)
		at := r.alloc(int64(n))
		r.must(r.stream.Copy(kernels.Copy{Device: at, Host: in}))
		r.must(r.stream.Copy(kernels.Copy{Device: at, Host: out, Out: true}))
		r.wait()
		if !bytes.Equal(out, want) {
			t.Errorf("%d B of pinned memory: not what went in", n)
		}
		r.must(p.Free())
		if got := r.get(r.put(want), int64(n)); !bytes.Equal(got, want) {
			t.Errorf("%d B of ordinary memory: not what went in", n)
		}
		if n > 100 {
			if got := r.get(at.At(13), int64(n)-20); !bytes.Equal(got, want[13:n-7]) {
				t.Errorf("%d B at 13: not what went in", n-20)
			}
		}
	}
}

// batches move what single copies would.
func batches(t *testing.T, device kernels.Device) {
	r := newRig(t, device)
	defer r.close()
	r.must(r.stream.CopyBatch(nil))
	const piece, pieces = 4096, 64
	want := random(piece*pieces, 3)
	p, err := device.AllocPinned(2 * piece * pieces)
	r.must(err)
	in, out := p.Bytes()[:piece*pieces], p.Bytes()[piece*pieces:]
	copy(in, want)
	at := r.alloc(piece * pieces)
	var to, from []kernels.Copy
	for i := range pieces {
		place := (i*37 + 11) % pieces // a permutation
		span := at.At(int64(place) * piece)
		n := piece - i%7 // the rest of a piece stays poisoned
		to = append(to, kernels.Copy{Device: span, Host: in[i*piece : i*piece+n]})
		from = append(from, kernels.Copy{Device: span, Host: out[i*piece : i*piece+n], Out: true})
	}
	ordinary := random(100, 4)
	last := at.At(piece*pieces - 100)
	to = append(to, kernels.Copy{Device: last, Host: nil})
	clear(out)
	r.must(r.stream.CopyBatch(to))
	r.must(r.stream.CopyBatch(from))
	r.must(r.stream.CopyBatch([]kernels.Copy{{Device: last, Host: ordinary}}))
	r.wait()
	for i := range pieces {
		n := piece - i%7
		if !bytes.Equal(out[i*piece:i*piece+n], want[i*piece:i*piece+n]) {
			t.Errorf("piece %d is not what went in", i)
		}
	}
	if got := r.get(last, 100); !bytes.Equal(got, ordinary) {
		t.Error("ordinary memory in a batch: not what went in")
	}
	r.must(p.Free())
}

// manyCopies are thousands of pieces of any size and place in one batch, on several streams at
// once, as of partitions that come back from the host. A driver's call for batches of copies has
// failed here, and only on a device.
func manyCopies(t *testing.T, device kernels.Device) {
	var streams sync.WaitGroup
	for stream := range 3 {
		streams.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(stream)))
			for _, c := range []struct{ pieces, bytesMax int }{{1500, 20 << 10}, {6000, 4 << 10}} {
				if err := manyCopiesOn(device, rng, c.pieces, c.bytesMax); err != nil {
					t.Errorf("stream %d, %d copies of up to %d B: %v", stream, c.pieces, c.bytesMax, err)
					return
				}
			}
		})
	}
	streams.Wait()
}

// manyCopiesOn copies pieces of pinned memory, of up to bytesMax and a few of 1 MiB, to a device
// and back, to another place, by a batch each.
func manyCopiesOn(device kernels.Device, rng *rand.Rand, pieces, bytesMax int) error {
	const word, largePiece = 4, 1 << 20
	sizes, total := make([]int, pieces), 0
	for i := range sizes {
		sizes[i] = word * (1 + rng.IntN(bytesMax/word))
		if i%1000 == 0 {
			sizes[i] = largePiece
		}
		total += sizes[i]
	}
	starts := make([]int, pieces)
	for i := 1; i < pieces; i++ {
		starts[i] = starts[i-1] + sizes[i-1]
	}
	return thereAndBack(device, int64(total), 2*int64(total),
		func(s kernels.Stream, b kernels.Buffer, pinned []byte) (in, out []byte, err error) {
			in, out = pinned[:total], pinned[total:]
			for i := 0; i+8 <= total; i += 8 {
				binary.LittleEndian.PutUint64(in[i:], rng.Uint64())
			}
			clear(out)
			var to, from []kernels.Copy
			for _, i := range rng.Perm(pieces) {
				at := kernels.Span{Buffer: b, Offset: int64(total - starts[i] - sizes[i])} // the pieces in reverse
				to = append(to, kernels.Copy{Device: at, Host: in[starts[i]:][:sizes[i]]})
				from = append(from, kernels.Copy{Device: at, Host: out[starts[i]:][:sizes[i]], Out: true})
			}
			return in, out, errors.Join(s.CopyBatch(to), s.CopyBatch(from))
		})
}

// thereAndBack calls a function that copies memory to a device and back, with device memory and
// pinned memory, and compares what went in with what comes out.
func thereAndBack(device kernels.Device, deviceBytes, pinnedBytes int64,
	copies func(kernels.Stream, kernels.Buffer, []byte) (in, out []byte, err error)) (err error) {
	s, err := device.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	b, err := device.Alloc(deviceBytes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Free()) }()
	p, err := device.AllocPinned(pinnedBytes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Free()) }()
	in, out, copyErr := copies(s, b, p.Bytes())
	e, err := s.Record()
	if err != nil {
		return errors.Join(copyErr, err)
	}
	err = errors.Join(copyErr, e.Wait(), e.Close())
	if err == nil && !bytes.Equal(in, out) {
		err = errors.New("not what went in")
	}
	return err
}

// copiesWithin move memory from one place of the device to another.
func copiesWithin(t *testing.T, device kernels.Device) {
	r := newRig(t, device)
	defer r.close()
	want := random(1000, 5)
	from, to := r.put(want), r.alloc(1000)
	r.must(r.stream.CopyWithin(to, from, 0))
	r.must(r.stream.CopyWithin(to.At(7), from.At(100), 800))
	got := r.get(to, 1000)
	if !bytes.Equal(got[7:807], want[100:900]) {
		t.Error("800 B at 100 are not what was copied to 7")
	}
	for _, rest := range [][]byte{got[:7], got[807:]} {
		if !bytes.Equal(rest, bytes.Repeat([]byte{poisonByte}, len(rest))) {
			t.Error("a copy within the device wrote beyond its end")
		}
	}
}

func fills(t *testing.T, device kernels.Device) {
	r := newRig(t, device)
	defer r.close()
	at := r.alloc(1000)
	r.must(r.stream.Fill(at, 0, 1))
	r.must(r.stream.Fill(at.At(3), 10, 0x5C))
	want := bytes.Repeat([]byte{poisonByte}, 1000)
	copy(want[3:13], bytes.Repeat([]byte{0x5C}, 10))
	if !bytes.Equal(r.get(at, 1000), want) {
		t.Error("a fill of 10 B at 3 did something else")
	}
}

// events are done after the work before them, and tell the time between them.
func events(t *testing.T, device kernels.Device) {
	r := newRig(t, device)
	defer r.close()
	at := r.alloc(8 << 20)
	first, err := r.stream.Record()
	r.must(err)
	for i := range 10 {
		r.must(r.stream.Fill(at, 8<<20, byte(i)))
	}
	last, err := r.stream.Record()
	r.must(err)
	r.must(last.Wait())
	if nanos, err := last.Nanos(first); err != nil || nanos <= 0 || nanos > 60e9 {
		t.Errorf("%d ns, %v", nanos, err)
	}
	r.must(first.Wait())
	r.must(first.Close())
	r.must(last.Close())
}

// order hands a buffer back and forth between two streams, which only events keep apart.
func order(t *testing.T, device kernels.Device) {
	r := newRig(t, device)
	defer r.close()
	other, err := device.NewStream()
	r.must(err)
	const n = 4 << 20
	at := r.alloc(n)
	p, err := device.AllocPinned(n)
	r.must(err)
	streams := []kernels.Stream{r.stream, other}
	var open []kernels.Event
	for i := range 20 {
		from, to := streams[i%2], streams[(i+1)%2]
		r.must(from.Fill(at, n, byte(i)))
		e, err := from.Record()
		r.must(err)
		r.must(to.WaitFor(e))
		open = append(open, e)
	}
	r.must(r.stream.Copy(kernels.Copy{Device: at, Host: p.Bytes(), Out: true}))
	r.wait()
	if !bytes.Equal(p.Bytes(), bytes.Repeat([]byte{19}, n)) {
		t.Errorf("the last fill was not the last: %d", p.Bytes()[0])
	}
	for _, e := range open {
		r.must(e.Close())
	}
	r.must(p.Free())
	r.must(other.Close())
}

// goroutines use the device at once, each with streams of its own.
func goroutines(t *testing.T, device kernels.Device) {
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for round := range 5 {
				if err := roundTrip(device, 100_000+worker, uint64(10*worker+round)); err != nil {
					t.Errorf("worker %d, round %d: %v", worker, round, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func roundTrip(device kernels.Device, n int, seed uint64) error {
	return thereAndBack(device, int64(n), int64(n),
		func(s kernels.Stream, b kernels.Buffer, pinned []byte) (in, out []byte, err error) {
			in, out = random(n, seed), make([]byte, n)
			copy(pinned, in)
			at := kernels.Span{Buffer: b}
			return in, out, errors.Join(s.Copy(kernels.Copy{Device: at, Host: pinned}),
				s.Copy(kernels.Copy{Device: at, Host: out, Out: true}))
		})
}
