package plan

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/order"
)

// node is a step of a plan: what becomes of the rows of its input. A plan is a chain of nodes from
// the result to a table, made of logical nodes. Nodes keep nothing of a run, so that a plan runs any
// number of times, at once, too. P7.
type node interface {
	// input returns the node whose rows this node takes; nil of a table.
	input() node
}

// sourceNode is a node whose rows are read by all threads of the engine, split by split.
type sourceNode interface {
	node

	// rows returns the rows of a run. Without a run, nil, they are not read: only their columns and
	// statistics are asked for, while a statement is planned.
	rows(r *run) scan.Source
}

// readerNode is a node whose rows are read by one goroutine, in their order.
type readerNode interface {
	node

	// schema returns the columns of the rows.
	schema() *arrow.Schema

	// read starts to make the rows of a run.
	read(ctx context.Context, r *run) (array.RecordReader, error)
}

// tableNode is a table: files, or batches.
type tableNode struct {
	source scan.Source
	name   string // of the table, or the patterns of its files; "" of what a statement makes
}

func (n *tableNode) input() node           { return nil }
func (n *tableNode) rows(*run) scan.Source { return n.source }

// filterNode leaves the rows for which a condition is TRUE.
type filterNode struct {
	in        sourceNode
	condition *condition
	described scan.Filtered // of no run
}

func (n *filterNode) input() node { return n.in }

// rows implements sourceNode.
func (n *filterNode) rows(r *run) scan.Source {
	if r == nil {
		return n.described
	}
	return scan.Refilter(n.described, r.rowsOf(n.in), n.condition)
}

// computeNode adds columns that are computed of the others.
type computeNode struct {
	stepNode
	step *computed
}

// stepNode has what a step makes of the rows of its input.
type stepNode struct {
	in        sourceNode
	described *stepped // of no run
}

func (n *stepNode) input() node { return n.in }

// rows implements sourceNode.
func (n *stepNode) rows(r *run) scan.Source {
	if r == nil {
		return n.described
	}
	return n.described.over(r.rowsOf(n.in))
}

// unnestNode has a row for each element of a list of its input.
type unnestNode struct {
	in        sourceNode
	list      int           // column of in
	name      string        // of the elements' column, which no column of in has in any case
	pruned    scan.Filtered // in without what a condition leaves out unread; nil where that is nothing
	described scan.Source   // of no run
}

func (n *unnestNode) input() node { return n.in }

// rows implements sourceNode.
func (n *unnestNode) rows(r *run) scan.Source {
	if r == nil {
		return n.described
	}
	source := r.rowsOf(n.in)
	if n.pruned != nil {
		source = scan.Refilter(n.pruned, source, nil)
	}
	made, err := scan.Unnest(source, n.list, n.name)
	if err != nil {
		panic(err) // described is made of the same columns
	}
	return made
}

// run is a run of a statement: what the nodes of its plan have begun, for statistics, and for nodes
// that look at others. It is safe for concurrent use.
type run struct {
	statement *engine.Statement

	mu    sync.Mutex
	begun map[node]*work
	tests []*condition // of this run alone

	around  *run                              // of an iteration: the run of the statement around it; else nil
	working map[*logical.Working]*engine.Kept // rows that an iteration reads
	part    *runPart                          // that the run makes; nil of the whole statement

	exchanged map[exchangePoint]scan.Source // rows that other tasks have sent

	given     readerNode         // whose rows have been made in parts; nil of none
	givenRows array.RecordReader // nil once they are read
}

func newRun(s *engine.Statement) *run { return &run{statement: s, begun: make(map[node]*work)} }

// work is what a node has begun in a run.
type work struct {
	aggregation atomic.Pointer[engine.Result]
	narrowed    []scan.Predicate // of an aggregateNode's input: rows may be missing for which one is not TRUE
	answered    *answered        // of an answersNode: takes its groups
	groups      *groupReader     // of a groupsNode
	reads       []*engine.Rows   // in the order in which they were begun
	sorted      *order.Reader    // of a sortNode
	built       built            // of a joinNode
	kept        kept             // of a bodyNode
	recursed    recursed         // of a recursionNode
}

// of returns what a node has begun. Of no run it is nothing.
func (r *run) of(n node) *work { return r.owner(n).local(n) }

// local is of for what a node has begun in this run, and not in one around it.
func (r *run) local(n node) *work {
	if r == nil {
		return new(work)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.begun[n]
	if w == nil {
		w = new(work)
		r.begun[n] = w
	}
	return w
}

// owner returns the run that makes the rows of a node, or its build side. Statements of WITH, and build sides, which
// read nothing of an iteration, are made once for all of them.
func (r *run) owner(n node) *run {
	for r != nil && r.around != nil {
		switch of := n.(type) {
		case *bodyNode:
			if of.readsAny(r.working) {
				return r
			}
		case *joinNode:
			if !of.isKept {
				return r
			}
		default:
			return r
		}
		r = r.around
	}
	return r
}

// releaseTests gives back what conditions of the run hold.
// Requires: no reader of the run is at work any more.
func (r *run) releaseTests() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.tests {
		c.release()
	}
	r.tests = nil
	for _, w := range r.begun {
		if w.built.side != nil && !w.built.isReleased {
			_ = w.built.side.Release() // of files that nobody reads any more
			w.built.isReleased = true
		}
		if w.kept.rows != nil {
			_ = w.kept.rows.Release() // of files that nobody reads any more
			w.kept.rows = nil
		}
	}
}
