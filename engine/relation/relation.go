package relation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
)

// Rows are a table, or what calls make of others.
type Rows struct {
	from   sql.From // what the next call reads
	tables map[string]plan.Table
	err    error // of the first wrong call; all later ones do nothing
}

// Table returns the rows of a table. Expressions name its columns with the name or without.
func Table(name string, of plan.Table) Rows {
	return Rows{from: &sql.Table{At: noPlace, Name: name}, tables: map[string]plan.Table{name: of}}
}

// noPlace is the place of what no text has.
const noPlace = -1

// Kind says which rows a join has.
type Kind = sql.JoinKind

// The kinds of joins.
const (
	Inner = sql.InnerJoin // pairs of partners
	Left  = sql.LeftJoin  // pairs, and rows of the receiver without a partner
	Right = sql.RightJoin // pairs, and rows of the argument without a partner
	Full  = sql.FullJoin  // both
	Semi  = sql.SemiJoin  // rows of the receiver with a partner, with its columns alone
	Anti  = sql.AntiJoin  // rows of the receiver without a partner, with its columns alone
)

// Condition says which rows are partners. The zero value is all pairs.
type Condition struct {
	on    string
	using []string
	asof  bool
}

// On returns a condition of SQL: "o.day BETWEEN r.first AND r.last".
func On(condition string) Condition { return Condition{on: condition} }

// Equal returns the condition that two expressions are equal: of each side one.
func Equal(left, right string) Condition { return On("(" + left + ") = (" + right + ")") }

// Using returns the condition that columns of both sides are equal. The join has each of them once.
func Using(columns ...string) Condition { return Condition{using: columns} }

// And returns both conditions; neither is of Using.
func (c Condition) And(other Condition) Condition {
	return Condition{on: "(" + c.on + ") AND (" + other.on + ")", using: append(c.using, other.using...), asof: c.asof}
}

// Nearest returns the condition of an ASOF join: of the partners of a row the nearest one by the condition's
// inequality is left, or by the last column of Using.
func (c Condition) Nearest() Condition {
	c.asof = true
	return c
}

// Join returns the join of two tables.
func (r Rows) Join(kind Kind, other Rows, by Condition) Rows {
	made := r.with(other)
	if made.err != nil {
		return made
	}
	if by.on != "" && by.using != nil {
		made.err = errors.New("Join: a condition of Using stands alone")
		return made
	}
	of, err := sql.NewJoin(kind, r.from, other.from, by.on)
	if err != nil {
		made.err = fmt.Errorf("Join: %w", err)
		return made
	}
	of.Using, of.Asof = by.using, by.asof
	made.from = of
	return made
}

// with returns rows without a step that know the tables of both.
func (r Rows) with(others ...Rows) Rows {
	made := Rows{tables: maps.Clone(r.tables), err: r.err}
	for _, other := range others {
		made.err = errors.Join(made.err, other.err)
		for name, table := range other.tables {
			known, isKnown := made.tables[name]
			if isKnown && !sameTable(known, table) {
				made.err = errors.Join(made.err, fmt.Errorf("two tables have the name %q: name one of them otherwise", name))
			}
			made.tables[name] = table
		}
	}
	return made
}

// sameTable says whether two tables are one.
func sameTable(a, b plan.Table) bool {
	return a.Source == b.Source && a.Scan == b.Scan && slices.Equal(a.Files, b.Files)
}

// As gives rows a name, for the columns of joins: of a table in place of its own.
func (r Rows) As(name string) Rows {
	made := r.with()
	switch of := r.from.(type) {
	case nil:
	case *sql.Table:
		named := *of
		named.Alias.Name = name
		made.from = &named
	default:
		made.from = &sql.Derived{At: noPlace, Query: r.statement(), Alias: sql.Alias{Name: name}}
	}
	return made
}

// Where leaves the rows for which a condition is TRUE.
func (r Rows) Where(condition string) Rows {
	return r.step("Where", sql.Clauses{Agg: []string{"*"}, Where: condition})
}

// Select makes columns: expressions with names or without, or *.
func (r Rows) Select(columns ...string) Rows { return r.step("Select", sql.Clauses{Agg: columns}) }

// GroupBy makes groups of rows that are equal in the keys, and aggregates of each; one group of all rows without keys.
func (r Rows) GroupBy(keys []string, aggregates ...string) Rows {
	return r.step("GroupBy", sql.Clauses{By: keys, Agg: aggregates})
}

// Window is a window function.
type Window struct {
	Call        string   // "sum(n)", "row_number()", "lag(price, 2)"
	PartitionBy []string // expressions; none for one partition of all rows
	OrderBy     []string // expressions, each perhaps with DESC, NULLS FIRST
	Frame       string   // "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"; "" for SQL's default
}

// String returns the window function as SQL.
func (w *Window) String() string {
	var parts []string
	if len(w.PartitionBy) > 0 {
		parts = append(parts, "PARTITION BY "+strings.Join(w.PartitionBy, ", "))
	}
	if len(w.OrderBy) > 0 {
		parts = append(parts, "ORDER BY "+strings.Join(w.OrderBy, ", "))
	}
	if w.Frame != "" {
		parts = append(parts, w.Frame)
	}
	return w.Call + " OVER (" + strings.Join(parts, " ") + ")"
}

// Window adds a column of a window function.
func (r Rows) Window(name string, w Window) Rows {
	return r.step("Window", sql.Clauses{Agg: []string{"*", w.String() + " AS " + quoted(name)}})
}

// quoted returns a name as SQL.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// OrderBy puts the rows in an order, which counts for the last call and for Limit behind it.
func (r Rows) OrderBy(keys string) Rows {
	return r.step("OrderBy", sql.Clauses{Agg: []string{"*"}, OrderBy: keys})
}

// Limit leaves the first n rows.
func (r Rows) Limit(n int64) Rows { return r.step("Limit", sql.Clauses{Agg: []string{"*"}, Limit: &n}) }

// step makes rows of a statement over the rows.
func (r Rows) step(call string, c sql.Clauses) Rows {
	made := r.with()
	if made.err != nil {
		return made
	}
	s, err := sql.ComposeOver(r.from, c)
	if err != nil {
		made.err = fmt.Errorf("%s: %w", call, err)
		return made
	}
	made.from = &sql.Derived{At: noPlace, Query: s}
	return made
}

// Union returns the rows of all, each once. Columns of set operations are put together by their places.
func (r Rows) Union(others ...Rows) Rows {
	made := r.UnionAll(others...)
	if made.err == nil {
		once := &sql.Select{Distinct: true, Items: []sql.Item{{At: noPlace}}, From: made.from}
		made.from = &sql.Derived{At: noPlace, Query: once}
	}
	return made
}

// UnionAll returns the rows of all.
func (r Rows) UnionAll(others ...Rows) Rows { return r.set(sql.Union, true, others) }

// Intersect returns the rows that both have, each once.
func (r Rows) Intersect(other Rows) Rows { return r.set(sql.Intersect, false, []Rows{other}) }

// IntersectAll returns each row as often as both have it.
func (r Rows) IntersectAll(other Rows) Rows { return r.set(sql.Intersect, true, []Rows{other}) }

// Except returns the rows that the other has not, each once.
func (r Rows) Except(other Rows) Rows { return r.set(sql.Except, false, []Rows{other}) }

// ExceptAll returns each row as often as the other has it less.
func (r Rows) ExceptAll(other Rows) Rows { return r.set(sql.Except, true, []Rows{other}) }

// set makes a set operation.
func (r Rows) set(kind sql.SetKind, all bool, others []Rows) Rows {
	made := r.with(others...)
	if made.err != nil {
		return made
	}
	of := &sql.SetOperation{At: noPlace, Kind: kind, All: all, Queries: []*sql.Select{r.statement()}}
	for _, other := range others {
		of.Queries = append(of.Queries, other.statement())
	}
	made.from = of
	return made
}

// statement returns the statement of the rows.
func (r Rows) statement() *sql.Select {
	if of, ok := r.from.(*sql.Derived); ok {
		return of.Query
	}
	return &sql.Select{Items: []sql.Item{{At: noPlace}}, From: r.from}
}

// Prepare plans the statement of the rows. Tables of the options are known beside the rows' own.
func (r Rows) Prepare(ctx context.Context, eng *engine.Engine, opt plan.Options) (*plan.Query, error) {
	if r.err == nil && r.from == nil {
		r.err = errors.New("there are no rows: begin with Table")
	}
	if r.err != nil {
		return nil, fmt.Errorf("package relation: %w", r.err)
	}
	all := maps.Clone(r.tables)
	for name, table := range opt.Tables {
		if _, own := all[name]; !own {
			all[name] = table
		}
	}
	opt.Tables = all
	return plan.Prepare(ctx, eng, r.statement(), opt)
}
