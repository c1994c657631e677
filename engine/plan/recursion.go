package plan

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/rowdata"
)

// recursionNode has the rows of a statement of WITH RECURSIVE. Each iteration is a run of the step by itself, whose
// rows are kept until the next iteration has read them.
type recursionNode struct {
	anchor, step readerNode
	places       [2][]int // of the anchor and the step, by column: the column that has the values
	made         *arrow.Schema
	before       *logical.Working
	fresh        *freshNode // nil of UNION ALL
	keyed        *keyedNode // of USING KEY; nil of others
}

// keyedNode makes the state of a recursion of USING KEY of the rows of all iterations, and tells which rows of it an
// iteration has changed.
type keyedNode struct {
	state, changed   readerNode
	raw              *arrow.Schema // of the rows of iterations
	rows, made, last *logical.Working
	isLast           bool // the state has keys and last values alone
}

// freshNode tells rows that no iteration has had: by a table of keys, and where that outgrows the memory, by groups of
// all rows.
type freshNode struct {
	keys        *rowdata.Bound
	keysSuffice bool // rows are equal where their keys are, and nowhere else
	except      readerNode
	made, had   *logical.Working
}

func (n *recursionNode) input() node           { return n.anchor }
func (n *recursionNode) schema() *arrow.Schema { return n.made }

// text describes the recursion, for people.
func (n *recursionNode) text() string {
	switch {
	case n.keyed != nil:
		return n.before.Name + ", a row for each key"
	case n.fresh != nil:
		return n.before.Name + ", new rows of each iteration"
	}
	return n.before.Name + ", all rows of each iteration"
}

// recursion makes the node of a statement of WITH RECURSIVE.
func (p *planner) recursion(n *logical.Recursion) (*recursionNode, error) {
	made := &recursionNode{before: n.Before, made: keptSchema(n.Columns())}
	var err error
	for i, in := range n.Inputs() {
		of, err := p.reader(in)
		if err != nil {
			return nil, err
		}
		if made.places[i] = make([]int, len(n.Of[i])); i == 0 {
			made.anchor = of
		} else {
			made.step = of
		}
		for c, id := range n.Of[i] {
			made.places[i][c] = logical.PlaceOf(in, id)
		}
	}
	if of := n.Keyed; of != nil {
		made.keyed = &keyedNode{raw: keptSchema(of.Raw), rows: of.Rows, made: of.Changed.Made, last: of.Changed.Had}
		made.keyed.isLast = of.IsLast
		if made.keyed.state, err = p.reader(of.State); err == nil {
			made.keyed.changed, err = p.reader(of.Changed.Root)
		}
		return made, err
	}
	if n.Fresh == nil {
		return made, nil
	}
	made.fresh = &freshNode{made: n.Fresh.Made, had: n.Fresh.Had}
	if made.fresh.keys, err = engine.DistinctKeys(made.made); err != nil {
		return nil, fmt.Errorf("WITH RECURSIVE %s, by UNION without ALL: %w", n.Before.Name, err)
	}
	made.fresh.keysSuffice = !slices.ContainsFunc(made.made.Fields(), func(f arrow.Field) bool {
		return nested.HoldsIntervals(f.Type) // the bytes of equal ones differ
	})
	made.fresh.except, err = p.reader(n.Fresh.Root)
	return made, err
}

// keptSchema returns the schema of rows that are kept: each column has a name of its own.
func keptSchema(columns []logical.Column) *arrow.Schema {
	taken, fields := logical.Names{}, make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: taken.Unique(c.Name), Type: c.Type, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// iterationNode has rows that a recursion keeps.
type iterationNode struct {
	of        *logical.Working
	described scan.Source // of no run: no rows
}

func (n *iterationNode) input() node { return nil }

// rows implements sourceNode.
func (n *iterationNode) rows(r *run) scan.Source {
	for ; r != nil; r = r.around {
		if rows := r.working[n.of]; rows != nil {
			return rows.Source()
		}
	}
	return n.described
}

// iteration makes the node of a place that reads rows of a recursion.
func (p *planner) iteration(n *logical.Iteration) *input {
	described := &streamed{name: n.Of.Name, schema: keptSchema(n.Columns())}
	return &input{&iterationNode{n.Of, described}, logical.PlacesOf(n.Columns())}
}

// within returns a run of a part of a statement, which reads some rows that are kept.
func (r *run) within(working map[*logical.Working]*engine.Kept) *run {
	of := newRun(r.statement)
	of.around, of.working = r, working
	return of
}
