package rowcode

import "math"

// Cell is what a register has.
type Cell struct {
	Word        int64 // of an integer, or the bits of a double
	Null, Wrong bool
}

// Machine runs code, row by row.
type Machine struct {
	Tables    Tables // nil of code that has no lookups
	code      *Code
	registers []Cell

	next   Cell // the next row of Each; NULL of none
	resume int  // the instruction behind Each
}

// Tables are a Code's Lookups for a machine.
type Tables interface {
	Find(lookup int, key int64) (row int64, ok bool)
	Next(lookup int, row int64) (next int64, ok bool) // that has the same key
	Fetch(fetched int, row int64) Cell
	Mark(lookup int, row int64)
}

// NewMachine returns a machine for some code.
func NewMachine(c *Code) *Machine { return &Machine{code: c, registers: make([]Cell, c.Registers)} }

// Run computes the outputs of a row, and calls pass where the condition is TRUE: once for each row that Each makes of
// it. It returns false where the condition or an output is an error.
func (m *Machine) Run(load func(input int) Cell, outputs []Cell, pass func()) (ok bool) {
	m.next = Cell{Null: true}
	passes, ok := m.run(0, load, outputs)
	for {
		if passes {
			pass()
		}
		if m.next.Null {
			return ok
		}
		each := &m.code.Instructions[m.resume-1]
		m.registers[each.To] = m.next
		m.next = m.cell(m.Tables.Next(int(each.Low), m.next.Word))
		var good bool
		passes, good = m.run(m.resume, load, outputs)
		ok = ok && good
	}
}

// run runs the instructions from one on.
func (m *Machine) run(from int, load func(input int) Cell, outputs []Cell) (passes, ok bool) {
	ok = true
	for i := from; i < len(m.code.Instructions); i++ {
		in := &m.code.Instructions[i]
		switch in.Op {
		case Load:
			m.registers[in.To] = load(int(in.A))
		case Match:
			c := load(int(in.A))
			c.Word = c.Word >> in.Low & 1
			m.registers[in.To] = c
		case Filter:
			if c := m.registers[in.A]; c.Wrong || c.Null || c.Word == 0 {
				return false, !c.Wrong
			}
		case Store:
			c := m.registers[in.A]
			outputs[in.B], ok = c, ok && !c.Wrong
		case Find, Each, Fetch:
			c := m.look(in)
			if m.registers[in.To] = c; in.Op == Each {
				m.resume = i + 1
				if !c.Null && !c.Wrong {
					m.next = m.cell(m.Tables.Next(int(in.Low), c.Word))
				}
			}
		case Mark:
			c := m.registers[in.A]
			if m.registers[in.To] = c; !c.Null && !c.Wrong {
				m.Tables.Mark(int(in.Low), c.Word)
			}
		default:
			m.registers[in.To] = m.step(in)
		}
	}
	return true, ok
}

// cell returns a row that may be none.
func (m *Machine) cell(row int64, ok bool) Cell { return Cell{Word: row, Null: !ok} }

// look returns the result of Find, Fetch and Each.
func (m *Machine) look(in *Instruction) Cell {
	c := m.registers[in.A]
	switch {
	case c.Null || c.Wrong:
		return Cell{Null: c.Null, Wrong: c.Wrong}
	case in.Op == Fetch:
		return m.Tables.Fetch(int(in.Low), c.Word)
	}
	return m.cell(m.Tables.Find(int(in.Low), c.Word))
}

// step returns the result of an operator on registers.
func (m *Machine) step(in *Instruction) (out Cell) {
	var v [3]Cell
	for k, r := range []uint8{in.A, in.B, in.C}[:operands[in.Op]] {
		v[k] = m.registers[r]
	}
	a, b, c := v[0], v[1], v[2]
	out = Cell{Null: a.Null || b.Null, Wrong: a.Wrong || b.Wrong}
	isTrue := func(c Cell) bool { return !c.Null && c.Word != 0 }
	isFalse := func(c Cell) bool { return !c.Null && c.Word == 0 }
	truth := func(is bool) {
		if is {
			out.Word = 1
		}
	}
	x, y := math.Float64frombits(uint64(a.Word)), math.Float64frombits(uint64(b.Word))
	double := func(f float64) { out.Word = int64(math.Float64bits(f)) }
	fits := true
	switch in.Op {
	case Const:
		out.Word = in.Low
	case Null:
		out.Null = true
	case Add:
		out.Word = a.Word + b.Word
		fits = (a.Word^out.Word)&(b.Word^out.Word) >= 0
	case Sub:
		out.Word = a.Word - b.Word
		fits = (a.Word^b.Word)&(a.Word^out.Word) >= 0
	case Mul:
		out.Word, fits = product(a.Word, b.Word)
	case Limit:
		out.Word = a.Word
	case Quotient, Rest:
		switch {
		case b.Word == 0:
			out.Null = true
		case b.Word == -1 && in.Op == Quotient:
			out.Word = -a.Word
			fits = a.Word != math.MinInt64
		case b.Word == -1:
		case in.Op == Quotient:
			out.Word = a.Word / b.Word
		default:
			out.Word = a.Word % b.Word
		}
	case AddDouble:
		double(x + y)
	case SubDouble:
		double(x - y)
	case MulDouble:
		double(x * y)
	case DivDouble:
		double(x / y)
	case Single:
		double(float64(float32(x)))
	case Double:
		double(float64(a.Word))
	case Rank:
		w := int64(math.Float64bits(x + 0)) // -0 + 0 is 0
		if out.Word = w ^ int64(uint64(w>>63)>>1); math.IsNaN(x) {
			out.Word = math.MaxInt64
		}
	case Equal:
		truth(a.Word == b.Word)
	case Less:
		truth(a.Word < b.Word)
	case LessEqual:
		truth(a.Word <= b.Word)
	case Among:
		truth(a.Word == in.Low || a.Word == in.High)
	case Same:
		truth(a.Null && b.Null || !a.Null && !b.Null && a.Word == b.Word)
		out.Null = false
	case And, Then:
		truth(isTrue(a) && isTrue(b))
		out.Null = out.Word == 0 && !isFalse(a) && !isFalse(b)
		reached := !isFalse(a)
		if in.Op == Then {
			reached = isTrue(a)
		}
		out.Wrong = a.Wrong || b.Wrong && reached
	case Or:
		truth(isTrue(a) || isTrue(b))
		out.Null = out.Word == 0 && (a.Null || b.Null)
		out.Wrong = a.Wrong || b.Wrong && !isTrue(a)
	case Not:
		truth(a.Word == 0)
	case IsNull:
		truth(a.Null)
		out.Null = false
	case Select:
		if isTrue(a) {
			c = b
		}
		c.Wrong = c.Wrong || a.Wrong
		return c
	case Bit:
		out.Word = a.Word >> in.Low & 1
	}
	switch in.Op {
	case Add, Sub, Mul, Limit, Quotient, Rest:
		fits = fits && out.Word >= in.Low && out.Word <= in.High
		out.Wrong = out.Wrong || !fits && !out.Null
	}
	return out
}

// product multiplies, and says whether the product fits 64 bits.
func product(a, b int64) (int64, bool) {
	p := a * b
	if a == 0 {
		return 0, true
	}
	return p, p/a == b && (a != -1 || b != math.MinInt64)
}
