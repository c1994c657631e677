package textfile

import (
	"bufio"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/mpga/mpga/engine/scan/internal/reserve"
)

const (
	// zstdWindowUsual is the largest window of usual writers. Frames behind the first may ask for
	// this window, or for that of the first frame.
	zstdWindowUsual = 8 << 20

	// zstdWindowMax is the largest window that zstd's command accepts without an option.
	zstdWindowMax = 128 << 20

	// gzipBytes is the memory of a reader of gzip.
	gzipBytes = 128 << 10

	// bzip2Bytes is the memory of a reader of bzip2: blocks of at most 900 kB, in words of 4 B.
	bzip2Bytes = 4 << 20
)

// unpack returns the text of a file; closing the text leaves the file open. The memory of a
// decompressor is reserved until then.
func unpack(r io.Reader, packed string, mem *reserve.Allocator) (io.ReadCloser, error) {
	switch packed {
	case ".gz":
		text, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		mem.Hold(gzipBytes)
		return &unpacked{Reader: text, close: text.Close, held: gzipBytes, mem: mem}, nil
	case ".zst":
		return unpackZstd(r, mem)
	case ".bz2":
		mem.Hold(bzip2Bytes)
		return &unpacked{Reader: bzip2.NewReader(r), close: func() error { return nil }, held: bzip2Bytes, mem: mem}, nil
	}
	return io.NopCloser(r), nil
}

func unpackZstd(r io.Reader, mem *reserve.Allocator) (io.ReadCloser, error) {
	buffered := bufio.NewReader(r)
	window, err := zstdWindow(buffered)
	if err != nil {
		return nil, err
	}
	held := int64(2 * window) // the decoder moves what it keeps when its buffer is full
	mem.Hold(held)
	// One goroutine: the decoder's own would outlive a reader that nobody closes.
	limit := zstd.WithDecoderMaxWindow(max(window, zstdWindowUsual))
	d, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), limit)
	if err != nil {
		mem.Drop(held)
		return nil, err
	}
	return &unpacked{Reader: d, close: d.IOReadCloser().Close, held: held, mem: mem}, nil
}

// zstdWindow returns the window of a text's first frame.
func zstdWindow(r *bufio.Reader) (uint64, error) {
	start, err := r.Peek(zstd.HeaderMaxSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	var h zstd.Header
	if err := h.Decode(start); err != nil || h.Skippable {
		return zstdWindowUsual, nil // the decoder says what is wrong
	}
	window := h.WindowSize
	if h.SingleSegment {
		window = h.FrameContentSize
	}
	if window > zstdWindowMax {
		return 0, fmt.Errorf("a zstd window of %d MiB, where %d MiB are the most; "+
			"compress the text without --ultra or --long", window>>20, zstdWindowMax>>20)
	}
	return window, nil
}

// unpacked is a text that is decompressed as it is read.
type unpacked struct {
	io.Reader
	close func() error
	held  int64 // bytes reserved of mem
	mem   *reserve.Allocator
}

// Close implements io.Closer.
func (u *unpacked) Close() error {
	u.mem.Drop(u.held)
	u.held = 0
	return u.close()
}
