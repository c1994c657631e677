package plan

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/spawn"
)

// Explain returns the plan as a tree of operators, the last step first, without running the query.
// URLs are shown without their secrets.
func (q *Query) Explain(ctx context.Context) (text string, err error) {
	err = spawn.Call(func() (err error) {
		root, err := q.operators(ctx, nil)
		if err == nil {
			q.describeStatement(root)
			text = root.String()
		}
		return err
	})
	return redact.Text(text), spawn.InQuery(redact.Error(err), q.text.Text)
}

// describeStatement adds to the last operator what is of the whole statement.
func (q *Query) describeStatement(root *engine.Operator) {
	if used := q.rules.String(); used != "" {
		root.Property("rules: %s", used)
	}
	root.Property("%s", q.engine.BudgetProperty())
}

// Analyze runs the query to its end without keeping its rows, and returns the plan with what each operator did.
func (q *Query) Analyze(ctx context.Context) (text string, err error) {
	r := newRun(q.engine)
	defer r.releaseTests()
	text, err = q.analyze(ctx, r)
	return text, spawn.InQuery(redact.Error(err), q.text.Text)
}

// analyze is Analyze as a part of a run.
func (q *Query) analyze(ctx context.Context, r *run) (text string, err error) {
	started := time.Now()
	ran, err := q.start(ctx, r)
	if err != nil {
		return "", err
	}
	rows := int64(0)
	for ran.Next() {
		rows += ran.RecordBatch().NumRows()
	}
	err = ran.Err()
	ran.Release() // what a limit has left to do ends before it is told
	if err != nil {
		return "", err
	}
	took := time.Since(started)
	err = spawn.Call(func() error {
		root, err := q.operators(ctx, r)
		if err != nil {
			return err
		}
		all := &engine.Operator{Name: "result", Of: digits.Counted(rows, "row"), Inputs: []*engine.Operator{root}}
		resident := humanize.IBytes(uint64(q.engine.ResidentPeak()))
		all.Property("ran: in %s; %s of the process were resident at most", took.Round(time.Microsecond), resident)
		q.describeStatement(all)
		text = redact.Text(all.String())
		return nil
	})
	return text, err
}

// operators returns the tree of the plan, with what its operators did where r is not nil.
func (q *Query) operators(ctx context.Context, r *run) (*engine.Operator, error) {
	t := &tree{engine: q.engine, run: r}
	if q.groups != nil && r.of(q.groups).groups != nil {
		t.whole = r.of(q.groups).groups.ended
	}
	if _, grouping, err := q.Aggregation(); err == nil && q.isAggregation() {
		of := *q.groups.of
		of.query = grouping // with the names of the result
		if err := t.addAggregation(ctx, &of, t.lastStats(q.groups)); err != nil {
			return nil, err
		}
		return t.root, t.addRest(ctx, q, of.in)
	}
	if text := q.describeOrder(); text != "" {
		t.add(q.orderName(), text)
		if top, ok := q.root.(*topNode); ok && top.late != nil {
			t.last.Property("read late, of the rows above: %s", strings.Join(top.lateNames(), ", "))
		}
		if sorted := r.of(q.root).sorted; sorted != nil && sorted.Stats().Runs > 0 {
			s := sorted.Stats()
			stored := humanize.IBytes(uint64(s.SpilledStored))
			t.last.Property("ran, spilled: %s in %s", stored, digits.Counted(int64(s.Runs), "run"))
		}
	}
	t.add("project", strings.Join(q.describeItems(), ", "))
	if q.text.Having != nil {
		t.add("filter", q.text.Having.String())
	}
	if q.groups == nil {
		return t.root, t.addRest(ctx, q, q.in)
	}
	if err := t.addAggregation(ctx, q.groups.of, t.lastStats(q.groups)); err != nil {
		return nil, err
	}
	return t.root, t.addRest(ctx, q, q.in)
}

// isAggregation says whether the statement is one aggregation of the columns of a table, and nothing else.
func (q *Query) isAggregation() bool {
	_, isTable := q.in.(*tableNode)
	return isTable
}

// tree is operators, each the input of the one before.
type tree struct {
	engine     *engine.Engine
	run        *run // nil of a plan that did not run
	whole      bool // all groups of the statement have been read
	root, last *engine.Operator
	scan       *engine.Operator // of the source of the aggregation that was added last; nil before
	scanned    *engine.Stats    // of that aggregation; nil where it did not run
}

// lastStats is what the last aggregation did; nil where it did not run, or has not ended.
func (t *tree) lastStats(n *groupsNode) *engine.Stats {
	if g := t.run.of(n).groups; g != nil && g.current == nil {
		return &g.last
	}
	return nil
}

// addRest adds a node of a query, and the nodes that it reads.
func (t *tree) addRest(ctx context.Context, q *Query, n node) error {
	for ; n != nil; n = n.input() {
		switch n := n.(type) {
		case *expandNode:
			t.addExpand(n, q.groups)
		case *statisticsNode:
			t.addOther("statistics", "least and greatest values")
		case *sortsNode:
			t.addOther("order", n.describe())
			t.scanned = t.readBy(n)
		case *aggregateNode:
			var ran *engine.Stats
			if result := t.run.of(n).aggregation.Load(); result != nil {
				s := result.Stats()
				ran = &s
			}
			if err := t.addAggregation(ctx, n, ran); err != nil {
				return err
			}
			t.last.Property("merged: by the aggregation above")
		case *computeNode:
			names := make([]string, len(n.described.exprs))
			for i, x := range n.described.exprs {
				names[i] = x.String()
			}
			t.add("compute", strings.Join(names, ", "))
		case *filterNode:
			t.add("filter", q.base.where.String())
			if s := t.scanStats(q); s != nil {
				t.last.Property("ran: %s kept", digits.Counted(s.RowsRead, "row"))
			}
		case *unnestNode:
			t.add("unnest", n.in.rows(nil).Schema().Field(n.list).Name)
			if s := t.scanStats(q); s != nil && q.where == nil {
				t.last.Property("ran: %s made", digits.Counted(s.RowsRead, "row"))
			}
		case *tableNode:
			t.addScan(q, n)
		case *Query:
			inner, err := n.operators(ctx, t.run.onlyWith(n))
			if err == nil {
				t.put(inner)
			}
			return err
		}
	}
	return nil
}

// onlyWith returns the run, or nil where it has not begun a node.
func (r *run) onlyWith(n node) *run {
	if r == nil || r.of(n).statement == nil {
		return nil
	}
	return r
}

// scanStats is what the reading of a query's table did; nil where it did not run.
func (t *tree) scanStats(q *Query) *engine.Stats {
	if t.scanned == nil && q.reads != nil && t.readBy(q.reads) != nil {
		s := t.run.ran(q).Stats()
		return &s
	}
	return t.scanned
}

// readBy is what a node has read of its input first; nil where it did not run.
func (t *tree) readBy(n node) *engine.Stats {
	reads := t.run.of(n).reads
	if len(reads) == 0 {
		return nil
	}
	s := reads[0].Stats()
	return &s
}

// addScan adds the reading of a query's table.
func (t *tree) addScan(q *Query, n *tableNode) {
	if q.text.From == nil {
		t.add("values", "1 row")
		return
	}
	read := t.scan // of the first aggregation
	if read == nil {
		read = engine.ScanOperator(n.source)
		if q.where != nil {
			p := q.where.described.Pruning()
			read.Property("%s", &p)
		}
	}
	if s := t.scanStats(q); s != nil {
		_, isUnnested := q.base.node.(*unnestNode)
		read.RanScan(s, q.where == nil && !isUnnested)
	}
	if n.name != "" {
		read.Of = n.name + ": " + read.Of
	}
	t.put(read)
}

// put adds an operator, with what is below it.
func (t *tree) put(o *engine.Operator) {
	if t.root == nil {
		t.root = o
	} else {
		t.last.Inputs = append(t.last.Inputs, o)
	}
	t.last = o
}

func (t *tree) add(name, of string) { t.put(&engine.Operator{Name: name, Of: of}) }

// addOther adds an operator whose rows are others than its input's: an aggregation above it has not
// read the table.
func (t *tree) addOther(name, of string) {
	t.add(name, of)
	t.scan, t.scanned = nil, nil
}

// addExpand adds the rows of grouping sets.
func (t *tree) addExpand(n *expandNode, groups *groupsNode) {
	t.add("expand", fmt.Sprintf("%d grouping sets", len(groups.sets)))
	t.scan = nil
	if t.scanned != nil {
		scanned := *t.scanned
		scanned.RowsRead /= int64(len(groups.sets)) // each row was read once
		t.scanned = &scanned
	}
	if g := t.run.of(groups).groups; g != nil && g.passed > 0 {
		t.last.Property("ran: %s are the answer for the set of all keys", digits.Counted(g.passed, "group"))
	}
}

// addAggregation adds an aggregation, without its source, and what it did where ran is not nil.
func (t *tree) addAggregation(ctx context.Context, n *aggregateNode, ran *engine.Stats) error {
	plan, err := t.engine.Explain(ctx, n.in.rows(nil), n.query)
	if err != nil {
		return err
	}
	o := plan.Operators()
	t.scan, t.scanned, o.Inputs = o.Inputs[0], ran, nil
	if ran != nil {
		plan.Ran(o, ran, t.whole)
	}
	t.put(o)
	return nil
}

// describeItems returns the columns of the result: what they are made of, names and types.
func (q *Query) describeItems() []string {
	items := make([]string, q.resultSchema.NumFields())
	for i := range items {
		items[i] = q.resultSchema.Field(i).Name
		if text := q.post.exprs[i].String(); text != items[i] {
			items[i] = text + " as " + items[i]
		}
		items[i] += " " + q.resultSchema.Field(i).Type.String()
	}
	return items
}

// orderName is the name of the operator that orders and limits the result.
func (q *Query) orderName() string {
	switch {
	case len(q.by.Keys) == 0:
		return "first rows"
	case q.by.Limited:
		return "first rows in order"
	}
	return "order"
}

func (q *Query) describeOrder() string {
	var keys []string
	for _, k := range q.by.Keys {
		text := q.post.exprs[k.Column].String()
		if k.Descending {
			text += " desc"
		}
		if k.NullsFirst {
			text += " nulls first"
		}
		keys = append(keys, text)
	}
	text := strings.Join(keys, ", ")
	if q.by.Limited {
		text += fmt.Sprintf(" limit %d", q.by.Limit)
	}
	if q.by.Offset > 0 {
		text += fmt.Sprintf(" offset %d", q.by.Offset)
	}
	return strings.TrimSpace(text)
}
