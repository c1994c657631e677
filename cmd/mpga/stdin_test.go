package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"
)

// Would catch bytes lost or doubled where buffers change hands.
func TestInterruptibleReader(t *testing.T) {
	want := make([]byte, 3*readBytes+17)
	for i := range want {
		want[i] = byte(i * 31 >> 3)
	}
	for name, from := range map[string]io.Reader{
		"whole":          bytes.NewReader(want),
		"halves":         iotest.HalfReader(bytes.NewReader(want)),
		"data and error": iotest.DataErrReader(bytes.NewReader(want)),
	} {
		got, err := io.ReadAll(&interruptibleReader{ctx: t.Context(), from: from})
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %d bytes, %v, want %d", name, len(got), err, len(want))
		}
	}
	broken := errors.New("broken")
	r := &interruptibleReader{ctx: t.Context(), from: iotest.ErrReader(broken)}
	for range 2 {
		if _, err := r.Read(make([]byte, 1)); !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
	}
}

// Would catch a Ctrl-C that waits for input.
func TestInterruptibleReaderCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	silent, w := io.Pipe()
	defer w.Close()
	r := &interruptibleReader{ctx: ctx, from: silent}
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
