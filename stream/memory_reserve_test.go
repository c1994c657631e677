package stream

import (
	"errors"
	"testing"
)

// A reservation counts against the budget as blocks do, makes reclaimers give up pages, and is refused with the
// owner's error when they have no more. Would catch a promise that nobody sees, and one that stays after a refusal.
func TestReserve(t *testing.T) {
	refused := errors.New("refused")
	m := NewMemory(1 << 20)
	defer m.Close()
	m.SetRefusal(func(asked, left int64) error {
		if asked != 1<<20 || left != 1<<19 {
			t.Errorf("refused %d B with %d B left, want %d and %d", asked, left, 1<<20, 1<<19)
		}
		return refused
	})
	pages := [][]uint64{m.Alloc(1 << 16)} // half of the budget
	asked := int64(0)
	remove := m.AddReclaimer(func(bytes int64) error {
		asked += bytes
		for _, p := range pages {
			m.Free(p)
		}
		pages = nil
		return nil
	})
	if err := m.Reserve(1 << 19); err != nil || asked != 0 {
		t.Errorf("what is left: %v, %d B reclaimed", err, asked)
	}
	if err := m.Reserve(1 << 18); err != nil || asked != 1<<18 || m.Left() != 1<<18 {
		t.Errorf("more than is left: %v, %d B reclaimed, %d B left", err, asked, m.Left())
	}
	m.Unreserve(1 << 18)
	if err := m.Reserve(1 << 20); !errors.Is(err, refused) || m.Reserved() != 1<<19 {
		t.Errorf("more than there is: %v, %d B reserved", err, m.Reserved())
	}
	remove()
	m.Unreserve(1 << 19)
	if m.Left() != 1<<20 || m.Reserved() != 0 {
		t.Errorf("in the end %d B are left and %d B reserved", m.Left(), m.Reserved())
	}
}
