package rowcode

import (
	"math"
	"slices"
)

// Op is what an instruction does with its operands A, B and C. Unless it says otherwise, the result is NULL
// where an operand is, and an error where an operand is.
type Op uint8

// The operators. Truth values are 0 and 1.
const (
	Const Op = iota // Low
	Null            // NULL
	Load            // of input A
	Match           // whether input A, a string, is as pattern Low says

	// Integers. Add, Sub, Mul and Limit, of A alone, are errors where the result is not from Low to High, or
	// wraps. Quotient, which wraps for the least integer, and Rest are NULL where B is 0.
	Add
	Sub
	Mul
	Limit
	Quotient
	Rest

	// Doubles.
	AddDouble
	SubDouble
	MulDouble
	DivDouble
	Single // A, rounded to a float

	Double // integer A as the nearest double
	Rank   // double A as an integer: in the order of SQL, -0 as 0, and NaN as the greatest

	// Comparisons of integers.
	Equal
	Less
	LessEqual
	Among // A is Low or High
	Same  // A is B, or both are NULL; never NULL

	// Logic of three values. B counts where A is not FALSE (And), is TRUE (Then), is not TRUE (Or).
	And
	Then // And, where only TRUE is of interest
	Or
	Not
	IsNull // never NULL
	Select // B where A is TRUE, else C

	// Rows of a table; see Lookup. A row is an integer.
	Find  // a row of lookup Low whose key is A; NULL where A is, or where no row has the key
	Fetch // column High of row A of lookup Low, as inputs are; of strings, what Code.Fetched says
	Words // as Fetch, of strings: their words for the program's patterns; devices have Fetch for it
	Bit   // bit Low of A
	// Each is Find of all rows that have the key, one after the other: the program's row becomes a row for each of them.
	Each
	Mark // row A of lookup Low, which is noted: Lookup.Marked

	// Results.
	Filter // the row passes if A is TRUE
	Store  // A is output B
	opEnd
)

// operands is how many of A, B and C are values.
var operands = [opEnd]int{
	Add: 2, Sub: 2, Mul: 2, Limit: 1, Quotient: 2, Rest: 2,
	AddDouble: 2, SubDouble: 2, MulDouble: 2, DivDouble: 2, Single: 1, Double: 1, Rank: 1,
	Equal: 2, Less: 2, LessEqual: 2, Among: 1, Same: 2,
	And: 2, Then: 2, Or: 2, Not: 1, IsNull: 1, Select: 3,
	Find: 1, Fetch: 1, Words: 1, Bit: 1, Each: 1, Mark: 1, Filter: 1, Store: 1,
}

// Value is a value of a program: the place of its node.
type Value int

// None is no value.
const None Value = -1

// Node is how a value is computed, of values before it; see Op.
type Node struct {
	Op        Op
	A, B, C   Value // of Load and Match, A is the input
	Low, High int64
}

// Program computes the columns of rows from inputs.
type Program struct {
	Nodes   []Node
	Filter  Value   // the rows for which it is TRUE are the result; None: all
	Columns []Value // of the result

	Patterns []Pattern // that nodes name
	Lookups  []Lookup  // likewise
}

// Builder makes a program. A value that is asked for twice is computed once.
type Builder struct {
	nodes    []Node
	known    map[Node]Value
	patterns []Pattern
	lookups  []Lookup
}

// Node returns the value of a node.
func (b *Builder) Node(n Node) Value {
	if v, ok := b.known[n]; ok {
		return v
	}
	if b.known == nil {
		b.known = map[Node]Value{}
	}
	v := Value(len(b.nodes))
	b.nodes = append(b.nodes, n)
	b.known[n] = v
	return v
}

// Do returns the result of an operator that has values alone.
func (b *Builder) Do(op Op, values ...Value) Value {
	n := Node{Op: op}
	for i, to := range []*Value{&n.A, &n.B, &n.C}[:len(values)] {
		*to = values[i]
	}
	return b.Node(n)
}

// Within returns the result of an operator that is to be from low to high.
func (b *Builder) Within(low, high int64, op Op, values ...Value) Value {
	n := Node{Op: op, A: values[0], Low: low, High: high}
	if len(values) > 1 {
		n.B = values[1]
	}
	return b.Node(n)
}

// Int returns a constant.
func (b *Builder) Int(v int64) Value { return b.Node(Node{Op: Const, Low: v}) }

// Float returns a constant.
func (b *Builder) Float(v float64) Value { return b.Int(int64(math.Float64bits(v))) }

// Null returns NULL.
func (b *Builder) Null() Value { return b.Node(Node{Op: Null}) }

// Load returns an input.
func (b *Builder) Load(input int) Value { return b.Node(Node{Op: Load, A: Value(input)}) }

// Loads returns the first inputs.
func (b *Builder) Loads(count int) []Value {
	inputs := make([]Value, count)
	for i := range inputs {
		inputs[i] = b.Load(i)
	}
	return inputs
}

// Match returns whether a string, which must be an input or be fetched, is as a pattern says.
func (b *Builder) Match(s Value, p Pattern) (v Value, ok bool) {
	switch n := b.nodes[s]; n.Op {
	case Load:
		return b.Node(Node{Op: Match, A: n.A, Low: b.pattern(p)}), true
	case Fetch:
		n.Op = Words
		return b.Node(Node{Op: Bit, A: b.Node(n), Low: b.pattern(p)}), true
	}
	return None, false
}

// pattern returns the number of a pattern.
func (b *Builder) pattern(p Pattern) int64 { return placeIn(&b.patterns, p) }

// Find returns a row of a lookup that has a key.
func (b *Builder) Find(in Lookup, key Value) Value {
	return b.Node(Node{Op: Find, A: key, Low: b.lookup(in)})
}

// Each returns the rows of a lookup that have a key. Programs have one at most, and a condition.
func (b *Builder) Each(in Lookup, key Value) Value {
	return b.Node(Node{Op: Each, A: key, Low: b.lookup(in)})
}

// Mark returns a row, which is noted: Lookup.Marked is told of it.
func (b *Builder) Mark(in Lookup, row Value) Value {
	return b.Node(Node{Op: Mark, A: row, Low: b.lookup(in)})
}

// Fetch returns a row's value of a column.
func (b *Builder) Fetch(in Lookup, row Value, column int) Value {
	return b.Node(Node{Op: Fetch, A: row, Low: b.lookup(in), High: int64(column)})
}

// lookup returns the number of a lookup.
func (b *Builder) lookup(in Lookup) int64 { return placeIn(&b.lookups, in) }

// Reach returns a value that is an error where another is, too.
func (b *Builder) Reach(other, v Value) Value {
	if b.nodes[other].Op == Load {
		return v
	}
	is := b.Do(IsNull, other)
	return b.Do(Select, b.Do(Same, is, is), v, v)
}

// Add adds a program, and returns its condition, which may be None, and its columns.
func (b *Builder) Add(p *Program) (filter Value, columns []Value) {
	at := make([]Value, len(p.Nodes))
	for i, n := range p.Nodes {
		for _, operand := range n.operands() {
			*operand = at[*operand]
		}
		switch n.Op {
		case Match, Bit:
			n.Low = b.pattern(p.Patterns[n.Low])
		case Find, Each, Fetch, Words:
			n.Low = b.lookup(p.Lookups[n.Low])
		}
		at[i] = b.Node(n)
	}
	filter = None
	if p.Filter >= 0 {
		filter = at[p.Filter]
	}
	for _, c := range p.Columns {
		columns = append(columns, at[c])
	}
	return filter, columns
}

// operands returns the operands that are values.
func (n *Node) operands() []*Value { return []*Value{&n.A, &n.B, &n.C}[:operands[n.Op]] }

// Program returns the program of a condition, or None, and of columns.
func (b *Builder) Program(filter Value, columns []Value) *Program {
	return &Program{
		Nodes: slices.Clone(b.nodes), Filter: filter, Columns: columns,
		Patterns: slices.Clone(b.patterns), Lookups: slices.Clone(b.lookups),
	}
}

// Equals reports whether two programs are the same.
func (p *Program) Equals(other *Program) bool {
	if p == nil || other == nil {
		return p == other
	}
	return p.Filter == other.Filter && slices.Equal(p.Columns, other.Columns) && slices.Equal(p.Nodes, other.Nodes) &&
		slices.Equal(p.Patterns, other.Patterns) && slices.Equal(p.Lookups, other.Lookups)
}

// Inputs returns the inputs whose values the condition and the columns need.
func (p *Program) Inputs() (inputs []int) {
	for v, needed := range p.needed() {
		if n := &p.Nodes[v]; needed && n.Op == Load {
			inputs = append(inputs, int(n.A))
		}
	}
	slices.Sort(inputs)
	return inputs
}

// Matched returns the patterns, a bit for each, that the condition and the columns need of inputs that are strings.
func (p *Program) Matched() map[int]uint32 {
	matched := map[int]uint32{}
	for v, needed := range p.needed() {
		if n := &p.Nodes[v]; needed && n.Op == Match {
			matched[int(n.A)] |= 1 << n.Low
		}
	}
	return matched
}

// needed says of each node whether the condition or a column needs it, or it makes or notes rows.
func (p *Program) needed() []bool {
	needed := make([]bool, len(p.Nodes))
	for v := range p.Nodes {
		needed[v] = p.Nodes[v].Op == Each || p.Nodes[v].Op == Mark
	}
	if p.Filter >= 0 {
		needed[p.Filter] = true
	}
	for _, v := range p.Columns {
		needed[v] = true
	}
	for v := len(p.Nodes) - 1; v >= 0; v-- {
		if needed[v] {
			for _, operand := range p.Nodes[v].operands() {
				needed[*operand] = true
			}
		}
	}
	return needed
}

// Renumber returns the program with inputs[i] in place of input i, for each of Inputs, and words[i] in place of one of
// Matched.
func (p *Program) Renumber(inputs, words []int) *Program {
	q := *p
	q.Nodes = slices.Clone(p.Nodes)
	for i := range q.Nodes {
		switch n := &q.Nodes[i]; n.Op {
		case Load:
			n.A = Value(inputs[n.A])
		case Match:
			n.A = Value(words[n.A])
		}
	}
	return &q
}
