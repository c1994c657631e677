package cpurun

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

const selfTest = "testdata/selftest.cu"

// start runs the kernels of a file under a seed.
func start(t *testing.T, seed uint64, file string) *Machine {
	t.Helper()
	program, err := Build(file)
	if errors.Is(err, ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := Start(program, seed, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func words(values ...uint32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func long(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func alloc(t *testing.T, m *Machine, contents []byte) Address {
	t.Helper()
	at, err := m.Alloc(int64(len(contents)))
	if err == nil {
		err = m.Write(at, contents)
	}
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func read32(t *testing.T, m *Machine, at Address, n int) []uint32 {
	t.Helper()
	b := make([]byte, 4*n)
	if err := m.Read(b, at); err != nil {
		t.Fatal(err)
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out
}

// Catches an executor whose blocks share shared memory, or whose barriers and shuffles leak.
func TestBlocksSumUnderEverySchedule(t *testing.T) {
	const count = 5*256 + 77
	in := make([]uint32, count)
	want := uint32(0)
	for i := range in {
		in[i] = uint32(i * 7)
		want += in[i]
	}
	for seed := range uint64(8) {
		m := start(t, seed, selfTest)
		out := alloc(t, m, long(0))
		if err := m.Launch("sum_block", 6, 256, 0, long(uint64(alloc(t, m, words(in...)))), long(count), long(uint64(out))); err != nil {
			t.Fatal(err)
		}
		if got := read32(t, m, out, 1)[0]; got != want {
			t.Errorf("seed %d: sum %d, want %d", seed, got, want)
		}
	}
}

// Catches blocks that do not run side by side: the chain would wait for ever.
func TestBlocksWaitForBlocks(t *testing.T) {
	m := start(t, 5, selfTest)
	const blocks = 40
	flags, order := alloc(t, m, make([]byte, 4*blocks)), alloc(t, m, make([]byte, 4*blocks))
	ticket := alloc(t, m, words(0))
	if err := m.Launch("chain", blocks, 64, 0, long(uint64(ticket)), long(uint64(flags)), long(uint64(order))); err != nil {
		t.Fatal(err)
	}
	for i, got := range read32(t, m, order, blocks) {
		if got != uint32(i) {
			t.Fatalf("block %d of the chain has %d", i, got)
		}
	}
}

func TestWarpOperations(t *testing.T) {
	for seed := range uint64(4) {
		m := start(t, seed, selfTest)
		out := alloc(t, m, make([]byte, 4*64))
		if err := m.Launch("warp_operations", 1, 64, 0, long(uint64(out))); err != nil {
			t.Fatal(err)
		}
		for i, got := range read32(t, m, out, 64) {
			lane := uint32(i % 32)
			want := uint32(0x55) << (lane / 8 * 8)
			if lane%2 == 1 {
				want = 0xaa
			}
			want += 16 + (lane^1)<<16 + 1 + 1
			if got != want {
				t.Errorf("seed %d, thread %d: %x, want %x", seed, i, got, want)
			}
		}
	}
}

// Catches a schedule that hides a missing barrier.
func TestRaceShows(t *testing.T) {
	m := start(t, 1, selfTest)
	out := alloc(t, m, make([]byte, 4*256))
	if err := m.Launch("race", 1, 256, 0, long(uint64(out))); err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for i, got := range read32(t, m, out, 256) {
		if got != uint32(255-i) {
			wrong++
		}
	}
	if wrong == 0 {
		t.Error("a kernel without its barrier was right")
	}
}

func TestDynamicSharedMemory(t *testing.T) {
	m := start(t, 1, selfTest)
	out := alloc(t, m, make([]byte, 4*100))
	if err := m.Launch("dynamic_shared", 1, 32, 400, long(uint64(out)), words(100)); err != nil {
		t.Fatal(err)
	}
	for i, got := range read32(t, m, out, 100) {
		if got != uint32(99-i) {
			t.Fatalf("word %d: %d", i, got)
		}
	}
}

// Each kernel is wrong in one way, which must be told.
func TestWrongKernelsAreCaught(t *testing.T) {
	out := func(t *testing.T, m *Machine, n int) []byte {
		return long(uint64(alloc(t, m, make([]byte, n))))
	}
	tests := []struct {
		name string
		run  func(t *testing.T, m *Machine) error
		want string
	}{
		{"beyond a buffer", func(t *testing.T, m *Machine) error {
			return m.Launch("warp_operations", 1, 64, 0, out(t, m, 4*63))
		}, "heap-buffer-overflow"},
		{"freed buffer", func(t *testing.T, m *Machine) error {
			at := alloc(t, m, make([]byte, 256))
			if err := m.Free(at); err != nil {
				return err
			}
			return m.Launch("warp_operations", 1, 64, 0, long(uint64(at)))
		}, "use-after-free"},
		{"misaligned", func(t *testing.T, m *Machine) error {
			return m.Launch("warp_operations", 1, 32, 0, long(uint64(alloc(t, m, make([]byte, 256)))+1))
		}, "misaligned address"},
		{"beyond static shared memory", func(t *testing.T, m *Machine) error {
			return m.Launch("beyond_static", 1, 1, 0, out(t, m, 4), words(32))
		}, "out of bounds"},
		{"beyond dynamic shared memory", func(t *testing.T, m *Machine) error {
			return m.Launch("dynamic_shared", 1, 32, 392, out(t, m, 400), words(100))
		}, "AddressSanitizer"},
		{"a barrier that one thread misses", func(t *testing.T, m *Machine) error {
			return m.Launch("lost_barrier", 1, 64, 0)
		}, "no thread can go on"},
		{"a lane that has ended", func(t *testing.T, m *Machine) error {
			return m.Launch("lane_missing", 1, 32, 0)
		}, "lane 1 is not there"},
		{"no such kernel", func(t *testing.T, m *Machine) error {
			return m.Launch("absent", 1, 32, 0)
		}, "no kernel absent"},
		{"wrong size of an argument", func(t *testing.T, m *Machine) error {
			return m.Launch("race", 1, 32, 0, words(1))
		}, "has 8 B, not 4"},
		{"wrong number of arguments", func(t *testing.T, m *Machine) error {
			return m.Launch("race", 1, 32, 0)
		}, "takes 1 arguments, not 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := start(t, 3, selfTest)
			err := tt.run(t, m)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
