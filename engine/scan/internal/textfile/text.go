package textfile

import (
	"errors"
	"fmt"
	"io"

	"github.com/mpga/mpga/engine/scan/internal/decode"
)

var newline = []byte{'\n'}

// readText fills a buffer as far as a text goes. A compressed text that was cut off has not ended:
// decompressors return io.ErrUnexpectedEOF then, as io.ReadFull does for any text that is shorter
// than the buffer.
func readText(text io.Reader, buf []byte) (n int, ended bool, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = text.Read(buf[n:])
		n += m
	}
	switch {
	case errors.Is(err, io.EOF):
		return n, true, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return n, false, fmt.Errorf("%w: the compressed text ends too early: %w", decode.ErrCorrupt, err)
	}
	return n, false, err
}
