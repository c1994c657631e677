package expr

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/rowcode"
)

// Code adds the expressions to a program of instructions, and returns their values. columns are the
// program's values of the columns that Columns tells of. Its error says what has no instructions.
//
// An integer has a word as Arrow's, a double its bits, a FLOAT the bits of the same double, a BOOLEAN 0 or
// 1. What is computed of integers has a word, too, where its type has 128 bits: a result that takes more is an
// error. Strings are any words: only whether they are NULL counts.
func (p *Program) Code(b *rowcode.Builder, columns []rowcode.Value) (values []rowcode.Value, err error) {
	return p.code(b, columns, (*coder).value)
}

// ConditionCode is Code for a program of a condition, where only TRUE is of interest.
func (p *Program) ConditionCode(b *rowcode.Builder, columns []rowcode.Value) (rowcode.Value, error) {
	values, err := p.code(b, columns, (*coder).trues)
	if err != nil {
		return rowcode.None, err
	}
	return values[0], nil
}

func (p *Program) code(b *rowcode.Builder, columns []rowcode.Value,
	of func(*coder, *node) rowcode.Value) ([]rowcode.Value, error) {
	c := &coder{Builder: b, program: p, columns: columns}
	values := make([]rowcode.Value, len(p.nodes))
	for i, n := range p.nodes {
		if n.column >= 0 && !n.isConst && n.typ.kind() == textKind { // it passes
			values[i] = columns[n.column]
			continue
		}
		c.scaled = nil
		values[i] = of(c, n)
		for _, time := range c.scaled {
			if time != values[i] {
				values[i] = c.Reach(time, values[i])
			}
		}
	}
	return values, c.err
}

// coder makes instructions of nodes.
type coder struct {
	*rowcode.Builder
	program *Program
	columns []rowcode.Value
	scaled  []rowcode.Value // times in other units, which evaluators may also make for rows that do not need them
	err     error           // the first; what was returned after it has no meaning
}

// refuse notes that there are no instructions for a node.
func (c *coder) refuse(n *node) rowcode.Value {
	if c.err == nil {
		c.err = fmt.Errorf("a device has no instructions for %s", n.text)
	}
	return 0
}

// within returns the result of an operator on integers, which is an error outside of a type, or of 64 bits.
func (c *coder) within(t Type, op rowcode.Op, values ...rowcode.Value) rowcode.Value {
	if t.kind() == wideKind {
		return c.any(op, values...)
	}
	low, high := bounds(t)
	return c.Within(low, high, op, values...)
}

// any returns the result of an operator on integers, which is an error where it passes 64 bits.
func (c *coder) any(op rowcode.Op, values ...rowcode.Value) rowcode.Value {
	return c.Within(math.MinInt64, math.MaxInt64, op, values...)
}

func (c *coder) value(n *node) rowcode.Value {
	switch {
	case c.err != nil:
		return 0
	case n.isConst:
		return c.constant(n)
	case n.column >= 0:
		return c.column(n)
	case n.typ.ID == Uint64 || n.typ.kind() == textKind:
		return c.refuse(n)
	case n.name == "":
		return c.cast(n)
	}
	if of, ok := coded[n.name]; ok {
		return of(c, n)
	}
	return c.refuse(n)
}

// values returns the values of a node's arguments.
func (c *coder) values(n *node) []rowcode.Value {
	values := make([]rowcode.Value, len(n.args))
	for i, a := range n.args {
		values[i] = c.value(a)
	}
	return values
}

func (c *coder) constant(n *node) rowcode.Value {
	switch v := n.value.(type) {
	case nil:
		return c.Null()
	case bool:
		if v {
			return c.Int(1)
		}
		return c.Int(0)
	case int64:
		return c.Int(v)
	case float64:
		return c.Float(v)
	case wide:
		if fitsType(v, typeOf(Int64)) {
			return c.Int(int64(v.LowBits()))
		}
	}
	return c.refuse(n)
}

func (c *coder) column(n *node) rowcode.Value {
	v, of := c.columns[n.column], &c.program.columns[n.column]
	switch dt := of.arrow.(type) {
	case *arrow.TimestampType:
		return c.time(n, v, dt.Unit)
	case *arrow.DurationType:
		return c.time(n, v, dt.Unit)
	case *arrow.Time64Type:
		return c.time(n, v, dt.Unit)
	case *arrow.Time32Type, *arrow.Date64Type, *arrow.Float16Type, *arrow.NullType:
		return c.refuse(n)
	}
	if n.typ.kind() == wideKind || n.typ.kind() == textKind {
		return c.refuse(n)
	}
	return v
}

// time returns a column of a unit in the unit of its type.
func (c *coder) time(n *node, v rowcode.Value, unit arrow.TimeUnit) rowcode.Value {
	switch {
	case unit == arrow.Microsecond || n.typ.ID == TimestampNS || n.typ.ID == TimeNS:
		return v
	case unit == arrow.Nanosecond:
		return c.refuse(n)
	}
	return c.scale(v, int64(unit.Multiplier())/1000)
}

// scale converts a time to a unit that is `by` times finer.
func (c *coder) scale(v rowcode.Value, by int64) rowcode.Value {
	v = c.times(v, by)
	if !slices.Contains(c.scaled, v) {
		c.scaled = append(c.scaled, v)
	}
	return v
}

// coded are the functions that have instructions. Each checks the types for which it has them.
var coded map[string]func(c *coder, n *node) rowcode.Value

func init() {
	coded = map[string]func(c *coder, n *node) rowcode.Value{
		"+":  arithmeticCode("+", rowcode.Add, rowcode.AddDouble),
		"-":  arithmeticCode("-", rowcode.Sub, rowcode.SubDouble),
		"*":  arithmeticCode("*", rowcode.Mul, rowcode.MulDouble),
		"/":  arithmeticCode("/", rowcode.Quotient, rowcode.DivDouble), // whose types are doubles alone
		"//": integerCode(rowcode.Quotient),
		"%":  integerCode(rowcode.Rest),
		"=":  comparisonCode("="), "<>": comparisonCode("<>"), "<": comparisonCode("<"), "<=": comparisonCode("<="),
		">": comparisonCode(">"), ">=": comparisonCode(">="),
		"is distinct from":     func(c *coder, n *node) rowcode.Value { return c.Do(rowcode.Not, c.same(n)) },
		"is not distinct from": (*coder).same,
		"is null":              (*coder).isNull,
		"is not null":          func(c *coder, n *node) rowcode.Value { return c.Do(rowcode.Not, c.isNull(n)) },
		"is true":              truthCode(1, false),
		"is not true":          truthCode(1, true),
		"is false":             truthCode(0, false),
		"is not false":         truthCode(0, true),
		"and":                  logicCode(rowcode.And),
		"or":                   logicCode(rowcode.Or),
		"not":                  func(c *coder, n *node) rowcode.Value { return c.Do(rowcode.Not, c.value(n.args[0])) },
		"between":              (*coder).between,
		"in":                   (*coder).in,
		"like":                 (*coder).like,
		"like escape":          (*coder).like,
		"starts_with":          (*coder).like,
		"ends_with":            (*coder).like,
		"contains":             (*coder).like,
		"date_part":            (*coder).part,
		"date_trunc":           (*coder).truncation,
		"case":                 (*coder).choice,
		"if":                   (*coder).choice,
		"coalesce":             (*coder).coalesce,
		"nullif":               (*coder).nullIf,
	}
	for i := range dateParts {
		if p := &dateParts[i]; p.code != nil {
			coded[p.names[0]] = (*coder).part
		}
	}
}

// arithmeticCode is of an operator on numbers, whose arguments are cast to its type, but for the factors
// of decimals.
func arithmeticCode(sign string, ints, doubles rowcode.Op) func(c *coder, n *node) rowcode.Value {
	return func(c *coder, n *node) rowcode.Value {
		kind := n.typ.kind()
		unsuited := func(a *node) bool { return !a.typ.numeric() || a.typ.ID == Uint64 || a.typ.float() != n.typ.float() }
		if sign == "/" && kind != floatKind || unsuited(n) || slices.ContainsFunc(n.args, unsuited) {
			return c.refuse(n)
		}
		v := c.values(n)
		switch {
		case len(v) == 1 && sign == "+":
			return v[0]
		case len(v) == 1 && kind == floatKind:
			return c.Do(rowcode.SubDouble, c.Float(math.Copysign(0, -1)), v[0])
		case len(v) == 1 && n.typ.ID == Decimal:
			return c.any(rowcode.Sub, c.Int(0), v[0])
		case len(v) == 1:
			return c.within(n.typ, rowcode.Sub, c.Int(0), v[0])
		case kind == floatKind:
			return c.rounded(n.typ, c.Do(doubles, v...))
		}
		return c.within(n.typ, ints, v...)
	}
}

// rounded returns a double as its type has it.
func (c *coder) rounded(t Type, v rowcode.Value) rowcode.Value {
	if t.ID == Float32 {
		return c.Do(rowcode.Single, v)
	}
	return v
}

func integerCode(op rowcode.Op) func(c *coder, n *node) rowcode.Value {
	return func(c *coder, n *node) rowcode.Value {
		if n.typ.kind() != intKind || !n.typ.numeric() || n.args[0].typ != n.typ || n.args[1].typ != n.typ {
			return c.refuse(n)
		}
		if (op == rowcode.Quotient || op == rowcode.Rest) && !n.args[1].isNonZero() {
			return c.refuse(n) // an error of a row that is divided by 0
		}
		return c.within(n.typ, op, c.values(n)...)
	}
}

// ranked returns the value of a node as an integer that compares as the value does.
func (c *coder) ranked(n *node) rowcode.Value {
	v := c.value(n)
	if n.typ.kind() == floatKind {
		return c.Do(rowcode.Rank, v)
	}
	return v
}

// compare compares two nodes of one type.
func (c *coder) compare(sign string, left, right *node) rowcode.Value {
	if left.typ.kind() == textKind {
		return c.compareTexts(sign, left, right)
	}
	a, b := c.ranked(left), c.ranked(right)
	switch sign {
	case "=":
		return c.Do(rowcode.Equal, a, b)
	case "<>":
		return c.Do(rowcode.Not, c.Do(rowcode.Equal, a, b))
	case "<":
		return c.Do(rowcode.Less, a, b)
	case ">":
		return c.Do(rowcode.Less, b, a)
	case ">=":
		return c.Do(rowcode.LessEqual, b, a)
	}
	return c.Do(rowcode.LessEqual, a, b)
}

func comparisonCode(sign string) func(c *coder, n *node) rowcode.Value {
	return func(c *coder, n *node) rowcode.Value { return c.compare(sign, n.args[0], n.args[1]) }
}

func (c *coder) same(n *node) rowcode.Value {
	if n.args[0].typ.kind() == textKind {
		if slices.ContainsFunc(n.args, isNull) {
			return c.refuse(n)
		}
		return c.Do(rowcode.Same, c.compareTexts("=", n.args[0], n.args[1]), c.Int(1)) // the constant is not NULL
	}
	return c.Do(rowcode.Same, c.ranked(n.args[0]), c.ranked(n.args[1]))
}

// compareTexts compares a column of strings with a constant.
func (c *coder) compareTexts(sign string, left, right *node) rowcode.Value {
	if left.isConst {
		left, right, sign = right, left, mirrored[sign]
	}
	if isNull(right) {
		return c.Null()
	}
	text, ok := right.value.(string)
	if !ok {
		return c.refuse(right)
	}
	is := func(kind rowcode.PatternKind) rowcode.Value {
		return c.match(left, rowcode.Pattern{Kind: kind, Text: text})
	}
	switch sign {
	case "=":
		return is(rowcode.IsEqual)
	case "<>":
		return c.Do(rowcode.Not, is(rowcode.IsEqual))
	case "<":
		return is(rowcode.IsBefore)
	case "<=":
		return is(rowcode.IsUpTo)
	case ">":
		return c.Do(rowcode.Not, is(rowcode.IsUpTo))
	}
	return c.Do(rowcode.Not, is(rowcode.IsBefore))
}

// match returns whether a column of strings is as a pattern says.
func (c *coder) match(n *node, p rowcode.Pattern) rowcode.Value {
	if n.column < 0 || n.isConst || n.typ.kind() != textKind || c.err != nil {
		return c.refuse(n)
	}
	v, ok := c.Match(c.columns[n.column], p)
	if !ok {
		return c.refuse(n)
	}
	return v
}

// like returns whether a column of strings is as a constant pattern, where % alone stands for others.
func (c *coder) like(n *node) rowcode.Value {
	p := n.pattern
	if p == nil || p.wildcard || n.args[0].typ.ID != Text ||
		slices.ContainsFunc(p.parts, func(s string) bool { return strings.IndexByte(s, rowcode.PartEnd) >= 0 }) {
		return c.refuse(n)
	}
	if len(p.parts) == 1 {
		return c.match(n.args[0], rowcode.Pattern{Kind: rowcode.IsEqual, Text: p.parts[0]})
	}
	return c.match(n.args[0], rowcode.Pattern{Kind: rowcode.IsLike,
		Text: strings.Join(p.parts, string([]byte{rowcode.PartEnd}))})
}

func (c *coder) isNull(n *node) rowcode.Value {
	a := n.args[0]
	if a.column >= 0 { // of any type
		return c.Do(rowcode.IsNull, c.columns[a.column])
	}
	return c.Do(rowcode.IsNull, c.value(a))
}

func truthCode(want int64, negated bool) func(c *coder, n *node) rowcode.Value {
	return func(c *coder, n *node) rowcode.Value {
		is := c.Do(rowcode.Same, c.value(n.args[0]), c.Int(want))
		if negated {
			return c.Do(rowcode.Not, is)
		}
		return is
	}
}

func logicCode(op rowcode.Op) func(c *coder, n *node) rowcode.Value {
	return func(c *coder, n *node) rowcode.Value {
		out := c.value(n.args[0])
		for _, a := range n.args[1:] {
			out = c.Do(op, out, c.value(a))
		}
		return out
	}
}

// trues is frame.trues: the errors of a condition count where those before it are TRUE.
func (c *coder) trues(n *node) rowcode.Value {
	if n.name != "and" || n.isConst {
		return c.value(n)
	}
	out := c.trues(n.args[0])
	for _, a := range n.args[1:] {
		out = c.Do(rowcode.Then, out, c.trues(a))
	}
	return out
}

func (c *coder) between(n *node) rowcode.Value {
	return c.Do(rowcode.And, c.compare(">=", n.args[0], n.args[1]), c.compare("<=", n.args[0], n.args[2]))
}

func (c *coder) in(n *node) rowcode.Value {
	kind := n.args[0].typ.kind()
	if kind == bitKind || kind == textKind || slices.ContainsFunc(n.args[1:], func(a *node) bool { return !a.isConst }) {
		return c.inAny(n)
	}
	v := c.ranked(n.args[0])
	var list []int64
	for _, a := range n.args[1:] {
		switch x := a.value.(type) {
		case int64:
			list = append(list, x)
		case float64:
			list = append(list, orderFloat(x))
		case nil:
		default:
			return c.refuse(n)
		}
	}
	out := c.Int(0)
	for pair := range slices.Chunk(list, 2) {
		among := c.Node(rowcode.Node{Op: rowcode.Among, A: v, Low: pair[0], High: pair[len(pair)-1]})
		out = c.Do(rowcode.Or, out, among)
	}
	if len(list) == 0 {
		out = c.Do(rowcode.Select, c.Do(rowcode.IsNull, v), c.Null(), out)
	}
	if slices.ContainsFunc(n.args[1:], isNull) {
		out = c.Do(rowcode.Or, out, c.Null())
	}
	return out
}

// inAny is in of values that are no constants. All of them are evaluated.
func (c *coder) inAny(n *node) rowcode.Value {
	if slices.ContainsFunc(n.args, func(a *node) bool { return a.fallible }) {
		return c.refuse(n)
	}
	out := c.Int(0)
	for _, a := range n.args[1:] {
		out = c.Do(rowcode.Or, out, c.compare("=", n.args[0], a))
	}
	return out
}

func (c *coder) choice(n *node) rowcode.Value {
	out := c.Null()
	last := len(n.args) - 1
	if last%2 == 0 { // ELSE
		out = c.value(n.args[last])
		last--
	}
	for i := last - 1; i >= 0; i -= 2 {
		out = c.Do(rowcode.Select, c.value(n.args[i]), c.value(n.args[i+1]), out)
	}
	return out
}

func (c *coder) coalesce(n *node) rowcode.Value {
	last := len(n.args) - 1
	out := c.value(n.args[last])
	for i := last - 1; i >= 0; i-- {
		v := c.value(n.args[i])
		out = c.Do(rowcode.Select, c.Do(rowcode.IsNull, v), out, v)
	}
	return out
}

func (c *coder) nullIf(n *node) rowcode.Value {
	return c.Do(rowcode.Select, c.compare("=", n.args[1], n.args[2]), c.Null(), c.value(n.args[0]))
}

// cast is of numbers and truth values.
func (c *coder) cast(n *node) rowcode.Value {
	if len(n.args) != 1 || n.conversion == noCast {
		return c.refuse(n)
	}
	a := n.args[0]
	from, to, v := a.typ, n.typ, c.value(a)
	if c.err != nil {
		return 0
	}
	const digitsExact = 15 // as in floatCast
	switch {
	case from.ID == Date && (to.ID == Timestamp || to.ID == TimestampTZ) && n.conversion == plainCast:
		return c.scale(v, dayMicros)
	case (from.ID == Timestamp || from.ID == TimestampTZ) && to.ID == Date:
		c.finite(v)
		return c.floor(v, dayMicros)
	case (from.ID == Timestamp || from.ID == TimestampTZ) && (to.ID == Timestamp || to.ID == TimestampTZ):
		return v
	case to.ID == Bool && from.numeric():
		zero := c.Int(0) // which is the rank of 0.0, too
		return c.Do(rowcode.Not, c.Do(rowcode.Equal, c.ranked(a), zero))
	case from.ID == Bool && to.float():
		return c.Do(rowcode.Double, v)
	case from.ID == Bool && to.integer():
		return v
	case !from.numeric() || !to.numeric():
		return c.refuse(n)
	case from.ID == Float32 && to.ID == Float64:
		return v
	case to.ID == Float64 && from.Scale == 0:
		return c.Do(rowcode.Double, v)
	case to.ID == Float64 && from.Precision <= digitsExact:
		return c.Do(rowcode.DivDouble, c.Do(rowcode.Double, v), c.Float(math.Pow10(int(from.Scale))))
	case to.float() || from.float():
		return c.refuse(n)
	case always(from, to) && from.Scale == to.Scale:
		return v
	case always(from, to) && to.Scale-from.Scale <= digitsInt64:
		return c.any(rowcode.Mul, v, c.Int(pow10(int(to.Scale-from.Scale))))
	case from.Scale == to.Scale && n.conversion == plainCast:
		return c.within(to, rowcode.Limit, v)
	}
	return c.refuse(n)
}
