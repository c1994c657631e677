package csv

import (
	"cmp"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/fields"
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
}

func (o *Options) Validate() []error {
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
		if !fields.CanBe(typ) {
			errs = append(errs, fmt.Errorf("CSV.Types: column %q: text cannot be read as %s", name, typ))
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
