package logical

import (
	"context"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// Column is a column of the rows of a node.
type Column struct {
	ID       expr.ID
	Name     string         // for people
	Type     arrow.DataType // perhaps a dictionary
	Nullable bool
	Stats    scan.ColumnStats
}

// Expr returns the expression that is the column.
func (c *Column) Expr() *expr.Expr {
	x := expr.Column(c.Name)
	x.ID = c.ID
	return x
}

// Node makes rows of the rows of its inputs. It must not be changed. N1.
type Node interface {
	// Columns returns the columns of the rows. They must not be changed.
	Columns() []Column

	// Inputs returns the nodes whose rows the node takes.
	Inputs() []Node

	// With returns the node with other inputs, as many as it has, whose columns have the same IDs.
	With(inputs ...Node) Node
}

// Scan has the rows of a table.
type Scan struct {
	Source  scan.Source
	Name    string // of the table, or the patterns of its files; "" of what a statement makes
	columns []Column
}

// NewScan returns the scan of a table, whose columns get IDs.
func NewScan(ids *IDs, source scan.Source, name string) *Scan {
	n := &Scan{Source: source, Name: name}
	known := source.Stats().Columns
	n.columns = make([]Column, 0, source.Schema().NumFields())
	for i, f := range source.Schema().Fields() {
		c := Column{ids.New(), f.Name, f.Type, f.Nullable, scan.ColumnStats{}}
		if known != nil {
			c.Stats = known[i]
		}
		n.columns = append(n.columns, c)
	}
	return n
}

// Columns implements Node.
func (n *Scan) Columns() []Column { return n.columns }

// Inputs implements Node.
func (n *Scan) Inputs() []Node { return nil }

// With implements Node.
func (n *Scan) With(...Node) Node { return n }

// Statistics has the least and the greatest values of columns, in two rows, in place of the rows of its
// input, which are not read.
type Statistics struct {
	In      Node
	Source  scan.Source // the two rows
	columns []Column
}

// NewStatistics returns the two rows of a source, which has the given columns.
func NewStatistics(in Node, source scan.Source, columns []Column) *Statistics {
	return &Statistics{in, source, columns}
}

// Columns implements Node.
func (n *Statistics) Columns() []Column { return n.columns }

// Inputs implements Node.
func (n *Statistics) Inputs() []Node { return []Node{n.In} }

// With implements Node.
func (n *Statistics) With(in ...Node) Node { return &Statistics{in[0], n.Source, n.columns} }

// Filter leaves the rows for which a condition is TRUE.
type Filter struct {
	In        Node
	Condition *expr.Expr
}

// Columns implements Node.
func (n *Filter) Columns() []Column { return n.In.Columns() }

// Inputs implements Node.
func (n *Filter) Inputs() []Node { return []Node{n.In} }

// With implements Node.
func (n *Filter) With(in ...Node) Node { return &Filter{in[0], n.Condition} }

// Project makes the columns of its rows of the columns of its input.
type Project struct {
	In      Node
	Exprs   []*expr.Expr
	Derived bool // the rows are a derived table, or the result of a statement of WITH
	columns []Column
}

// NewProject returns a projection to columns that have their IDs and names; their types come from the
// expressions.
func NewProject(ctx context.Context, in Node, columns []Column, exprs []*expr.Expr) (*Project, error) {
	n := &Project{In: in, Exprs: exprs, columns: slices.Clone(columns)}
	of := ColumnsOf(in)
	var made []*expr.Expr
	for _, x := range exprs {
		if x.Op != expr.OpColumn {
			made = append(made, x)
		}
	}
	p, err := expr.BindTo(ctx, of, made...)
	if err != nil {
		return nil, err
	}
	var known []scan.ColumnStats
	at := 0 // in made
	for i, x := range exprs {
		c := &n.columns[i]
		if x.Op == expr.OpColumn {
			place, err := of.Find(x)
			if err != nil {
				return nil, err
			}
			from := in.Columns()[place]
			c.Type, c.Nullable, c.Stats = from.Type, from.Nullable, from.Stats
			continue
		}
		if known == nil {
			known = StatsOf(in)
		}
		c.Type, c.Nullable, c.Stats = p.Arrow(at), true, p.Stats(at, known)
		at++
	}
	return n, nil
}

// Columns implements Node.
func (n *Project) Columns() []Column { return n.columns }

// Inputs implements Node.
func (n *Project) Inputs() []Node { return []Node{n.In} }

// With implements Node.
func (n *Project) With(in ...Node) Node {
	of := *n
	of.In = in[0]
	return &of
}

// Groups returns the aggregation of a projection of groups, perhaps below HAVING; nil of a projection of
// rows.
func (n *Project) Groups() *Aggregate {
	in := n.In
	if f, ok := in.(*Filter); ok {
		in = f.In
	}
	groups, _ := in.(*Aggregate)
	return groups
}

// Only returns the projection to some of its columns.
func (n *Project) Only(isKept func(Column) bool) *Project {
	if !slices.ContainsFunc(n.columns, func(c Column) bool { return !isKept(c) }) {
		return n
	}
	of := &Project{In: n.In, Derived: n.Derived}
	for i, c := range n.columns {
		if isKept(c) {
			of.columns, of.Exprs = append(of.columns, c), append(of.Exprs, n.Exprs[i])
		}
	}
	return of
}

// Of returns the projection with other expressions of the same values over another input.
func (n *Project) Of(in Node, exprs []*expr.Expr) *Project {
	return &Project{In: in, Exprs: exprs, Derived: n.Derived, columns: n.columns}
}

// Unnest has a row for each element of a list.
type Unnest struct {
	In      Node
	List    expr.ID    // a column of In
	Pruned  *expr.Expr // leaves out files, row groups and pages of In whose rows it cannot be TRUE for; or nil
	columns []Column   // of In, and the elements
}

// Columns implements Node.
func (n *Unnest) Columns() []Column { return n.columns }

// Inputs implements Node.
func (n *Unnest) Inputs() []Node { return []Node{n.In} }

// With implements Node.
func (n *Unnest) With(in ...Node) Node {
	of := *n
	of.In = in[0]
	return &of
}

// Key is an element of an order.
type Key struct {
	Column     expr.ID
	Descending bool
	NullsFirst bool
}

// Sort puts rows in an order.
type Sort struct {
	In   Node
	Keys []Key
}

// Columns implements Node.
func (n *Sort) Columns() []Column { return n.In.Columns() }

// Inputs implements Node.
func (n *Sort) Inputs() []Node { return []Node{n.In} }

// With implements Node.
func (n *Sort) With(in ...Node) Node { return &Sort{in[0], n.Keys} }

// Limit leaves the first rows of an order, or of the input.
type Limit struct {
	In            Node
	Limited       bool // else all rows behind Offset are left, or a share
	Limit, Offset int64

	IsShare bool    // Share of all rows, those before Offset included, are left behind Offset; Limited is false
	Share   float64 // in percent, from 0 to 100
}

// Columns implements Node.
func (n *Limit) Columns() []Column { return n.In.Columns() }

// Inputs implements Node.
func (n *Limit) Inputs() []Node { return []Node{n.In} }

// With implements Node.
func (n *Limit) With(in ...Node) Node {
	of := *n
	of.In = in[0]
	return &of
}

// Wanted returns how many rows are looked for.
func (n *Limit) Wanted() int64 {
	if n.Limit > math.MaxInt64-n.Offset {
		return math.MaxInt64
	}
	return n.Limit + n.Offset
}

// First has the first rows of an order, which is asked while rows are read.
type First struct {
	In    *Project // of rows that are read
	Keys  []Key
	Limit Limit // without an input
	Late  bool  // columns that the order does not need are read in the end, of the rows of the result
}

// Columns implements Node.
func (n *First) Columns() []Column { return n.In.Columns() }

// Inputs implements Node.
func (n *First) Inputs() []Node { return []Node{n.In} }

// With implements Node.
func (n *First) With(in ...Node) Node {
	of := *n
	of.In = in[0].(*Project)
	return &of
}

// Summary has a row for each column of what SUMMARIZE is about.
type Summary struct {
	In      Node          // a row with all figures of all columns
	Of      *arrow.Schema // the columns
	columns []Column
}

// Columns implements Node.
func (n *Summary) Columns() []Column { return n.columns }

// Inputs implements Node.
func (n *Summary) Inputs() []Node { return []Node{n.In} }

// With implements Node.
func (n *Summary) With(in ...Node) Node {
	of := *n
	of.In = in[0]
	return &of
}

// Explain has what EXPLAIN or EXPLAIN ANALYZE tells about a statement, in a row.
type Explain struct {
	In      Node
	Of      *sql.Select // the statement
	Analyze bool        // it runs
	columns []Column
}

// Columns implements Node.
func (n *Explain) Columns() []Column { return n.columns }

// Inputs implements Node.
func (n *Explain) Inputs() []Node { return []Node{n.In} }

// With implements Node.
func (n *Explain) With(in ...Node) Node {
	of := *n
	of.In = in[0]
	return &of
}

// IDs gives columns their IDs.
type IDs struct{ last expr.ID }

// New returns the next ID.
func (ids *IDs) New() expr.ID {
	ids.last++
	return ids.last
}

// ColumnsOf returns the columns of a node, for expressions over them.
func ColumnsOf(n Node) expr.Columns { return columnsOf(n.Columns()) }

func columnsOf(columns []Column) expr.Columns {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: c.Nullable}
	}
	return expr.Columns{Schema: arrow.NewSchema(fields, nil), Places: PlacesOf(columns)}
}

// PlaceOf returns the place of a column of a node, or -1.
func PlaceOf(n Node, column expr.ID) int {
	return slices.IndexFunc(n.Columns(), func(c Column) bool { return c.ID == column })
}

// exprsOf returns the expressions that are columns.
func exprsOf(columns []Column) []*expr.Expr {
	exprs := make([]*expr.Expr, len(columns), len(columns)+1)
	for i := range columns {
		exprs[i] = columns[i].Expr()
	}
	return exprs
}

// PlacesOf returns the places of columns by their IDs.
func PlacesOf(columns []Column) map[expr.ID]int {
	places := make(map[expr.ID]int, len(columns))
	for i, c := range columns {
		places[c.ID] = i
	}
	return places
}

// StatsOf returns what is known of the columns of a node.
func StatsOf(n Node) []scan.ColumnStats { return statsOfColumns(n.Columns()) }

func statsOfColumns(columns []Column) []scan.ColumnStats {
	stats := make([]scan.ColumnStats, len(columns))
	for i, c := range columns {
		stats[i] = c.Stats
	}
	return stats
}

// fixedColumns gives IDs to the columns of a schema.
func fixedColumns(ids *IDs, schema *arrow.Schema) []Column {
	columns := make([]Column, schema.NumFields())
	for i, f := range schema.Fields() {
		columns[i] = Column{ID: ids.New(), Name: f.Name, Type: f.Type, Nullable: f.Nullable}
	}
	return columns
}
