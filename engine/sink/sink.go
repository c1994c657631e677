package sink

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/sink/parquet"
	"github.com/mpga/mpga/engine/sink/text"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/vfs"
)

// Writer takes the rows of an output. One goroutine at a time uses a Writer.
type Writer interface {
	// Write adds the batch's rows. It does not keep the batch. After an error nothing is left of
	// the output, and every later call returns that error.
	Write(arrow.RecordBatch) error

	// Commit finishes the output: when it returns nil the file is in its place, complete and
	// durable. After an error the file is gone.
	Commit() error

	// Abort removes what was written. It does nothing after Commit or an error.
	Abort() error
}

// Create opens an output for rows of the schema. When ctx is done, Write and Commit fail, soon also
// where a codec takes long, and nothing is left of the output. The path "-" is Options.Stdout, and so are the
// names that the system has for the standard output. Options.Stdout, a device and a pipe are
// written to as they are, so that Abort and errors cannot take anything back. Create refuses a path
// that could not be committed to later: a directory, a missing or read-only directory, a read-only
// file, a pipe that nobody reads, a column whose type the format cannot hold. With PartitionBy,
// MaxRowsPerFile or Manifest the path is that of a directory.
func Create(ctx context.Context, path string, schema *arrow.Schema, opt Options) (w Writer, err error) {
	defer func() {
		if err != nil {
			w, err = nil, redact.Error(err)
		}
	}()
	if IsStdout(path) {
		path = stdoutPath
	}
	if err := settle(path, &opt); err != nil {
		return nil, err
	}
	if err := checkSchema(schema, opt.Format); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if opt.Directory() {
		return createDir(ctx, path, schema, opt)
	}
	var out output = stdout{opt.Stdout}
	if path != stdoutPath {
		var err error
		if out, err = createOutput(path, &opt); err != nil {
			return nil, err
		}
	}
	return newFileWriter(ctx, path, schema, out, &opt)
}

// newFileWriter starts the encoder of an output, which it takes over.
func newFileWriter(ctx context.Context, path string, schema *arrow.Schema, out output, opt *Options) (*writer, error) {
	f := &fileContent{out: out, buf: buffers.Get().(*bufio.Writer)}
	encoding, cancel := context.WithCancel(ctx)
	f.cancel = cancel
	f.buf.Reset(out)
	w := &writer{ctx: ctx, path: path, schema: schema, content: f}
	return w, w.start(func() error { return f.open(encoding, path, schema, opt) })
}

// Settle returns the options that Create would write a path with, defaults filled in, or an error
// that names every wrong field. It touches no file.
func Settle(path string, opt Options) (Options, error) {
	err := settle(path, &opt)
	return opt, err
}

// settle fills in the options for a path and checks them.
func settle(path string, opt *Options) error {
	switch {
	case path == "":
		return errors.New("the output has no name: give a path, or - for the standard output")
	case path == stdoutPath && opt.Directory():
		return knob.Errorf("the output is a directory of files: give its name, not - (%s, %s, %s)",
			knob.Name("sink.PartitionBy"), knob.Name("sink.MaxRowsPerFile"), knob.Name("sink.Manifest"))
	case path == stdoutPath && opt.Format == "":
		opt.Format = Table
	case path == stdoutPath && opt.Format == Arrow:
		opt.Format = ArrowStream
	case opt.Directory() && opt.Format == "" && filepath.Ext(path) == "":
		opt.Format = Parquet
	case opt.Format == "":
		format, err := FormatOf(path)
		if err != nil {
			return err
		}
		opt.Format = format
	}
	opt.EnsureDefaults()
	if _, ok := vfs.ObjectsAt(opt.FS, path); ok {
		opt.OpenFilesMax = min(opt.OpenFilesMax, openObjectsMax)
	}
	if most := vfs.OpenFilesMax(); most > 0 {
		opt.OpenFilesMax = min(opt.OpenFilesMax, max(most/openFilesShare, 1))
	}
	if err := opt.Validate(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := checkLevel(opt.Format, opt.Codec, compressionOf(path), opt.Level); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if opt.Directory() && opt.Format.forPeople() {
		return fmt.Errorf("%s: a directory of files is not written as %s", path, opt.Format)
	}
	return nil
}

// Check reports what would keep Create from writing rows of a schema to a path, as far as it shows
// without the path being touched.
func Check(path string, schema *arrow.Schema, opt Options) (err error) {
	if err := settle(path, &opt); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = redact.Error(fmt.Errorf("%s: %w", path, err))
		}
	}()
	if err := checkSchema(schema, opt.Format); err != nil {
		return err
	}
	if len(opt.PartitionBy) > 0 {
		parts, err := newPartitioner(schema, opt.PartitionBy, opt.Allocator)
		if err != nil {
			return err
		}
		schema = parts.schema
	}
	return guard(func() error {
		enc, err := newEncoder(context.Background(), io.Discard, schema, &opt)
		if err != nil {
			return err
		}
		return enc.Close()
	})
}

// CheckPlace reports what would keep Create from putting an output at a path, as far as it shows before. Nothing is
// written. S2.
func CheckPlace(path string, opt Options) (err error) {
	defer func() { err = redact.Error(err) }()
	if err := settle(path, &opt); err != nil || IsStdout(path) {
		return err
	}
	objects, remote := vfs.ObjectsAt(opt.FS, path)
	switch {
	case opt.Directory() && remote:
		_, err = newObjectTree(objects, path, &opt)
	case opt.Directory():
		err = checkDirTarget(opt.FS, filepath.Clean(path), opt.Overwrite)
	case remote:
		err = checkObject(opt.FS, path, opt.KeepExisting)
	default:
		_, err = checkTarget(opt.FS, path, opt.KeepExisting)
	}
	return err
}

// checkSchema refuses column names that the format cannot tell apart.
func checkSchema(schema *arrow.Schema, format Format) error {
	if format != Parquet && format != JSON {
		return nil
	}
	seen := make(map[string]bool, schema.NumFields())
	for _, field := range schema.Fields() {
		if seen[field.Name] {
			return fmt.Errorf("two columns are named %q, which %s cannot tell apart", field.Name, format)
		}
		seen[field.Name] = true
	}
	return nil
}

// encoder turns rows into the bytes of a format.
type encoder interface {
	// Write encodes the rows of a batch, which the encoder does not keep.
	Write(arrow.RecordBatch) error

	// Close writes the bytes that the encoder still holds. It does not close the writer below.
	Close() error
}

// output takes the bytes of a file, an object or a device.
type output interface {
	io.Writer
	commit() error // after an error the output is gone
	abort() error
}

// stdout is an output that cannot be taken back.
type stdout struct{ io.Writer }

func (stdout) commit() error { return nil }
func (stdout) abort() error  { return nil }

// writer writes a file, or a directory of files.
type writer struct {
	ctx     context.Context // ends the writing
	path    string          // of the output, as the caller wrote it; "-" for the standard output
	schema  *arrow.Schema   // of the batches
	content content
	done    bool                    // Commit or Abort has ended the output
	err     error                   // why the output was removed; nil while it is good
	closed  invariants.CloseChecker // S1: an output is committed, or taken back
}

// content is what a writer fills.
type content interface {
	write(arrow.RecordBatch) error
	finish() error // writes the rows that are still held
	commit() error // puts the finished content in its place; after an error it is gone
	drop() error   // takes the content back
}

// start calls a function that opens the content.
func (w *writer) start(open func() error) error {
	w.closed.Open("an output")
	if err := guard(open); err != nil {
		return w.fail(err)
	}
	return nil
}

func (w *writer) Write(batch arrow.RecordBatch) error {
	if w.err != nil {
		return w.err
	}
	if w.done {
		return fmt.Errorf("%s: written to after its end", redact.URL(w.path))
	}
	err := context.Cause(w.ctx)
	if err == nil {
		err = checkBatch(w.schema, batch)
	}
	if err == nil {
		err = guard(func() error { return w.content.write(batch) })
	}
	if err != nil {
		return w.fail(err)
	}
	return nil
}

func (w *writer) Commit() error {
	if w.err != nil || w.done {
		return w.err
	}
	if err := context.Cause(w.ctx); err != nil {
		return w.fail(err)
	}
	if err := guard(w.content.finish); err != nil {
		return w.fail(err)
	}
	w.done = true
	w.closed.Close()
	if err := w.content.commit(); err != nil {
		w.err = fmt.Errorf("%s: %w", redact.URL(w.path), err)
	}
	return w.err
}

func (w *writer) Abort() error {
	if w.done || w.err != nil {
		return nil
	}
	w.done = true
	w.closed.Close()
	if err := w.content.drop(); err != nil {
		return fmt.Errorf("%s: %w", redact.URL(w.path), err)
	}
	return nil
}

// fail ends the output and returns the reason, for this call and all later calls.
func (w *writer) fail(err error) error {
	w.closed.Close()
	w.err = fmt.Errorf("%s: %w", redact.URL(w.path), errors.Join(err, w.content.drop()))
	return w.err
}

// fileContent drives an encoder through a buffer and perhaps a compressor into an output.
type fileContent struct {
	out    output             // takes the bytes of buf
	buf    *bufio.Writer      // between the encoder, or the packer, and out; nil once the file has ended
	packer io.WriteCloser     // compresses text on its way to buf; nil when text is not compressed
	enc    encoder            // nil until open has succeeded
	cancel context.CancelFunc // cuts the encoding of what is dropped
}

// bufferBytes is large enough that a system call costs little beside the copy.
const bufferBytes = 1 << 18

// buffers are the free buffers of files that have ended: a directory may have many small files.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(io.Discard, bufferBytes) }}

// recycle gives the buffer away.
func (f *fileContent) recycle() {
	f.buf.Reset(io.Discard)
	buffers.Put(f.buf)
	f.buf = nil
}

func (f *fileContent) open(ctx context.Context, path string, schema *arrow.Schema, opt *Options) (err error) {
	var to io.Writer = f.buf
	if opt.Format.text() {
		if f.packer, err = newPacker(compressionOf(path), opt.Level, f.buf); err != nil {
			return err
		}
		if f.packer != nil {
			to = f.packer
		}
	}
	enc, err := newEncoder(ctx, to, schema, opt)
	if err == nil {
		f.enc = enc
	}
	return err
}

func (f *fileContent) write(batch arrow.RecordBatch) error { return f.enc.Write(batch) }

func (f *fileContent) finish() error {
	if err := f.enc.Close(); err != nil {
		return err
	}
	if f.packer != nil {
		if err := f.packer.Close(); err != nil {
			return err
		}
	}
	return f.buf.Flush()
}

func (f *fileContent) commit() error {
	f.cancel()
	f.recycle()
	return f.out.commit()
}

// drop takes the output back. The encoder is closed for the memory that it holds; its last bytes,
// and its error, concern nobody.
func (f *fileContent) drop() error {
	f.cancel()
	f.buf.Reset(io.Discard)
	if f.enc != nil {
		_ = guard(f.enc.Close)
	}
	if f.packer != nil {
		_ = f.packer.Close()
	}
	f.recycle()
	return f.out.abort()
}

// newEncoder returns an encoder, which may be a nil pointer beside an error.
func newEncoder(ctx context.Context, to io.Writer, schema *arrow.Schema, opt *Options) (encoder, error) {
	switch opt.Format {
	case Parquet:
		return parquet.New(ctx, to, schema, opt.parquet())
	case Arrow, ArrowStream:
		return newIPC(to, schema, opt)
	case CSV, TSV:
		return text.NewCSV(to, schema, opt.Delimiter, !opt.NoHeader)
	case JSON:
		return text.NewJSON(to, schema)
	case Markdown:
		return text.NewMarkdown(to, schema, opt.Separators)
	case Vertical:
		return text.NewVertical(to, schema, opt.table())
	default:
		return text.NewTable(to, schema, opt.table())
	}
}

// guard turns a panic of an encoder, which is a bug, into an error.
func guard(f func() error) error {
	return spawn.Call(func() error {
		spawn.Step()
		return f()
	})
}

// checkBatch reports a batch that is not of the schema. Encoders rely on the types and on columns
// without NULLs.
func checkBatch(schema *arrow.Schema, batch arrow.RecordBatch) error {
	if int(batch.NumCols()) != schema.NumFields() {
		return fmt.Errorf("a batch has %d columns, the schema %d", batch.NumCols(), schema.NumFields())
	}
	for i, field := range schema.Fields() {
		column := batch.Column(i)
		if !arrow.TypeEqual(column.DataType(), field.Type) {
			return fmt.Errorf("column %q: a batch has type %s, the schema %s", field.Name, column.DataType(), field.Type)
		}
		if !field.Nullable && column.NullN() > 0 {
			return fmt.Errorf("column %q: a batch has %d NULLs, the schema allows none", field.Name, column.NullN())
		}
	}
	return nil
}
