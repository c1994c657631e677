package textfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
)

// Sizes are how much is read at a time. The zero value stands for the defaults; tests read less.
type Sizes struct {
	Chunk int64 // bytes of a split
	Block int   // bytes of one read of a stream
}

func (s *Sizes) ensureDefaults() {
	s.Chunk = cmp.Or(s.Chunk, chunkBytesDefault)
	s.Block = cmp.Or(s.Block, blockBytesDefault)
}

// Samples is what the texts of a table have in common while they are opened, one after the other.
type Samples struct {
	// Range is the part of the next file that is read; nil is all. The sample is of the file's beginning still, and ends
	// where the range does.
	Range *Range

	Memory *reserve.Allocator
	Sizes  Sizes
	buf    []byte // of the sample that is being looked at
}

// sizes returns the sizes, filled in.
func (s *Samples) sizes() Sizes {
	sizes := s.Sizes
	sizes.ensureDefaults()
	return sizes
}

// grow makes room for a sample of size bytes. n bytes have been read, and are kept.
func (s *Samples) grow(n, size int) {
	if cap(s.buf) >= size+fields.Slack {
		s.buf = s.buf[:size]
		return
	}
	s.Memory.Hold(int64(size)) // the last buffer is garbage, but not yet collected
	grown := make([]byte, size, size+fields.Slack)
	copy(grown, s.buf[:n])
	s.buf = grown
}

// SampleAll, as the number of rows of a sample, stands for all rows.
const SampleAll = -1

// Examine looks at the beginning of a text, which has room for fields.Slack more bytes behind it; whole
// says that it is all of it. enough is false where more is needed.
type Examine func(buf []byte, whole bool) (enough bool, err error)

// look reads enough of a text for a sample, and returns the text that it has read.
func (c *File) look(text io.Reader, samples *Samples, examine Examine) ([]byte, error) {
	c.RowLimit = cmp.Or(c.RowLimit, RowLimitDefault)
	n := 0
	for size := c.sizes.Block; ; size *= 2 {
		samples.grow(n, size)
		m, whole, err := readText(text, samples.buf[n:size])
		n += m
		buf := samples.buf[:n]
		if err != nil {
			return nil, err
		}
		enough, err := examine(buf, whole)
		if enough || err != nil {
			return buf, c.atLine(err, buf)
		}
		if whole {
			return nil, ErrNoRow
		}
		if size > c.RowLimit {
			return nil, c.Format.LongRow()
		}
	}
}

// lookOnward reads a text behind its first n bytes, which are in the buffer of samples, for Onward. A row above
// the limit ends it: reading the row says so, with its place.
func (c *File) lookOnward(text io.Reader, samples *Samples, n int) error {
	for whole := false; ; {
		next, more := c.Onward(samples.buf[:n], whole)
		if !more || whole || n-next > c.RowLimit {
			return nil
		}
		n = copy(samples.buf, samples.buf[next:n])
		size := max(c.sizes.Block, 2*n)
		samples.grow(n, size)
		m, ended, err := readText(text, samples.buf[n:size])
		if err != nil {
			return err
		}
		n, whole = n+m, ended
	}
}

const (
	// placesFurther is at how many places behind its start a file is looked at for columns that do not
	// repeat after all: the start of a file is often unlike the rest.
	placesFurther = 4

	// placeBytes is what is read at each of these places.
	placeBytes = 64 << 10
)

// LookAt calls look with what a large file has at some places: p is behind the first newline there.
func (c *File) LookAt(f io.ReaderAt, look func(buf []byte, p int)) error {
	if c.size < (placesFurther+1)*placeBytes {
		return nil
	}
	for place := range int64(placesFurther) {
		buf := make([]byte, placeBytes, placeBytes+fields.Slack)
		n, err := f.ReadAt(buf, c.size/(placesFurther+1)*(place+1))
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		buf = buf[:n]
		look(buf, 1+bytes.IndexByte(buf, '\n'))
	}
	return nil
}

// ErrNoRow is the error of a text without rows.
var ErrNoRow = errors.New("the file holds no row")

// atLine adds the file and the line to an error about the sample.
func (c *File) atLine(err error, buf []byte) error {
	if at := (*Error)(nil); errors.As(err, &at) {
		return decode.Located(fmt.Errorf("%s, line %d: %w", c.Path, 1+bytes.Count(buf[:at.At], newline), err))
	}
	return err
}
