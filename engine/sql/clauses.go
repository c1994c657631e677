package sql

import (
	"strings"

	"github.com/mpga/mpga/internal/expr"
)

// Clauses are the parts of a statement as texts of their own.
type Clauses struct {
	By      []string // keys, each a list with aliases or without
	Agg     []string // the columns of the result beside the keys: lists, with aliases or without
	Where   string
	Having  string
	OrderBy string

	Limit *int64 // nil for all rows
}

// ClauseError is an error in a text of Clauses.
type ClauseError struct {
	Clause string // by, agg, where, having or order-by
	Index  int    // in By or Agg
	Err    error
}

// Error names the clause before the error.
func (e *ClauseError) Error() string { return e.Clause + ": " + e.Err.Error() }

// Unwrap returns the error without the clause.
func (e *ClauseError) Unwrap() error { return e.Err }

// Compose makes a statement of clauses: SELECT by, agg FROM table WHERE ... GROUP BY by. Its text
// is the texts of the clauses, each on lines of its own. Errors are of type *ClauseError.
func Compose(table string, c Clauses) (*Select, error) { return ComposeOver(&Table{Name: table}, c) }

// ComposeOver is Compose over what stands behind FROM, whose places are negative or in texts of their own.
func ComposeOver(from From, c Clauses) (*Select, error) {
	m := &composer{s: &Select{From: from}}
	for i, text := range c.By {
		m.parse("by", i, text, ParseItems, func(s *Select) {
			m.s.Items = append(m.s.Items, s.Items...)
			for _, it := range s.Items {
				if it.Expr == nil {
					m.err = &ClauseError{"by", i, s.ErrorAt(it.At, "not supported: *; name the columns")}
					return
				}
				m.s.GroupBy = append(m.s.GroupBy, GroupElement{Expr: it.Expr, At: it.At})
			}
		})
	}
	for i, text := range c.Agg {
		m.parse("agg", i, text, ParseItems, func(s *Select) { m.s.Items = append(m.s.Items, s.Items...) })
	}
	if c.Where != "" {
		m.parse("where", 0, c.Where, parseCondition, func(s *Select) { m.s.Where = s.Where })
	}
	if c.Having != "" {
		m.parse("having", 0, c.Having, parseCondition, func(s *Select) { m.s.Having = s.Where })
	}
	if c.OrderBy != "" {
		m.parse("order-by", 0, c.OrderBy, parseOrder, func(s *Select) {
			m.s.OrderBy, m.s.OrderAll = s.OrderBy, s.OrderAll
		})
	}
	if m.err != nil {
		return nil, m.err
	}
	if c.Limit != nil {
		m.s.Limit = expr.Constant(*c.Limit)
	}
	m.s.Text = m.text.String()
	return m.s, nil
}

// NewJoin returns a join by a condition, whose places are forgotten; "" is all pairs.
func NewJoin(kind JoinKind, left, right From, on string) (*Join, error) {
	made := &Join{At: -1, Kind: kind, Left: left, Right: right}
	if on == "" {
		return made, nil
	}
	s, err := parseCondition(on)
	if err != nil {
		return nil, err
	}
	if s.subqueries != nil {
		return nil, s.ErrorAt(0, "not supported: a subquery in the condition of a join; write it in Where")
	}
	made.On = s.Where
	made.On.Walk(func(x *expr.Expr) bool {
		x.At = -1
		return true
	})
	return made, nil
}

// composer puts texts together.
type composer struct {
	s    *Select         // the statement so far
	text strings.Builder // the text of s
	err  error           // the first error, after which parse does nothing
}

// parse reads a text, and moves its places to where it stands in the statement's text.
func (m *composer) parse(
	clause string, index int, text string, parse func(string) (*Select, error), use func(*Select),
) {
	if m.err != nil {
		return
	}
	s, err := parse(text)
	if err != nil {
		m.err = &ClauseError{clause, index, err}
		return
	}
	s.move(m.text.Len())
	m.text.WriteString(text + "\n")
	s.Text = m.text.String()
	m.s.subqueries = append(m.s.subqueries, s.subqueries...)
	use(s)
}

// move adds to all places of a statement without FROM.
func (s *Select) move(by int) {
	moved := map[*expr.Expr]bool{} // CASE x WHEN has x in every condition
	move := func(e *expr.Expr) {
		e.Walk(func(x *expr.Expr) bool {
			if x.At >= 0 && !moved[x] {
				x.At += by
			}
			moved[x] = true
			return true
		})
	}
	for i := range s.Items {
		s.Items[i].At += by
		move(s.Items[i].Expr)
	}
	move(s.Where)
	for _, o := range s.OrderBy {
		move(o.Expr)
	}
}
