package dataset

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/engine/scan/json"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/vfs"
)

// Format names a file format.
type Format string

// The formats. FormatAuto goes by the ending of a file's name, then by its first bytes.
const (
	FormatAuto        Format = ""
	FormatParquet     Format = "parquet"
	FormatArrow       Format = "arrow"  // Arrow IPC file, which has a footer
	FormatArrowStream Format = "arrows" // Arrow IPC stream
	FormatCSV         Format = "csv"
	FormatTSV         Format = "tsv"    // CSV whose delimiter is a tab
	FormatJSON        Format = "json"   // one object per line, or an array of objects
	FormatNDJSON      Format = "ndjson" // another name for FormatJSON
	FormatDelta       Format = "delta"  // the directory of a table of Delta Lake
	FormatIceberg     Format = "iceberg"
)

var formats = []Format{
	FormatParquet, FormatArrow, FormatArrowStream, FormatCSV, FormatTSV, FormatJSON, FormatNDJSON,
	FormatDelta, FormatIceberg,
}

// FormatNames returns the names of the formats but for FormatAuto, as the help lists them.
func FormatNames() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f)
	}
	return names
}

// Options say how Open finds and reads files. The zero value is usable. As JSON it has what says how
// files are read, but for types, which Known has.
type Options struct {
	// Format of every file. The default is FormatAuto.
	Format Format `json:"format,omitzero"`

	// FS is where the files are. The default is vfs.OS.
	FS vfs.FS `json:"-"`

	// Stdin is read for the pattern "-". The default is os.Stdin.
	Stdin io.Reader `json:"-"`

	// NoHive takes folders named key=value as folders, not as columns.
	NoHive bool `json:"no_hive,omitzero"`

	// UnionByName gives the table the columns of all files: a column that a file lacks is NULL in its rows. The
	// default are the columns of the first file, which all files must have.
	UnionByName bool `json:"union_by_name,omitzero"`

	// SkipMissing passes over patterns that no file has, as long as another has one. The default is an error.
	SkipMissing bool `json:"skip_missing,omitzero"`

	// Filename adds a column filename of the names of the files, as they are in errors: without the
	// secrets of URLs. Conditions on it leave files out.
	Filename bool `json:"filename,omitzero"`

	// RowNumber adds a column file_row_number, which counts the rows of each file from 0. Only files that know their
	// rows, as Parquet does, have it.
	RowNumber bool `json:"row_number,omitzero"`

	// RowNumberHidden is to RowNumber what FilenameHidden is to Filename.
	RowNumberHidden bool `json:"row_number_hidden,omitzero"`

	// FilenameHidden adds the column of Filename, where neither files nor folders have one of that name, as a hidden
	// column (scan.IsHidden).
	FilenameHidden bool `json:"filename_hidden,omitzero"`

	// DistrustStatistics reads Parquet as if its writers had put no statistics, page indexes' bounds
	// and Bloom filters into it: for files whose writer got these wrong. Filters read more for it.
	DistrustStatistics bool `json:"distrust_statistics,omitzero"`

	// Version is a version of a table of Delta, or of the metadata of a table of Iceberg. The default is the last.
	Version string `json:"version,omitzero"`

	// Snapshot is the number of a snapshot of a table of Iceberg. The default is the current one.
	Snapshot string `json:"snapshot,omitzero"`

	// AsOf is a time, in UTC where it has no zone: a table of Delta or Iceberg is read as it was then.
	AsOf string `json:"as_of,omitzero"`

	// Spool keeps standard input that is a Parquet or Arrow file, which is read from its end. The
	// default, nil, refuses such input.
	Spool *Spool `json:"-"`

	// CSV says how CSV and TSV are read.
	CSV csv.Options `json:"csv,omitzero"`

	// JSON says how JSON is read. The default of its Types are the types of CSV.
	JSON json.Options `json:"json,omitzero"`

	// Known is what a whole table says of its columns, where the files are a part of the table. The
	// default, nil, takes the files for the whole table.
	Known *Known `json:"known,omitzero"`

	// Ranges are the parts of text files that are read, by path. The default, nil, reads all of each.
	Ranges map[string]Range `json:"-"`

	// Readers is for options of several tables, and notes the formats of the opened ones. The default, nil, are options
	// of one table: Open refuses an option that is set, and that none of its files uses.
	Readers *Readers `json:"-"`

	// Budget is the memory that looking at footers, headers and samples may take. Footers that are
	// kept are not reserved any more when Open returns. The default, nil, has no limit.
	Budget scan.Budget `json:"-"`

	isFiles bool // the input is surely no table of Delta or Iceberg

	sizes textfile.Sizes // testing knob
}

// EnsureDefaults fills in what is zero.
func (o *Options) EnsureDefaults() {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	if o.Format == FormatTSV && o.CSV.Delimiter == 0 {
		o.CSV.Delimiter = '\t'
	}
	o.CSV.EnsureDefaults()
	if o.JSON.Types == nil {
		o.JSON.Types = o.CSV.Types
	}
	o.JSON.EnsureDefaults()
}

// Validate reports every field that is out of its bounds.
func (o *Options) Validate() error {
	var errs knob.Errors
	errs.If(o.Format != FormatAuto && !slices.Contains(formats, o.Format),
		"%s (%q) must be one of %s", knob.Name("dataset.Format"),
		o.Format, strings.Join(FormatNames(), ", "))
	errs = append(errs, o.CSV.Validate()...)
	return errors.Join(append(errs, o.JSON.Validate()...)...)
}

// IsDataFile says whether a name ends as names of data files do: in .parquet, .csv.gz and their like.
func IsDataFile(name string) bool {
	format, _ := formatOf(name)
	return format != FormatAuto
}

// formatOf returns the format that a name's ending tells, and FormatAuto for an unknown ending.
// packed is the ending of a compressed text file: ".gz", ".zst", ".bz2" or "".
func formatOf(name string) (format Format, packed string) {
	name = strings.ToLower(withoutQuery(name))
	for _, p := range []string{".gz", ".zst", ".bz2"} {
		if strings.HasSuffix(name, p) {
			name, packed = strings.TrimSuffix(name, p), p
			break
		}
	}
	switch dot := strings.LastIndexByte(name, '.'); name[max(dot, 0):] {
	case ".csv":
		return FormatCSV, packed
	case ".tsv":
		return FormatTSV, packed
	case ".json", ".ndjson", ".jsonl":
		return FormatJSON, packed
	case ".parquet", ".pq":
		format = FormatParquet
	case ".arrow", ".ipc", ".feather":
		format = FormatArrow
	case ".arrows":
		format = FormatArrowStream
	}
	if packed != "" {
		return FormatAuto, packed // only text is read through a decompressor
	}
	return format, ""
}
