package sql

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/mpga/mpga/internal/expr"
)

// ItemsMax bounds the elements of a list of a statement, and the columns that they stand for: each takes memory and
// time before the first row is read. L2.
const ItemsMax = 1 << 15

// Select is a statement, before its names are looked up. Places are bytes of Text.
type Select struct {
	Text     string
	Distinct bool
	Items    []Item
	From     From // nil of a statement without FROM, which has a single row
	Where    *expr.Expr
	GroupBy  []GroupElement
	GroupAll bool // GROUP BY ALL: by every item without an aggregate
	Having   *expr.Expr
	Qualify  *expr.Expr // of the rows with window functions

	DistinctOn []*expr.Expr // of rows that are equal in these, the first in the order of OrderBy is left; nil for all rows

	OrderBy  []Order
	OrderAll *Order     // ORDER BY ALL: by every item, in this direction
	Limit    *expr.Expr // a number of rows, or a call of ShareCall
	Offset   *expr.Expr

	Pivot *Pivot // what Items, and GroupBy, are parts of; nil of other statements

	Parameters int // how many values ? and $1 stand for in the whole text, derived tables included

	Moment *expr.Expr // a call of now() or its kin in the text up to its end; nil of none
	Drawn  *expr.Expr // a call of random() or its kin there, which has another value each time; nil of none

	subqueries []*Select // in its expressions

	height int // statements below it, one within the other
}

// ShareCall is the function that LIMIT n% is read as: of a number, in percent.
const ShareCall = "limit %"

// Verb is a word in front of a statement, which makes a table that tells about the statement.
type Verb string

// The verbs.
const (
	Describe  Verb = "DESCRIBE"  // a row for each column: its name and its type
	Summarize Verb = "SUMMARIZE" // a row for each column: its values in short
	Explain   Verb = "EXPLAIN"   // the plan

	ExplainAnalyze Verb = "EXPLAIN ANALYZE" // the plan, and what its operators did
)

// Item is an element of the list behind SELECT.
type Item struct {
	Expr *expr.Expr // nil of *
	Of   []string   // of *: the name of the table whose columns are meant; nil for all tables
	Star *Star      // of *: how the columns differ from the table's; nil of none
	Name string     // the alias, or ""
	At   int
}

// Star is what stands behind *.
type Star struct {
	Exclude [][]string  // columns that are left out, behind the names of their tables perhaps
	Replace []Item      // expressions in place of the columns that have their names
	Rename  [][2]string // columns, and the names that they get
}

// ColumnsCall is the function whose call, with a *Columns for its value, stands for several columns.
const ColumnsCall = "columns"

// Columns are the columns that COLUMNS stands for: a *'s, or all whose names are in a list or match a regular
// expression.
type Columns struct {
	Star    Item // if IsStar: as an item that is a *
	IsStar  bool
	Names   []string // nil of a regular expression
	Pattern string

	Parameter string     // the name that Condition has for the name of a column; "" of no condition
	Condition *expr.Expr // of the names of columns; nil of none

	Unpacked bool // in a call, all columns together are arguments
}

// String returns what stands in the parentheses, for people.
func (c *Columns) String() string {
	switch {
	case c.IsStar:
		return "*"
	case c.Condition != nil:
		return "lambda " + c.Parameter + ": " + c.Condition.String()
	case c.Names != nil:
		return "['" + strings.Join(c.Names, "', '") + "']"
	}
	return "'" + c.Pattern + "'"
}

// Equal says whether two stand for the same columns.
func (c *Columns) Equal(other *Columns) bool {
	a, b := *c, *other
	a.Star.At, b.Star.At = 0, 0
	return reflect.DeepEqual(a, b)
}

// From is what stands behind FROM: a tree of *Table, *Files, *Derived, *About, *Unnest, *Sampled, *Join,
// *SetOperation, *Recursion, *Iteration, *Values, *Series and *TableList.
type From interface {
	// Place returns the byte of the statement's text that errors point at.
	Place() int
}

// Table is a table that is named.
type Table struct {
	At    int
	Name  string
	In    []string // the schema, or the catalog and the schema, that the name is qualified by; else empty
	Alias Alias

	IsItself bool // a statement of WITH has the name, whose text this is a part of
}

// TableList is what SHOW TABLES tells: the names of all tables and views.
type TableList struct{}

// Place implements From.
func (*TableList) Place() int { return 0 }

// Alias is the names that stand behind a table.
type Alias struct {
	Name    string   // of the table, or ""
	Columns []string // of its first columns
}

// Files are files, by their patterns.
type Files struct {
	At       int
	Patterns []string
	Function string   // read_csv, read_json, read_parquet or rollup; "" where the pattern stands alone
	Options  []Option // of Function
	Alias    Alias
}

// RollupCall is the Function of Files that are the directory of a roll-up's state.
const RollupCall = "rollup"

// Derived is a statement behind FROM, or the statement of a name of WITH.
type Derived struct {
	At    int
	Query *Select
	Alias Alias // or the name in WITH
	With  *With // nil of a statement behind FROM
}

// With is a statement of WITH, which any number of tables may be.
type With struct {
	Name         string
	Uses         int  // tables
	Materialized bool // by MATERIALIZED: its rows are made once
	Inlined      bool // by NOT MATERIALIZED: its rows are made wherever it is used
}

// About is what a verb tells about a statement.
type About struct {
	At    int
	Verb  Verb
	Query *Select
}

// SetKind says which rows a set operation has.
type SetKind string

// The kinds of set operations.
const (
	Union     SetKind = "UNION"     // rows of any statement
	Intersect SetKind = "INTERSECT" // rows that both statements have
	Except    SetKind = "EXCEPT"    // rows of the first statement that the second does not have
)

// SetOperation has rows of several statements, each row once.
type SetOperation struct {
	At      int
	Kind    SetKind
	All     bool      // INTERSECT has a row as often as both statements have it, EXCEPT as often as the first has it more
	ByName  bool      // columns are put together by their names, not by their places
	Queries []*Select // two, or, of UNION, more
}

// Recursion has the rows of a statement of WITH RECURSIVE: the rows of the anchor, and then, again and again, the rows
// that the step makes of the rows of the iteration before, until there are none.
type Recursion struct {
	At     int
	Name   string
	Anchor *Select
	Step   *Select
	All    bool // else a row that was there before, in any iteration, is left out

	// Key are the columns of USING KEY, and aggregates of others: of the rows of all iterations there is one for each
	// value of the columns, with the last value of a column without an aggregate. Nil: rows stay as they are.
	Key     []Item
	Columns []string // names of the first columns, which Key has them by

	uses int // of Iteration in Step
}

// Iteration has the rows of the iteration before, in the step of a Recursion.
type Iteration struct {
	At    int
	Of    *Recursion
	Alias Alias
	Whole bool // the rows of all iterations before, by their Key
}

// Values has rows that are written in the statement.
type Values struct {
	At   int
	Rows [][]*expr.Expr // all of one length
}

// Series has integers at equal distances, as range and generate_series have them.
type Series struct {
	At       int
	Function string
	Args     []*expr.Expr // stop, or first and stop, and perhaps the step
	Alias    Alias
}

// ValuesColumn returns the name of a column of VALUES, by its place.
func ValuesColumn(at int) string { return "col" + strconv.Itoa(at) }

// UnnestCall is the function that makes rows of a list.
const UnnestCall = "unnest"

// Unnest has a row of its input for every element of a list, which is a further column, the last.
type Unnest struct {
	At    int
	Input From       // nil of a list alone
	List  *expr.Expr // of columns of Input
	Name  string     // of the column of the elements
	Alias string     // of the table of this column, or ""
	InRow bool       // the call stands behind SELECT: * does not have the elements
}

// JoinKind says which rows a join has beside the pairs of rows for which its condition is TRUE: partners.
type JoinKind string

// The kinds of joins.
const (
	InnerJoin JoinKind = "INNER" // none
	LeftJoin  JoinKind = "LEFT"  // rows of the left side without a partner
	RightJoin JoinKind = "RIGHT" // rows of the right side without a partner
	FullJoin  JoinKind = "FULL"  // both
	SemiJoin  JoinKind = "SEMI"  // no pairs, but rows of the left side with a partner, with its columns alone
	AntiJoin  JoinKind = "ANTI"  // no pairs, but rows of the left side without a partner, with its columns alone
)

// KeepsLeft says whether a join has rows of the left side without a partner.
func (k JoinKind) KeepsLeft() bool { return k == LeftJoin || k == FullJoin || k == AntiJoin }

// KeepsRight says whether a join has rows of the right side without a partner.
func (k JoinKind) KeepsRight() bool { return k == RightJoin || k == FullJoin }

// Join has pairs of rows of two sides. Without On, Using and Natural it has all pairs.
type Join struct {
	At          int
	Kind        JoinKind
	Asof        bool // a row of the left side has the nearest of its partners alone
	Left, Right From
	On          *expr.Expr
	Using       []string // columns of both sides that are equal, but for the last one of Asof; the join has each once
	Natural     bool     // Using has the columns whose names both sides have
}

// Pivot makes columns of values, or UNPIVOT, values of columns.
type Pivot struct {
	At        int
	IsUnpivot bool

	// Of UNPIVOT, whose items are the columns: names of the columns of their names and of their values, "" for DuckDB's.
	Name, Value string
	WithNulls   bool // a value that is NULL has a row, too

	// Of PIVOT, whose items are, for each element of On, an expression and its values, as many as On says, and
	// aggregates, in front if First. An expression without values has all that the table has.
	On         []int
	Aggregates int // 0 for count(*)
	First      bool
}

// SampleMethod says how rows of a sample are chosen.
type SampleMethod string

// The methods.
const (
	ReservoirSample SampleMethod = "RESERVOIR" // any rows, as many as the size says
	BernoulliSample SampleMethod = "BERNOULLI" // each row by itself
	SystemSample    SampleMethod = "SYSTEM"    // as the system likes: each row by itself, or as many as the size says
)

// Sample is how many of some rows are chosen, and how.
type Sample struct {
	At      int
	Method  SampleMethod
	Size    string  // as it is written
	Rows    int64   // unless IsShare
	Share   float64 // in percent, from 0 to 100, if IsShare
	IsShare bool
	Seed    int64 // the same sample of the same rows has the same seed, if Seeded
	Seeded  bool
}

// Sampled has a sample of the rows of its input.
type Sampled struct {
	Input From // nil of a statement without FROM
	*Sample
}

// SubqueryKind says what a statement within an expression stands for.
type SubqueryKind string

// The kinds of subqueries.
const (
	ScalarSubquery SubqueryKind = "VALUE"  // the value of its only row; NULL where there is no row
	ExistsSubquery SubqueryKind = "EXISTS" // whether there is a row
	AnySubquery    SubqueryKind = "ANY"    // whether a comparison is TRUE for a row
	AllSubquery    SubqueryKind = "ALL"    // whether a comparison is TRUE for all rows
)

// Subquery is a statement within an expression: the value of an expr.OpSubquery.
type Subquery struct {
	Kind     SubqueryKind
	Query    *Select
	Operator string // of the comparison with the rows
	Compared int    // how many of the expression's arguments are compared with the columns of the rows: the first ones

	text string
}

// String returns the subquery as SQL, for people.
func (q *Subquery) String() string { return q.text }

// IsIn says whether the subquery is one of IN, or of = ANY.
func (q *Subquery) IsIn() bool { return q.Kind == AnySubquery && q.Operator == "=" }

// Place implements From.
func (t *Table) Place() int { return t.At }

// Place implements From.
func (f *Files) Place() int { return f.At }

// Place implements From.
func (d *Derived) Place() int { return d.At }

// Place implements From.
func (a *About) Place() int { return a.At }

// Place implements From.
func (u *Unnest) Place() int { return u.At }

// Place implements From.
func (d *Sampled) Place() int { return d.At }

// Place implements From.
func (j *Join) Place() int { return j.At }

// Place implements From.
func (o *SetOperation) Place() int { return o.At }

// Place implements From.
func (r *Recursion) Place() int { return r.At }

// Place implements From.
func (i *Iteration) Place() int { return i.At }

// Place implements From.
func (v *Values) Place() int { return v.At }

// Place implements From.
func (s *Series) Place() int { return s.At }

// Below returns the statements that stand behind FROM, and in expressions.
func (s *Select) Below() (below []*Select) {
	eachOf(s.From, func(f From) {
		switch of := f.(type) {
		case *Derived:
			below = append(below, of.Query)
		case *About:
			below = append(below, of.Query)
		case *SetOperation:
			below = append(below, of.Queries...)
		case *Recursion:
			below = append(below, of.Anchor, of.Step)
		}
	})
	return append(below, s.subqueries...)
}

// Unseeded returns a sample without a seed, which is another one each time, at any depth; nil of none.
func (s *Select) Unseeded() (found *Sample) {
	eachSample(s.From, func(of *Sample) {
		if !of.Seeded {
			found = of
		}
	})
	for _, below := range s.Below() {
		if of := below.Unseeded(); of != nil {
			found = of
		}
	}
	return found
}

// eachSample calls a function with the samples behind FROM.
func eachSample(f From, visit func(*Sample)) {
	switch of := f.(type) {
	case *Unnest:
		eachSample(of.Input, visit)
	case *Sampled:
		visit(of.Sample)
		eachSample(of.Input, visit)
	case *Join:
		eachSample(of.Left, visit)
		eachSample(of.Right, visit)
	}
}

// Leaves returns the tables and the files behind FROM, at any depth.
func (s *Select) Leaves() (leaves []From) {
	eachOf(s.From, func(f From) {
		switch f.(type) {
		case *Table, *Files:
			leaves = append(leaves, f)
		}
	})
	for _, below := range s.Below() {
		leaves = append(leaves, below.Leaves()...)
	}
	return leaves
}

// eachOf calls a function with the parts of what stands behind FROM that are no joins, from left to right.
func eachOf(f From, visit func(From)) {
	switch of := f.(type) {
	case nil:
	case *Unnest:
		eachOf(of.Input, visit)
	case *Sampled:
		eachOf(of.Input, visit)
	case *Join:
		eachOf(of.Left, visit)
		eachOf(of.Right, visit)
	default:
		visit(f)
	}
}

// Option is a named argument of read_csv, read_json or read_parquet: a constant, or a list or struct of constants.
type Option struct {
	Name  string     // in lower case
	Value *expr.Expr // nil of a list and of a struct
	List  []*expr.Expr
	Names []string // of the values in List; nil of a list
	At    int
}

// Texts returns the strings of an argument, or nil if it is no string and no list of strings.
func (o *Option) Texts() []string {
	list := o.List
	if o.Value != nil {
		list = []*expr.Expr{o.Value}
	}
	var texts []string
	for _, x := range list {
		text, ok := x.Value.(string)
		if !ok || o.Names != nil {
			return nil
		}
		texts = append(texts, text)
	}
	return texts
}

// GroupElement is an element of GROUP BY: an expression, or sets of expressions.
type GroupElement struct {
	Expr *expr.Expr
	Sets [][]*expr.Expr // of GROUPING SETS, ROLLUP and CUBE; nil of an expression
	At   int
}

// Order is an element of ORDER BY.
type Order = expr.Order

// Explained returns the statement behind EXPLAIN or EXPLAIN ANALYZE, and which of them it is; nil of other statements.
func (s *Select) Explained() (about *Select, verb Verb) {
	of, ok := s.From.(*About)
	if !ok || of.Verb != Explain && of.Verb != ExplainAnalyze {
		return nil, ""
	}
	return of.Query, of.Verb
}

// ErrorAt returns an error that points at a byte of the statement's text.
func (s *Select) ErrorAt(at int, message string) *Error { return errorAt(s.Text, at, "%s", message) }

// Create is a statement that makes a table of a statement's rows, or a view, which is the statement itself.
type Create struct {
	Name        string
	In          []string // the schema, or the catalog and the schema, that the name is qualified by; else empty
	At          int      // of the name in the text of Query
	View        bool
	Temp        bool
	Replace     bool     // what has the name is replaced
	IfNotExists bool     // what has the name stays, and is no error
	Columns     []string // names of the first columns, which Query gives them; nil of none
	Query       *Select
}

// Drop is a statement that drops a table or a view.
type Drop struct {
	Table    string   // its name, without a schema
	In       []string // the schema, or the catalog and the schema, that the name is qualified by; else empty
	View     bool
	IfExists bool // a table that is not there is no error
}

// Copy is a statement that writes the rows of a statement to files.
type Copy struct {
	Query   *Select
	To      string // the path
	At      int    // of To in the text of Query
	Options []CopyOption
}

// CopyOption is an option of COPY.
type CopyOption struct {
	Name   string   // in upper case
	Values []string // constants as they are written, without quotes; nil of a word alone
	At     int
}
