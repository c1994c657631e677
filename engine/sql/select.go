package sql

import "github.com/mpga/mpga/internal/expr"

// Select is a statement, before its names are looked up. Places are bytes of Text.
type Select struct {
	Text     string
	Distinct bool
	Items    []Item
	From     *From // nil of a statement without FROM, which has one row
	Where    *expr.Expr
	GroupBy  []GroupElement
	GroupAll bool // GROUP BY ALL: by every item without an aggregate
	Having   *expr.Expr
	OrderBy  []Order
	OrderAll *Order // ORDER BY ALL: by every item, in this direction
	Limit    *expr.Expr
	Offset   *expr.Expr
}

// Item is one element of the list behind SELECT.
type Item struct {
	Expr *expr.Expr // nil of *
	Name string     // its alias, or ""
	At   int
}

// From is what a statement reads.
type From struct {
	At    int
	Name  string  // of a table, or the first pattern of files
	File  bool    // it is files
	Query *Select // a derived table; of a CTE too
	Alias string

	Function string   // read_csv, read_parquet or "": how files are read
	Files    []string // the patterns, of a file
	Options  []Option
}

// Option is a named argument of read_csv: a constant, a list of constants, or a struct of named constants.
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

// Order is one element of ORDER BY.
type Order = expr.Order

// ErrorAt returns an error that points at a byte of the statement's text.
func (s *Select) ErrorAt(at int, message string) *Error { return errorAt(s.Text, at, "%s", message) }
