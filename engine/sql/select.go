package sql

import "github.com/mpga/mpga/internal/expr"

// ItemsMax bounds the elements of a list of a statement, and the columns that they stand for: each takes memory and
// time before the first row is read. L2.
const ItemsMax = 1 << 15

// Select is a statement, before its names are looked up. Places are bytes of Text.
type Select struct {
	Text     string
	Distinct bool
	Items    []Item
	From     *From // nil of a statement without FROM, which has a single row
	Where    *expr.Expr
	GroupBy  []GroupElement
	GroupAll bool // GROUP BY ALL: by every item without an aggregate
	Having   *expr.Expr
	OrderBy  []Order
	OrderAll *Order // ORDER BY ALL: by every item, in this direction
	Limit    *expr.Expr
	Offset   *expr.Expr

	Parameters int // how many values ? and $1 stand for in the whole text, derived tables included

	height int // statements below it, one within the other
}

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
	Name string     // the alias, or ""
	At   int
}

// From is a table or files that a statement reads.
type From struct {
	At    int
	Name  string   // of a table, or the first pattern of files
	In    []string // the schema, or the catalog and the schema, that a table's name is qualified by; else empty
	File  bool     // files, not a table
	Query *Select  // the statement of a derived table or of a CTE; nil of other tables and of files
	Alias string   // or ""
	Verb  Verb     // what is read is what the verb tells about Query; "" where it is the result of Query

	// Unnest is the list whose elements are a further column, behind the table's columns; nil without a list.
	Unnest *Unnest

	Function string   // read_csv, read_json or read_parquet, which reads the files; "" if the files are no call
	Files    []string // the patterns of files; nil of a table
	Options  []Option // of Function
}

// UnnestCall is the function that makes rows of a list.
const UnnestCall = "unnest"

// Unnest is a call of unnest: a row of the table for every element of a list.
type Unnest struct {
	List  *expr.Expr // a column of the table
	Name  string     // of the column of the elements
	InRow bool       // the call stands behind SELECT: * does not have the elements
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
	if s.From == nil || s.From.Verb != Explain && s.From.Verb != ExplainAnalyze {
		return nil, ""
	}
	return s.From.Query, s.From.Verb
}

// ErrorAt returns an error that points at a byte of the statement's text.
func (s *Select) ErrorAt(at int, message string) *Error { return errorAt(s.Text, at, "%s", message) }

// Drop is a statement that drops a table.
type Drop struct {
	Table    string   // its name, without a schema
	In       []string // the schema, or the catalog and the schema, that the name is qualified by; else empty
	IfExists bool     // a table that is not there is no error
}
