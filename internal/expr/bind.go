package expr

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/nearest"
	"github.com/mpga/mpga/internal/rowdata"
)

// Columns are what expressions are bound to.
type Columns struct {
	Schema *arrow.Schema
	Places map[ID]int     // in Schema, of columns that have IDs; nil where columns are found by their names
	Zone   *time.Location // that expressions are bound in; nil is ZoneOf the context
}

// Find returns the place of a column. Errors are of type *Error.
func (c Columns) Find(e *Expr) (int, error) {
	if e.ID == 0 {
		return FindColumn(c.Schema, e)
	}
	place, ok := c.Places[e.ID]
	if !ok {
		return 0, errorAt(e.At, "column %q is not among the columns that are read", e.Name)
	}
	return place, nil
}

// Bind is BindTo for columns that are found by their names.
func Bind(ctx context.Context, schema *arrow.Schema, exprs ...*Expr) (*Program, error) {
	return BindTo(ctx, Columns{Schema: schema}, exprs...)
}

// BindTo resolves expressions against columns, unless the context ends before. Other errors are of type *Error.
func BindTo(ctx context.Context, columns Columns, exprs ...*Expr) (p *Program, err error) {
	b := newBinder(ctx, columns)
	defer b.caught(&p, &err)
	for _, e := range exprs {
		n := b.bind(e, 0)
		if n.typ.ID == Interval {
			n, _ = b.periodOf(n) // of an interval
		}
		b.program.nodes = append(b.program.nodes, n)
	}
	b.program.compact = make([]bool, len(exprs))
	return b.program, nil
}

// BindCondition is BindTo for one expression that must be a condition.
func BindCondition(ctx context.Context, columns Columns, e *Expr) (p *Program, err error) {
	b := newBinder(ctx, columns)
	defer b.caught(&p, &err)
	n := b.bind(e, 0)
	if n.typ.ID != Bool && n.typ.ID != Null && !n.typ.numeric() && !n.textConstant() {
		b.fail(e.At, "%s is of type %s; a condition is of type BOOLEAN", e, n.typ)
	}
	if n, err = b.cast(n, typeOf(Bool)); err != nil {
		return nil, err
	}
	b.program.nodes, b.program.compact = []*node{n}, []bool{false}
	return b.program, nil
}

// depthMax bounds the recursion over an expression.
const depthMax = 1000

// binding gives a node its type and its kernel. The node's arguments are bound; it may cast them.
type binding func(b *binder, n *node)

// binder binds the expressions of a program. Its methods and bindings end at the first error: fail
// panics with an *Error, and caught makes that the error of Bind.
type binder struct {
	ctx     context.Context
	nodes   int // of expressions, that bind was called for
	input   Columns
	program *Program
	known   map[string]*node // the nodes that have been bound, by Expr.Key
	columns map[int]int      // the places in program.columns, by index in the schema of input
	params  map[int64]Type   // of the lambdas around
	folder  *Evaluator       // of constants; nil before evaluator is called
	zone    *time.Location   // of the context; nil of UTC
}

func newBinder(ctx context.Context, input Columns) *binder {
	b := &binder{ctx: ctx, input: input, program: &Program{}, known: map[string]*node{}, columns: map[int]int{},
		params: map[int64]Type{}}
	if zone := cmp.Or(input.Zone, ZoneOf(ctx)); !isUTC(zone) {
		b.zone = zone
	}
	return b
}

// fail ends the binding with an error at a byte of the text.
func (b *binder) fail(at int, format string, args ...any) { panic(errorAt(at, format, args...)) }

// caught, deferred, returns the error that fail was called with in place of a program.
func (b *binder) caught(p **Program, err *error) {
	switch failed := recover().(type) {
	case nil:
	case *Error:
		*p, *err = nil, failed
	case interrupted:
		*p, *err = nil, failed.error
	default:
		panic(failed)
	}
}

// mismatch fails with the types of arguments that a function does not take.
func (b *binder) mismatch(n *node) {
	types := make([]string, len(n.args))
	var texts []string
	for i, a := range n.args {
		types[i] = a.typ.String()
		if a.column >= 0 && a.typ.ID == Text {
			texts = append(texts, b.program.columns[a.column].name)
		}
	}
	err := errorAt(n.at, "%s: not for %s; cast one of them", n.text, strings.Join(types, " and "))
	err.Texts = texts
	panic(err)
}

// interrupted is what bind panics with when the context has ended.
type interrupted struct{ error }

// nodesPerLook is after how many nodes the context is looked at.
const nodesPerLook = 256

func (b *binder) bind(e *Expr, depth int) *node {
	if b.nodes%nodesPerLook == 0 && b.ctx.Err() != nil {
		panic(interrupted{context.Cause(b.ctx)})
	}
	b.nodes++
	if depth > depthMax {
		b.fail(e.At, "not supported: an expression nested more than %d deep", depthMax)
	}
	switch e.Op {
	case OpColumn:
		return b.column(e)
	case OpParameter:
		b.fail(e.At, "the parameter %s has no value", e)
	case OpConstant:
		n := b.constant(e.Type, e.Value)
		n.text, n.at, n.literal = e.String(), e.At, true
		return n
	case OpLocal:
		return b.parameter(e)
	case OpLambda: // which the function binds
		return &node{text: e.String(), at: e.At, column: -1, single: -1, lambda: e}
	case OpAggregate:
		b.fail(e.At, "%s: an aggregate function cannot stand here", e.Name)
	case OpSubquery:
		b.fail(e.At, "not supported: a subquery here")
	}
	key := e.Key()
	if known := b.known[key]; known != nil {
		known.shared, b.program.shared = true, true
		return known
	}
	n := &node{text: e.String(), at: e.At, column: -1, single: -1}
	for _, arg := range e.Args {
		n.args = append(n.args, b.bind(arg, depth+1))
	}
	if e.Op == OpCall {
		n = b.call(e, n)
	} else {
		n = b.explicitCast(n, e.Type, e.Op == OpTryCast)
	}
	if !n.isConst && n.column < 0 {
		b.known[key] = n
	}
	return n
}

// UnknownFunction is the error of a call of a function that does not exist, or is an aggregate's.
func UnknownFunction(e *Expr) *Error {
	offer := nearest.Offer(e.Name, append(functionNames(), query.FuncNames()...))
	return errorAt(e.At, "no function is named %s%s", e.Name, offer)
}

// call binds a function or an operator.
func (b *binder) call(e *Expr, n *node) *node {
	f, ok := functionsByName[strings.ToLower(e.Name)]
	if !ok {
		panic(UnknownFunction(e))
	}
	if len(n.args) < f.argsMin || f.argsMax >= 0 && len(n.args) > f.argsMax {
		b.fail(e.At, "%s takes %s, not %d", f.Name, f.arguments(), len(n.args))
	}
	n.name = f.Name
	if w, ok := wordArguments[f.Name]; ok && w.at < len(n.args) && isNull(n.args[w.at]) {
		n.typ, n.isConst = typeOf(w.result), true
	} else if !b.callOfIntervals(f, n) {
		b.bindCall(f, n)
	}
	return b.finish(n)
}

// wordArguments are the arguments of functions that must be constant strings, or NULL, which is the
// result then.
var wordArguments = map[string]struct {
	at     int
	result TypeID
}{
	"date_trunc": {0, Timestamp}, "date_part": {0, Int64}, "date_diff": {0, Int64}, "date_sub": {0, Int64},
	"strftime": {1, Text},
	"strptime": {1, Timestamp}, "try_strptime": {1, Timestamp}, "like": {2, Bool}, "ilike": {2, Bool},
}

// nullOfNull are the operators that are NULL if an operand is the constant NULL. The other operand
// is not evaluated, as in DuckDB, so it gives no error.
var nullOfNull = []string{"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "//"}

// finish notes which columns a node reads, and folds the node if it reads only constants.
func (b *binder) finish(n *node) *node {
	if slices.Contains(nullOfNull, n.name) && slices.ContainsFunc(n.args, isNull) {
		n.isConst, n.value, n.args = true, nil, nil
	}
	if n.isConst || n.column >= 0 {
		n.slot = b.newSlot()
		return n
	}
	n.single = -1
	n.inherits = !n.fallible
	constant, many := true, false
	for _, a := range n.args {
		if a.isConst {
			continue
		}
		n.fallible = n.fallible || a.fallible
		constant = false
		only := a.single
		if a.column >= 0 {
			only = a.column
		}
		many = many || only < 0 || n.single >= 0 && n.single != only
		n.single = only
	}
	if many {
		n.single = -1
	}
	n.slot = b.newSlot()
	if constant && !n.drawn {
		b.fold(n)
	}
	return n
}

// isNull says whether a node is the constant NULL.
func isNull(n *node) bool { return n.isConst && n.value == nil }

func (b *binder) newSlot() int {
	b.program.slots++
	return b.program.slots - 1
}

// fold makes a node of constants a constant, unless that is an error: maybe no row reaches it.
func (b *binder) fold(n *node) {
	if n.eval == nil {
		return
	}
	v, err := b.once(n)
	if err != nil {
		n.fallible, n.inherits = true, false
		return
	}
	n.isConst, n.value, n.args = true, v.value(n.typ.kind(), 0), nil
}

// evaluator returns the evaluator of all constants: a list may have many.
func (b *binder) evaluator() *Evaluator {
	if b.folder == nil {
		b.folder = b.program.NewEvaluator(memory.DefaultAllocator)
		b.folder.text = textLimit{frame: foldedBytes, row: foldedBytes, full: foldedBytes}
	}
	return b.folder
}

// once evaluates a node of constants for a single row. The vector is valid until the next call.
func (b *binder) once(n *node) (*vector, error) {
	e := b.evaluator()
	e.constants = append(e.constants, make([]*vector, b.program.slots-len(e.constants))...)
	e.reset()
	v, err := n.eval(&frame{e: e, n: 1})
	for _, a := range n.args {
		e.constants[a.slot] = nil // lists of constants may be long, and each constant has a vector
	}
	return v, err
}

// value returns the value of a row, or nil where it is NULL.
func (v *vector) value(k kind, i int) any {
	if v.isNull(i) {
		return nil
	}
	switch k {
	case bitKind:
		return v.bit(i)
	case intKind:
		return v.ints[i]
	case floatKind:
		return v.floats[i]
	case wideKind:
		return v.wides[i]
	}
	return strings.Clone(v.texts[i])
}

func (b *binder) constant(t Type, value any) *node {
	return &node{
		typ: t, text: constantText(t, value), at: -1, column: -1, single: -1, isConst: true, value: value, slot: b.newSlot(),
	}
}

// column binds a column.
func (b *binder) column(e *Expr) *node {
	index, err := b.input.Find(e)
	if err != nil {
		b.fail(e.At, "%v", err)
	}
	field := b.input.Schema.Field(index)
	if err := checkNested(field.Name, field.Type); err != nil {
		b.fail(e.At, "%v", err)
	}
	typ, err := fromArrow(field.Type)
	if err != nil {
		b.fail(e.At, "column %q: %v", field.Name, err)
	}
	c, ok := b.columns[index]
	if !ok {
		c = len(b.program.columns)
		b.columns[index] = c
		b.program.columns = append(b.program.columns,
			column{name: field.Name, index: index, typ: typ, arrow: rowdata.ValueType(field.Type)})
	}
	return &node{typ: typ, text: e.Name, at: e.At, column: c, single: -1, slot: b.newSlot()}
}

// FindColumn is query.FindColumn for an expression that is a column. Errors are of type *Error.
func FindColumn(schema *arrow.Schema, e *Expr) (int, error) {
	index, err := query.FindColumn(schema, e.Name)
	if err != nil {
		return 0, errorAt(e.At, "%v", err)
	}
	return index, nil
}

// word returns an argument that must be a string constant.
func (b *binder) word(n *node, i int) string {
	text, ok := n.args[i].value.(string)
	if !ok {
		b.fail(n.args[i].at, "%s: argument %d must be a string constant", n.text, i+1)
	}
	return text
}

// check requires arguments to be strings (Text), integers (Int64), numbers (Float64) or points in
// time (Timestamp, Date). NULL is all of these; a string constant may be a number or a point in
// time.
func (b *binder) check(n *node, types ...TypeID) {
	for i, a := range n.args {
		t := a.typ
		switch want := types[i]; {
		case t.ID == Null:
		case want == Text && t.ID != Text && !t.isEnum():
			b.fail(a.at, "%s: argument %d is of type %s, want VARCHAR; cast it", n.text, i+1, t)
		case want == Int64 && !t.integer():
			b.fail(a.at, "%s: argument %d is of type %s, want an integer; cast it", n.text, i+1, t)
		case a.textConstant():
		case want == Float64 && !t.numeric(), typeOf(want).temporal() && !t.temporal():
			b.mismatch(n)
		}
	}
}

// want checks the arguments, and casts them to the types.
func (b *binder) want(n *node, types ...TypeID) {
	b.check(n, types...)
	for i := range n.args {
		b.castArg(n, i, typeOf(types[i]))
	}
}

func (b *binder) castArg(n *node, i int, t Type) {
	a, err := b.cast(n.args[i], t)
	if err != nil {
		b.fail(n.args[i].at, "%s: %v", n.text, err)
	}
	n.args[i] = a
}

func (b *binder) castArgs(n *node, t Type) {
	for i := range n.args {
		b.castArg(n, i, t)
	}
}

// unify casts all arguments, or only some, to the type that they have in common, and returns that.
// A string constant takes the type of the others, and where a column of strings meets another type
// the strings are read as values of that.
func (b *binder) unify(n *node, which ...int) Type {
	if which == nil {
		for i := range n.args {
			which = append(which, i)
		}
	}
	var t Type
	var holder *node
	for _, literals := range []bool{false, true} { // strings that stand for any type come last
		for _, i := range which {
			a := n.args[i]
			if a.textConstant() != literals || literals && a.takes(t) {
				continue
			}
			u, ok := common(t, a.typ)
			switch {
			case ok && a.intConstant() && t.integer() && fitsType(a.value, t):
			case ok && holder.constantBeside(t, a.typ), !ok && t.ID == Text:
				t, holder = a.typ, a
			case ok:
				t, holder = u, a
			case a.typ.ID != Text:
				b.fail(a.at, "%s: %s and %s do not go together; cast one of them", n.text, t, a.typ)
			}
		}
	}
	if t.ID == Null {
		t = typeOf(Int32)
	}
	for _, i := range which {
		b.castArg(n, i, t)
	}
	return t
}

// intConstant says whether a node is an integer literal, which takes an operand's type if it fits.
func (n *node) intConstant() bool { return n.literal && n.value != nil && n.typ.integer() }

// textConstant says whether a node is a string literal, which takes the type of the other operand.
func (n *node) textConstant() bool { return n.literal && n.value != nil && n.typ.ID == Text }

// takes says whether a node is a string literal that becomes a value of a type beside it. Beside an ENUM it stays a
// string, and the words of the ENUM become strings.
func (n *node) takes(t Type) bool { return n.textConstant() && t.ID != Null && !t.isEnum() }

// constantBeside says whether the node that gave the type t is a constant that fits the other type.
func (n *node) constantBeside(t, other Type) bool {
	return n != nil && n.intConstant() && n.typ == t && other.integer() && fitsType(n.value, other)
}

func fitsType(value any, t Type) bool {
	v := wideOf(value)
	if t.kind() == wideKind {
		return wideFits(v, t) && (t.ID != Uint64 || v.Sign() >= 0)
	}
	low, high := bounds(t)
	return !v.Less(int128(low)) && !v.Greater(int128(high))
}
