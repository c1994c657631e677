package sink

import (
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/mpga/mpga/internal/knob"
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
// it needs no Close when its output is dropped. A level of 0 is the compressor's own.
func newPacker(ending string, level int, to io.Writer) (io.WriteCloser, error) {
	switch ending {
	case ".gz":
		if level == 0 {
			level = gzip.DefaultCompression
		}
		return gzip.NewWriterLevel(to, level)
	case ".zst":
		options := []zstd.EOption{zstd.WithEncoderConcurrency(1)}
		if level > 0 {
			options = append(options, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)))
		}
		return zstd.NewWriter(to, options...)
	}
	return nil, nil
}

// levelsMax are the highest levels of codecs that have levels, by their names and their endings.
var levelsMax = map[string]int{"zstd": 22, "gzip": 9, "brotli": 11, ".zst": 22, ".gz": 9}

// checkLevel reports a level that the codec of a format, or the ending of a text file, does not
// have.
func checkLevel(format Format, codec, ending string, level int) error {
	if level == 0 {
		return nil
	}
	if format.text() {
		codec = ending
	}
	highest, ok := levelsMax[codec]
	if ok && format != Parquet && !format.text() {
		return knob.Errorf("%s (%d) is for parquet and for text that is compressed, not for %s",
			knob.Name("sink.Level"), level, format)
	}
	if !ok {
		return knob.Errorf("%s (%d) is for the codecs zstd, gzip and brotli", knob.Name("sink.Level"), level)
	}
	if level < 1 || level > highest {
		return knob.Errorf("%s (%d) of %s must be in [1, %d]", knob.Name("sink.Level"), level, codec, highest)
	}
	return nil
}
