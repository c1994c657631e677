package partial

import (
	"errors"
	"fmt"
	"io"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
)

// blobs are the blobs of all partitions while they are written side by side.
type blobs struct {
	what   string // for errors: what the blobs have
	opt    Options
	memory rowdata.Memory
	layout rowdata.RowLayout // of pages
	open   []openBlob        // by partition; nil before begin
}

// openBlob is the blob of a partition while it is written.
type openBlob struct {
	file   io.WriteCloser // nil once it is closed
	writer *store.BlobWriter
}

// begin creates the blobs, whose headers a function writes.
func (b *blobs) begin(header func(partition int) ([]byte, error)) error {
	b.open = make([]openBlob, b.opt.Partitions)
	for i := range b.open {
		text, err := header(i)
		if err != nil {
			return err
		}
		of := &b.open[i]
		if of.file, err = b.opt.Create(i); err != nil {
			return b.placed(i, err)
		}
		if of.writer, err = store.NewBlobWriter(of.file, text, &b.layout, b.memory); err != nil {
			return b.placed(i, err)
		}
	}
	return nil
}

// put writes a page.
func (b *blobs) put(partition int, page *rowdata.Page) error {
	defer page.Release()
	return b.placed(partition, b.open[partition].writer.Append(page))
}

// placed names the partition in an error.
func (b *blobs) placed(partition int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s, partition %d: %w", b.what, partition, err)
}

// blobsClosedAtOnce is how many blobs are closed at the same time: closing a file may wait for the
// disk, which takes several files in the time of one.
const blobsClosedAtOnce = 16

// End closes the blobs, which are complete then.
func (b *blobs) End() error {
	var group spawn.Group
	group.SetLimit(blobsClosedAtOnce)
	for i := range b.open {
		group.Go(func() error {
			of := &b.open[i]
			file := of.file
			of.file = nil
			spawn.Step()
			return b.placed(i, errors.Join(of.writer.Close(), file.Close()))
		})
	}
	return group.Wait()
}

// Abandon closes the blobs that End has not.
func (b *blobs) Abandon() error {
	var errs []error
	for i := range b.open {
		if file := b.open[i].file; file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(errs...)
}
