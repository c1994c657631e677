package logical

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// Aggregate makes groups of rows.
type Aggregate struct {
	In   Node
	Keys []Group
	Set  Column // the number of the grouping set, behind the keys that Sets have, where Sets is not nil

	// Sets say, for each grouping set and each of the first keys, whether the set has the key; it has
	// all keys behind these. nil is one set of all keys.
	Sets [][]bool

	Calls []Call

	Overflow      query.Overflow
	Deterministic bool

	Domain bool // the groups are the distinct values that a subquery reads

	// What rules say of the way in which groups are made.

	Answered int       // index of the set whose groups are the rows of In, by FinestFirst; else -1
	Made     []int     // indexes of the sets that are made here, where rows of In answer others; nil for all
	Expanded expr.ID   // the column of In that has Set, where In has a row for each set; else 0
	Apart    bool      // In is a union of groups that several aggregations have made of the same rows
	Again    bool      // the groups are grouped again
	Counted  []expr.ID // keys whose values nobody looks at, of groups that are grouped again
	Most     *Most     // the groups that are asked for, where a few are; nil for all

	columns []Column
}

// Group is a key of groups.
type Group struct {
	Of     expr.ID // a column of the input
	Column Column  // of the groups
}

// Call is an aggregate function of columns.
type Call struct {
	Function query.Aggregate // without columns and without a name
	Args     []expr.ID       // columns of the input; one more than the function takes has the places of rows
	Distinct bool            // the function is of the distinct values of its arguments
	Order    []Key           // in which the function takes the rows; nil for the order of the input
	Column   Column          // of the groups
	At       int             // byte of the statement's text, for errors
}

// Most says that the groups with the largest values of a count are asked for.
type Most struct {
	N     int
	Count int // index of the call
	Ties  bool
}

// Columns implements Node.
func (n *Aggregate) Columns() []Column { return n.columns }

// Inputs implements Node.
func (n *Aggregate) Inputs() []Node { return []Node{n.In} }

// With implements Node.
func (n *Aggregate) With(in ...Node) Node {
	of := *n
	of.In = in[0]
	return &of
}

// Typed returns the node with the types of its columns.
// Its errors are query.ErrQuery.
func (n *Aggregate) Typed() (*Aggregate, error) {
	of := *n
	of.Keys, of.Calls = slices.Clone(n.Keys), slices.Clone(n.Calls)
	of.columns = make([]Column, 0, len(n.Keys)+len(n.Calls)+1)
	schema, stats, names := n.Rows()
	bound, err := rowdata.Bind(n.Query(names), schema, stats)
	if err != nil {
		return nil, err
	}
	keys := len(n.Keys)
	ofNothing := bound.Schema.Fields()[keys:]               // types of the calls where a set has a group of no rows
	if n.Sets != nil && n.OfNothing() && len(n.Calls) > 0 { // else the types of the calls are these already
		q := n.Query(names)
		q.Keys = nil
		alone, err := rowdata.Bind(q, schema, stats)
		if err != nil {
			return nil, err
		}
		ofNothing = alone.Schema.Fields()
	}
	for i, f := range bound.Schema.Fields() {
		var c *Column
		if i < keys {
			c = &of.Keys[i].Column
			c.Stats = stats[schema.FieldIndices(names[n.Keys[i].Of])[0]]
			c.Nullable = f.Nullable || i < n.KeysOfSets()
			c.Stats.NoNulls, c.Stats.Tight = !c.Nullable, false
		} else {
			c = &of.Calls[i-keys].Column
			if c.Stats = (scan.ColumnStats{}); slices.Contains(counts, of.Calls[i-keys].Function.Func) {
				c.Stats = countStats
			}
			c.Nullable = f.Nullable || ofNothing[i-keys].Nullable
		}
		c.Type = f.Type
		of.columns = append(of.columns, *c)
	}
	if n.Sets != nil {
		of.columns = slices.Insert(of.columns, n.KeysOfSets(), n.Set)
	}
	return &of, nil
}

// KeysOfSets returns how many keys a grouping set may lack.
func (n *Aggregate) KeysOfSets() int {
	if n.Sets == nil {
		return 0
	}
	return len(n.Sets[0])
}

// Finest returns the input of the aggregation or, where groups of some sets are made of groups of
// others, of the one that makes the first sets of these.
func (n *Aggregate) Finest() Node {
	for n.Answered >= 0 {
		below, ok := n.In.(*Aggregate)
		if !ok || below.Answered < 0 {
			break
		}
		n = below
	}
	return n.In
}

// Rows returns the columns of the input, whose names are apart, and the names by ID.
func (n *Aggregate) Rows() (*arrow.Schema, []scan.ColumnStats, map[expr.ID]string) {
	return rowsOfNode(n.In)
}

// rowsOfNode returns the columns of a node, whose names are apart, and the names by ID.
func rowsOfNode(n Node) (*arrow.Schema, []scan.ColumnStats, map[expr.ID]string) {
	columns := n.Columns()
	fields, names := make([]arrow.Field, len(columns)), make(map[expr.ID]string, len(columns))
	taken := Names{}
	for i, c := range columns {
		names[c.ID] = taken.Unique(c.Name)
		fields[i] = arrow.Field{Name: names[c.ID], Type: c.Type, Nullable: c.Nullable}
	}
	return arrow.NewSchema(fields, nil), StatsOf(n), names
}

// Query returns the aggregation by all keys, without a key for the grouping set, of columns that have
// some names.
func (n *Aggregate) Query(names map[expr.ID]string) query.Query {
	q := query.Query{Overflow: n.Overflow, Deterministic: n.Deterministic}
	q.Aggregates = make([]query.Aggregate, 0, len(n.Calls))
	taken := Names{}
	for _, k := range n.Keys {
		q.Keys = append(q.Keys, query.Key{Column: names[k.Of], Name: taken.Unique(k.Column.Name)})
	}
	for _, c := range n.Calls {
		a := c.Function
		a.Name = taken.Unique(c.Column.Name)
		a.Args = make([]string, len(c.Args))
		for i, id := range c.Args {
			a.Args[i] = names[id]
		}
		if n := a.Func.Args(); len(a.Args) > n {
			a.Args, a.By = a.Args[:n], a.Args[n]
		}
		q.Aggregates = append(q.Aggregates, a)
	}
	return q
}

// OfNothing says whether a set without keys has a group of no rows.
func (n *Aggregate) OfNothing() bool {
	return n.Sets == nil && len(n.Keys) == 0 ||
		slices.ContainsFunc(n.Sets, func(set []bool) bool { return !slices.Contains(set, true) })
}

// SetColumn returns the column of the numbers of grouping sets.
func SetColumn(ids *IDs, name string, sets int) Column {
	stats := scan.ColumnStats{HasRange: true, Min: 0, Max: int64(sets - 1), NoNulls: true}
	return Column{ID: ids.New(), Name: name, Type: arrow.PrimitiveTypes.Int32, Stats: stats}
}
