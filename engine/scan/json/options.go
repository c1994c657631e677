package json

import (
	"cmp"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/internal/knob"
)

// Options say how JSON becomes columns. The zero value is usable.
type Options struct {
	// Names are the columns; other keys are passed over. The default is all keys of the samples.
	Names []string `json:"names,omitzero"`

	// Types are the types of columns, by name; the types of other columns are inferred from the
	// sample. Without Names, a column that no sample has comes behind the others, by name. A member of objects is
	// named with the names of what it is in, and points between them; a nested type is a nested.Type.
	Types map[string]arrow.DataType `json:"-"`

	// SampleRows is how many rows of each file are looked at for the columns and their types, as far as
	// they are in its first 16 MiB; -1 for all of these. The default is 20,480.
	SampleRows int `json:"sample_rows,omitzero"`

	// RowLimit is how many bytes of text an object may take. The default is 64 MiB; 256 MiB are the
	// most.
	RowLimit int `json:"row_limit,omitzero"`
}

// EnsureDefaults fills in what is zero.
func (o *Options) EnsureDefaults() {
	o.SampleRows = cmp.Or(o.SampleRows, sampleRowsDefault)
	o.RowLimit = cmp.Or(o.RowLimit, textfile.RowLimitDefault)
}

// sampleRowsDefault is DuckDB's sample_size.
const sampleRowsDefault = 20_480

// Validate returns an error for every field that is out of its bounds.
func (o *Options) Validate() []error {
	var errs knob.Errors
	errs.If(o.SampleRows < 1 && o.SampleRows != textfile.SampleAll,
		"%s (%d) must be at least 1, or -1 for all rows", knob.Name("dataset.JSON.SampleRows"), o.SampleRows)
	errs.If(o.RowLimit < 1 || o.RowLimit > textfile.RowLimitMax,
		"%s (%d) must be in [1, %d]", knob.Name("dataset.JSON.RowLimit"), o.RowLimit, textfile.RowLimitMax)
	for i, name := range o.Names {
		errs.If(slices.Contains(o.Names[:i], name),
			"%s has %q twice", knob.Name("dataset.JSON.Names"), name)
	}
	for name, typ := range o.Types {
		errs.If(!readable(typ),
			"%s: column %q: JSON cannot be read as %s", knob.Name("dataset.JSON.Types"), name, typ)
	}
	return errs
}
