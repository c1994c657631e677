package dataset

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/engine/scan/ipc"
	"github.com/mpga/mpga/engine/scan/json"
	"github.com/mpga/mpga/engine/scan/parquet"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/vfs"
)

// Open finds the files that the patterns name and reads their columns' names, types and statistics.
// A pattern is a file, a glob, a directory, or "-" for standard input; of a directory, every data
// file below it is taken whose name does not start with . or _. Files of different formats may be
// mixed; all must have the same columns, in any order.
//
// The files are read when splits of the source are opened, each time anew; standard input can be
// read once.
func Open(ctx context.Context, patterns []string, opt Options) (scan.Source, error) {
	table, err := opt.lakeTable(ctx, patterns)
	if err != nil {
		return nil, err
	}
	if table != nil {
		return opt.openLake(ctx, table)
	}
	files, err := openAll(ctx, patterns, &opt)
	if err != nil {
		return nil, err
	}
	return files.table(&opt)
}

// openFiles are the files of a table, in their order.
type openFiles struct {
	inputs  []decode.File
	hive    []decode.Folder
	guesses guesses
}

func openAll(ctx context.Context, patterns []string, opt *Options) (files openFiles, err error) {
	names, err := opt.find(ctx, patterns)
	if err != nil {
		return files, err
	}
	var written manifestTypes
	if !opt.NoHive && opt.Known == nil {
		written = foldersTypes(opt.FS, names)
	}
	names, opt.FS = show(opt.FS, names)
	if opt.Known != nil {
		if err := opt.Known.apply(opt); err != nil {
			return files, err
		}
	}
	if !opt.NoHive {
		if files.hive, err = hiveColumns(names, opt.Known, written); err != nil {
			return files, err
		}
	}
	mem := reserve.New(reserve.GoHeap, opt.Budget)
	defer mem.DropAll()
	samples := &textfile.Samples{Memory: mem, Sizes: opt.sizes}
	var texts texts
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return files, err
		}
		w, err := newWatch(opt.FS, name) // before the file is read
		if err != nil {
			return files, err
		}
		var in decode.Input
		err = decode.Guard(func() (err error) {
			in, err = openOne(name, w, opt, samples)
			return err
		})
		if mem.Refusal() != nil {
			err = decode.Locate(name, err)
		}
		if err != nil {
			return files, err
		}
		if text, ok := texts.add(in); ok {
			err = w.letGrow(text.ReadsRanges())
		} else if err = delivery.CheckTypes(in.Schema()); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		if err != nil {
			return files, err
		}
		files.inputs = append(files.inputs, decode.File{Input: in, Changed: w.check})
	}
	if opt.Known == nil {
		if err := opt.checkUse(files.formats()); err != nil {
			return files, err
		}
	}
	if files.guesses, err = texts.setTypes(opt); err != nil {
		return files, err
	}
	switch {
	case opt.Filename:
		err = files.addFilenames(false)
	case opt.FilenameHidden:
		_ = files.addFilenames(true) // else nobody reads it
	}
	return files, err
}

// texts are the files of a table whose types follow from the samples of all.
type texts struct {
	csv  []*csv.File
	json []*json.File
}

// add adds an input that is such a file. It returns false for another.
func (t *texts) add(in decode.Input) (text interface{ ReadsRanges() bool }, ok bool) {
	switch in := in.(type) {
	case *csv.File:
		t.csv = append(t.csv, in)
		return in, true
	case *json.File:
		t.json = append(t.json, in)
		return in, true
	}
	return nil, false
}

// setTypes gives the columns of the files their types, and returns what these follow from.
func (t *texts) setTypes(opt *Options) (joint guesses, err error) {
	var known guesses
	if opt.Known != nil {
		known = guesses{opt.Known.CSV, opt.Known.JSON}
	}
	if joint.csv, err = csv.SetTypes(t.csv, &opt.CSV, known.csv); err != nil {
		return joint, err
	}
	joint.json, err = json.SetTypes(t.json, &opt.JSON, known.json)
	return joint, err
}

func openOne(name string, w *watch, opt *Options, samples *textfile.Samples) (decode.Input, error) {
	if name == decode.StdinName {
		return openStdin(opt, samples)
	}
	format, packed := formatOf(name)
	if cmp.Or(opt.Format, format) == FormatParquet && !opt.DistrustStatistics {
		if file, ok := footers.find(w, name); ok {
			return file, nil
		}
	}
	head, err := readHead(opt.FS, name)
	if err != nil {
		return nil, err
	}
	switch {
	case opt.Format != FormatAuto:
		format = opt.Format
	case format == FormatAuto && len(head) > 0:
		format, packed = sniff(head)
	}
	isJSON := format == FormatJSON || format == FormatNDJSON
	if isJSON || format == FormatCSV || format == FormatTSV {
		packed, err = packing(head, packed)
	} else if len(head) == 0 {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	text := opt.CSV
	if format == FormatTSV && text.Delimiter == 0 {
		text.Delimiter = '\t'
	}
	samples.Range = nil
	if within, ok := opt.Ranges[name]; ok {
		samples.Range = &within
	}
	switch format {
	case FormatParquet:
		file, err := openParquet(opt.FS, name, opt, samples.Memory)
		if err == nil && !opt.DistrustStatistics {
			footers.keep(w, name, file)
		}
		return file, err
	case FormatArrow, FormatArrowStream: // their endings are often mixed up: the first bytes decide
		if bytes.HasPrefix(head, []byte(ipc.Magic)) {
			return ipc.OpenFile(opt.FS, name, samples.Memory)
		}
		if bytes.HasPrefix(head, []byte("FEA1")) {
			return nil, fmt.Errorf("%s: a file of Feather version 1; write it anew as version 2 or Parquet", name)
		}
		return ipc.OpenStream(opt.FS, name)
	}
	if isJSON {
		return json.Open(opt.FS, name, packed, opt.JSON, samples)
	}
	return csv.Open(opt.FS, name, packed, text, samples)
}

// headBytes is enough of a file to tell its format.
const headBytes = 8

// readHead returns the first bytes of a file, fewer where it is shorter.
func readHead(fsys vfs.FS, name string) (head []byte, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, headBytes))
}

// sniff tells a format by a file's first bytes. Anything that it does not recognize is text.
func sniff(head []byte) (format Format, packed string) {
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return FormatParquet, ""
	case bytes.HasPrefix(head, []byte(ipc.Magic)):
		return FormatArrow, ""
	case ipc.IsStream(head):
		return FormatArrowStream, ""
	case bytes.HasPrefix(head, []byte{0x1F, 0x8B}):
		return FormatCSV, ".gz"
	case bytes.HasPrefix(head, []byte{0x28, 0xB5, 0x2F, 0xFD}):
		return FormatCSV, ".zst"
	case len(head) == headBytes && string(head[:3]) == "BZh" && string(head[4:]) == "1AY&":
		return FormatCSV, ".bz2"
	case looksLikeJSON(head):
		return FormatJSON, ""
	}
	return FormatCSV, ""
}

// packing returns how a text is compressed: by its first bytes, with which an ending agrees.
func packing(head []byte, ending string) (packed string, err error) {
	if len(head) == 0 {
		return "", nil
	}
	switch _, packed = sniff(head); {
	case ending == "" || packed == ending:
		return packed, nil
	case packed == "":
		return "", fmt.Errorf("the file is not compressed, or damaged: it does not begin as a file of the ending %s does; "+
			"name it without %s if it is text", ending, ending)
	}
	return "", fmt.Errorf("the file is compressed as %s is; name it so", packed)
}

// looksLikeJSON says whether a text begins with an object, or with an array of objects.
func looksLikeJSON(head []byte) bool {
	blank := func(text []byte) []byte { return bytes.TrimLeft(text, " \t\r\n") }
	rest := blank(bytes.TrimPrefix(head, []byte("\ufeff")))
	if element, ok := bytes.CutPrefix(rest, []byte{'['}); ok {
		return bytes.HasPrefix(blank(element), []byte{'{'})
	}
	key, ok := bytes.CutPrefix(rest, []byte{'{'})
	return ok && bytes.HasPrefix(blank(key), []byte{'"'})
}

// openStdin reads the start of standard input, and all of an input that is read from its end.
func openStdin(opt *Options, samples *textfile.Samples) (decode.Input, error) {
	head, err := io.ReadAll(io.LimitReader(opt.Stdin, headBytes))
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	if len(head) == 0 {
		return nil, errors.New("standard input is empty")
	}
	format, packed := sniff(head)
	format = cmp.Or(opt.Format, format)
	rest := io.MultiReader(bytes.NewReader(head), opt.Stdin)
	switch format {
	case FormatParquet, FormatArrow:
		if opt.Spool == nil {
			return nil, knob.Errorf("standard input: the format %s is read from its end, and nothing keeps it (%s); "+
				"give it as a file, or pipe an Arrow stream, CSV or JSON", format, knob.Name("dataset.Spool"))
		}
		return openSpooled(rest, format, opt, samples.Memory)
	case FormatArrowStream:
		return ipc.OpenStdin(rest)
	case FormatJSON, FormatNDJSON:
		return json.OpenStdin(rest, packed, opt.JSON, samples)
	}
	if opt.CSV.SampleRows == textfile.SampleAll {
		return openSampled(rest, packed, opt, samples)
	}
	return csv.OpenStdin(rest, packed, opt.CSV, samples)
}

// openSampled reads standard input to its end, for a sample of all rows, and opens it as a file of CSV.
func openSampled(stdin io.Reader, packed string, opt *Options, samples *textfile.Samples) (decode.Input, error) {
	if opt.Spool == nil {
		return nil, knob.Errorf(
			"standard input: a sample of all rows (%s) is read before the rows are, and nothing keeps it "+
				"(%s); give it as a file, or name a number of rows", knob.Name("dataset.CSV.SampleRows"),
			knob.Name("dataset.Spool"))
	}
	if err := opt.Spool.fill(stdin, opt.Budget); err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return csv.Open(&stdinFS{opt.FS, opt.Spool}, decode.StdinName, packed, opt.CSV, samples)
}

// openSpooled reads standard input to its end, and opens it as a file.
func openSpooled(stdin io.Reader, format Format, opt *Options, mem *reserve.Allocator) (decode.Input, error) {
	if err := opt.Spool.fill(stdin, opt.Budget); err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	fsys := &stdinFS{opt.FS, opt.Spool}
	if format == FormatArrow {
		return ipc.OpenFile(fsys, decode.StdinName, mem)
	}
	return openParquet(fsys, decode.StdinName, opt, mem)
}

func openParquet(fsys vfs.FS, name string, opt *Options, mem *reserve.Allocator) (*parquet.File, error) {
	return openNamed(fsys, name, opt, mem, nil)
}

// openNamed opens a Parquet file, whose columns have other names where naming is not nil.
func openNamed(
	fsys vfs.FS, name string, opt *Options, mem *reserve.Allocator, naming parquet.Naming,
) (*parquet.File, error) {
	file, err := parquet.OpenNamed(fsys, name, mem, naming)
	if err == nil && opt.DistrustStatistics {
		file.DistrustStatistics()
	}
	return file, err
}
