package sink

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// dirWriter writes an output of several files.
type dirWriter struct {
	path      string
	opt       Options
	schema    *arrow.Schema // of the batches
	partition *partitioner  // nil without PartitionBy
	tree      tree

	open  map[string]*part // by folder
	parts map[string]int   // files begun, by folder
	used  uint64           // grows with every use of a part
	files []ManifestFile
	done  bool
	err   error // why nothing is left of the output
}

// tree is where the files of a directory go. Nothing is in its place before commit.
type tree interface {
	// suffix is to be in the names of files, so that they are no other run's.
	suffix() string

	// create begins a file, whose name has slashes.
	create(name string) (output, error)

	// commit puts all files in their place. After an error, and after abort, nothing is left of them.
	commit() error
	abort() error
}

// part is a file of a folder that is being written.
type part struct {
	*writer
	folder string
	file   ManifestFile
	hashed *hashedOutput
	used   uint64 // when it was written to last
}

// filesMax bounds the files of a directory: above it the columns of PartitionBy have too many values, or rows of
// too many folders alternate.
const filesMax = 100_000

func createDir(path string, schema *arrow.Schema, opt Options) (Writer, error) {
	d := &dirWriter{path: path, opt: opt, schema: schema, open: make(map[string]*part), parts: make(map[string]int)}
	if len(opt.PartitionBy) > 0 {
		p, err := newPartitioner(schema, opt.PartitionBy, opt.Allocator)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		d.partition = p
	}
	var err error
	if d.tree, err = newTree(path, &opt); err != nil {
		return nil, err
	}
	if d.partition == nil { // so that an output without rows has a file with its columns
		if _, err := d.begin(""); err != nil {
			return nil, d.fail(err)
		}
	}
	return d, nil
}

// Write implements Writer.
func (d *dirWriter) Write(batch arrow.RecordBatch) error {
	switch {
	case d.err != nil:
		return d.err
	case d.done:
		return fmt.Errorf("%s: written to after its end", d.path)
	}
	err := checkBatch(d.schema, batch)
	if err == nil && d.partition == nil {
		err = d.writePart("", batch)
	} else if err == nil {
		err = d.writePartitions(batch)
	}
	if err != nil {
		return d.fail(err)
	}
	return nil
}

func (d *dirWriter) writePartitions(batch arrow.RecordBatch) error {
	if err := d.partition.split(batch); err != nil {
		return err
	}
	for number, folder := range d.partition.folders {
		rows, err := d.partition.take(batch, number)
		if err != nil {
			return err
		}
		err = d.writePart(folder, rows)
		rows.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// writePart writes rows to a folder, and begins files as they are full.
func (d *dirWriter) writePart(folder string, batch arrow.RecordBatch) error {
	for row := int64(0); row < batch.NumRows(); {
		p := d.open[folder]
		if p == nil {
			var err error
			if p, err = d.begin(folder); err != nil {
				return err
			}
		}
		n := batch.NumRows() - row
		if d.opt.MaxRowsPerFile > 0 {
			n = min(n, d.opt.MaxRowsPerFile-p.file.Rows)
		}
		slice := batch.NewSlice(row, row+n)
		err := p.Write(slice)
		slice.Release()
		if err != nil {
			return err
		}
		row += n
		p.file.Rows += n
		d.used++
		p.used = d.used
		if p.file.Rows == d.opt.MaxRowsPerFile {
			if err := d.end(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin starts a file. If too many are open, the one that was not written to for longest is ended.
func (d *dirWriter) begin(folder string) (*part, error) {
	if len(d.open) >= d.opt.OpenFilesMax {
		var oldest *part
		for _, p := range d.open {
			if oldest == nil || p.used < oldest.used {
				oldest = p
			}
		}
		if err := d.end(oldest); err != nil {
			return nil, err
		}
	}
	if len(d.files)+len(d.open) >= filesMax {
		return nil, fmt.Errorf("more than %d files: PartitionBy (--partition-by) takes columns of few values, best with rows in their order; OpenFilesMax is %d",
			filesMax, d.opt.OpenFilesMax)
	}
	name := fmt.Sprintf("part-%05d%s.%s", d.parts[folder], d.tree.suffix(), d.opt.Format)
	if folder != "" {
		name = folder + "/" + name
	}
	out, err := d.tree.create(name)
	if err != nil {
		return nil, err
	}
	schema := d.schema
	if d.partition != nil {
		schema = d.partition.schema
	}
	p := &part{folder: folder, file: ManifestFile{Path: name}, hashed: &hashedOutput{output: out, sum: sha256.New()}}
	if p.writer, err = newWriter(name, schema, p.hashed, &d.opt); err != nil {
		return nil, err
	}
	d.parts[folder]++
	d.open[folder] = p
	return p, nil
}

// end completes a file.
func (d *dirWriter) end(p *part) error {
	delete(d.open, p.folder)
	if err := p.Commit(); err != nil {
		return err
	}
	p.file.Bytes = p.hashed.bytes
	p.file.SHA256 = hex.EncodeToString(p.hashed.sum.Sum(nil))
	d.files = append(d.files, p.file)
	return nil
}

// hashedOutput is an output whose bytes are counted and summed.
type hashedOutput struct {
	output
	sum   hash.Hash
	bytes int64
}

func (o *hashedOutput) Write(b []byte) (int, error) {
	n, err := o.output.Write(b)
	o.sum.Write(b[:n])
	o.bytes += int64(n)
	return n, err
}

// Commit implements Writer.
func (d *dirWriter) Commit() error {
	if d.err != nil || d.done {
		return d.err
	}
	if err := d.finish(); err != nil {
		return d.fail(err)
	}
	d.done = true
	if err := d.tree.commit(); err != nil {
		d.err = fmt.Errorf("%s: %w", d.path, err)
	}
	return d.err
}

// finish ends all files, and writes the manifest.
func (d *dirWriter) finish() error {
	for _, p := range d.openParts() {
		if err := d.end(p); err != nil {
			return err
		}
	}
	if !d.opt.Manifest {
		return nil
	}
	text, err := newManifest(d.schema, &d.opt, d.files).text()
	if err != nil {
		return err
	}
	out, err := d.tree.create(ManifestName)
	if err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", ManifestName, err), out.abort())
	}
	if err := out.commit(); err != nil {
		return fmt.Errorf("%s: %w", ManifestName, err)
	}
	return nil
}

// openParts returns the files that are being written, in the order of their folders' last use.
func (d *dirWriter) openParts() []*part {
	parts := make([]*part, 0, len(d.open))
	for _, p := range d.open {
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b *part) int { return cmp.Compare(a.used, b.used) })
	return parts
}

// Abort implements Writer.
func (d *dirWriter) Abort() error {
	if d.done || d.err != nil {
		return nil
	}
	d.done = true
	if err := d.drop(); err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	return nil
}

// drop takes the output back.
func (d *dirWriter) drop() error {
	var errs []error
	for _, p := range d.open {
		errs = append(errs, p.Abort())
	}
	clear(d.open)
	return errors.Join(append(errs, d.tree.abort())...)
}

// fail ends the output and returns why, for this call and all later ones.
func (d *dirWriter) fail(err error) error {
	d.err = fmt.Errorf("%s: %w", d.path, errors.Join(err, d.drop()))
	return d.err
}
