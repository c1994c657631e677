package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// A join that has no row of the probe side without a partner asks the reader of that side for the rows whose keys the
// build side has, once it is made: row groups are left out, and columns are read for fewer rows. The predicate goes
// down through computed columns, unions and other joins, of either side: the build side of a join below is made later
// than that of the join above. Where keys of groups are asked for, the rows of other groups are not read.

// keyPlaces returns the columns of a side that are keys of a join, -1 of keys that are more than a column.
func keyPlaces(side *input, keys []*expr.Expr, of *projection) []int {
	var places []int
	schema := side.schema()
	for i, x := range keys {
		at, ok := side.places[x.ID]
		if x.Op != expr.OpColumn || !ok ||
			!arrow.TypeEqual(rowdata.ValueType(schema.Field(at).Type), of.schema.Field(i).Type) {
			at = -1
		}
		places = append(places, at)
	}
	return places
}

// narrowProbe narrows the probe side by the build side's keys.
func (s *joined) narrowProbe(ctx context.Context) error {
	if !s.asksKeys() || s.built == s.kept {
		return nil
	}
	p, filter, ok := s.built.side.Predicate(s.node.probeKeys)
	if !ok {
		return nil
	}
	probe, ok, err := scan.Narrow(ctx, s.probe, p)
	if err == nil && ok {
		s.probe, s.built.filter = probe, filter
	}
	return err
}

// Narrow implements scan.Narrower: the side is narrowed whose columns the predicate reads. The other side has no rows
// without a partner, which rows would become whose partners are left out.
func (s *joined) Narrow(ctx context.Context, p scan.Predicate) (scan.Source, bool, error) {
	n, made := s.node, *s
	ofProbe, isProbe := p.On(func(c int) int { return placeOf(n.ofSource[0], n.columns[c]) })
	ofBuild, isBuild := p.On(func(c int) int { return placeOf(n.ofSource[1], n.columns[c]-len(n.ofSource[0])) })
	var ok bool
	var err error
	switch {
	case isProbe && !n.has.buildAlone:
		made.probe, ok, err = scan.Narrow(ctx, s.probe, ofProbe)
	case n.between.Best: // whose best partner may be a row that is left out
	case isBuild && !n.has.probeAlone && s.build != nil && !n.isKept:
		made.build, ok, err = scan.Narrow(ctx, s.build, ofBuild)
	}
	return &made, ok, err
}

// placeOf returns an element of a list; -1 where it has none of that number.
func placeOf(list []int, i int) int {
	if i < 0 || i >= len(list) {
		return -1
	}
	return list[i]
}

// Narrow implements scan.Narrower.
func (s *stepped) Narrow(ctx context.Context, p scan.Predicate) (scan.Source, bool, error) {
	own := s.Source.Schema().NumFields()
	of, ok := p.On(func(c int) int {
		if c < own {
			return c
		}
		return -1
	})
	if !ok || s.times != 1 {
		return s, false, nil
	}
	src, ok, err := scan.Narrow(ctx, s.Source, of)
	if err != nil || !ok {
		return s, false, err
	}
	return s.over(src), true, nil
}

// Narrow implements scan.Narrower: the rows are made later, of an input that is narrowed where its rows are groups.
func (s *streamed) Narrow(_ context.Context, p scan.Predicate) (scan.Source, bool, error) {
	if s.narrow == nil || !s.narrow(p) {
		return s, false, nil
	}
	return s, true, nil
}

// narrow notes, before the rows of a node are read, that rows may be missing for which a predicate is not TRUE. It
// returns false where none will be missing.
func (r *run) narrow(n readerNode, p scan.Predicate) bool {
	ok := true
	switch of := n.(type) {
	case *pickNode:
		if p, ok = p.On(func(c int) int { return of.columns[c] }); ok {
			return r.narrow(of.in, p)
		}
	case *projectNode:
		groups := of.in
		if p, ok = p.On(func(c int) int { return of.post.from[c] }); ok && groups.sets == nil {
			return r.narrow(groups.of, p)
		}
	case *aggregateNode:
		if of.most != nil { // groups that are left out make room for others
			return false
		}
		if p, ok = p.On(of.keyOf); ok {
			w := r.of(of)
			w.narrowed = append(w.narrowed, p)
			return true
		}
	}
	return false
}

// keyOf returns the column of the input that is a key, as it is, whose values a column of the groups has; -1 of none.
func (n *aggregateNode) keyOf(column int) int {
	if column >= len(n.query.Keys) {
		return -1
	}
	from := n.in.rows(nil).Schema()
	at := from.FieldIndices(n.query.Keys[column].Column)
	if len(at) != 1 ||
		!arrow.TypeEqual(rowdata.ValueType(from.Field(at[0]).Type), rowdata.ValueType(n.made.Field(column).Type)) {
		return -1
	}
	return at[0]
}

// Narrow implements scan.Narrower: some inputs may be as they were.
func (s *united) Narrow(ctx context.Context, p scan.Predicate) (scan.Source, bool, error) {
	made := &united{s.node, slices.Clone(s.in)}
	some := false
	for i, in := range s.in {
		of, ok := p.On(func(c int) int { return s.node.places[i][c] })
		if !ok {
			continue
		}
		src, ok, err := scan.Narrow(ctx, in, of)
		if err != nil {
			return nil, false, err
		}
		if ok {
			made.in[i], some = src, true
		}
	}
	return made, some, nil
}
