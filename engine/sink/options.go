package sink

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/sink/parquet"
	"github.com/mpga/mpga/engine/sink/text"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vfs"
)

// Options say how results are written. The zero value is usable. As JSON it has what says how files are
// laid out.
type Options struct {
	// Format is what to write. The default is by the ending of the path, see FormatOf, and a table
	// for the path "-" and for devices.
	Format Format `json:"format,omitzero"`

	// FS is the file system. The default is vfs.OS.
	FS vfs.FS `json:"-"`

	// Stdout is where the path "-" leads. Writers do not close it. The default is os.Stdout.
	Stdout io.Writer `json:"-"`

	// KeepExisting refuses a target that exists. The default is to replace it: a file whole, a
	// symbolic link by a file.
	KeepExisting bool `json:"-"`

	// PartitionBy writes a directory with a folder key=value for each combination of values of
	// these columns, which the files in it do not have. Names and values are escaped as in URLs;
	// NULL is __HIVE_DEFAULT_PARTITION__, and the string of that name is escaped. By _manifest.json the
	// columns have their types when the directory is read.
	PartitionBy []string `json:"partition_by,omitzero"`

	// MaxRowsPerFile writes a directory of files of at most MaxRowsPerFile rows.
	MaxRowsPerFile int64 `json:"max_rows_per_file,omitzero"`

	// Manifest writes a directory with a file _manifest.json, written last, which lists the other
	// files with their sizes, rows and checksums, the schema, and Query. Of PartitionBy alone there is
	// the file, too, without checksums.
	Manifest bool `json:"manifest,omitzero"`

	// Query is the text for the manifest.
	Query string `json:"-"`

	// Plan is the id of a distributed run's plan, for the manifest, and for the names of objects, which
	// several processes may write at the same time. The default is "".
	Plan string `json:"-"`

	// Overwrite replaces a directory that has the output's name, if all that is in it has the names
	// of an output (S4). The default is to refuse the directory.
	Overwrite bool `json:"overwrite,omitzero"`

	// Update has files of a directory that is replaced stay where the output has files of the same bytes, and notes in
	// the manifest in which folders Run has changed something. The default is that all files are new.
	Update bool   `json:"-"`
	Run    string `json:"-"`

	// BeforePublish is asked right before the output appears under its name: a file or a directory before it is
	// renamed, a directory of objects before its manifest. Its error ends the output. The default, nil, agrees.
	BeforePublish func() error `json:"-"`

	// OpenFilesMax is how many files of a directory are written at the same time. The rows of
	// further folders are gathered, and written when all rows are there. The default is 64. Of
	// objects 8 are the most, since an upload holds some 20 MiB; of files an eighth of the number
	// that the process may have open.
	OpenFilesMax int `json:"-"`

	// Collect makes the collector that gathers rows for PartitionBy, as Engine.Collector does. The
	// default takes 256 MiB and spills to the system's directory for temporary files.
	Collect func(schema *arrow.Schema, by order.By, purpose string) (*order.Collector, error) `json:"-"`

	// Codec compresses Parquet pages (none, snappy, zstd, gzip, lz4, brotli) and Arrow buffers
	// (none, lz4, zstd). The default is snappy for Parquet and none for Arrow. Text is compressed
	// by the ending of its path: .csv.gz, .csv.zst.
	Codec string `json:"codec,omitzero"`

	// Level is how hard the codec works: 1 to 22 for zstd, 1 to 9 for gzip, 1 to 11 for brotli.
	// Text that is compressed by the ending of its path (.gz, .zst) has the level, too. The
	// default, 0, is the codec's own.
	Level int `json:"level,omitzero"`

	// RowGroupRows is how many rows a Parquet row group takes. The default is 262,144, and 65,536
	// with PartitionBy, since each open file holds a row group.
	RowGroupRows int64 `json:"row_group_rows,omitzero"`

	// Layout says for whom a Parquet file is laid out. The default, "", is any reader. LayoutGPU is GPUs: pages are
	// smaller, so that there are 100 of a column and more in a row group, of 1,048,576 rows by default.
	Layout string `json:"layout,omitzero"`

	// Delimiter separates the fields of CSV. The default is a comma; for TSV, a tab.
	Delimiter byte `json:"delimiter,omitzero"`

	// NoHeader leaves out the line of column names of CSV and TSV.
	NoHeader bool `json:"no_header,omitzero"`

	// RowsShown is how many rows a table or a vertical list shows; -1 means all. The default is 40.
	RowsShown int `json:"-"`

	// RowsLast is how many of RowsShown are the last rows of a table, below a row of dots. The
	// default is 0.
	RowsLast int `json:"-"`

	// TableWidth is how many terminal columns a table has to fit: cells are cut, and columns left
	// out. The default, 0, is any width.
	TableWidth int `json:"-"`

	// Separators separates thousands (1,234.5) in tables, vertical lists and Markdown. The default
	// is false.
	Separators bool `json:"-"`

	// CellWidth is how many terminal columns a table's cell takes at most before it is cut.
	// The default is 48.
	CellWidth int `json:"-"`

	// Color dims types and NULLs in tables and vertical lists.
	Color bool `json:"-"`

	// Threads encode the columns of Parquet. The default is as many as there are processors.
	Threads int `json:"-"`

	// Allocator takes the memory of encoders. The default is memory.DefaultAllocator.
	Allocator memory.Allocator `json:"-"`

	// Budget is asked for the memory of large buffers of encoders before they are allocated. The
	// default, nil, grants every request.
	Budget rowdata.Budget `json:"-"`

	// GroupBytes ends a Parquet row group that holds about as many encoded bytes. Groups of long
	// strings or of many columns get there before they have RowGroupRows. The default is 256 MiB.
	GroupBytes int64 `json:"-"`
}

// rowGroupRowsDefault keeps a row group of a few dozen columns under about 100 MB, and gives ten
// million rows enough row groups for 32 readers.
const rowGroupRowsDefault = 1 << 18

const (
	openFilesDefault = 64
	openObjectsMax   = 8

	// openFilesShare is the part of the files that a process may have open which a directory takes;
	// the input and spilled pages need the rest.
	openFilesShare = 8
)

// LayoutGPU is an Options.Layout.
const LayoutGPU = "gpu"

// rowGroupRowsGPU has 128 pages of a column.
const rowGroupRowsGPU = 128 * 1 << 13

// groupBytesDefault bounds the memory of a row group of long strings.
const groupBytesDefault = 256 << 20

// rowGroupRowsMax bounds the memory that one buffered row group can take.
const rowGroupRowsMax = 1 << 26

// EnsureDefaults fills in fields that are zero. Create fills in Format, and the fields whose
// default depends on Format.
func (o *Options) EnsureDefaults() {
	o.FS = cmp.Or(o.FS, vfs.OS)
	o.Stdout = cmp.Or[io.Writer](o.Stdout, os.Stdout)
	if o.Codec == "" {
		switch o.Format {
		case Parquet:
			o.Codec = "snappy"
		case Arrow, ArrowStream:
			o.Codec = "none"
		}
	}
	if o.RowGroupRows == 0 {
		o.RowGroupRows = rowGroupRowsDefault
		if o.Layout == LayoutGPU {
			o.RowGroupRows = rowGroupRowsGPU
		}
		if len(o.PartitionBy) > 0 {
			o.RowGroupRows /= 4
		}
	}
	if o.Delimiter == 0 && o.Format == TSV {
		o.Delimiter = '\t'
	}
	if o.Collect == nil {
		o.Collect = collectAlone
	}
	o.Delimiter = cmp.Or(o.Delimiter, ',')
	o.OpenFilesMax = cmp.Or(o.OpenFilesMax, openFilesDefault)
	o.RowsShown = cmp.Or(o.RowsShown, 40)
	o.CellWidth = cmp.Or(o.CellWidth, 48)
	o.Threads = cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
	o.GroupBytes = cmp.Or(o.GroupBytes, groupBytesDefault)
	o.Allocator = cmp.Or(o.Allocator, memory.DefaultAllocator)
}

// Validate reports every field that is out of its bounds.
func (o *Options) Validate() error {
	var errs knob.Errors
	check := func(holds bool, format string, args ...any) { errs.If(!holds, format, args...) }
	check(o.Format == "" || slices.Contains(formats, o.Format),
		"%s (%q) must be one of %s", knob.Name("sink.Format"), o.Format, formatList())
	errs = append(errs, checkCodec(o.Format, o.Codec))
	check(o.RowGroupRows >= 1 && o.RowGroupRows <= rowGroupRowsMax,
		"%s (%d) must be in [1, %d]", knob.Name("sink.RowGroupRows"), o.RowGroupRows, rowGroupRowsMax)
	check(o.Layout == "" || o.Layout == LayoutGPU,
		"%s (%q) must be empty or %s", knob.Name("sink.Layout"), o.Layout, LayoutGPU)
	check(o.Layout == "" || o.Format == "" || o.Format == Parquet,
		"%s (%s) is of parquet, not of %s", knob.Name("sink.Layout"), o.Layout, o.Format)
	check(o.Threads >= 1, "%s (%d) must be at least 1", knob.Name("sink.Threads"), o.Threads)
	check(o.MaxRowsPerFile >= 0, "%s (%d) must not be negative", knob.Name("sink.MaxRowsPerFile"), o.MaxRowsPerFile)
	check(o.OpenFilesMax >= 1, "OpenFilesMax (%d) must be at least 1", o.OpenFilesMax)
	check(o.GroupBytes >= 1, "GroupBytes (%d) must be at least 1", o.GroupBytes)
	check(o.Delimiter < 0x80 && strings.IndexByte(delimitersRefused, o.Delimiter) < 0,
		"Delimiter (%q) must be an ASCII character that no number or date has", o.Delimiter)
	check(o.RowsShown >= -1, "RowsShown (%d) must be -1 or more", o.RowsShown)
	check(o.RowsLast >= 0 && (o.RowsLast == 0 || o.RowsLast <= o.RowsShown),
		"RowsLast (%d) must be in [0, RowsShown (%d)]", o.RowsLast, o.RowsShown)
	check(o.TableWidth >= 0, "TableWidth (%d) must not be negative", o.TableWidth)
	check(!o.Separators || o.Format == "" || o.Format.forPeople() || o.Format == Markdown,
		"%s is of formats for people (table, vertical, markdown), not of %s", knob.Name("sink.Separators"), o.Format)
	check(o.CellWidth >= 4, "CellWidth (%d) must be at least 4", o.CellWidth)
	return errors.Join(errs...)
}

// parquet returns the options of the Parquet encoder.
func (o *Options) parquet() *parquet.Options {
	page := parquet.PageSizeDefault
	if o.Layout == LayoutGPU {
		page = parquet.PageSizeGPU
	}
	return &parquet.Options{Codec: o.Codec, Level: o.Level, RowGroupRows: o.RowGroupRows,
		GroupBytes: o.GroupBytes, Page: page,
		Threads: o.Threads, Allocator: o.Allocator, Budget: o.Budget}
}

// table returns the options of tables.
func (o *Options) table() text.TableOptions {
	return text.TableOptions{RowsShown: o.RowsShown, Tail: o.RowsLast, CellWidth: o.CellWidth, Width: o.TableWidth,
		Color: o.Color, Separators: o.Separators}
}

// Directory reports whether the output is a directory of files.
func (o *Options) Directory() bool {
	return len(o.PartitionBy) > 0 || o.MaxRowsPerFile > 0 || o.Manifest
}

// listed reports whether the output is a directory with a manifest.
func (o *Options) listed() bool { return o.Manifest || len(o.PartitionBy) > 0 || o.Update }

// hashed reports whether the manifest has checksums.
func (o *Options) hashed() bool { return o.Manifest || o.Update }

// delimitersRefused are the characters of fields that are never quoted, and the characters that
// quoting itself needs.
const delimitersRefused = "\"\r\n\x00+-.:" +
	"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Format is a way to write rows.
type Format string

// The formats.
const (
	Table       Format = "table"    // for a terminal: the first rows, aligned, and their number
	Vertical    Format = "vertical" // for a terminal: a line for each field of the first rows
	Markdown    Format = "markdown" // a table of Markdown
	CSV         Format = "csv"      // RFC 4180, with \n at the end of a line
	TSV         Format = "tsv"      // CSV with tabs
	JSON        Format = "json"     // one object per line
	Parquet     Format = "parquet"  // with the Arrow schema in its metadata
	Arrow       Format = "arrow"    // an Arrow IPC file, also known as Feather; to "-", a stream
	ArrowStream Format = "arrows"   // an Arrow IPC stream
)

// formats lists the formats in the order of their documentation.
var formats = []Format{Table, Vertical, Markdown, CSV, TSV, JSON, Parquet, Arrow, ArrowStream}

// FormatNames lists the names of the formats.
func FormatNames() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f)
	}
	return names
}

// endings maps the endings of file names to formats.
var endings = map[string]Format{
	".csv": CSV, ".tsv": TSV, ".tab": TSV, ".json": JSON, ".ndjson": JSON, ".jsonl": JSON, ".md": Markdown,
	".parquet": Parquet, ".pq": Parquet,
	".arrow": Arrow, ".ipc": Arrow, ".feather": Arrow, ".arrows": ArrowStream,
}

// ParseFormat reads the name of a format, in any case.
func ParseFormat(s string) (Format, error) {
	f := Format(strings.ToLower(s))
	if !slices.Contains(formats, f) {
		return "", knob.Errorf("%s %q: want one of %s", knob.Name("sink.Format"), s, formatList())
	}
	return f, nil
}

// FormatOf returns the format that the ending of a path names. Text formats may have .gz or .zst
// behind their ending. A device gets a table, as the standard output does.
func FormatOf(path string) (Format, error) {
	name := strings.ToLower(filepath.Base(path))
	plain := strings.TrimSuffix(name, compressionOf(path))
	format, ok := endings[filepath.Ext(plain)]
	switch {
	case !ok && IsDevice(path):
		return Table, nil
	case !ok:
		return "", knob.Errorf(
			"%s: the ending names no format: end it in .parquet, .arrow, .arrows, .csv, .tsv, .json or "+
				".md, or name the format (%s)",
			path, knob.Name("sink.Format"))
	case plain != name && !format.text():
		return "", fmt.Errorf(
			"%s: only csv, tsv, json and markdown are compressed by their ending; %s has codecs of its own",
			path, format)
	}
	return format, nil
}

func (f Format) text() bool { return f == CSV || f == TSV || f == JSON || f == Markdown }

// forPeople says whether a format shows the first rows, to people.
func (f Format) forPeople() bool { return f == Table || f == Vertical }

func formatList() string { return strings.Join(FormatNames(), ", ") }

// checkCodec reports a codec that the format does not have.
func checkCodec(format Format, codec string) error {
	var known []string
	switch format {
	case Parquet:
		known = parquet.CodecNames()
	case Arrow, ArrowStream:
		known = []string{"none", "lz4", "zstd"}
	}
	if codec == "" || slices.Contains(known, codec) {
		return nil
	}
	if known == nil {
		return knob.Errorf("%s (%q) is for parquet and arrow, not for %s", knob.Name("sink.Codec"), codec, format)
	}
	return knob.Errorf("%s (%q) of %s must be one of %s", knob.Name("sink.Codec"), codec, format,
		strings.Join(known, ", "))
}
