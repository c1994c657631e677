package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
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
	text, _, err = q.analyze(ctx)
	return text, spawn.InQuery(redact.Error(err), q.text.Text)
}

// analyze is Analyze that returns the result, too, which has been read and released.
func (q *Query) analyze(ctx context.Context) (text string, ran *Result, err error) {
	started := time.Now()
	if ran, err = q.Run(ctx); err != nil {
		return "", nil, err
	}
	defer ran.Release()
	rows := int64(0)
	for ran.Next() {
		rows += ran.RecordBatch().NumRows()
	}
	if err := ran.Err(); err != nil {
		return "", nil, err
	}
	took := time.Since(started)
	err = spawn.Call(func() error {
		root, err := q.operators(ctx, ran)
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
	return text, ran, err
}

// operators returns the tree of the plan, with what its operators did where the query ran.
func (q *Query) operators(ctx context.Context, ran *Result) (*engine.Operator, error) {
	t := &tree{ran: ran}
	if src, grouping, err := q.Aggregation(); err == nil && q.isAggregation() {
		if err := t.addAggregation(ctx, q.engine, src, grouping, ran.lastStats()); err != nil {
			return nil, err
		}
		return t.root, q.addInput(ctx, t)
	}
	if text := q.describeOrder(); text != "" {
		t.add(q.orderName(), text)
		if names := q.top.lateNames(); len(names) > 0 {
			t.last.Property("read late, of the rows above: %s", strings.Join(names, ", "))
		}
		if s := ran.sortStats(); s.Runs > 0 {
			stored := humanize.IBytes(uint64(s.SpilledStored))
			t.last.Property("ran, spilled: %s in %s", stored, digits.Counted(int64(s.Runs), "run"))
		}
	}
	t.add("project", strings.Join(q.describeItems(), ", "))
	if q.text.Having != nil {
		t.add("filter", q.text.Having.String())
	}
	if q.grouped {
		if err := t.addAggregation(ctx, q.engine, q.source, q.query, ran.lastStats()); err != nil {
			return nil, err
		}
	}
	for _, s := range slices.Backward(q.stages) {
		if s.query == nil {
			t.addStage(s, q)
			continue
		}
		if err := t.addAggregation(ctx, q.engine, s.source, *s.query, ran.firstStats()); err != nil {
			return nil, err
		}
		t.last.Property("merged: by the aggregation above")
	}
	return t.root, q.addInput(ctx, t)
}

// isAggregation says whether the statement is one aggregation of the columns of a table, and nothing else.
func (q *Query) isAggregation() bool {
	_, isComputed := q.read.(*computed)
	return q.filter == nil && !isComputed && len(q.stages) == 0 && len(q.subqueries) == 0 && q.base.lists == nil
}

// addInput adds how the rows of the statement are read.
func (q *Query) addInput(ctx context.Context, t *tree) error {
	if c, ok := q.read.(*computed); ok {
		names := make([]string, len(c.exprs))
		for i, x := range c.exprs {
			names[i] = x.String()
		}
		t.add("compute", strings.Join(names, ", "))
	}
	if q.filter != nil {
		t.add("filter", q.base.where.String())
		if s := t.scanStats(); s != nil {
			t.last.Property("ran: %s kept", digits.Counted(s.RowsRead, "row"))
		}
	}
	if l := q.base.lists; l != nil {
		t.add("unnest", l.source.Schema().Field(l.list).Name)
		if s := t.scanStats(); s != nil && q.filter == nil {
			t.last.Property("ran: %s made", digits.Counted(s.RowsRead, "row"))
		}
	}
	for _, s := range q.subqueries {
		var innerRan *Result
		if t.ran != nil {
			innerRan = s.ran
		}
		inner, err := s.operators(ctx, innerRan)
		if err != nil {
			return err
		}
		t.put(inner)
	}
	switch {
	case len(q.subqueries) > 0:
		return nil
	case q.text.From == nil:
		t.add("values", "1 row")
		return nil
	}
	read := t.scan // of the first aggregation
	if read == nil {
		read = engine.ScanOperator(q.base.source)
		if q.filter != nil {
			p := q.filter.Pruning()
			read.Property("%s", &p)
		}
	}
	if s := t.scanStats(); s != nil {
		read.RanScan(s, q.filter == nil && q.base.lists == nil)
	}
	if q.base.name != "" {
		read.Of = q.base.name + ": " + read.Of
	}
	t.put(read)
	return nil
}

// tree is operators, each the input of the one before.
type tree struct {
	root, last *engine.Operator
	scan       *engine.Operator // of the source of the aggregation that was added last; nil before
	scanned    *engine.Stats    // of that aggregation; nil where it did not run
	ran        *Result          // of the query; nil where it did not run
}

// scanStats is what the reading of the query's table did; nil where it did not run.
func (t *tree) scanStats() *engine.Stats {
	if t.scanned == nil && t.ran != nil && len(t.ran.reads) > 0 {
		s := t.ran.Stats()
		return &s
	}
	return t.scanned
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

// addStage adds a stage that does not aggregate, between an aggregation and what it reads.
func (t *tree) addStage(s stage, q *Query) {
	t.add(s.operator, s.of)
	if s.operator != expandStage {
		t.scan, t.scanned = nil, nil // the aggregation reads what the stage makes
		return
	}
	t.scan = nil
	if t.scanned != nil {
		scanned := *t.scanned
		scanned.RowsRead /= int64(len(q.sets)) // each row was read once
		t.scanned = &scanned
	}
	if t.ran != nil && t.ran.groups.passed > 0 {
		t.last.Property("ran: %s are the answer for the set of all keys", digits.Counted(t.ran.groups.passed, "group"))
	}
}

// addAggregation adds an aggregation, without its source, and what it did where ran is not nil.
func (t *tree) addAggregation(
	ctx context.Context, eng *engine.Engine, src scan.Source, grouping query.Query, ran *engine.Stats,
) error {
	plan, err := eng.Explain(ctx, src, grouping)
	if err != nil {
		return err
	}
	o := plan.Operators()
	t.scan, t.scanned, o.Inputs = o.Inputs[0], ran, nil
	if ran != nil {
		plan.Ran(o, ran, t.ran.groups.ended)
	}
	t.put(o)
	return nil
}

// describeItems returns the columns of the result: what they are made of, names and types.
func (q *Query) describeItems() []string {
	items := make([]string, q.schema.NumFields())
	for i := range items {
		items[i] = q.schema.Field(i).Name
		if text := q.post.exprs[i].String(); text != items[i] {
			items[i] = text + " as " + items[i]
		}
		items[i] += " " + q.schema.Field(i).Type.String()
	}
	return items
}

// orderName is the name of the operator that orders and limits the result.
func (q *Query) orderName() string {
	switch {
	case len(q.by.Keys) == 0:
		return "first rows"
	case q.top != nil || q.by.Limited:
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
