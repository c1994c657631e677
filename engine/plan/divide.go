package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/order"
)

// Parts of a statement are made elsewhere, each of some rows of one table. This is right where each step between
// the table and the groups makes of the rows of all parts together what it makes of them part by part: conditions and
// computed columns do, unions do, and so does a join whose other side each part reads whole, as long as no row of
// that side is chosen by whether it has a partner, which rows of other parts may be.
// The domain of a subquery, its values of the rows around it, is made of the rows of the part, too: no other row looks
// its values up.

// Division says which tables of a statement are divided among parts, and which each part reads whole.
type Division struct {
	*Parts

	// Stems are rows of the tables that are divided, each row for one part. There are several where a union has
	// them as its inputs, and where rows change tasks.
	Stems []Stem

	// Sides are rows that change tasks before the groups, or rows, of the statement are made of them; nil of none.
	Sides []*Side

	// Whole are tables that each part reads whole, or the first part alone where they are inputs of a union.
	Whole []WholeTable

	// Late are tables that are joined to the groups, or to what is made of them, once all parts are there.
	Late []WholeTable

	// Derived says that each part makes groups or windows of whole tables, which must be equal in all parts.
	Derived bool

	// Unsent says why rows do not change tasks, where the tables that are read whole are too large; "" of others.
	Unsent string
}

// Stem is the rows of a table before they meet the rows of others.
type Stem struct {
	Table   scan.Source // as the statement has opened it
	Rows    scan.Source // behind conditions and computed columns; their positions are the table's
	Columns []int       // of Rows, that the statement reads

	isAll bool // the groups are made of them
}

// WholeTable is a table that is not divided.
type WholeTable struct {
	Table scan.Source
	Name  string
	Why   string // for people
}

// Divide chooses the tables that are divided: the largest that can be. Where others, which are then read whole, have
// more than a number of bytes, or no table can be divided, rows change tasks. bytes returns the size of a table;
// negative where it has no files. Where nothing can be divided, the error says why.
//
// Requires: Options.OneStep.
func (q *Query) Divide(bytes func(scan.Source) int64, whole int64) (*Division, error) {
	recurses := !eachNode(q.root, func(n node) bool {
		_, is := n.(*recursionNode)
		return !is
	})
	if recurses {
		return nil, errors.New("the statement has WITH RECURSIVE, which needs all rows, and is not done in parts")
	}
	made, err := q.divide(bytes)
	if err == nil && made.wholeBytes(bytes) <= whole {
		return made, nil
	}
	reason := ""
	for _, limit := range []int64{whole, 0} { // of tables beside the sides of joins that change tasks
		sent, why := q.exchange(bytes, limit)
		if sent != nil && sent.wholeBytes(bytes) <= whole {
			return sent, nil
		}
		reason = cmp.Or(reason, why)
	}
	switch {
	case err == nil:
		made.Unsent = reason
	case reason != "" && !strings.Contains(err.Error(), reason):
		err = fmt.Errorf("%w; and rows are not sent to other tasks, since %s", err, reason)
	}
	return made, err
}

// wholeBytes returns the bytes of the tables that are not divided.
func (d *Division) wholeBytes(bytes func(scan.Source) int64) (sum int64) {
	for _, t := range slices.Concat(d.Whole, d.Late) {
		sum += bytes(t.Table)
	}
	return sum
}

// divide divides tables without an exchange of rows.
func (q *Query) divide(bytes func(scan.Source) int64) (*Division, error) {
	candidates, err := q.candidates()
	if err != nil {
		return nil, err
	}
	d := newDivider(q, bytes)
	var best *projectNode
	var chosen choice
	for _, c := range candidates {
		groups := c.in.of
		of := d.choose(groups.in, columnsOfQuery(groups))
		if of.stems != nil && (best == nil || of.bytes > chosen.bytes) {
			best, chosen = c, of
		}
	}
	if best == nil {
		return nil, d.refused()
	}
	groups := best.in.of
	made := &Division{Parts: &Parts{q, best, best}, Stems: chosen.stems}
	made.Stems[0].isAll = isTable(groups.in)
	made.addWhole(d, chosen.has, tablesOf(groups.in, true))
	err = alongPath(groups.in, chosen.has, func(whole sourceNode) error {
		made.Derived = made.Derived || isDerived(whole)
		return checkSame(whole)
	}, nil)
	return made, err
}

// addWhole adds the tables that are not divided. within has the tables that are read before the parts are done.
func (d *Division) addWhole(of *divider, divided func(scan.Source) bool, within []*tableNode) {
	for _, t := range of.order {
		whole := WholeTable{t.source, t.name, of.why[t.source]}
		switch {
		case divided(t.source) || of.bytes(t.source) < 0:
		case slices.Contains(within, t):
			d.Whole = append(d.Whole, whole)
		default:
			whole.Why = "it is read behind the groups"
			d.Late = append(d.Late, whole)
		}
	}
}

// candidates returns the projections of groups that may be made in parts. What is made of their rows is made at once,
// of the rows of all parts. A plan that reads a table for the groups and elsewhere, too, has none.
func (q *Query) candidates() (list []*projectNode, err error) {
	hasSets := false
	var seen []node
	eachNode(q.root, func(n node) bool {
		if _, ok := n.(*explainNode); ok { // which runs nothing, or measures one run
			return false
		}
		of, ok := n.(*projectNode)
		switch {
		case !ok || slices.Contains(seen, n):
			return true
		case of.in.sets != nil && (!q.setsInParts || of.in.answers != nil):
			hasSets = true
		case !q.sharesTables(of):
			list = append(list, of)
		}
		seen = append(seen, n)
		return true
	})
	switch {
	case list != nil:
		return list, nil
	case hasSets:
		return nil, errors.New("several grouping sets (ROLLUP, CUBE, GROUPING SETS) take more than one aggregation")
	case seen != nil:
		return nil, errors.New("the groups read a table that another place of the plan reads, too; " +
			"write them to a file first")
	}
	return nil, q.noGroups()
}

// sharesTables says whether tables below a node are read elsewhere, too.
func (q *Query) sharesTables(n node) bool {
	within := tablesOf(n, true)
	shared := false
	var visit func(node)
	visit = func(other node) {
		if other == n {
			return
		}
		if t, ok := other.(*tableNode); ok {
			same := func(own *tableNode) bool { return own.source == t.source }
			shared = shared || slices.ContainsFunc(within, same)
		}
		for _, in := range inputsOf(other) {
			visit(in)
		}
	}
	visit(q.root)
	return shared
}

// columnsOfQuery returns the columns that an aggregation reads.
func columnsOfQuery(n *aggregateNode) (list []int) {
	schema := n.in.rows(nil).Schema()
	for i, f := range schema.Fields() {
		reads := func(k query.Key) bool { return k.Column == f.Name }
		used := func(a query.Aggregate) bool {
			return slices.Contains(a.Args, f.Name) || a.By == f.Name
		}
		if slices.ContainsFunc(n.query.Keys, reads) || slices.ContainsFunc(n.query.Aggregates, used) {
			list = append(list, i)
		}
	}
	return list
}

// IsTable says whether the statement reads one table and nothing else.
func (d *Division) IsTable() bool { return len(d.Stems) == 1 && d.Stems[0].isAll }

// divider chooses tables.
type divider struct {
	bytes  func(scan.Source) int64
	order  []*tableNode           // each table once
	places map[scan.Source]int    // how often the plan reads a table
	why    map[scan.Source]string // it is not divided
}

// newDivider returns a divider of a statement's tables.
func newDivider(q *Query, bytes func(scan.Source) int64) *divider {
	d := &divider{bytes: bytes, places: map[scan.Source]int{}, why: map[scan.Source]string{}}
	d.tables(q.root)
	return d
}

// tables notes the tables below a node.
func (d *divider) tables(n node) {
	for _, t := range tablesOf(n, false) {
		if slices.Contains(d.order, t) { // below a statement of WITH that several places read
			continue
		}
		if d.places[t.source]++; d.places[t.source] == 1 {
			d.order = append(d.order, t)
		}
	}
}

// choice is some tables that are divided; none where stems is nil.
type choice struct {
	stems []Stem
	bytes int64
}

// has says whether a table is divided.
func (c choice) has(table scan.Source) bool {
	return slices.ContainsFunc(c.stems, func(s Stem) bool { return s.Table == table })
}

// choose returns the largest tables below a node that can be divided.
func (d *divider) choose(top sourceNode, columns []int) choice {
	for n := top; ; {
		switch of := n.(type) {
		case *filterNode:
			n = of.in
		case *computeNode:
			n = of.in
		case *unnestNode: // whose rows have positions of their own
			n, top, columns = of.in, of.in, append(columnsOf(of.in, columns), of.list)
		case *expandNode:
			n, top, columns = of.in, of.in, columnsOf(of.in, columns)
		case *tableNode:
			return d.table(Stem{Table: of.source, Rows: top.rows(nil), Columns: columns})
		case *joinNode:
			return d.join(of)
		case *unionNode:
			return d.union(of)
		default:
			d.keep(n, whyMade(n))
			return choice{}
		}
	}
}

// columnsOf returns the columns among some that the rows below a node have, which come first.
func columnsOf(below sourceNode, columns []int) []int {
	own := below.rows(nil).Schema().NumFields()
	return slices.DeleteFunc(slices.Clone(columns), func(c int) bool { return c >= own })
}

// table returns the choice of a table.
func (d *divider) table(s Stem) choice {
	size := d.bytes(s.Table)
	switch {
	case size < 0:
		return choice{}
	case d.places[s.Table] > 1:
		d.why[s.Table] = "several places of the plan read it"
		return choice{}
	}
	return choice{[]Stem{s}, size}
}

// join returns the choice of a side of a join.
func (d *divider) join(n *joinNode) choice {
	ofProbe := d.choose(n.probe, n.ofProbe.columnsRead())
	ofBuild := d.choose(n.build, n.ofBuild.columnsRead())
	_, condition, _ := strings.Cut(n.text, ", ")
	why := "the join by " + condition + " needs all of its rows to tell which rows of the other side have a partner"
	if n.has.buildAlone || n.has.buildPartnered {
		d.keep(n.probe, why)
		ofProbe = choice{}
	}
	if n.has.probeAlone || n.has.partnered || n.between.Best {
		d.keep(n.build, why)
		ofBuild = choice{}
	}
	const smaller = "a larger one is divided"
	if ofBuild.stems == nil || ofProbe.stems != nil && ofProbe.bytes >= ofBuild.bytes {
		d.keep(n.build, smaller)
		return ofProbe
	}
	d.keep(n.probe, smaller)
	return ofBuild
}

// union returns the choices of all inputs of a union. The first part reads an input without one.
func (d *divider) union(n *unionNode) (all choice) {
	for i, in := range n.in {
		of := d.choose(in, n.places[i])
		all.stems, all.bytes = append(all.stems, of.stems...), all.bytes+of.bytes
	}
	return all
}

// keep notes why tables below a node are not divided, unless that is known.
func (d *divider) keep(n node, why string) {
	for _, t := range tablesOf(n, false) {
		if _, known := d.why[t.source]; !known {
			d.why[t.source] = why
		}
	}
}

// refused returns why nothing is divided.
func (d *divider) refused() error {
	var reasons []string
	for _, t := range d.order {
		if why := d.why[t.source]; why != "" && d.bytes(t.source) >= 0 {
			reasons = append(reasons, fmt.Sprintf("%s: %s", t.name, why))
		}
	}
	switch len(reasons) {
	case 0:
		return errors.New("the statement reads no files")
	case 1:
		_, why, _ := strings.Cut(reasons[0], ": ")
		return errors.New(why)
	}
	return fmt.Errorf("none of the tables can be divided among tasks; write the rows of a join or a derived table to a "+
		"file first: %s", strings.Join(reasons, "; "))
}

// whyMade says why rows are not made in parts.
func whyMade(n node) string {
	if body, ok := n.(*bodyNode); ok {
		return "the statement of WITH " + body.name + " is made once for several places; write its result to a file first"
	}
	if _, ok := n.(*statisticsNode); ok {
		return "its statistics are the answer, which takes no tasks"
	}
	for below := n; below != nil; below = below.input() {
		switch of := below.(type) {
		case *sortsNode:
			return "the statement takes a step before its groups, which needs all rows: order of " + of.describe()
		case *windowNode:
			return "the statement has window functions, a sample, QUALIFY or DISTINCT ON, which need rows of all tasks"
		case *repeatNode:
			return "the statement has INTERSECT ALL or EXCEPT ALL, which repeats rows, and is not done in parts"
		}
	}
	return "a table derived of groups, or of rows in order, is made before the statement; " +
		"write its result to a file first"
}

// inputsOf returns all nodes whose rows a node takes.
func inputsOf(n node) []node {
	switch of := n.(type) {
	case *joinNode:
		return []node{of.probe, of.build}
	case *unionNode:
		list := make([]node, len(of.in))
		for i, in := range of.in {
			list[i] = in
		}
		return list
	}
	if in := n.input(); in != nil {
		return []node{in}
	}
	return nil
}

// eachNode calls a function with a node and all nodes below it, until the function returns false.
func eachNode(n node, visit func(node) bool) bool {
	if !visit(n) {
		return false
	}
	for _, in := range inputsOf(n) {
		if !eachNode(in, visit) {
			return false
		}
	}
	return true
}

// tablesOf returns the tables below a node, each as often as it is read; for domains of subqueries, too, if these
// count.
func tablesOf(n node, domains bool) (list []*tableNode) {
	switch of := n.(type) {
	case *tableNode:
		return []*tableNode{of}
	case *aggregateNode:
		if of.isDomain && !domains {
			return nil
		}
	}
	for _, in := range inputsOf(n) {
		list = append(list, tablesOf(in, domains)...)
	}
	return list
}

// alongPath goes from a node to the tables that are divided, and calls functions, which may be nil, with the sides of
// joins that are not, and with the inputs of unions.
func alongPath(
	n node, divided func(scan.Source) bool, side func(sourceNode) error, arm func(in sourceNode, divided bool),
) error {
	has := func(n node, domains bool) bool {
		return slices.ContainsFunc(tablesOf(n, domains), func(t *tableNode) bool { return divided(t.source) })
	}
	var errs []error
	eachNode(n, func(n node) bool {
		switch of := n.(type) {
		case *joinNode:
			for _, in := range []sourceNode{of.probe, of.build} {
				if has(of, false) && !has(in, false) && side != nil {
					errs = append(errs, side(in))
				}
			}
		case *unionNode:
			for _, in := range of.in {
				if has(of, true) && arm != nil {
					arm(in, has(in, true))
				}
			}
		}
		return true
	})
	return errors.Join(errs...)
}

// isDerived says whether groups or windows are made below a node.
func isDerived(n node) bool {
	return !eachNode(n, func(n node) bool {
		switch n.(type) {
		case *aggregateNode, *windowNode:
			return false
		}
		return true
	})
}

// checkSame refuses rows that may be others where another part makes them: first rows of an order, or numbers of rows,
// where several rows are equal in the order, and first values of rows without an order. Rows of a table have one.
func checkSame(whole node) error {
	var err error
	eachNode(whole, func(n node) bool {
		switch of := n.(type) {
		case *sortNode:
			if of.by.Limited || of.by.IsShare || of.by.Offset > 0 {
				err = checkOrder("LIMIT", of.in, of.by.Keys)
			}
		case *topNode:
			err = checkOrder("LIMIT", &rowsNode{in: of.in, post: of.all}, of.by.Keys)
		case *windowNode:
			err = checkOrder("a window function, or a sample,", of.in, of.by().Keys)
		case *aggregateNode:
			if !isTable(of.in) && slices.ContainsFunc(of.query.Aggregates, takesOrder) {
				err = errors.New("a table that each task reads whole is derived by first, last, a list or the like of rows " +
					"without an order, which may come out differently in each task; write its result to a file first")
			}
		}
		return err == nil
	})
	return err
}

// takesOrder says whether an aggregate depends on the order of rows.
func takesOrder(a query.Aggregate) bool {
	switch a.Func {
	case query.First, query.Last, query.AnyValue, query.ArgMin, query.ArgMax, query.List, query.StringAgg,
		query.Mode, query.FirstPlace:
		return true
	}
	return false
}

// isTable says whether rows are a table's, whose order is the files'.
func isTable(n node) bool {
	for {
		switch of := n.(type) {
		case *tableNode:
			return true
		case *filterNode, *computeNode, *unnestNode, *expandNode:
			n = of.input()
		default:
			return false
		}
	}
}

// checkOrder refuses an order in which rows may be equal that differ.
func checkOrder(what string, in readerNode, keys []order.Key) error {
	if rows, ok := in.(*rowsNode); ok && len(keys) == 0 && isTable(rows.in) {
		return nil
	}
	given := func(c int) bool {
		return slices.ContainsFunc(keys, func(k order.Key) bool { return k.Column == c })
	}
	if of, ok := in.(*projectNode); ok && hasKeys(of, given) {
		return nil
	}
	for c := range in.schema().Fields() {
		if !given(c) {
			return fmt.Errorf("a table that each task reads whole has %s over rows that may be equal in its order (%s), "+
				"and may come out differently in each task; order by all columns, or write its result to a file first",
				what, describeOrder(order.By{Keys: keys}, in))
		}
	}
	return nil
}

// hasKeys says whether all keys of groups are among the given columns of their projection.
func hasKeys(n *projectNode, given func(int) bool) bool {
	for key := range n.in.of.query.Keys {
		at := slices.Index(n.post.from, key)
		if at < 0 || !given(at) {
			return false
		}
	}
	return n.in.sets == nil
}
