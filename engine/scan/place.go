package scan

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/internal/spawn"
)

// Placer is implemented by readers of splits that know the places of the rows of their batches.
type Placer interface {
	// Place names the file and the row that row i of the current batch is, as "x.csv, line 17" or
	// "x.parquet, row 3", counted from 1; "" where that is not known.
	Place(i int) string
}

// Placed puts a place before an error: the file and the row, where the error is of a row of the
// current batch of a split's reader (it has a method BatchRow) and the reader is a Placer, else the
// split, if that has a name. An error that names its place itself is returned as it is.
func Placed(r array.RecordReader, split string, err error) error {
	if row, ok := decode.BatchRow(err); ok {
		if p, ok := r.(Placer); ok {
			if place := p.Place(row); place != "" {
				return decode.Locate(place, err)
			}
		}
	}
	if split == "" {
		return err
	}
	return decode.Locate(split, err)
}

// Place implements Placer.
func (r *reader) Place(i int) string {
	if p, ok := r.source.(decode.RowPlacer); ok {
		return p.PlaceOf(r.within + int64(i))
	}
	if p, ok := r.split.part.(decode.RowNamer); ok && r.RecordBatch() != nil {
		return p.RowName(r.rows - r.RecordBatch().NumRows() + int64(i))
	}
	return ""
}

// UseSplit calls a function that opens or reads a split. A panic of the function is ErrCorrupt, and
// names the split: a decoder trips over corrupt input. S3.
func UseSplit(split Split, f func() error) error {
	panicked, err := spawn.Catch(f)
	if panicked != nil {
		return decode.Locate(split.Name(), decode.OfPanic(panicked))
	}
	return err
}

// UseBatch calls a function that works on a batch. A panic of the function is ErrCorrupt where the
// batch contradicts itself, as a batch of a corrupt file may; otherwise it is spawn.ErrInternal.
func UseBatch(batch arrow.RecordBatch, f func() error) error {
	panicked, err := spawn.Catch(f)
	switch {
	case panicked == nil:
		return err
	case spawn.Call(func() error { return array.ValidateRecordFull(batch) }) != nil:
		return decode.OfPanic(panicked)
	}
	return panicked
}

// UseBatchOf is UseBatch of a batch of a reader of a split, which is named; its error says where the rows stand, as
// Placed does.
func UseBatchOf(from array.RecordReader, split string, batch arrow.RecordBatch, f func() error) error {
	if err := UseBatch(batch, f); err != nil {
		return Placed(from, split, err)
	}
	return nil
}
