package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/spawn"
)

// Explain returns the plan as lines of text, the last step first, without running the query.
// Derived tables that would have to run are shown by their plans, and URLs without their secrets.
func (q *Query) Explain(ctx context.Context) (text string, err error) {
	err = spawn.Call(func() (err error) {
		text, err = q.explain(ctx)
		return err
	})
	return redact.Text(text), spawn.InQuery(redact.Error(err), q.text.Text)
}

func (q *Query) explain(ctx context.Context) (string, error) {
	_, isComputed := q.read.(*computed)
	alone := q.filter == nil && !isComputed && len(q.stages) == 0 && len(q.subqueries) == 0 && q.base.lists == nil
	if src, grouping, err := q.Aggregation(); err == nil && alone {
		plan, err := q.engine.Explain(ctx, src, grouping)
		if err != nil {
			return "", err
		}
		return plan.String(), nil
	}
	o := &outline{}
	items := make([]string, q.schema.NumFields())
	for i := range items {
		items[i] = q.schema.Field(i).Name
		if text := q.post.exprs[i].String(); text != items[i] {
			items[i] = text + " as " + items[i]
		}
		items[i] += " " + q.schema.Field(i).Type.String()
	}
	o.line("select: %s", strings.Join(items, ", "))
	if text := q.describeOrder(); text != "" {
		o.line("order: %s", text)
	}
	if names := q.top.lateNames(); len(names) > 0 {
		o.line("read late, of the rows above: %s", strings.Join(names, ", "))
	}
	if q.text.Having != nil {
		o.line("having: %s", q.text.Having)
	}
	aggregation := func(src scan.Source, grouping query.Query) error {
		plan, err := q.engine.Explain(ctx, src, grouping)
		if err == nil {
			o.WriteString(indented(plan.String(), o.depth))
			o.depth += 3
		}
		return err
	}
	if q.grouped {
		if err := aggregation(q.source, q.query); err != nil {
			return "", err
		}
	}
	for _, s := range slices.Backward(q.stages) {
		o.line("%s", s.what)
		if s.query == nil {
			continue
		}
		if err := aggregation(s.source, *s.query); err != nil {
			return "", err
		}
	}
	if err := q.explainInput(ctx, o); err != nil {
		return "", err
	}
	return o.String(), nil
}

// explainInput adds how the rows of the statement are read.
func (q *Query) explainInput(ctx context.Context, o *outline) error {
	if c, ok := q.read.(*computed); ok {
		names := make([]string, len(c.exprs))
		for i, x := range c.exprs {
			names[i] = x.String()
		}
		o.line("compute: %s", strings.Join(names, ", "))
	}
	if q.filter != nil {
		o.line("filter: %s", q.base.where)
		if p := q.filter.Pruning(); !q.grouped { // else the engine's plan tells
			o.line("%s", &p)
		}
	}
	if l := q.base.lists; l != nil {
		o.line("unnest: %s", l.source.Schema().Field(l.list).Name)
	}
	for _, s := range q.subqueries {
		inner, err := s.explain(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(o, "%sderived table:\n%s", strings.Repeat("  ", o.depth), indented(inner, o.depth+1))
	}
	return nil
}

// outline is lines of text, each deeper than the line before.
type outline struct {
	strings.Builder
	depth int
}

func (o *outline) line(format string, args ...any) {
	fmt.Fprintf(o, "%s%s\n", strings.Repeat("  ", o.depth), fmt.Sprintf(format, args...))
	o.depth++
}

func indented(text string, depth int) string {
	pad := strings.Repeat("  ", depth)
	return pad + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+pad) + "\n"
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
