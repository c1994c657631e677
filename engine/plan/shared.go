package plan

import (
	"context"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
)

// bodyNode is a statement of WITH whose rows are made once in a run, by the first who asks for them, and kept for all
// places that read them.
type bodyNode struct {
	in        readerNode
	name      string
	schema    *arrow.Schema
	stats     []scan.ColumnStats
	described *sharedRows // of no run
	reads     []*logical.Working
}

// readsAny says whether the statement reads some of the rows of an iteration.
func (n *bodyNode) readsAny(working map[*logical.Working]*engine.Kept) bool {
	return slices.ContainsFunc(n.reads, func(of *logical.Working) bool { return working[of] != nil })
}

// input implements node.
func (n *bodyNode) input() node { return n.in }

// rows implements sourceNode.
func (n *bodyNode) rows(r *run) scan.Source {
	if r == nil {
		return n.described
	}
	return &sharedRows{node: n, run: r.owner(n), kept: &r.of(n).kept}
}

// shared makes the node of a place that reads a body.
func (p *planner) shared(n *logical.Shared) (*input, error) {
	body := p.bodies[n.Body]
	if body == nil {
		in, err := p.reader(n.Body.Root)
		if err != nil {
			return nil, err
		}
		body = &bodyNode{in: in, name: n.Body.Name, schema: newStream(in, "").described.schema}
		for _, c := range n.Body.Root.Columns() {
			body.stats = append(body.stats, c.Stats)
		}
		logical.Iterations(n.Body.Root, func(of *logical.Working) { body.reads = append(body.reads, of) })
		body.described = &sharedRows{node: body}
		p.bodies[n.Body] = body
	}
	made := &input{body, map[expr.ID]int{}}
	for i, c := range n.Columns() {
		made.places[c.ID] = logical.PlaceOf(n.Body.Root, n.Of[i])
	}
	return made, nil
}

// kept is the rows of a body in a run.
type kept struct {
	once sync.Once
	rows *engine.Kept // nil before they are made
	made engine.Stats // of the making
	err  error
}

// sharedRows is the source of a body.
type sharedRows struct {
	node     *bodyNode
	run      *run  // nil of the rows of no run
	kept     *kept // of the run
	narrowed []scan.Predicate
}

// Schema implements scan.Source.
func (s *sharedRows) Schema() *arrow.Schema { return s.node.schema }

// Stats implements scan.Source. Once keeps the engine from making the rows for a forecast.
func (s *sharedRows) Stats() scan.Stats {
	return scan.Stats{Rows: -1, Bytes: -1, Columns: s.node.stats, Once: true}
}

// Splits implements scan.Source: it makes the rows first.
func (s *sharedRows) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	if s.run == nil {
		return nil, nil
	}
	s.kept.once.Do(func() { s.kept.rows, s.kept.err = s.make(ctx) })
	if s.kept.err != nil {
		return nil, s.kept.err
	}
	source := s.kept.rows.Source()
	for _, p := range s.narrowed {
		narrowed, ok, err := scan.Narrow(ctx, source, p)
		if err != nil {
			return nil, err
		}
		if ok {
			source = narrowed
		}
	}
	return source.Splits(ctx, columns)
}

// make makes the rows.
func (s *sharedRows) make(ctx context.Context) (*engine.Kept, error) {
	rows, err := s.node.in.read(ctx, s.run)
	if err != nil {
		return nil, err
	}
	defer func() {
		rows.Release()
		s.kept.made = s.run.stats(s.node.in)
	}()
	return s.run.statement.Keep(ctx, rows)
}

// Narrow implements scan.Narrower.
func (s *sharedRows) Narrow(_ context.Context, p scan.Predicate) (scan.Source, bool, error) {
	of := *s
	of.narrowed = append(s.narrowed[:len(s.narrowed):len(s.narrowed)], p)
	return &of, true, nil
}
