package engine

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/spawn"
)

// splitReader reads the batches of a split. Corrupt input must not end the process: what a decoder trips over becomes
// an error of the split.
type splitReader struct {
	array.RecordReader
	split scan.Split
	log   *slog.Logger
}

// openSplit returns the reader of a split, which must be released.
func openSplit(ctx context.Context, split scan.Split, opt scan.OpenOptions, log *slog.Logger) (*splitReader, error) {
	s := &splitReader{split: split, log: log}
	err := s.guard(func() (err error) {
		s.RecordReader, err = split.Open(ctx, opt)
		return err
	})
	return s, err
}

// next returns the next batch, which is valid until the next call; nil at the end.
func (s *splitReader) next() (batch arrow.RecordBatch, err error) {
	err = s.guard(func() error {
		if s.Next() {
			batch = s.RecordBatch()
			return nil
		}
		return s.Err()
	})
	return batch, err
}

// guard calls a function of the split's decoder.
func (s *splitReader) guard(f func() error) error {
	panicked, err := spawn.Catch(f)
	if panicked == nil {
		return err
	}
	s.log.Debug("decoder panicked", slog.Any("panic", panicked.Value), slog.String("stack", string(panicked.Stack)))
	return fmt.Errorf("%s: %w: %v", s.split.Name(), ErrCorrupt, panicked.Value)
}
