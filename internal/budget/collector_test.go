package budget

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/mpga/mpga/internal/mem"
)

// Would catch a collector that leaves reserved memory no room, one that keeps the program's own,
// stricter limit from being kept, two engines that undo each other's, and a limit that stays when
// queries have ended.
func TestCollector(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	const limit = 3 << 30
	m := mem.NewMemory(limit)
	var c, other collector
	c.begin(limit)
	other.begin(9 << 30)
	other.adjust(m)
	if now := debug.SetMemoryLimit(-1); now != limit/3 {
		t.Errorf("%d MiB at the begin, want %d", now>>20, limit/3>>20)
	}
	if err := m.Reserve(256 << 20); err != nil {
		t.Fatal(err)
	}
	c.adjust(m)
	if now := debug.SetMemoryLimit(-1); now != limit/3+256<<20 {
		t.Errorf("%d MiB with 256 MiB reserved", now>>20)
	}
	if err := m.Reserve(2 << 30); err != nil {
		t.Fatal(err)
	}
	c.adjust(m)
	if now := debug.SetMemoryLimit(-1); now > limit {
		t.Errorf("%d MiB, which is more than the process's", now>>20)
	}
	c.end()
	other.end()
	if now := debug.SetMemoryLimit(-1); now != math.MaxInt64 {
		t.Errorf("%d MiB when no query runs", now>>20)
	}
	debug.SetMemoryLimit(limit / 4)
	c.begin(limit)
	c.adjust(m)
	if now := debug.SetMemoryLimit(-1); now != limit/4 {
		t.Errorf("%d MiB, where the program has set %d", now>>20, limit/4>>20)
	}
	c.end()
}
