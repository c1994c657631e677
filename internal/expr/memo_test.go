package expr

import (
	"fmt"
	"testing"
)

// Would catch a memo that grows without end, or that costs a look for every string though none
// comes twice.
func TestMemo(t *testing.T) {
	var none *memo
	if _, ok := none.find("a"); ok || none.add("a", "b") != "b" {
		t.Error("no memo remembers")
	}
	var m memo
	const repeated = 1000
	for i := 0; !m.full; i++ {
		s, want := fmt.Sprint("text ", i), fmt.Sprint("made ", i)
		if _, ok := m.find(s); ok || m.add(s, want) != want {
			t.Fatal(s)
		}
		if made, ok := m.find(fmt.Sprint("text ", i%repeated)); !ok || made != fmt.Sprint("made ", i%repeated) {
			t.Fatalf("%s: %q, %v", s, made, ok)
		}
	}
	if m.bytes > 2*memoBytesMax || len(m.known) < memoBytesMax/100 {
		t.Errorf("%d entries of %d B", len(m.known), m.bytes)
	}
	for i := range 4 * memoTrial {
		m.find(fmt.Sprint("text ", i%repeated))
	}
	if m.known == nil {
		t.Error("a memo that knows all strings is given up")
	}
	for i := range 64 * memoTrial {
		m.find(fmt.Sprint("new ", i))
		m.add(fmt.Sprint("new ", i), "")
	}
	if m.known != nil {
		t.Error("a memo that knows no string is kept")
	}
}
