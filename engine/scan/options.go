package scan

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/rowdata"
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
	FormatTSV         Format = "tsv" // CSV whose delimiter is a tab
)

var formats = []Format{FormatAuto, FormatParquet, FormatArrow, FormatArrowStream, FormatCSV, FormatTSV}

// Options say how Open finds and reads files. The zero value is usable.
type Options struct {
	// Format of every file. The default is FormatAuto.
	Format Format

	// FS is where the files are. The default is vfs.OS.
	FS vfs.FS

	// Stdin is what the pattern "-" reads. The default is os.Stdin.
	Stdin io.Reader

	// NoHive takes folders named key=value as folders, not as columns.
	NoHive bool

	// CSV says how text is read.
	CSV CSVOptions

	// Budget is the memory that looking at the files may take: at footers, headers and samples. What is kept of them
	// is not reserved any more when Open returns. The default, nil, has no limit.
	Budget rowdata.Budget
}

// CSVOptions say how text becomes columns. The zero value detects what it can.
type CSVOptions struct {
	// Delimiter separates fields. The default is what separates the sample best, of , ; tab and |.
	Delimiter byte

	// Quote encloses a field that holds delimiters, newlines or, doubled, itself. The default is '"'.
	Quote byte

	// NoQuote takes the quote character as a character like any other.
	NoQuote bool

	// Header says whether the first row holds the names of the columns. The default is HeaderAuto.
	Header Header

	// Names are those of the columns, in place of the ones in the file. The default is the file's.
	Names []string

	// SkipLines is how many lines are left out at the start, before the header. The default is none.
	SkipLines int

	// NullStrings are the unquoted fields that are NULL. The default is the empty field alone.
	NullStrings []string

	// Types sets the types of columns by name; those of the others are inferred from the sample.
	Types map[string]arrow.DataType

	// AllText reads the columns without a type of their own as text.
	AllText bool

	// SampleRows is how many rows of each file are looked at to infer types. The default is 10,000.
	SampleRows int

	chunkBytes int64 // of a split; testing knob
	blockBytes int   // of one read of a stream; testing knob
}

// Header says whether a text file starts with the names of its columns.
type Header uint8

// The choices for Header.
const (
	HeaderAuto Header = iota // a first row of distinct names above columns that are not all text
	HeaderYes
	HeaderNo // columns are named column0, column1, ...
)

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
}

// EnsureDefaults fills in what is zero.
func (o *CSVOptions) EnsureDefaults() {
	if o.Quote == 0 {
		o.Quote = '"'
	}
	if o.NullStrings == nil {
		o.NullStrings = []string{""}
	}
	if o.SampleRows == 0 {
		o.SampleRows = 10_000
	}
	if o.chunkBytes == 0 {
		o.chunkBytes = chunkBytesDefault
	}
	if o.blockBytes == 0 {
		o.blockBytes = blockBytesDefault
	}
}

// Validate reports every field that is out of its bounds.
func (o *Options) Validate() error {
	var errs []error
	if !slices.Contains(formats, o.Format) {
		errs = append(errs, fmt.Errorf("Format (%q) must be one of parquet, arrow, arrows, csv, tsv", o.Format))
	}
	return errors.Join(append(errs, o.CSV.validate()...)...)
}

func (o *CSVOptions) validate() []error {
	var errs []error
	for _, c := range []struct {
		name  string
		value byte
	}{{"Delimiter", o.Delimiter}, {"Quote", o.Quote}} {
		if c.value == '\n' || c.value == '\r' || c.value >= 0x80 {
			errs = append(errs, fmt.Errorf("CSV.%s (%q) must be an ASCII character that ends no line", c.name, c.value))
		}
	}
	if !o.NoQuote && o.Delimiter == o.Quote {
		errs = append(errs, fmt.Errorf("CSV.Delimiter and CSV.Quote are both %q", o.Quote))
	}
	if o.Header > HeaderNo {
		errs = append(errs, fmt.Errorf("CSV.Header (%d) must be at most %d", o.Header, HeaderNo))
	}
	if o.SkipLines < 0 {
		errs = append(errs, fmt.Errorf("CSV.SkipLines (%d) must not be negative", o.SkipLines))
	}
	if o.SampleRows < 1 {
		errs = append(errs, fmt.Errorf("CSV.SampleRows (%d) must be at least 1", o.SampleRows))
	}
	for name, typ := range o.Types {
		if newConverter(typ) == nil {
			errs = append(errs, fmt.Errorf("CSV.Types: column %q: text cannot be read as %s", name, typ))
		}
	}
	return errs
}

// hasNullString says whether an unquoted field is one of NullStrings.
func (o *CSVOptions) hasNullString(field string) bool {
	return slices.Contains(o.NullStrings, field)
}

// formatOf returns the format that a name's ending tells, and FormatAuto for an unknown ending.
// packed is the ending of a compressed text file: ".gz", ".zst" or "".
func formatOf(name string) (format Format, packed string) {
	name = strings.ToLower(withoutQuery(name))
	for _, p := range []string{".gz", ".zst"} {
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
