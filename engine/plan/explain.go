package plan

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/order"
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
	if used := listed(q.used); used != "" {
		root.Property("rules: %s", used)
	}
	root.Property("%s", q.engine.BudgetProperty())
}

// Analyze runs the query to its end without keeping its rows, and returns the plan with what each operator did.
func (q *Query) Analyze(ctx context.Context) (text string, err error) {
	r := newRun(q.engine.Statement(ctx))
	defer r.releaseTests()
	text, err = q.analyze(ctx, r)
	return text, spawn.InQuery(redact.Error(err), q.text.Text)
}

// analyze is Analyze as a part of a run.
func (q *Query) analyze(ctx context.Context, r *run) (text string, err error) {
	ran, err := q.start(ctx, r)
	if err != nil {
		return "", err
	}
	for ran.Next() {
	}
	err = ran.Err()
	ran.Release() // what a limit has left to do ends before it is told
	if err != nil {
		return "", err
	}
	return q.analyzed(ctx, r, ran.rows, time.Since(ran.started))
}

// analyzed returns the plan with what each operator of a run did that has ended, and gave a number of rows.
func (q *Query) analyzed(ctx context.Context, r *run, rows int64, took time.Duration) (text string, err error) {
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
	t := &tree{ctx: ctx, engine: q.engine, run: r, shown: map[*bodyNode]bool{}}
	n := node(q.root)
	if _, grouping, err := q.Aggregation(ctx); err == nil {
		groups := q.last().project.in
		if _, isTable := groups.of.in.(*tableNode); isTable { // one aggregation of the columns of a table, and nothing else
			of := *groups.of
			of.query = grouping // with the names of the result
			if err := t.addGroups(groups, &of); err != nil {
				return nil, err
			}
			n = of.in
		}
	}
	if err := t.addAll(n); err != nil {
		return nil, err
	}
	return t.root, nil
}

// addAll adds what people see of a node and of the nodes below it.
func (t *tree) addAll(n node) error {
	for ; n != nil; n = n.input() {
		if of, ok := n.(*bodyNode); ok && !t.addBody(of) {
			return nil
		}
		if err := t.addNode(n); err != nil {
			return err
		}
		if of, ok := n.(*unionNode); ok {
			return t.addInputs(of.in)
		}
		if of, ok := n.(*recursionNode); ok {
			return t.addRecursion(of)
		}
		of, ok := n.(*joinNode)
		if !ok {
			continue
		}
		build := t.side()
		if side := t.run.of(n).built.side; side != nil {
			s := side.Reading()
			build.scanned = &s
		}
		if err := build.addAll(of.build); err != nil {
			return err
		}
		defer func(join *engine.Operator) { join.Inputs = append(join.Inputs, build.root) }(t.last)
	}
	return nil
}

// addInputs adds the inputs of a union.
func (t *tree) addInputs(in []sourceNode) error {
	union := t.last
	for _, n := range in {
		of := t.side()
		if err := of.addAll(n); err != nil {
			return err
		}
		union.Inputs = append(union.Inputs, of.root)
	}
	return nil
}

// addRecursion adds the anchor and the step of a recursion. Of a step it is not told what each of its runs did.
func (t *tree) addRecursion(n *recursionNode) error {
	recursion := t.last
	for i, in := range []readerNode{n.anchor, n.step} {
		of := t.side()
		if i == 1 {
			of.run = nil
		}
		if err := of.addAll(in); err != nil {
			return err
		}
		recursion.Inputs = append(recursion.Inputs, of.root)
	}
	return nil
}

// tree is operators, each the input of the one before.
type tree struct {
	ctx        context.Context
	engine     *engine.Engine
	run        *run // nil of a plan that did not run
	root, last *engine.Operator
	picked     []int            // columns that the steps above take of the rows of the next projection; nil for all
	groups     *groupsNode      // of the aggregation that was added last
	scan       *engine.Operator // of the source of the aggregation that was added last; nil before
	scanned    *engine.Stats    // of the step that was added last and reads rows; nil where it did not run
	pruned     scan.Filtered    // the filter that was added last; nil before
	narrowed   bool             // a condition, or a list, is between the table and this step
	shown      map[*bodyNode]bool
}

// side returns a tree of another input.
func (t *tree) side() *tree { return &tree{ctx: t.ctx, engine: t.engine, run: t.run, shown: t.shown} }

// addBody adds a place that reads a statement of WITH, and says whether it is the first, below which the statement is
// shown.
func (t *tree) addBody(n *bodyNode) (isFirst bool) {
	isFirst = !t.shown[n]
	t.shown[n] = true
	t.addOther("with", n.name)
	t.pruned, t.narrowed, t.picked = nil, true, nil
	if !isFirst {
		t.last.Property("made once, shown at another place")
		return false
	}
	if rows := t.run.of(n).kept.rows; rows != nil {
		t.last.Property("ran: %s kept", digits.Counted(rows.Rows(), "row"))
		s := rows.Stats()
		t.last.Spilled(&s)
	}
	return true
}

// addNode adds what people see of a node.
func (t *tree) addNode(n node) error {
	switch n := n.(type) {
	case *pickNode:
		t.picked = n.columns
	case *sortNode:
		t.addOrder(n)
	case *topNode:
		t.addTop(n)
	case *projectNode:
		t.addProjection(n.post)
		if n.post.having != nil {
			t.add("filter", n.post.condition.String())
		}
	case *groupsNode:
		return t.addGroups(n, n.of)
	case *aggregateNode:
		if t.groups == nil || t.groups.of != n {
			return t.addMerged(n)
		}
	case *rowsNode:
		t.addProjection(n.post)
		t.reads(n)
	case *expandNode:
		t.addExpand(n)
	case *answersNode:
		t.addAnswers(n)
	case *statisticsNode:
		t.addOther("statistics", "least and greatest values")
	case *sortsNode:
		t.addOther("order", n.describe())
		t.reads(n)
	case *computeNode:
		names := make([]string, len(n.step.exprs))
		for i, x := range n.step.exprs {
			names[i] = x.String()
		}
		t.add("compute", strings.Join(names, ", "))
	case *filterNode:
		t.addFilter(n.condition)
		t.pruned = n.described
	case *unnestNode:
		t.add("unnest", n.in.rows(nil).Schema().Field(n.list).Name)
		if t.scanned != nil && !t.narrowed {
			t.last.Property("ran: %s made", digits.Counted(t.scanned.RowsRead, "row"))
		}
		t.narrowed = true
	case *joinNode:
		t.addJoin(n)
	case *unionNode:
		t.addOther("union", fmt.Sprintf("all rows of %d inputs", len(n.in)))
	case *recursionNode:
		t.addOther("recursion", n.text())
		if w := t.run.of(n); w.recursed.rows > 0 {
			const text = "ran: %s of %s"
			t.last.Property(text, digits.Counted(w.recursed.iterations, "iteration"), digits.Counted(w.recursed.rows, "row"))
			t.last.Spilled(&w.recursed.stats)
		}
		t.picked = nil
	case *iterationNode:
		t.add("iteration", "rows of the one before, of "+n.of.Name)
	case *windowNode:
		t.addWindow(n)
	case *repeatNode:
		t.add("repeat", "rows as often as both statements leave them")
		t.picked = nil
	case *tableNode:
		t.addScan(n)
	}
	return nil
}

// addJoin adds a join, and what its build side and the filter of the other side's rows did.
func (t *tree) addJoin(n *joinNode) {
	t.addOther("join", n.text)
	if t.engine.JoinsOnDevice(len(n.nullsEqual), n.between) {
		t.last.Property("algorithm: %s, of partitions of both sides on a device", t.engine.JoinAlgorithm())
	}
	if n.sorted != "" {
		t.last.Property("build side: sorted by %s", n.sorted)
	}
	if n.compared >= pairsWarned {
		t.last.Property("compared: some %s, as no key and no range leads to partners", aboutPairs(n.compared))
	}
	if n.isKept {
		t.last.Property("build side: made once for all iterations")
	}
	t.pruned, t.narrowed = nil, true
	built := &t.run.of(n).built
	if built.side == nil {
		t.last.Property("estimate: %s", aboutRows(n.estimate))
		return
	}
	made := built.rows.Load()
	t.last.Property("ran: %s made, %s", digits.Counted(made, "row"), missed(made, n.estimate))
	built.side.Ran(t.last)
	if built.filter != nil {
		tested, kept := built.filter.Counts()
		const text = "ran, keys asked of the other side's reader: %s of %s left"
		t.last.Property(text, humanize.Comma(kept), digits.Counted(tested, "row"))
	}
}

// aboutRows returns a number of rows of two digits.
func aboutRows(n int64) string {
	return digits.Counted(rounded(n), "row")
}

// rounded returns a number of two digits.
func rounded(n int64) int64 {
	scale := int64(1)
	for n/scale >= 100 {
		scale *= 10
	}
	return (n + scale/2) / scale * scale
}

// missed tells how far an estimate was from a number of rows.
func missed(rows, estimate int64) string {
	return fmt.Sprintf("%.2g times the estimate of %s", float64(rows)/float64(max(estimate, 1)), aboutRows(estimate))
}

// addWindow adds window functions.
func (t *tree) addWindow(n *windowNode) {
	t.addOther("window", n.text)
	if n.first > 0 {
		ties := ""
		if n.ties {
			ties = " with ties"
		}
		t.last.Property("rows kept: the first %d of each partition%s", n.first, ties)
	}
	t.noteSorted(n)
	t.picked = nil // which were the window's
}

// reads notes what a node has read of its input first.
func (t *tree) reads(n node) {
	t.scan, t.scanned, t.pruned, t.narrowed = nil, nil, nil, false
	if reads := t.run.of(n).reads; len(reads) > 0 {
		s := reads[0].Stats()
		t.scanned = &s
	}
}

// addOrder adds an order, or a limit.
func (t *tree) addOrder(n *sortNode) {
	name := "order"
	switch {
	case len(n.by.Keys) == 0:
		name = "first rows"
	case n.by.Limited:
		name = "first rows in order"
	}
	t.add(name, describeOrder(n.by, n.in))
	t.noteSorted(n)
}

// noteSorted tells what the order of a node has spilled.
func (t *tree) noteSorted(n node) {
	if sorted := t.run.of(n).sorted; sorted != nil && sorted.Stats().Runs > 0 {
		s := sorted.Stats()
		stored := humanize.IBytes(uint64(s.SpilledStored))
		t.last.Property("ran, spilled: %s in %s", stored, digits.Counted(int64(s.Runs), "run"))
	}
}

// addTop adds the first rows in an order.
func (t *tree) addTop(n *topNode) {
	t.add("first rows in order", n.text)
	if n.late != nil {
		t.last.Property("read late, of the rows above: %s", strings.Join(n.lateNames(t.picked), ", "))
	}
	t.addProjection(n.all)
	t.reads(n)
	if n.test.where != nil {
		t.addFilter(n.test)
		t.pruned = n.tested
	}
}

// addFilter adds the condition of a filter.
func (t *tree) addFilter(c *condition) {
	t.add("filter", c.where.String())
	if t.run == nil {
		t.last.Property("estimate: %s", aboutRows(c.estimate))
	} else if t.scanned != nil && !t.narrowed {
		t.last.Property("ran: %s kept, %s", digits.Counted(t.scanned.RowsRead, "row"), missed(t.scanned.RowsRead, c.estimate))
	}
	t.narrowed = true
}

// addProjection adds the columns of a projection that the steps above take: what they are made of, their
// names and types.
func (t *tree) addProjection(p *projection) {
	columns := t.picked
	t.picked = nil
	if columns == nil {
		columns = make([]int, len(p.exprs))
		for i := range columns {
			columns[i] = i
		}
	}
	items := make([]string, len(columns))
	for i, c := range columns {
		items[i] = p.schema.Field(c).Name
		if text := p.exprs[c].String(); text != items[i] {
			items[i] = text + " as " + items[i]
		}
		items[i] += " " + p.schema.Field(c).Type.String()
	}
	t.add("project", strings.Join(items, ", "))
}

// addGroups adds the last aggregation of groups.
func (t *tree) addGroups(n *groupsNode, of *aggregateNode) error {
	t.groups = n
	g := t.run.of(n).groups
	if g == nil || g.current != nil { // it did not run, or has not ended
		return t.addAggregation(of, nil, false)
	}
	return t.addAggregation(of, &g.last, g.ended)
}

// addMerged adds an aggregation whose groups are grouped again.
func (t *tree) addMerged(n *aggregateNode) error {
	var ran *engine.Stats
	whole := false
	if result := t.run.of(n).aggregation.Load(); result != nil {
		s := result.Stats()
		ran = &s
		if g := t.run.of(t.groups).groups; g != nil {
			whole = g.ended
		}
	}
	if err := t.addAggregation(n, ran, whole); err != nil {
		return err
	}
	t.last.Property("merged: by the aggregation above")
	return nil
}

// addScan adds the reading of a table.
func (t *tree) addScan(n *tableNode) {
	if n.source.Schema().NumFields() == 1 && n.source.Schema().Field(0).Name == "" { // of a statement without FROM
		t.add("values", "1 row")
		return
	}
	read := t.scan // of the first aggregation
	if read == nil {
		read = engine.ScanOperator(n.source)
		if t.pruned != nil {
			p := t.pruned.Pruning()
			read.Property("%s", &p)
		}
	}
	if t.scanned != nil {
		read.RanScan(t.scanned, !t.narrowed)
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
func (t *tree) addExpand(n *expandNode) {
	sets := int64(len(n.step.made))
	t.add("expand", digits.Counted(sets, "grouping set"))
	t.scan = nil
	if t.scanned != nil {
		scanned := *t.scanned
		scanned.RowsRead /= sets // each row was read once
		t.scanned = &scanned
	}
}

// addAnswers tells which groups below are groups of the result, too.
func (t *tree) addAnswers(n *answersNode) {
	a := t.run.of(n).answered
	if a == nil || a.passed.Load() == 0 {
		return
	}
	keys := int64(0)
	for _, has := range n.by.Sets[n.by.Answered] {
		if has {
			keys++
		}
	}
	const text = "ran: %s below are the answer for the set of %s"
	t.last.Property(text, digits.Counted(a.passed.Load(), "group"), digits.Counted(keys, "key"))
}

// addAggregation adds an aggregation, without its source, and what it did where ran is not nil.
func (t *tree) addAggregation(n *aggregateNode, ran *engine.Stats, whole bool) error {
	plan, err := t.engine.Explain(t.ctx, n.in.rows(nil), n.query)
	if err != nil {
		return err
	}
	o := plan.Operators()
	t.scan, t.scanned, t.narrowed, o.Inputs = o.Inputs[0], ran, false, nil
	if ran != nil {
		plan.Ran(o, ran, whole)
	}
	t.put(o)
	return nil
}

// describeOrder names the keys of an order of rows, and its limit.
func describeOrder(by order.By, rows readerNode) string {
	var post *projection
	switch of := rows.(type) {
	case *projectNode:
		post = of.post
	case *rowsNode:
		post = of.post
	}
	var keys []string
	for _, k := range by.Keys {
		x := expr.Column(rows.schema().Field(k.Column).Name)
		if post != nil {
			x = post.exprs[k.Column]
		}
		keys = append(keys, expr.Order{Expr: x, Descending: k.Descending, NullsFirst: k.NullsFirst}.String())
	}
	text := strings.Join(keys, ", ")
	if by.Limited {
		text += fmt.Sprintf(" limit %d", by.Limit)
	}
	if by.IsShare {
		text += fmt.Sprintf(" limit %v%%", by.Share)
	}
	if by.Offset > 0 {
		text += fmt.Sprintf(" offset %d", by.Offset)
	}
	return strings.TrimSpace(text)
}
