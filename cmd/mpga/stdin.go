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

	filled chan readResult // what the goroutine has read
	free   chan []byte     // buffers for the goroutine to read into
	last   readResult      // that Read takes from
	rest   []byte          // of last.data
}

type readResult struct {
	data []byte
	err  error
}

// readBytes is a few times what a pipe holds, and small beside a CSV block.
const readBytes = 256 << 10

func (r *interruptibleReader) Read(p []byte) (int, error) {
	if r.filled == nil {
		r.filled = make(chan readResult)
		r.free = make(chan []byte, 2) // one is read into while the other is taken from
		r.free <- make([]byte, readBytes)
		r.free <- make([]byte, readBytes)
		spawn.Go(r.fill, func(err error) {
			if err != nil {
				r.hand(nil, err)
			}
		})
	}
	for len(r.rest) == 0 {
		if r.last.err != nil {
			return 0, r.last.err
		}
		if r.last.data != nil {
			r.free <- r.last.data[:readBytes]
		}
		select {
		case r.last = <-r.filled:
			r.rest = r.last.data
		case <-r.ctx.Done():
			r.last = readResult{err: r.ctx.Err()}
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// fill reads until an error, which it hands on.
func (r *interruptibleReader) fill() error {
	for {
		select {
		case buf := <-r.free:
			spawn.Step()
			n, err := r.from.Read(buf)
			if !r.hand(buf[:n], err) || err != nil {
				return nil
			}
		case <-r.ctx.Done():
			return nil
		}
	}
}

// hand gives Read the bytes that were read. It returns false when the context has ended.
func (r *interruptibleReader) hand(data []byte, err error) bool {
	select {
	case r.filled <- readResult{data, err}:
		return true
	case <-r.ctx.Done():
		return false
	}
}
