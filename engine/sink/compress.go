package sink

import (
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compressionOf returns the ending of a path that names a compression: .gz, .zst or nothing.
func compressionOf(path string) string {
	path = strings.ToLower(path)
	for _, ending := range []string{".gz", ".zst"} {
		if strings.HasSuffix(path, ending) {
			return ending
		}
	}
	return ""
}

// newPacker returns the compressor for an ending, or nil for none. It starts no goroutine, so that
// it needs no Close when its output is dropped.
func newPacker(ending string, to io.Writer) (io.WriteCloser, error) {
	switch ending {
	case ".gz":
		return gzip.NewWriter(to), nil
	case ".zst":
		return zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
	}
	return nil, nil
}
