package logical

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// Options say what the names in a statement mean.
type Options struct {
	Tables map[string]Table // what FROM name reads
	Scan   dataset.Options  // how files are read that FROM names

	// Open opens the files of a table.
	Open func(ctx context.Context, files []string, opt dataset.Options) (scan.Source, error)

	// Rollup opens a roll-up, whose state is where the options have their files.
	Rollup func(ctx context.Context, of Rollup, opt dataset.Options) (scan.Source, error)

	// Ask returns the texts of the second column of a statement, which is run while another one is bound. nil: none is.
	Ask func(ctx context.Context, s *sql.Select) ([]string, error)

	Parameters    []Parameter // the values of ? and $1; nil is NULL for each
	Overflow      query.Overflow
	Deterministic bool
	NoneAbove     bool           // no expression stands above the aggregation: lists are without NULL, then
	InParts       bool           // the aggregation is made in parts, which may know of other NULLs: it is the same for all
	Inline        bool           // statements of WITH are bound wherever they are used
	ViewsAsMade   bool           // a view is a table without rows, of its columns in Table.Made
	Budget        rowdata.Budget // counts what a statement takes while it is bound
}

// Rollup is what stands in the parentheses of rollup(...) behind FROM.
type Rollup struct {
	Dir    string   // of the state, or a URL
	By     []string // keys of the groups; nil is all that the roll-up has
	Filter string   // a condition of the keys, as it is written; "" of none
}

// Table is what a name stands for: a source, the files of some patterns, a roll-up, or a view.
type Table struct {
	Source scan.Source      // nil for files and views
	Files  []string         // patterns
	Rollup *Rollup          // nil of others
	View   *sql.Select      // the statement of a view; nil of others
	Made   *arrow.Schema    // the columns that a view had when it was made; nil where they are not known
	Scan   *dataset.Options // how the files are read; nil for Options.Scan
	In     []string         // the catalog and the schema of the table, which may qualify its name; may be nil

	// Stats is what is known of the columns and their source does not tell; nil where that is nothing.
	Stats []scan.ColumnStats
}

// Statement is a statement whose names have been looked up.
type Statement struct {
	Root Node
	IDs  *IDs // for the columns that rules make

	// Parameters are the types of the statement's parameters, in their order, as the places where they
	// stand let expect them; text where the place says nothing. A value may be of another type.
	Parameters []arrow.DataType

	// Unbound are the parameters that have no value: the statement cannot run.
	Unbound int

	held rowdata.Reservation // what the tree takes, and what is made of it
}

// Planned lets the tree go, which may have thousands of columns: a plan keeps nothing of it. What the plan
// takes counts from now on as what the process holds.
func (s *Statement) Planned() {
	s.Root = nil
	s.held.Release()
}

// Bind looks up the names of a statement, opens the files that it reads, and gives every expression its
// type. Errors that point at the text are of type *sql.Error.
func Bind(ctx context.Context, s *sql.Select, opt Options) (*Statement, error) {
	given, err := newPlaceholders(ctx, s, opt.Parameters)
	if err != nil {
		return nil, err
	}
	b := &binder{
		opt: opt, parameters: given, held: rowdata.NewReservation(opt.Budget), once: map[string]bool{},
		bodies: map[*sql.With]*Body{}, recursions: map[*sql.Recursion]*recursing{},
		reading: map[sql.From]bool{}, iterating: map[sql.From]bool{},
	}
	root, err := b.statement(ctx, s)
	if err != nil {
		b.held.Release()
		return nil, err
	}
	of := &Statement{Root: root, IDs: &b.ids, Parameters: given.expected(), held: b.held}
	if given.values == nil {
		of.Unbound = len(given.types)
	}
	return of, nil
}

// binder binds a statement and the statements within it.
type binder struct {
	opt        Options
	ids        IDs
	parameters *placeholders
	held       rowdata.Reservation // of what is bound
	stdin      bool                // a table reads standard input
	once       map[string]bool     // tables that can be read once, by their names
	bodies     map[*sql.With]*Body // of WITH, that are bound once
	recursions map[*sql.Recursion]*recursing

	reading   map[sql.From]bool // statements behind FROM that read what is around the statement they stand in
	iterating map[sql.From]bool // statements behind FROM of the step of WITH RECURSIVE that read the iteration before

	statements int           // that were bound
	views      []*sql.Select // that are bound now, each within the one before
	outer      *enclosing    // the statement around the one that is bound, if that is a subquery; else nil
}

// statementsMax bounds the statements behind FROM at any depth; one of WITH counts where it is read.
const statementsMax = 500

// statement binds a statement, also one behind FROM.
func (b *binder) statement(ctx context.Context, s *sql.Select) (Node, error) {
	n, err := b.build(ctx, s)
	return n, Located(s, err)
}

func (b *binder) build(ctx context.Context, s *sql.Select) (Node, error) {
	if b.statements++; b.statements > statementsMax {
		return nil, errorAt(0, "not supported: more than %d statements behind FROM: one of WITH counts wherever it is read",
			statementsMax)
	}
	of, err := unnestOfGroups(s)
	if err != nil {
		return nil, err
	}
	if s, err = unnestInFrom(cmp.Or(of, s)); err != nil {
		return nil, err
	}
	r, err := b.from(ctx, s, s.From)
	if err != nil {
		return nil, err
	}
	if of, err := coarser(s, r); of != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return b.build(ctx, of)
	}
	r.outer = b.outer
	if err := b.joinDomain(ctx, r); err != nil {
		return nil, err
	}
	bind := b.over
	if s.Pivot != nil {
		bind = b.pivoted
	}
	n, err := bind(ctx, s, r)
	return n, advised(err, r.node)
}

// Located turns an error of an expression into one that points at the statement's text.
func Located(s *sql.Select, err error) error {
	var e *expr.Error
	if errors.As(err, &e) && e.At >= 0 && s.Text != "" {
		at := s.ErrorAt(e.At, e.Message)
		at.Cause = e.Cause
		return at
	}
	return err
}

// advised adds to an error of columns that are text why the table has them so.
func advised(err error, n Node) error {
	var e *expr.Error
	if !errors.As(err, &e) {
		return err
	}
	for len(n.Inputs()) == 1 {
		n = n.Inputs()[0]
	}
	table, ok := n.(*Scan)
	if !ok {
		return err
	}
	adviser, ok := table.Source.(scan.Adviser)
	if !ok {
		return err
	}
	for _, column := range e.Texts {
		if why := adviser.WhyText(column); why != nil {
			cause := errors.Join(query.ErrQuery, why)
			return &expr.Error{Message: fmt.Sprintf("%s; %v", e.Message, why), At: e.At, Cause: cause}
		}
	}
	return err
}

// errorAt is an error that points at a byte of the statement's text.
func errorAt(at int, format string, args ...any) error {
	return &expr.Error{Message: fmt.Sprintf(format, args...), At: at}
}
