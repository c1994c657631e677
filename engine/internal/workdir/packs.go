package workdir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/vfs"
)

// Pack is a file of blobs, one for each partition, which lie one after the other.
type Pack struct {
	Name  string // in the directory
	Run   string // by which the blobs know each other (partial.Options.Run)
	Bytes int64
	Blobs []int64 // bytes of the blobs, by partition
}

// Packs are the blobs of some partitions of several packs, ready to be merged. They must be closed.
type Packs struct {
	Sources [][]partial.Blob // by pack, and by partition from the first that was asked for
	Runs    []string         // by pack
	copies  vfs.TempFile     // of objects, which are read once; nil of files
}

// packsAtOnce is how many objects are read at the same time.
const packsAtOnce = 8

// OpenPacks opens partitions [first, last] of packs, which lie in one folder. Of files it touches none. Of objects it
// copies the range of the partitions, which lie side by side, to a temporary file that a function creates: one call for
// each pack.
func (w Dir) OpenPacks(ctx context.Context, create func() (vfs.TempFile, error), list []Pack, first, last int,
) (*Packs, error) {
	p := &Packs{Sources: make([][]partial.Blob, len(list))}
	var group spawn.Group
	group.SetLimit(packsAtOnce)
	_, remote := w.Objects()
	if remote {
		var err error
		if p.copies, err = create(); err != nil {
			return nil, err
		}
		// A list tells the sizes of the packs, which the file system asks for one by one else.
		if _, err := w.List(path.Dir(list[0].Name), ""); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	var end int64 // of copies
	for i := range list {
		of := &list[i]
		p.Runs = append(p.Runs, of.Run)
		from, bytes := of.extent(first, last)
		base, at := from, end
		open := func() (io.ReaderAt, io.Closer, error) {
			file, err := w.openPack(of)
			return file, file, err
		}
		if file, copied, ok := w.Copies.find(of.Name); ok {
			open, base = func() (io.ReaderAt, io.Closer, error) { return file, io.NopCloser(nil), nil }, copied+from
			bytes = 0
		} else if remote {
			open, base = func() (io.ReaderAt, io.Closer, error) { return p.copies, io.NopCloser(nil), nil }, at
			group.Go(func() error { return w.copyPack(ctx, of, vfs.Range{Offset: from, Bytes: bytes}, p.copies, at) })
		}
		for n := first; n <= last; n++ {
			p.Sources[i] = append(p.Sources[i], &Packed{w.Path(of.Name), n, open, base, of.Blobs[n]})
			base += of.Blobs[n]
		}
		end += bytes
	}
	if err := group.Wait(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// extent returns where the blobs of partitions [first, last] lie in the pack.
func (of *Pack) extent(first, last int) (from, bytes int64) {
	for i, n := range of.Blobs[:last+1] {
		if i < first {
			from += n
		} else {
			bytes += n
		}
	}
	return from, bytes
}

// openPack opens a pack, which must have its size.
func (w Dir) openPack(of *Pack) (vfs.File, error) {
	file, err := w.FS.Open(w.Path(of.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: a pack is missing: %w", w.Damaged, err)
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Size() != of.Bytes {
		err = fmt.Errorf("%w: %s has %d B, where %d were written", w.Damaged, w.Path(of.Name), info.Size(), of.Bytes)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// copyPack copies a range of an object to a place in a file.
func (w Dir) copyPack(ctx context.Context, of *Pack, part vfs.Range, to vfs.TempFile, at int64) (err error) {
	if part.Bytes == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	file, err := w.openPack(of)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if a, ok := file.(vfs.Announcer); ok {
		a.Announce([]vfs.Range{part})
	}
	if _, err = io.Copy(io.NewOffsetWriter(to, at), io.NewSectionReader(file, part.Offset, part.Bytes)); err != nil {
		return store.NeedTemp(err, 0, 0)
	}
	if part.Bytes < of.Bytes {
		return nil
	}
	return w.Copies.Keep(of.Name, of.Bytes, func(kept io.Writer) error {
		_, err := io.Copy(kept, io.NewSectionReader(to, at, part.Bytes))
		return err
	})
}

// Close gives back what was copied.
func (p *Packs) Close() error {
	if p.copies == nil {
		return nil
	}
	return p.copies.Close()
}
