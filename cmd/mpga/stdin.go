package main

import (
	"context"
	"io"

	"github.com/mpga/mpga/internal/spawn"
)

// interruptibleReader reads until the end of its input or of its context: a read of a pipe or a
// terminal in which nothing comes cannot be taken back, so a goroutine of its own waits in it, and
// is left there when the context ends. One goroutine at a time uses a reader.
type interruptibleReader struct {
	ctx  context.Context
	from io.Reader

	read *io.PipeReader // what the goroutine has read; nil before the first Read
}

// readBytes is a few times what a pipe holds, and small beside a CSV block.
const readBytes = 256 << 10

func (r *interruptibleReader) Read(p []byte) (int, error) {
	if r.read == nil {
		var to *io.PipeWriter
		r.read, to = io.Pipe()
		context.AfterFunc(r.ctx, func() {
			_ = spawn.Call(func() error { return to.CloseWithError(r.ctx.Err()) }) // which returns no error
		})
		spawn.Go(func() error { return r.fill(to) }, func(err error) { _ = to.CloseWithError(err) })
	}
	return r.read.Read(p)
}

// fill reads until an error, which it returns.
func (r *interruptibleReader) fill(to io.Writer) error {
	buf := make([]byte, readBytes)
	for {
		spawn.Step()
		n, err := r.from.Read(buf)
		if n > 0 { // the pipe would hand an empty write on, too
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}
