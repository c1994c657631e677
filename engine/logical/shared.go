package logical

import (
	"slices"

	"github.com/mpga/mpga/internal/expr"
)

// Shared has the rows of a statement of WITH that several places read: they are made once in a run. Rules take each
// place for a table, and the statement by itself, with what its places ask.
type Shared struct {
	Body    *Body
	Of      []expr.ID // by column: the column of the body
	columns []Column
}

// Body is a statement of WITH.
type Body struct {
	Root   Node
	Name   string
	Number int // of all that are bound: a body reads bodies with smaller numbers
}

// NewShared returns the rows of a body, whose columns get IDs of their own.
func NewShared(ids *IDs, body *Body) *Shared {
	n := &Shared{Body: body, columns: slices.Clone(body.Root.Columns())}
	for i := range n.columns {
		n.Of = append(n.Of, n.columns[i].ID)
		n.columns[i].ID = ids.New()
	}
	return n
}

// Columns implements Node.
func (n *Shared) Columns() []Column { return n.columns }

// Inputs implements Node: the body is a statement by itself.
func (n *Shared) Inputs() []Node { return nil }

// With implements Node.
func (n *Shared) With(...Node) Node { return n }

// Only returns the node with the columns for which a function returns true.
func (n *Shared) Only(keep func(Column) bool) *Shared {
	made := &Shared{Body: n.Body}
	for i, c := range n.columns {
		if keep(c) {
			made.Of, made.columns = append(made.Of, n.Of[i]), append(made.columns, c)
		}
	}
	return made
}

// In returns the node of another body, which has the same columns.
func (n *Shared) In(body *Body) *Shared { return &Shared{body, n.Of, n.columns} }

// isDear says whether it takes more than reading tables to make rows, or other rows are made each time.
func isDear(n Node) bool {
	draws := false
	switch of := n.(type) {
	case *Project:
		draws = slices.ContainsFunc(of.Exprs, (*expr.Expr).IsDrawn)
	case *Filter:
		draws = of.Condition.IsDrawn()
	case *Scan, *Iteration, *Unnest, *Union:
	default:
		return true
	}
	return draws || slices.ContainsFunc(n.Inputs(), isDear)
}
