package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan"
)

// splitReader reads the batches of a split. Corrupt input must not end the process: what a decoder
// trips over becomes an error of the split.
type splitReader struct {
	array.RecordReader
	split scan.Split
}

// openSplit returns the reader of a split, which must be released.
func openSplit(ctx context.Context, split scan.Split, opt scan.OpenOptions) (*splitReader, error) {
	s := &splitReader{split: split}
	err := scan.UseSplit(split, func() (err error) {
		s.RecordReader, err = split.Open(ctx, opt)
		return err
	})
	return s, err
}

// next returns the next batch, which is valid until the next call; nil at the end.
func (s *splitReader) next() (batch arrow.RecordBatch, err error) {
	err = scan.UseSplit(s.split, func() error {
		if s.Next() {
			batch = s.RecordBatch()
			return nil
		}
		return s.Err()
	})
	return batch, err
}
