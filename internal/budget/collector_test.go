package budget

import (
	"math"
	"runtime"
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
	c.close()
	other.end()
	other.close()
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
	c.close()
}

// Would catch a rate that is not set, one that a large heap keeps from the time when it was small,
// one that replaces the program's own, and one that stays when queries have ended.
func TestCollectorPercent(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(percentDefault))
	percent := func() int {
		now := debug.SetGCPercent(percentDefault)
		debug.SetGCPercent(now)
		return now
	}
	const limit = 16 << 30
	m := mem.NewMemory(limit)
	var c collector
	runtime.GC()
	c.begin(limit)
	if now := percent(); now < 10*percentDefault {
		t.Errorf("GOGC=%d with a small heap", now)
	}
	large := make([]byte, 2*garbageMax)
	runtime.GC()
	c.adjust(m)
	if now := percent(); now != percentDefault {
		t.Errorf("GOGC=%d with a large heap", now)
	}
	runtime.KeepAlive(large)
	runtime.GC()
	c.adjust(m)
	c.end()
	c.close()
	if now := percent(); now != percentDefault {
		t.Errorf("GOGC=%d when no query runs", now)
	}
	debug.SetGCPercent(40)
	c.begin(limit)
	c.adjust(m)
	if now := percent(); now != 40 {
		t.Errorf("GOGC=%d, where the program has set 40", now)
	}
	c.end()
	c.close()
	c.begin(64 << 20)
	if now := percent(); now != 40 {
		t.Errorf("GOGC=%d within 64 MiB", now)
	}
	c.end()
	c.close()
}

// Would catch the while after one query that ends the limits in the while after another, and a while
// that ends none.
func TestCollectorExpires(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	limit := func() int64 { return debug.SetMemoryLimit(-1) }
	var c collector
	c.begin(3 << 30)
	c.end()
	first := c.ends
	c.begin(3 << 30)
	c.end()
	c.expire(first)
	if limit() != 1<<30 {
		t.Error("the limits end with the while after an earlier query")
	}
	c.expire(c.ends)
	if limit() != math.MaxInt64 {
		t.Error("the limits stay when the while is over")
	}
}

// Would catch a small question whose end restores the limits that the next one sets again, an engine
// that is kept from them by one that has no query, and limits that stay without an engine.
func TestCollectorLingers(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	limit := func() int64 { return debug.SetMemoryLimit(-1) }
	var c, other collector
	c.begin(3 << 30)
	c.end()
	if limit() != 1<<30 {
		t.Error("the limit is not kept for the next query")
	}
	c.begin(3 << 30)
	c.close() // as if the time had run out just before
	if limit() != 1<<30 {
		t.Error("a query runs without its limit")
	}
	c.end()
	other.begin(6 << 30)
	if limit() != 2<<30 {
		t.Error("an engine without a query keeps another's from the limit")
	}
	c.begin(3 << 30)
	c.end()
	c.close()
	if limit() != 2<<30 {
		t.Error("an engine ends the limit of another")
	}
	other.end()
	other.close()
	if limit() != math.MaxInt64 {
		t.Error("the limit stays without an engine")
	}
}
