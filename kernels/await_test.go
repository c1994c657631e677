package kernels

import (
	"errors"
	"testing"
	"time"
)

// Would catch a call that is waited for longer than the timeout, and one whose late result is lost,
// or dropped twice or where somebody has it.
func TestAwait(t *testing.T) {
	boom := errors.New("boom")
	var dropped []int
	drop := func(v int) error {
		dropped = append(dropped, v)
		return boom
	}
	if v, late, err := Await(time.Hour, func() (int, error) { return 1, nil }, drop); v != 1 || late != nil || err != nil {
		t.Errorf("%d, %v, with more to wait for: %v", v, err, late != nil)
	}
	if _, late, err := Await(time.Hour, func() (int, error) { return 2, boom }, drop); late != nil || err != boom {
		t.Errorf("%v, with more to wait for: %v", err, late != nil)
	}
	for i, late := range []error{nil, boom} {
		answer := make(chan struct{})
		v, wait, err := Await(time.Millisecond, func() (int, error) {
			<-answer
			return 3 + i, late
		}, drop)
		if v != 0 || !errors.Is(err, ErrTimeout) || err.Error() != "no answer for 1ms: the device does not answer" || wait == nil {
			t.Fatalf("%d, %v, with more to wait for: %v", v, err, wait != nil)
		}
		close(answer)
		wait()
	}
	if len(dropped) != 1 || dropped[0] != 3 {
		t.Errorf("dropped %v, want what came late and was no error", dropped)
	}
}
