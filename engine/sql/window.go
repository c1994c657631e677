//go:build cgo

package sql

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/internal/expr"
)

// windowFunctions are the functions that stand before OVER alone, with the least and the most of their arguments.
var windowFunctions = map[string][2]int{
	"row_number": {0, 0}, "rank": {0, 0}, "dense_rank": {0, 0}, "percent_rank": {0, 0}, "cume_dist": {0, 0},
	"ntile": {1, 1}, "lag": {1, 3}, "lead": {1, 3}, "first_value": {1, 1}, "last_value": {1, 1}, "nth_value": {2, 2},
}

func isWindowFunction(name string) bool {
	_, ok := windowFunctions[name]
	return ok
}

// takesNulls says whether IGNORE NULLS may stand in a window function.
func takesNulls(name string) bool {
	return slices.Contains([]string{"lag", "lead", "first_value", "last_value", "nth_value"}, name)
}

// valueNames are the window functions that aggregate functions are over a window.
var valueNames = map[string]string{"first": "first_value", "last": "last_value", "any_value": "first_value"}

// windowCall reads a function before OVER.
func (p *statements) windowCall(call *pg.FuncCall, name string) *expr.Expr {
	at := p.offset(call.GetLocation())
	p.look()
	var x *expr.Expr
	of := expr.Window{IgnoreNulls: p.marks[at] == markIgnoreNulls || name == "any_value"}
	if value, ok := valueNames[name]; ok {
		name = value
	}
	switch args, ok := windowFunctions[name]; {
	case ok:
		p.take(call, "funcname", "args", "over", "agg_filter", "agg_order")
		if len(call.GetAggOrder()) > 0 && args[1] == 0 {
			call.Args = nil // what stands before ORDER BY
		}
		if n := len(call.GetArgs()); n < args[0] || n > args[1] {
			p.fail(at, "%s takes %d to %d arguments, not %d", name, args[0], args[1], n)
		}
		if call.GetAggFilter() != nil {
			p.fail(at, "not supported: FILTER behind %s; aggregate functions have it", name)
		}
		x = p.call(name, call.GetLocation(), call.GetArgs()...)
		for _, node := range call.GetAggOrder() {
			x.OrderBy = append(x.OrderBy, p.order(node))
		}
	case isAggregate(name):
		x = p.aggregateCall(call, name)
		if call.GetAggWithinGroup() {
			p.fail(at, "not supported: WITHIN GROUP before OVER")
		}
	default:
		p.fail(at, "%s is no window function, and no aggregate function", name)
	}
	if of.IgnoreNulls && !takesNulls(name) {
		p.fail(at, "not supported: IGNORE NULLS in %s", name)
	}
	x.Op, of.Args = expr.OpWindow, len(x.Args)
	orders := x.OrderBy
	x.OrderBy = nil
	p.window(x, &of, call.GetOver())
	if len(orders) > 0 {
		p.orderedBy(x, &of, orders)
	}
	x.Value = of
	return p.composed(x)
}

// orderedBy gives a function before OVER the order that stands in its call, in place of the window's: the function has
// all rows of the partition.
func (p *statements) orderedBy(x *expr.Expr, of *expr.Window, orders []Order) {
	isWritten := of.Start == expr.UnboundedPreceding && of.End == expr.UnboundedFollowing && of.Exclude == ""
	if !isWritten && (of.Frame != "" || len(x.OrderBy) > 0) {
		const text = "not supported: ORDER BY in %s(...) before OVER, of a frame that is not all rows of the partition"
		p.fail(x.At, text, x.Name)
	}
	x.OrderBy = orders
	of.Frame, of.Start, of.End = expr.FrameRows, expr.UnboundedPreceding, expr.UnboundedFollowing
}

// orderedCalls puts an argument before ORDER BY in a call that has no other, where PostgreSQL wants one.
func (s *script) orderedCalls() {
	for i, t := range s.tokens {
		isFirst := t.Token == pg.Token_ORDER && s.token(i-1).Token == pg.Token_ASCII_40
		if isFirst && s.token(i-2).Token != pg.Token_OVER && s.isCalled(i-2) {
			s.inserted[int(t.Start)] += "0 "
		}
	}
}

// windowPartsMax bounds the expressions that names of windows stand for.
const windowPartsMax = 1 << 17

// window reads what stands behind OVER, or in WINDOW.
func (p *statements) window(x *expr.Expr, of *expr.Window, w *pg.WindowDef) {
	p.take(w, "name", "refname", "partition_clause", "order_clause", "frame_options", "start_offset", "end_offset")
	at := p.offset(w.GetLocation())
	partition, order, frame := w.GetPartitionClause(), w.GetOrderClause(), w
	if name := w.GetName() + w.GetRefname(); name != "" && x != nil {
		named := p.windows[strings.ToLower(name)]
		switch {
		case named == nil:
			p.fail(at, "no window is named %s", name)
		case len(partition) > 0:
			p.fail(at, "PARTITION BY stands in window %s alone", name)
		case len(order) > 0 && len(named.GetOrderClause()) > 0:
			p.fail(at, "ORDER BY stands in window %s alone", name)
		}
		partition = named.GetPartitionClause()
		if p.copied += len(partition) + len(named.GetOrderClause()); p.copied > windowPartsMax {
			p.fail(at, "not supported: windows of more than %d expressions, with what their names stand for", windowPartsMax)
		}
		if len(order) == 0 {
			order = named.GetOrderClause()
		}
		if w.GetFrameOptions()&frameNotDefault == 0 && w.GetStartOffset() == nil && w.GetEndOffset() == nil {
			frame = named
		}
	}
	if x == nil {
		x, of = &expr.Expr{}, &expr.Window{}
	}
	x.Args = append(x.Args, p.exprs(partition)...)
	of.Partition = len(partition)
	for _, node := range order {
		o := p.order(node)
		if p.marks[o.Expr.At] == markOrderAll {
			p.fail(o.Expr.At, "not supported: ORDER BY ALL of a window")
		}
		x.OrderBy = append(x.OrderBy, o)
	}
	p.frame(x, of, frame)
}

// The bits of a frame, as PostgreSQL's parser has them.
const (
	frameNotDefault   = 1 << iota
	frameRange        // 2
	frameRows         // 4
	frameGroups       // 8
	_                 // BETWEEN
	frameStartFirst   // UNBOUNDED PRECEDING
	_                 // which ends no frame
	_                 // UNBOUNDED FOLLOWING, which begins no frame
	frameEndLast      // UNBOUNDED FOLLOWING
	frameStartCurrent // CURRENT ROW
	frameEndCurrent
	frameStartBefore // an offset PRECEDING
	frameEndBefore
	frameStartBehind // an offset FOLLOWING
	frameEndBehind
	frameWithoutCurrent
	frameWithoutGroup
	frameWithoutTies
)

// frame reads the frame of a window.
func (p *statements) frame(x *expr.Expr, of *expr.Window, w *pg.WindowDef) {
	bits := w.GetFrameOptions()
	if bits&frameNotDefault == 0 {
		p.offsets(x, of, w)
		return
	}
	first := func(of map[int32]string) string {
		for bit, name := range of {
			if bits&bit != 0 {
				return name
			}
		}
		return ""
	}
	of.Frame = expr.FrameUnit(first(map[int32]string{
		frameRange: string(expr.FrameRange), frameRows: string(expr.FrameRows), frameGroups: string(expr.FrameGroups),
	}))
	of.Start = expr.FrameBound(first(map[int32]string{
		frameStartFirst: string(expr.UnboundedPreceding), frameStartCurrent: string(expr.CurrentRow),
		frameStartBefore: string(expr.OffsetPreceding), frameStartBehind: string(expr.OffsetFollowing),
	}))
	of.End = expr.FrameBound(first(map[int32]string{
		frameEndLast: string(expr.UnboundedFollowing), frameEndCurrent: string(expr.CurrentRow),
		frameEndBefore: string(expr.OffsetPreceding), frameEndBehind: string(expr.OffsetFollowing),
	}))
	of.Exclude = expr.FrameExclusion(first(map[int32]string{
		frameWithoutCurrent: string(expr.ExcludeCurrent), frameWithoutGroup: string(expr.ExcludeGroup),
		frameWithoutTies: string(expr.ExcludeTies),
	}))
	if of.Start == "" || of.End == "" {
		p.fail(p.offset(w.GetLocation()), "not supported: this frame")
	}
	p.offsets(x, of, w)
}

// offsets reads the offsets of a frame, where its bounds have some.
func (p *statements) offsets(x *expr.Expr, of *expr.Window, w *pg.WindowDef) {
	for _, b := range []struct {
		bound  expr.FrameBound
		offset *pg.Node
	}{{of.Start, w.GetStartOffset()}, {of.End, w.GetEndOffset()}} {
		switch {
		case b.bound.HasOffset():
			x.Args = append(x.Args, p.expr(b.offset))
		case b.offset != nil:
			p.fail(p.offset(w.GetLocation()), "not supported: this frame")
		}
	}
}

// namedWindows reads WINDOW, whose windows the functions of the statement may name.
func (p *statements) namedWindows(clause []*pg.Node) {
	p.windows = make(map[string]*pg.WindowDef, len(clause))
	for _, node := range clause {
		w := node.GetWindowDef()
		name := strings.ToLower(w.GetName())
		if p.windows[name] != nil {
			p.fail(p.offset(w.GetLocation()), "WINDOW %s: two windows have the name", w.GetName())
		}
		if w.GetRefname() != "" {
			w = p.onWindow(w)
		}
		p.windows[name] = w
		p.window(nil, nil, w)
	}
}

// onWindow returns a named window that begins with another one, whole.
func (p *statements) onWindow(w *pg.WindowDef) *pg.WindowDef {
	at := p.offset(w.GetLocation())
	p.take(w, "name", "refname", "partition_clause", "order_clause", "frame_options", "start_offset", "end_offset")
	base := p.windows[strings.ToLower(w.GetRefname())]
	order := w.GetOrderClause()
	switch {
	case base == nil:
		p.fail(at, "no window before %s is named %s", w.GetName(), w.GetRefname())
	case len(w.GetPartitionClause()) > 0:
		p.fail(at, "PARTITION BY stands in window %s alone", w.GetRefname())
	case len(order) > 0 && len(base.GetOrderClause()) > 0:
		p.fail(at, "ORDER BY stands in window %s alone", w.GetRefname())
	case base.GetFrameOptions()&frameNotDefault != 0:
		p.fail(at, "window %s has a frame, and no window begins with it", w.GetRefname())
	case len(order) == 0:
		order = base.GetOrderClause()
	}
	return &pg.WindowDef{
		Name: w.GetName(), PartitionClause: base.GetPartitionClause(), OrderClause: order,
		FrameOptions: w.GetFrameOptions(), StartOffset: w.GetStartOffset(), EndOffset: w.GetEndOffset(),
		Location: w.GetLocation(),
	}
}

// ignoreNulls notes IGNORE NULLS at the function in whose parentheses it stands, and says whether it did.
func (s *script) ignoreNulls(i int) bool {
	if !s.isWord(i+1, "nulls") || s.token(i+2).Token != pg.Token_ASCII_41 {
		return false
	}
	depth := 0
	for at := i - 1; at > 0; at-- {
		switch s.tokens[at].Token {
		case pg.Token_ASCII_41, pg.Token_ASCII_93, tokenCloseBrace:
			depth++
		case pg.Token_ASCII_91, tokenOpenBrace:
			depth--
		case pg.Token_ASCII_40:
			if depth--; depth < 0 {
				if s.isWord(i, "ignore") {
					s.marks[int(s.tokens[at-1].Start)] = markIgnoreNulls
				}
				return true
			}
		}
	}
	return false
}
