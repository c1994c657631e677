package rowcode

import "fmt"

// Instruction is an operator with the registers of its operands and its result; of Load and Match, A is the
// input, and of Store, B the output. It is what devices take.
type Instruction struct {
	Op          Op
	To, A, B, C uint8
	_           [3]uint8
	Low, High   int64
}

// InstructionBytes is the size of an Instruction.
const InstructionBytes = 24

// Code is a program for a machine of registers.
type Code struct {
	Instructions []Instruction
	Registers    int
	Filters      bool // some rows may not pass: a Filter is among the instructions
	Outputs      int
	Patterns     []Pattern // by bit of the words that strings are
}

// What machines have room for.
const (
	InstructionsMax = 96
	RegistersMax    = 32
)

// Assemble returns the instructions of a program whose columns are outputs, in this order; or why machines
// have no room for them.
func Assemble(p *Program) (*Code, error) {
	a := &assembler{program: p, register: make([]int, len(p.Nodes)), uses: make([]int, len(p.Nodes))}
	for i := range a.register {
		a.register[i] = -1
	}
	c := &a.code
	c.Outputs, c.Filters, c.Patterns = len(p.Columns), p.Filter >= 0, p.Patterns
	if c.Filters {
		a.uses[p.Filter]++
	}
	for _, v := range p.Columns {
		a.uses[v]++
	}
	for v, needed := range p.needed() {
		if !needed {
			continue
		}
		for _, operand := range p.Nodes[v].operands() {
			a.uses[*operand]++
		}
	}
	if c.Filters {
		a.compute(p.Filter)
		a.emit(Instruction{Op: Filter, A: a.take(p.Filter)})
	}
	for i, v := range p.Columns {
		a.compute(v)
		a.emit(Instruction{Op: Store, A: a.take(v), B: uint8(i)})
	}
	text := 0
	for i := range p.Patterns {
		text += len(p.Patterns[i].Text)
	}
	switch {
	case len(p.Patterns) > PatternsMax || text > PatternTextMax:
		return nil, fmt.Errorf("its strings are compared with %d others of %d B, more than %d of %d B",
			len(p.Patterns), text, PatternsMax, PatternTextMax)
	case len(c.Instructions) > InstructionsMax:
		return nil, fmt.Errorf("its expressions take %d instructions, more than %d", len(c.Instructions), InstructionsMax)
	case c.Registers > RegistersMax:
		return nil, fmt.Errorf("its expressions take %d registers, more than %d", c.Registers, RegistersMax)
	}
	return c, nil
}

// assembler gives values registers.
type assembler struct {
	program  *Program
	code     Code
	register []int // by value; -1 before it is computed
	uses     []int // by value: how many instructions are still to read it
	free     []int
}

func (a *assembler) emit(i Instruction) { a.code.Instructions = append(a.code.Instructions, i) }

// compute emits the instructions of a value, if it is not computed yet.
func (a *assembler) compute(v Value) {
	if a.register[v] >= 0 {
		return
	}
	n := a.program.Nodes[v]
	for _, operand := range n.operands() {
		a.compute(*operand)
	}
	i := Instruction{Op: n.Op, Low: n.Low, High: n.High}
	if n.Op == Load || n.Op == Match {
		i.A = uint8(n.A)
	}
	to := []*uint8{&i.A, &i.B, &i.C}
	for k, operand := range n.operands() {
		*to[k] = a.take(*operand)
	}
	if last := len(a.free) - 1; last >= 0 {
		a.register[v], a.free = a.free[last], a.free[:last]
	} else {
		a.register[v] = a.code.Registers
		a.code.Registers++
	}
	i.To = uint8(a.register[v])
	a.emit(i)
}

// take returns the register of a value for an instruction that reads it, after which the register may be
// free.
func (a *assembler) take(v Value) uint8 {
	r := a.register[v]
	if a.uses[v]--; a.uses[v] == 0 {
		a.free = append(a.free, r)
	}
	return uint8(r)
}
