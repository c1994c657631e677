package rowdata

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// ColumnStats is what is known of a column before it is read. Each is a promise.
type ColumnStats struct {
	// NoNulls promises that the column has no NULL.
	NoNulls bool

	// HasRange promises that every value v of an integer column (signed or unsigned, date, time,
	// timestamp, duration) has Min <= v <= Max, as int64. Not set for a uint64 above that.
	HasRange bool
	Min, Max int64

	// Tight promises that Min and Max of a range are values that the column has: the least and the greatest.
	Tight bool

	// Repeats says that the batches hold a string column dictionary-encoded, with dictionaries
	// that are small beside their rows. It is a hint: grouping then works on codes.
	Repeats bool
}

// Column is a column of the source that a query reads.
type Column struct {
	Index    int // in the source's schema
	Name     string
	Type     arrow.DataType // never a dictionary: the type of its values
	Kind     Kind
	Nullable bool

	HasRange bool
	Min, Max int64

	// Interned: as a key, a string is held as its number in a list of the query's strings.
	Interned bool
}

// Scale returns how many digits of the column's numbers stand behind the point.
func (c *Column) Scale() int {
	if d, ok := c.Type.(arrow.DecimalType); ok {
		return int(d.GetScale())
	}
	return 0
}

// Bound is a query that has met a source: what is read, how keys are packed, what is folded, and
// how results are made of the folds. It is read-only once made, and shared by all workers.
type Bound struct {
	Query      query.Query
	Columns    []Column    // that the query reads, each once
	KeyColumns []int       // indexes into Columns, by key
	Keys       KeyLayout   // of the packed key
	Args       []Arg       // distinct (column, encoding)
	Selections []Selection // distinct sets of nullable columns
	Inputs     []Input     // distinct (argument, selection)
	Folds      []Fold      // distinct folds
	Outputs    []Output    // by aggregate
	Schema     *arrow.Schema
}

// Output says how an aggregate's result is made.
type Output struct {
	Aggregate query.Aggregate
	Column    Column         // the first argument; of count(*) the zero Column
	Type      arrow.DataType // of the result
	Fold      int            // index into Bound.Folds
	Count     int            // index of the fold that counts the aggregate's rows; -1 when the state tells
	Of        *SetFold       // of an aggregate of distinct values whose set Fold is; nil where the elements are the result
}

// Bind resolves a query against a schema. stats is as long as the schema, or nil.
// Its errors are ErrQuery.
func Bind(q query.Query, schema *arrow.Schema, stats []ColumnStats) (*Bound, error) {
	return (&binder{schema: schema, stats: stats}).bind(q)
}

func (b *binder) bind(q query.Query) (*Bound, error) {
	if err := q.Validate(); err != nil {
		return nil, query.Errorf("%v", err)
	}
	b.bound = &Bound{Query: q}
	var errs []error
	var fields []arrow.Field
	for _, k := range q.Keys {
		c, err := b.column(k.Column)
		if err != nil {
			errs = append(errs, fmt.Errorf("key %w", err))
			continue
		}
		b.bound.KeyColumns = append(b.bound.KeyColumns, c)
		col := &b.bound.Columns[c]
		fields = append(fields, arrow.Field{Name: k.ResultName(), Type: col.Type, Nullable: col.Nullable})
	}
	for _, a := range q.Aggregates {
		out, err := b.output(a)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", a, err))
			continue
		}
		b.bound.Outputs = append(b.bound.Outputs, out)
		fields = append(fields, arrow.Field{Name: a.ResultName(), Type: out.Type, Nullable: b.nullable(&out)})
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	keys := make([]*Column, len(b.bound.KeyColumns))
	for i, c := range b.bound.KeyColumns {
		keys[i] = &b.bound.Columns[c]
	}
	b.bound.Keys = newKeyLayout(keys)
	b.bound.Schema = arrow.NewSchema(fields, nil)
	return b.bound, nil
}

type binder struct {
	schema *arrow.Schema
	stats  []ColumnStats
	bound  *Bound

	canonical bool // folds do not follow from statistics
}

// column returns a column of the source as one of Bound.Columns.
func (b *binder) column(name string) (int, error) {
	index, err := query.FindColumn(b.schema, name)
	if err != nil {
		return 0, err
	}
	for c := range b.bound.Columns {
		if b.bound.Columns[c].Index == index {
			return c, nil
		}
	}
	field := b.schema.Field(index)
	kind, err := KindOf(field.Type)
	if err != nil {
		return 0, query.Errorf("column %q: %v", field.Name, err)
	}
	col := Column{Index: index, Name: field.Name, Type: ValueType(field.Type), Kind: kind, Nullable: true}
	if b.stats != nil {
		s := b.stats[index]
		col.Nullable = !s.NoNulls
		col.HasRange, col.Min, col.Max = s.HasRange, s.Min, s.Max
		col.Interned = kind == Bytes && s.Repeats
	}
	if field.Type.ID() == arrow.DICTIONARY && kind == Bytes {
		col.Interned = true
	}
	b.bound.Columns = append(b.bound.Columns, col)
	return len(b.bound.Columns) - 1, nil
}
