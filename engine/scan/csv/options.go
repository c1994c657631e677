package csv

import (
	"cmp"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/vfs"
)

// Options say how text becomes columns. The zero value detects what it can.
type Options struct {
	// Delimiter separates fields. The default is what separates the sample best, of , ; tab and |.
	Delimiter byte `json:"delimiter,omitzero"`

	// Quote encloses a field that holds delimiters, newlines or, doubled, quotes. The default is
	// '"', or '\'' where single quotes enclose a column of the sample, and no double quotes are there.
	Quote byte `json:"quote,omitzero"`

	// Escape stands within quotes before a character that is meant itself. The default is '\\' where the sample is a
	// table of equally long rows with it, and not without, and else the quote: quotes within quotes are doubled.
	Escape byte `json:"escape,omitzero"`

	// NoQuote takes the quote character as a character like any other.
	NoQuote bool `json:"no_quote,omitzero"`

	// Header says whether the first row holds the names of the columns. The default is HeaderAuto.
	Header Header `json:"header,omitzero"`

	// Names are the names of the columns, numbered where they are repeated. The default is the names in the file.
	Names []string `json:"names,omitzero"`

	// SkipLines is how many lines are left out at the start, before the header. The default is the rows
	// of fewer fields before a table whose rows all have as many, which are a title.
	SkipLines int `json:"skip_lines,omitzero"`

	// NullStrings are the unquoted fields that are NULL. The default is the empty field alone.
	NullStrings []string `json:"null_strings,omitzero"`

	// Types are the types of columns, by name; the types of other columns are inferred from the
	// sample.
	Types map[string]arrow.DataType `json:"-"`

	// DateFormat is the format of dates, as strptime has it: %d.%m.%Y. The default is YYYY-MM-DD,
	// and what the sample shows of the formats that are looked for.
	DateFormat string `json:"date_format,omitzero"`

	// TimestampFormat is the format of timestamps. The default is YYYY-MM-DD HH:MM:SS with a
	// fraction and a zone or without, and what the sample shows of the formats that are looked for.
	TimestampFormat string `json:"timestamp_format,omitzero"`

	// DecimalSeparator is '.' or ',', before the fraction of a number. The default is '.'.
	DecimalSeparator byte `json:"decimal_separator,omitzero"`

	// Thousands may stand between the digits of a number. The default is none.
	Thousands byte `json:"thousands,omitzero"`

	// Encoding of the text. The default is UTF-8, and UTF-16 where the text begins with its byte
	// order mark. A text of another encoding than UTF-8 is one split.
	Encoding Encoding `json:"encoding,omitzero"`

	// Comment begins a comment, which goes to the end of the line, outside of quotes. A line that
	// begins with it is left out. The default is none, or '#' where lines of the sample that begin with
	// it have another number of fields than all others.
	Comment byte `json:"comment,omitzero"`

	// NullPadding fills up rows that have too few fields with NULLs.
	NullPadding bool `json:"null_padding,omitzero"`

	// IgnoreErrors leaves out rows that have another number of fields, quotes where none may be, or
	// a value that is not of the type of its column, of the columns that are read.
	IgnoreErrors bool `json:"ignore_errors,omitzero"`

	// InferMost, with IgnoreErrors, infers the type that most values of a column have: one value of the sample, or a
	// tenth of them, may be another's, and their rows have an error.
	InferMost bool `json:"infer_most,omitzero"`

	// Rejects takes the rows that IgnoreErrors leaves out. The default, nil, drops them.
	Rejects *Rejects `json:"-"`

	// MaxRejects is how many rows may be left out, as "100", or which part of all rows that are read, as "1%". Whoever
	// publishes what was read asks Rejects.Check. It implies IgnoreErrors and InferMost. The default is any number.
	MaxRejects string `json:"max_rejects,omitzero"`

	// AllText reads the columns that are not in Types as text.
	AllText bool `json:"all_text,omitzero"`

	// SampleRows is how many rows of each file are looked at to infer types; -1 for all. The default is
	// 20,480, as DuckDB has it, as far as the first MiB of a file has them; more rows are looked for beyond.
	SampleRows int `json:"sample_rows,omitzero"`
}

// sampleRowsDefault is DuckDB's sample_size.
const sampleRowsDefault = 20_480

// EnsureDefaults fills in what is zero.
func (o *Options) EnsureDefaults() {
	if o.NullStrings == nil {
		o.NullStrings = []string{""}
	}
	if o.MaxRejects != "" {
		o.IgnoreErrors, o.InferMost = true, true
	}
	o.SampleRows = cmp.Or(o.SampleRows, sampleRowsDefault)
	o.DecimalSeparator = cmp.Or(o.DecimalSeparator, '.')
	if o.Names != nil {
		o.Names = slices.Clone(o.Names)
		delivery.NumberRepeated(o.Names)
	}
}

// SamplesBeyond says whether rows are looked at behind the first MiB of a text.
func (o *Options) SamplesBeyond() bool {
	return o.SampleRows == textfile.SampleAll || o.SampleRows > sampleRowsDefault
}

// Validate returns an error for every field that is out of its bounds.
func (o *Options) Validate() []error {
	var errs knob.Errors
	for _, c := range []struct {
		name  knob.Name
		value byte
	}{
		{"dataset.CSV.Delimiter", o.Delimiter}, {"dataset.CSV.Quote", o.Quote}, {"dataset.CSV.Comment", o.Comment},
		{"dataset.CSV.Escape", o.Escape},
		{"dataset.CSV.Thousands", o.Thousands},
	} {
		errs.If(c.value == '\n' || c.value == '\r' || c.value >= 0x80,
			"%s (%q) must be an ASCII character that ends no line", c.name, c.value)
	}
	quote := cmp.Or(o.Quote, '"')
	errs.If(!o.NoQuote && o.Delimiter == quote,
		"%s and %s are both %q", knob.Name("dataset.CSV.Delimiter"), knob.Name("dataset.CSV.Quote"), quote)
	errs.If(o.Comment != 0 && (o.Comment == o.Delimiter || !o.NoQuote && o.Comment == quote),
		"%s (%q) must be neither %s nor %s", knob.Name("dataset.CSV.Comment"), o.Comment,
		knob.Name("dataset.CSV.Delimiter"), knob.Name("dataset.CSV.Quote"))
	errs.If(o.Escape != 0 && !o.NoQuote && (o.Escape == o.Delimiter || o.Escape == o.Comment),
		"%s (%q) must be neither %s nor %s", knob.Name("dataset.CSV.Escape"), o.Escape,
		knob.Name("dataset.CSV.Delimiter"), knob.Name("dataset.CSV.Comment"))
	errs = append(errs, o.validateValues()...)
	errs.If(o.Header > HeaderNo,
		"%s (%d) must be at most %d", knob.Name("dataset.CSV.Header"), o.Header, HeaderNo)
	errs.If(o.SkipLines < 0,
		"%s (%d) must not be negative", knob.Name("dataset.CSV.SkipLines"), o.SkipLines)
	errs.If(o.SampleRows < 1 && o.SampleRows != textfile.SampleAll,
		"%s (%d) must be at least 1, or -1 for all rows", knob.Name("dataset.CSV.SampleRows"), o.SampleRows)
	if _, err := textfile.ParseRejectsLimit(o.MaxRejects); err != nil {
		errs = append(errs, knob.Errorf("%s (%w)", knob.Name("dataset.CSV.MaxRejects"), err))
	}
	for name, typ := range o.Types {
		_, isNested := typ.(*nested.Type) // of JSON, or an error of SetTypes
		errs.If(!isNested && !fields.CanBe(typ),
			"%s: column %q: text cannot be read as %s", knob.Name("dataset.CSV.Types"), name, typ)
	}
	return errs
}

// validateValues is Validate for what says how values are read.
func (o *Options) validateValues() (errs knob.Errors) {
	errs.If(o.DecimalSeparator != '.' && o.DecimalSeparator != ',',
		"%s (%q) must be . or ,", knob.Name("dataset.CSV.DecimalSeparator"), o.DecimalSeparator)
	switch c := o.Thousands; {
	case c == o.DecimalSeparator:
		errs = append(errs, knob.Errorf("%s and %s are both %q", knob.Name("dataset.CSV.Thousands"),
			knob.Name("dataset.CSV.DecimalSeparator"), c))
	case c >= '0' && c <= '9', c == '+', c == '-':
		errs = append(errs, knob.Errorf("%s (%q) must not be part of a number", knob.Name("dataset.CSV.Thousands"), c))
	}
	if _, known := encodings[o.Encoding]; !known {
		errs = append(errs, knob.Errorf("%s (%q) must be one of %s", knob.Name("dataset.CSV.Encoding"),
			o.Encoding, strings.Join(encodingNames, ", ")))
	}
	for _, f := range []struct {
		name   knob.Name
		format string
	}{{"dataset.CSV.DateFormat", o.DateFormat}, {"dataset.CSV.TimestampFormat", o.TimestampFormat}} {
		if _, err := readerOf(f.format); err != nil {
			errs = append(errs, knob.Errorf("%s: %w", f.name, err))
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

// CheckRejectsFile returns an error where a file has something else than rejects, which these would overwrite.
func CheckRejectsFile(fsys vfs.FS, path string) error { return textfile.CheckRejectsFile(fsys, path) }

// ErrRejects is the error of input that has more rows with errors than MaxRejects allows.
var ErrRejects = textfile.ErrRejects

// NewRejects returns rejects that keep rows in a temporary file, in a folder of a file system, until
// they are written or closed.
func NewRejects(fsys vfs.FS, tempDir string) *Rejects { return textfile.NewRejects(fsys, tempDir) }
