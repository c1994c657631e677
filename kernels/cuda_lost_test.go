//go:build cgo && linux

package kernels

import (
	"errors"
	"testing"
)

// A device that is lost in the middle answers everything with that, and giving back what was taken
// from it neither panics nor leaks on the host.
func TestDeviceLost(t *testing.T) {
	d := openFake(t, Options{})
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	buffer, err := d.Alloc(1000)
	if err != nil {
		t.Fatal(err)
	}
	pinned, err := d.AllocPinned(1000)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Record()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_CUDA_LOST", "719")
	at := Span{Buffer: buffer}
	_, allocErr := d.Alloc(1)
	_, streamErr := d.NewStream()
	_, recordErr := s.Record()
	_, nanosErr := e.Nanos(e)
	_, _, memoryErr := d.Memory()
	for name, err := range map[string]error{
		"Alloc": allocErr, "NewStream": streamErr, "Record": recordErr, "Nanos": nanosErr, "Memory": memoryErr,
		"Copy":      s.Copy(Copy{Device: at, Host: pinned.Bytes()}),
		"CopyBatch": s.CopyBatch([]Copy{{Device: at, Host: pinned.Bytes()}}),
		"Fill":      s.Fill(at, 10, 1), "WaitFor": s.WaitFor(e), "Wait": e.Wait(),
		"Stream.Close": s.Close(), "Free": buffer.Free(),
	} {
		if !errors.Is(err, ErrDeviceLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, err := range []error{e.Close(), pinned.Free()} { // which ask nothing of the device
		if err != nil {
			t.Error(err)
		}
	}
	if err := d.Close(); !errors.Is(err, ErrDeviceLost) {
		t.Error(err)
	}
	if d.used.Load() != 0 || d.pinned.bytes != 0 {
		t.Errorf("%d B of the device and %d B of pinned memory are still counted", d.used.Load(), d.pinned.bytes)
	}
}

// Every code that is one of the sentinels is told apart.
func TestDriverErrors(t *testing.T) {
	for code, want := range map[int]error{
		2: ErrOutOfMemory, 46: ErrNoDevice, 100: ErrNoDevice, 101: ErrNoDevice, 803: ErrNoDevice,
		214: ErrDeviceLost, 700: ErrDeviceLost, 709: ErrDeviceLost, 719: ErrDeviceLost, 999: ErrDeviceLost,
		1: nil, 600: nil, 720: nil, 801: nil,
	} {
		err := error(&driverError{call: "cuX", code: code, name: "CUDA_ERROR_X"})
		for _, sentinel := range []error{ErrOutOfMemory, ErrNoDevice, ErrDeviceLost} {
			if got := errors.Is(err, sentinel); got != (sentinel == want) {
				t.Errorf("code %d is %v: %v", code, sentinel, got)
			}
		}
	}
}
