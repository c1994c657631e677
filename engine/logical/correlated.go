package logical

import (
	"context"
	"maps"
	"slices"

	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// A statement behind FROM of a subquery, or of a lateral statement, may read what is around these, as may the
// statements of its set operations and of its WITH RECURSIVE. Each such statement has a domain of its own, whose
// columns are the last ones of its rows. All statements of a set operation have them at the same places, so that rows
// of different values are no equal rows. The first statement behind FROM lends the statement around its columns;
// another is tied to them.

// part binds a statement behind FROM, or one of a set operation, which is of. hidden is how many of the last columns
// are a domain: 0 where of reads nothing of what is around. It is found out when the statement around has no domain
// yet.
func (b *binder) part(ctx context.Context, of sql.From, s *sql.Select) (r *scope, hidden int, err error) {
	o := b.outer
	switch {
	case o == nil:
	case o.domain == nil:
		probe := &enclosing{scope: o.scope}
		n, err := b.inner(ctx, s, probe)
		if err != nil {
			return nil, 0, err
		}
		for _, x := range probe.reads {
			if indexOf(o.reads, x) < 0 {
				o.reads = append(o.reads, x)
			}
			o.early, b.reading[of] = true, true
		}
		if probe.iterates {
			o.iterates, b.iterating[of] = true, true
		}
		return derivedScope(n), 0, nil
	case b.reading[of], b.iterating[of] && o.isStep:
		n, own, err := b.each(ctx, s, o)
		if err != nil {
			return nil, 0, err
		}
		return scopeOf(n), len(own.domain), nil
	}
	r, err = b.derived(ctx, s)
	return r, 0, err
}

// each binds a statement for each value of a domain like another one, which is made anew. The last columns of the node
// are the domain.
func (b *binder) each(ctx context.Context, s *sql.Select, like *enclosing) (Node, *enclosing, error) {
	if isGlobal(s) && (s.Having != nil || s.Limit != nil || s.Offset != nil) {
		const text = "not supported: HAVING and LIMIT without GROUP BY in a statement behind FROM that reads columns " +
			"of the tables before it"
		return nil, nil, errorAt(max(placeOf(s), 0), text)
	}
	a, o, err := b.domainLike(ctx, like)
	if err != nil {
		return nil, nil, err
	}
	n, err := b.inner(ctx, s, o)
	if err == nil && o.empty != nil {
		n, err = a.withEmpty(n, o)
	}
	return n, o, err
}

// placeOf returns the place of the first item of a statement that has one.
func placeOf(s *sql.Select) int {
	if len(s.Items) > 0 {
		return s.Items[0].At
	}
	return 0
}

// domainLike makes a domain like another one.
func (b *binder) domainLike(ctx context.Context, like *enclosing) (*attacher, *enclosing, error) {
	a := b.attach(ctx, like.scope, like.rows)
	o := &enclosing{scope: like.scope, reads: like.reads, early: like.early, isLateral: true, isStep: like.isStep}
	return a, o, a.domain(o, like.of)
}

// hide takes a domain out of the scope of a statement behind FROM, whose last columns it is.
func (b *binder) hide(r *scope, hidden int) {
	if hidden == 0 {
		return
	}
	o, own := b.outer, r.columns[len(r.columns)-hidden:]
	if o.values != nil {
		o.domain, o.values = own, nil
	} else {
		o.tie = expr.Conjunction(o.tie, on(exprsOf(o.domain), own))
	}
	r.leaveOut(hidden)
}

// tied binds the right side of a join, and returns the condition that its domain is that of the left side; nil of none.
func (b *binder) tied(ctx context.Context, s *sql.Select, f *sql.Join) (*scope, *expr.Expr, error) {
	o := b.outer
	if o == nil {
		r, err := b.from(ctx, s, f.Right)
		return r, nil, err
	}
	before := o.tie
	o.tie = nil
	r, err := b.from(ctx, s, f.Right)
	tie := o.tie
	if o.tie = before; err == nil && tie != nil {
		err = checkLateral(f)
	}
	return r, tie, err
}

// readEarly notes that the columns around a statement are read by one behind its FROM, if another one, which reads
// columns of the tables before it, reads them.
func (o *enclosing) readEarly(inner *enclosing) {
	isNull := func(x *expr.Expr) bool { return columnOf(x) == nil }
	if o != nil && slices.ContainsFunc(inner.reads, isNull) {
		o.early = true
	}
}

// checkLateral refuses joins whose right side cannot read columns of the left one.
func checkLateral(f *sql.Join) error {
	if f.Kind.KeepsRight() || f.Asof {
		const alone = "a statement that reads columns of the tables before it stands behind no RIGHT, FULL and ASOF JOIN"
		return errorAt(f.At, alone)
	}
	return nil
}

// acrossComma binds joins behind a comma, where a statement may read columns of the tables before the comma: all of
// them are then made for each value of the domain.
func (b *binder) acrossComma(ctx context.Context, s *sql.Select, f *sql.Join, left *scope) (*scope, *expr.Expr, error) {
	stdin, once, around := b.stdin, maps.Clone(b.once), b.outer
	defer func() { b.outer = around }()
	found := &enclosing{scope: left, isLateral: true}
	b.outer = found
	r, err := b.from(ctx, s, f.Right)
	if err != nil || len(found.reads) == 0 {
		return r, nil, err
	}
	around.readEarly(found)
	if err := checkLateral(f); err != nil {
		return nil, nil, err
	}
	b.stdin, b.once = stdin, once
	found.rows, found.of = left.node, found.reads
	_, o, err := b.domainLike(ctx, found)
	if err != nil {
		return nil, nil, err
	}
	b.outer = o
	if r, err = b.from(ctx, s, f.Right); err == nil {
		err = b.joinDomain(ctx, r)
	}
	return r, on(found.reads, o.domain), err
}

// isTree says whether what stands behind FROM is a join, perhaps below a sample or an unnest.
func isTree(f sql.From) bool {
	switch of := f.(type) {
	case *sql.Join:
		return true
	case *sql.Sampled:
		return isTree(of.Input)
	case *sql.Unnest:
		return isTree(of.Input)
	}
	return false
}
