package server

import (
	"fmt"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/recordreader"
)

// Page calls take with the batches of the rows from offset on, limit rows at most. A batch is valid
// during the call. One batch at a time is read of rows in a file.
//
// Requires: the caller holds the rows.
func (k *Kept) Page(offset, limit int64, take func(arrow.RecordBatch) error) error {
	end := k.Rows
	if limit < k.Rows-offset {
		end = offset + limit
	}
	if offset < 0 || offset >= end {
		return nil
	}
	first := sort.Search(len(k.ends), func(i int) bool { return k.ends[i] > offset })
	return k.table.Open(func(batch func(int) (arrow.RecordBatch, error)) error {
		for i := first; i < len(k.ends); i++ {
			begin := int64(0)
			if i > 0 {
				begin = k.ends[i-1]
			}
			if begin >= end {
				break
			}
			if err := takePart(batch, i, max(offset-begin, 0), min(end, k.ends[i])-begin, take); err != nil {
				return err
			}
		}
		return nil
	})
}

// takePart calls take with the rows from one to another of a batch.
func takePart(
	batch func(int) (arrow.RecordBatch, error), i int, from, to int64, take func(arrow.RecordBatch) error,
) error {
	whole, err := batch(i)
	if err != nil {
		return err
	}
	if whole.NumRows() < to {
		return fmt.Errorf("batch %d of a kept result has %d rows, and %d were written", i, whole.NumRows(), to)
	}
	part := recordreader.Slice(whole, from, to)
	defer part.Release()
	return take(part)
}
