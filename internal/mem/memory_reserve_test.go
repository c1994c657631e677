package mem

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// A reservation counts against the budget as blocks do, makes reclaimers give up pages, and is
// refused with the owner's error when they have no more. Would catch a promise that nobody sees,
// and one that stays after a refusal.
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
	m.SetReclaim(func(bytes int64) error {
		asked += bytes
		for _, p := range pages {
			m.Free(p)
		}
		pages = nil
		return nil
	}, nil)
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
	m.Unreserve(1 << 19)
	if m.Left() != 1<<20 || m.Reserved() != 0 {
		t.Errorf("in the end %d B are left and %d B reserved", m.Left(), m.Reserved())
	}
}

// Would catch memory that counts as free while it is still resident, as garbage, and a reservation
// that is refused though others are about to give theirs back.
func TestReserveMeasured(t *testing.T) {
	m := NewMemory(100)
	resident, relieved := int64(0), 0
	measure := func() { m.Measure(func() int64 { return 100 - resident }) }
	m.SetRelief(func() { relieved++; measure() })
	reserve := func(bytes int64, want bool) {
		t.Helper()
		if err := m.Reserve(bytes); (err == nil) != want {
			t.Fatalf("%d B with %d left: %v", bytes, m.Left(), err)
		}
	}
	reserve(80, true)
	m.Unreserve(80)
	if left := m.Left(); left != 20 {
		t.Errorf("%d B are left of memory that may still be resident", left)
	}
	reserve(60, true) // it was not, as relieve has seen
	if relieved != 1 {
		t.Errorf("relieved %d times", relieved)
	}
	time.AfterFunc(10*time.Millisecond, func() { m.Unreserve(60) })
	reserve(90, true)
	m.Unreserve(90)
	resident = 50
	reserve(60, false)
	if err := m.Room(40); err != nil || m.Reserved() != 0 || m.Left() != 50 {
		t.Errorf("%v; %d B are reserved, %d left", err, m.Reserved(), m.Left())
	}
}

// Would catch a reservation beside other statements that is refused at once, or for longer than they run.
func TestReserveShared(t *testing.T) {
	m := NewMemory(100)
	var shared atomic.Bool
	shared.Store(true)
	m.SetReclaim(func(int64) error { return nil }, shared.Load)
	if err := m.Reserve(80); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { m.Unreserve(80) })
	if err := m.Reserve(90); err != nil {
		t.Error(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { shared.Store(false) })
	if err := m.Reserve(90); err == nil {
		t.Error("90 B are reserved of 10 that are left")
	}
}

// Would catch a reservation that goes on waiting for the memory of others after its statement was cancelled, one that
// is then refused for lack of memory, and a cancellation that others hear, too.
func TestReserveCancelled(t *testing.T) {
	m := NewMemory(100)
	waits := make(chan int64)
	m.SetReclaim(func(bytes int64) error {
		waits <- bytes
		return nil
	}, func() bool { return true })
	if err := m.Reserve(80); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("nobody wants the rows")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.WithContext(ctx).Reserve(90) }()
	for range 3 {
		if bytes := <-waits; bytes != 70 {
			t.Errorf("room for %d B is asked for, want 70", bytes)
		}
	}
	cancel(cause)
	for isWaiting := true; isWaiting; {
		select {
		case <-waits: // it was about to look once more
		case err := <-ended:
			if isWaiting = false; !errors.Is(err, cause) {
				t.Errorf("the reservation ends with %v", err)
			}
		}
	}
	if m.Reserved() != 80 {
		t.Errorf("%d B are reserved", m.Reserved())
	}
	if err := m.Reserve(20); err != nil {
		t.Errorf("after another statement was cancelled: %v", err)
	}
}
