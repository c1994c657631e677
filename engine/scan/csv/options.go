package csv

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/internal/vfs"
)

// Options say how text becomes columns. The zero value detects what it can.
type Options struct {
	// Delimiter separates fields. The default is what separates the sample best, of , ; tab and |.
	Delimiter byte

	// Quote encloses a field that holds delimiters, newlines or, doubled, quotes. The default is
	// '"'.
	Quote byte

	// NoQuote takes the quote character as a character like any other.
	NoQuote bool

	// Header says whether the first row holds the names of the columns. The default is HeaderAuto.
	Header Header

	// Names are the names of the columns. The default is the names in the file.
	Names []string

	// SkipLines is how many lines are left out at the start, before the header. The default is 0.
	SkipLines int

	// NullStrings are the unquoted fields that are NULL. The default is the empty field alone.
	NullStrings []string

	// Types are the types of columns, by name; the types of other columns are inferred from the
	// sample.
	Types map[string]arrow.DataType

	// DateFormat is the format of dates, as strptime has it: %d.%m.%Y. The default is YYYY-MM-DD,
	// and what the sample shows of the formats that are looked for.
	DateFormat string

	// TimestampFormat is the format of timestamps. The default is YYYY-MM-DD HH:MM:SS with a
	// fraction and a zone or without, and what the sample shows of the formats that are looked for.
	TimestampFormat string

	// DecimalSeparator is '.' or ',', before the fraction of a number. The default is '.'.
	DecimalSeparator byte

	// Thousands may stand between the digits of a number. The default is none.
	Thousands byte

	// Encoding of the text. The default is UTF-8, and UTF-16 where the text begins with its byte
	// order mark. A text of another encoding than UTF-8 is one split.
	Encoding Encoding

	// Comment begins a comment, which goes to the end of the line, outside of quotes. A line that
	// begins with it is left out. The default is none.
	Comment byte

	// NullPadding fills up rows that have too few fields with NULLs.
	NullPadding bool

	// IgnoreErrors leaves out rows that have another number of fields, quotes where none may be, or
	// a value that is not of the type of its column, of the columns that are read.
	IgnoreErrors bool

	// Rejects takes the rows that IgnoreErrors leaves out. The default, nil, drops them.
	Rejects *Rejects

	// AllText reads the columns that are not in Types as text.
	AllText bool

	// SampleRows is how many rows of each file are looked at to infer types. The default is 10,000.
	SampleRows int
}

// EnsureDefaults fills in what is zero.
func (o *Options) EnsureDefaults() {
	o.Quote = cmp.Or(o.Quote, '"')
	if o.NullStrings == nil {
		o.NullStrings = []string{""}
	}
	o.SampleRows = cmp.Or(o.SampleRows, 10_000)
	o.DecimalSeparator = cmp.Or(o.DecimalSeparator, '.')
}

func (o *Options) Validate() []error {
	var errs []error
	for _, c := range []struct {
		name  string
		value byte
	}{{"Delimiter", o.Delimiter}, {"Quote", o.Quote}, {"Comment", o.Comment}, {"Thousands", o.Thousands}} {
		if c.value == '\n' || c.value == '\r' || c.value >= 0x80 {
			errs = append(errs, fmt.Errorf("CSV.%s (%q) must be an ASCII character that ends no line", c.name, c.value))
		}
	}
	if !o.NoQuote && o.Delimiter == o.Quote {
		errs = append(errs, fmt.Errorf("CSV.Delimiter and CSV.Quote are both %q", o.Quote))
	}
	if o.Comment != 0 && (o.Comment == o.Delimiter || !o.NoQuote && o.Comment == o.Quote) {
		errs = append(errs, fmt.Errorf("CSV.Comment (%q) must be neither CSV.Delimiter nor CSV.Quote", o.Comment))
	}
	errs = append(errs, o.validateValues()...)
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
		if !fields.CanBe(typ) {
			errs = append(errs, fmt.Errorf("CSV.Types: column %q: text cannot be read as %s", name, typ))
		}
	}
	return errs
}

// validateValues is Validate for what says how values are read.
func (o *Options) validateValues() (errs []error) {
	if o.DecimalSeparator != '.' && o.DecimalSeparator != ',' {
		errs = append(errs, fmt.Errorf("CSV.DecimalSeparator (%q) must be . or ,", o.DecimalSeparator))
	}
	switch c := o.Thousands; {
	case c == o.DecimalSeparator:
		errs = append(errs, fmt.Errorf("CSV.Thousands and CSV.DecimalSeparator are both %q", c))
	case c >= '0' && c <= '9', c == '+', c == '-':
		errs = append(errs, fmt.Errorf("CSV.Thousands (%q) must not be part of a number", c))
	}
	if _, known := encodings[o.Encoding]; !known {
		errs = append(errs, fmt.Errorf("CSV.Encoding (%q) must be one of %s", o.Encoding, strings.Join(encodingNames, ", ")))
	}
	for _, f := range []struct{ name, format string }{{"DateFormat", o.DateFormat}, {"TimestampFormat", o.TimestampFormat}} {
		if _, err := readerOf(f.format); err != nil {
			errs = append(errs, fmt.Errorf("CSV.%s: %w", f.name, err))
		}
	}
	return errs
}

// Header says whether a text file starts with the names of its columns.
type Header uint8

// The choices for Header.
const (
	HeaderAuto Header = iota // a first row of distinct names above columns that are not all text
	HeaderYes
	HeaderNo // columns are named column0, column1, ...
)

// Rejects takes the rows that IgnoreErrors leaves out.
type Rejects = textfile.Rejects

// NewRejects returns rejects that keep rows in a temporary file, in a folder of a file system, until
// they are written or closed.
func NewRejects(fsys vfs.FS, tempDir string) *Rejects { return textfile.NewRejects(fsys, tempDir) }
