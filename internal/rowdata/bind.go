package rowdata

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// ColumnStats is what is known of a column before it is read. All that is no hint is a promise (W2).
type ColumnStats struct {
	// NoNulls promises that the column has no NULL.
	NoNulls bool

	// HasRange promises that every value v of an integer column (signed or unsigned, date, time,
	// timestamp, duration) has Min <= v <= Max, as int64. Not set for a uint64 above that.
	HasRange bool
	Min, Max int64

	// Tight promises that Min and Max of a range are values that the column has: the least and the
	// greatest.
	Tight bool

	// Repeats says that the batches hold a string column dictionary-encoded, with dictionaries
	// that are small beside their rows. It is a hint: grouping then works on codes.
	Repeats bool

	// StringBytes is about how many bytes the dictionaries of a column that Repeats have; 0 where
	// that is not known, or little beside the rows.
	StringBytes int64

	// Values is about how many distinct values a column without a range has; 0 where nothing tells. It is a hint.
	Values int64

	// Numbered promises that the values that rows of the column have differ within a dictionary, that
	// its dictionaries begin alike, so that an index is one value in all of them, and that they lie on
	// the Go heap.
	Numbered bool
}

// Column is a column of the source that a query reads.
type Column struct {
	Index    int // in the source's schema
	Name     string
	Type     arrow.DataType // of the values: never a dictionary
	Kind     Kind
	Nullable bool

	HasRange bool // as in ColumnStats
	Min, Max int64

	// Interned: as a key, a string is held as its number in a list of the query's strings.
	Interned bool

	Numbered bool // as in ColumnStats, of an interned column
}

// Scale returns how many digits of the column's numbers stand behind the point.
func (c *Column) Scale() int {
	if d, ok := c.Type.(arrow.DecimalType); ok {
		return int(d.GetScale())
	}
	return 0
}

// Bound is a query bound to the schema and statistics of a source: the columns that are read, how
// keys are packed, the folds, and how results are made of the folds. It is read-only once made, and
// shared by all workers.
type Bound struct {
	Query      query.Query
	Columns    []Column      // that the query reads, each once
	KeyColumns []int         // indexes into Columns, by key
	Keys       KeyLayout     // of the packed key
	Args       []Arg         // distinct (column, encoding)
	Selections []Selection   // distinct sets of nullable columns
	Inputs     []Input       // distinct (argument, selection)
	Folds      []Fold        // distinct folds
	Outputs    []Output      // by aggregate
	Schema     *arrow.Schema // of the result
	Coded      bool          // interned keys of the result are dictionary arrays; see BindCoded
	Counted    []bool        // by key, of a coded result: only whether the key is NULL; else nil
	Partial    bool          // the result is states, which are merged later; see BindCanonical
}

// Output says how an aggregate's result is made.
type Output struct {
	Aggregate query.Aggregate
	Column    Column         // the first argument; of count(*) the zero Column
	Type      arrow.DataType // of the result
	Fold      int            // index into Bound.Folds
	Count     int            // index of the fold that counts the aggregate's rows; -1 where Fold's state has the count
	// where Fold is a set: what is folded over its elements; nil where the elements are the result
	Of *SetFold
}

// Bind resolves a query against a schema. stats is as long as the schema, or nil.
// Its errors are ErrQuery.
func Bind(q query.Query, schema *arrow.Schema, stats []ColumnStats) (*Bound, error) {
	return newBinder(schema, stats, false).bind(q)
}

// BindCoded is Bind for a result that is grouped again. Interned keys are dictionary arrays, and
// GroupStats says that they are Numbered: who groups the result again then groups by numbers, too.
// Keys whose names in the result are in counted are Booleans, NULL where the key is NULL, and false
// elsewhere: who counts the groups needs no more.
func BindCoded(q query.Query, schema *arrow.Schema, stats []ColumnStats, counted []string) (*Bound, error) {
	b, err := Bind(q, schema, stats)
	if err != nil {
		return nil, err
	}
	b.Coded, b.Counted = true, make([]bool, len(q.Keys))
	fields := b.Schema.Fields()
	for k := range b.KeyColumns {
		switch b.Counted[k] = slices.Contains(counted, fields[k].Name); {
		case b.Counted[k]:
			fields[k].Type = arrow.FixedWidthTypes.Boolean
		case b.Keys.Fields[k].Interned:
			fields[k].Type = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: fields[k].Type}
		}
	}
	b.Schema = arrow.NewSchema(fields, nil)
	return b, nil
}

// GroupStats returns what is known of the columns of a coded result.
func (b *Bound) GroupStats() []ColumnStats {
	stats := make([]ColumnStats, b.Schema.NumFields())
	for i, f := range b.Schema.Fields() {
		stats[i].NoNulls = !f.Nullable
	}
	for k, c := range b.KeyColumns {
		if col := &b.Columns[c]; !b.Counted[k] {
			stats[k].HasRange, stats[k].Min, stats[k].Max = col.HasRange, col.Min, col.Max
			stats[k].Numbered = b.Keys.Fields[k].Interned
		}
	}
	return stats
}

func newBinder(schema *arrow.Schema, stats []ColumnStats, canonical bool) *binder {
	return &binder{schema: schema, stats: stats, canonical: canonical, bound: new(Bound),
		columns: make(map[int]int), args: make(map[Arg]int), inputs: make(map[Input]int),
		selections: make(map[string]int), alike: make(map[foldLike][]int)}
}

func (b *binder) bind(q query.Query) (*Bound, error) {
	if err := q.Validate(); err != nil {
		return nil, query.Errorf("%v", err)
	}
	b.bound.Query, b.bound.Partial = q, b.canonical
	b.bound.Outputs = make([]Output, 0, len(q.Aggregates))
	var errs []error
	fields := make([]arrow.Field, 0, len(q.Keys)+len(q.Aggregates))
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

// binder makes one Bound.
type binder struct {
	schema *arrow.Schema
	stats  []ColumnStats
	bound  *Bound

	canonical bool // folds are chosen as if every column had NULLs, whatever stats says

	// Places in the lists of bound, so that thousands of columns are bound in time that grows with their number.
	columns    map[int]int // by index in schema
	args       map[Arg]int
	inputs     map[Input]int
	selections map[string]int     // by the numbers of their columns, as text
	alike      map[foldLike][]int // the folds that may be equal
}

// foldLike is what equal folds have in common: a kind, a selection, and the first input, or -1.
type foldLike struct {
	kind             FoldKind
	selection, input int
}

// column returns the index in Bound.Columns of a column of the source, which it adds if need be.
func (b *binder) column(name string) (int, error) {
	index, err := query.FindColumn(b.schema, name)
	if err != nil {
		return 0, err
	}
	if c, ok := b.columns[index]; ok {
		return c, nil
	}
	field := b.schema.Field(index)
	if err := query.CheckReadable(field.Name, field.Type); err != nil {
		return 0, err
	}
	kind, err := KindOf(field.Type)
	if err != nil {
		return 0, query.Errorf("column %q: %v", field.Name, err)
	}
	var s ColumnStats
	if b.stats != nil {
		s = b.stats[index]
	}
	interned := kind == Bytes && (s.Repeats && s.StringBytes <= internedBytesMax || field.Type.ID() == arrow.DICTIONARY)
	b.columns[index] = len(b.bound.Columns)
	b.bound.Columns = append(b.bound.Columns, Column{
		Index: index, Name: field.Name, Type: ValueType(field.Type), Kind: kind,
		Nullable: !s.NoNulls,
		HasRange: s.HasRange, Min: s.Min, Max: s.Max,
		Interned: interned, Numbered: interned && s.Numbered,
	})
	return len(b.bound.Columns) - 1, nil
}

// internedBytesMax bounds the dictionaries of a column whose strings are numbered: the list of
// strings stays in memory for the whole query.
const internedBytesMax = 64 << 20
