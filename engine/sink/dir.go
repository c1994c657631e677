package sink

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/knob"
)

// dirContent is an output of several files.
type dirContent struct {
	ctx       context.Context // ends the writing
	opt       Options         // with defaults filled in
	schema    *arrow.Schema   // of the batches, the columns of PartitionBy included
	partition *partitioner    // nil without PartitionBy
	tree      tree            // the files' place
	finisher  *finisher       // commits the files in the background
	earlier   *earlier        // of Options.Update; else nil

	open   map[string]*part // files that are being written, by folder; at most Options.OpenFilesMax
	parts  map[string]int   // number of files begun, by folder
	begun  int              // number of files begun in all folders
	gather *gathering       // rows of folders without an open file; nil as long as every folder has a file
	files  []ManifestFile   // committed files, for the manifest; nil without one
}

// tree is where the files of a directory go. Nothing is in its place before commit.
type tree interface {
	// suffix is to be in the names of files, so that they are no other run's.
	suffix() string

	// create begins a file, whose name has slashes.
	create(name string) (output, error)

	// adopt makes a file of the tree of a file that lies elsewhere, and stays there.
	adopt(name, from string) error

	// holds says whether a file of the directory that is replaced is what its manifest says. keep makes it a file of
	// the tree, in place of one that was aborted, and returns its name.
	holds(of *ManifestFile) (bool, error)
	keep(name, old string) (kept string, err error)

	// commit puts all files in their place. After an error, and after abort, no file of the output
	// is left.
	commit() error
	abort() error
}

// part is a file of a folder that is being written.
type part struct {
	*writer
	folder string
	file   ManifestFile
	out    *partOutput
}

// filesMax bounds the files of a directory, and its folders: above that the columns of PartitionBy
// have too many values.
const filesMax = 100_000

func createDir(ctx context.Context, path string, schema *arrow.Schema, opt Options) (Writer, error) {
	d := &dirContent{ctx: ctx, opt: opt, schema: schema, finisher: newFinisher(opt.OpenFilesMax),
		open: make(map[string]*part), parts: make(map[string]int)}
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
	w := &writer{ctx: ctx, path: path, schema: schema, content: d}
	return w, w.start(func() (err error) {
		if opt.Update {
			if d.earlier, err = readEarlier(path, &opt, d.tree); err != nil {
				return err
			}
		}
		if d.partition != nil {
			return nil
		}
		_, err = d.begin("") // so that an output without rows has a file with its columns
		return err
	})
}

func (d *dirContent) write(batch arrow.RecordBatch) error {
	if d.partition == nil {
		return d.writePart("", batch)
	}
	return d.writePartitions(batch)
}

// writePartitions writes the rows of each folder to its file. Once OpenFilesMax files are open, it
// gathers the rows of folders without a file.
func (d *dirContent) writePartitions(batch arrow.RecordBatch) error {
	p := d.partition
	if err := p.split(batch); err != nil {
		return err
	}
	var gathered []int64
	var numbers []int32
	for i, folder := range p.folders {
		if d.open[folder] == nil && (d.gather.has(folder) || len(d.open) == d.opt.OpenFilesMax) {
			number, err := d.gatheredNumber(folder)
			if err != nil {
				return err
			}
			gathered = append(gathered, p.rows[i]...)
			for range p.rows[i] {
				numbers = append(numbers, number)
			}
			continue
		}
		rows, err := p.take(batch, p.rows[i])
		if err != nil {
			return err
		}
		err = d.writePart(folder, rows)
		rows.Release()
		if err != nil {
			return err
		}
	}
	if len(gathered) == 0 {
		return nil
	}
	rows, err := p.take(batch, gathered)
	if err != nil {
		return err
	}
	defer rows.Release()
	return d.gather.add(rows, numbers)
}

// gatheredNumber returns the number of a folder whose rows are gathered.
func (d *dirContent) gatheredNumber(folder string) (int32, error) {
	if d.gather == nil {
		var err error
		if d.gather, err = newGathering(d.partition.schema, &d.opt); err != nil {
			return 0, err
		}
	}
	return d.gather.numberOf(folder)
}

// writePart writes rows to a folder, and begins files as they are full.
func (d *dirContent) writePart(folder string, batch arrow.RecordBatch) error {
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
		if p.file.Rows == d.opt.MaxRowsPerFile {
			if err := d.end(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin starts a file.
func (d *dirContent) begin(folder string) (*part, error) {
	if d.begun == filesMax {
		return nil, knob.Errorf(
			"more than %d files: partition by columns of fewer values (%s) or raise the rows of a file (%s)",
			filesMax, knob.Name("sink.PartitionBy"), knob.Name("sink.MaxRowsPerFile"))
	}
	if err := d.finisher.begin(); err != nil {
		return nil, err
	}
	p, err := d.create(folder)
	if err != nil {
		return nil, err
	}
	d.begun++
	d.parts[folder]++
	d.open[folder] = p
	return p, nil
}

// create opens the next file of a folder.
//
// Requires: the caller has a slot of the finisher for the file.
func (d *dirContent) create(folder string) (*part, error) {
	name := fmt.Sprintf("part-%05d%s.%s", d.parts[folder], d.tree.suffix(), d.opt.Format)
	if folder != "" {
		name = folder + "/" + name
	}
	out, err := d.createFile(name)
	if err != nil {
		<-d.finisher.slots
		return nil, err
	}
	schema := d.schema
	if d.partition != nil {
		schema = d.partition.schema
	}
	p := &part{folder: folder, file: ManifestFile{Path: name},
		out: &partOutput{output: out, name: name, finisher: d.finisher, earlier: d.earlier}}
	if d.opt.hashed() {
		p.out.sum = sha256.New()
	}
	p.writer, err = newFileWriter(d.ctx, name, schema, p.out, &d.opt)
	return p, err
}

// firstOf returns the first part of a path with slashes.
func firstOf(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

// createFile begins a file of the tree, whose name has slashes. S4: the output may be replaced later.
func (d *dirContent) createFile(name string) (output, error) {
	if invariants.Enabled {
		invariants.Checkf(ours.MatchString(firstOf(name)), "S4: checkReplaced does not know the name %s", name)
	}
	return d.tree.create(name)
}

// end completes a file, which the finisher commits.
func (d *dirContent) end(p *part) error {
	delete(d.open, p.folder)
	if err := p.Commit(); err != nil {
		return err
	}
	p.file.Path = p.out.name
	if d.opt.hashed() {
		p.file.SHA256 = hex.EncodeToString(p.out.sum.Sum(nil))
	}
	if d.opt.listed() {
		p.file.Bytes = p.out.bytes
		d.files = append(d.files, p.file)
	}
	return nil
}

func (d *dirContent) commit() error {
	d.checkEnded()
	d.gather.release()
	return d.tree.commit()
}

// finish ends all open files, writes files of the gathered rows, and then the manifest.
func (d *dirContent) finish() error {
	if err := d.endAll(); err != nil {
		return err
	}
	if err := d.writeGathered(); err != nil {
		return err
	}
	if err := d.finisher.wait(); err != nil || !d.opt.listed() {
		return err
	}
	m := newManifest(d.schema, &d.opt, d.files)
	if d.earlier != nil {
		m.Changes = d.earlier.changesOf(d.opt.Run, m.Files)
	}
	return writeManifest(d.tree, m)
}

// writeManifest writes the last file of a directory.
func writeManifest(t tree, m *Manifest) error {
	text, err := m.text()
	if err != nil {
		return err
	}
	out, err := t.create(ManifestName)
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

// endAll ends the files that are open.
func (d *dirContent) endAll() error {
	for _, folder := range slices.Sorted(maps.Keys(d.open)) {
		if err := d.end(d.open[folder]); err != nil {
			return err
		}
	}
	return nil
}

// writeGathered writes the folders whose rows were gathered, one after the other.
func (d *dirContent) writeGathered() error {
	if d.gather == nil {
		return nil
	}
	last := ""
	err := d.gather.each(func(folder string, rows arrow.RecordBatch) error {
		if folder != last {
			if err := d.endAll(); err != nil {
				return err
			}
			delete(d.parts, last)
			last = folder
		}
		return d.writePart(folder, rows)
	})
	if err != nil {
		return err
	}
	return d.endAll()
}

// drop removes the output. The finisher's error is ignored: it is the reason of the drop, or came
// after the reason.
func (d *dirContent) drop() error {
	var errs []error
	for _, p := range d.open {
		errs = append(errs, p.Abort())
	}
	clear(d.open)
	d.gather.release()
	_ = d.finisher.wait()
	d.checkEnded()
	return errors.Join(append(errs, d.tree.abort())...)
}

// checkEnded checks S1: each file of the directory has been committed or taken back.
func (d *dirContent) checkEnded() {
	if invariants.Enabled {
		files, slots := len(d.open), len(d.finisher.slots)
		invariants.Checkf(files == 0 && slots == 0,
			"S1: the output ends with %d open files, and %d slots that are taken", files, slots)
	}
}
