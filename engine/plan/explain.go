package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/spawn"
)

// Explain returns the plan as a tree of operators, the last step first, without running the query.
// URLs are shown without their secrets.
func (q *Query) Explain(ctx context.Context) (text string, err error) {
	err = spawn.Call(func() (err error) {
		root, err := q.operators(ctx)
		if err == nil {
			root.Property("%s", q.engine.BudgetProperty())
			text = root.String()
		}
		return err
	})
	return redact.Text(text), spawn.InQuery(redact.Error(err), q.text.Text)
}

// operators returns the tree of the plan.
func (q *Query) operators(ctx context.Context) (*engine.Operator, error) {
	t := &tree{}
	if src, grouping, err := q.Aggregation(); err == nil && q.isAggregation() {
		if err := t.addAggregation(ctx, q.engine, src, grouping); err != nil {
			return nil, err
		}
		return t.root, q.addInput(ctx, t)
	}
	if text := q.describeOrder(); text != "" {
		t.add(q.orderName(), text)
		if names := q.top.lateNames(); len(names) > 0 {
			t.last.Property("read late, of the rows above: %s", strings.Join(names, ", "))
		}
	}
	t.add("project", strings.Join(q.describeItems(), ", "))
	if q.text.Having != nil {
		t.add("filter", q.text.Having.String())
	}
	if q.grouped {
		if err := t.addAggregation(ctx, q.engine, q.source, q.query); err != nil {
			return nil, err
		}
	}
	for _, s := range slices.Backward(q.stages) {
		if s.query == nil {
			t.add(s.operator, s.of)
			t.scan = nil // the aggregation reads what the stage makes
			continue
		}
		if err := t.addAggregation(ctx, q.engine, s.source, *s.query); err != nil {
			return nil, err
		}
		t.last.Property("%s", s.of)
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
	}
	if l := q.base.lists; l != nil {
		t.add("unnest", l.source.Schema().Field(l.list).Name)
	}
	for _, s := range q.subqueries {
		inner, err := s.operators(ctx)
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

// addAggregation adds an aggregation, without its source.
func (t *tree) addAggregation(ctx context.Context, eng *engine.Engine, src scan.Source, grouping query.Query) error {
	plan, err := eng.Explain(ctx, src, grouping)
	if err != nil {
		return err
	}
	o := plan.Operators()
	t.scan, o.Inputs = o.Inputs[0], nil
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
