package rowcode

import (
	"errors"
	"fmt"
	"slices"
)

// Instruction is an operator with the registers of its operands and its result; of Load and Match, A is the
// input, of Store, B the output, and of Fetch, Low the number in Fetched. It is what devices take.
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
	Lookups      []Lookup  // that Find names
	Fetched      []Fetched // that Fetch names, by Low
	Marked       []int     // of Lookups: the ones whose rows Mark notes
	Each         Lookup    // of Lookups: the one that the instruction Each names; nil of none
}

// What machines have room for.
const (
	InstructionsMax = 96
	RegistersMax    = 32
	LookupsMax      = 6
	FetchedMax      = 12
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
	if err := a.computeEach(); err != nil {
		return nil, err
	}
	for v := range p.Nodes {
		if p.Nodes[v].Op == Mark { // also one that no other value reads
			a.compute(Value(v))
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
	case len(c.Lookups) > LookupsMax || len(c.Fetched) > FetchedMax:
		return nil, fmt.Errorf("it joins %d tables and takes %d columns of them, more than %d and %d",
			len(c.Lookups), len(c.Fetched), LookupsMax, FetchedMax)
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

// computeEach computes Each, if the program has it, before the condition. What was computed before is asked again for
// each of its rows, so that it keeps its register.
func (a *assembler) computeEach() error {
	for v, needed := range a.program.needed() {
		if !needed || a.program.Nodes[v].Op != Each {
			continue
		}
		if a.code.Each != nil || !a.code.Filters {
			return errors.New("two joins have several partners for a row")
		}
		a.compute(Value(v))
		a.code.Each = a.program.Lookups[a.program.Nodes[v].Low]
		for v, r := range a.register {
			if r >= 0 {
				a.uses[v]++
			}
		}
	}
	return nil
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
	switch n.Op {
	case Load, Match:
		i.A = uint8(n.A)
	case Find, Each, Mark:
		i.Low = placeIn(&a.code.Lookups, a.program.Lookups[n.Low])
		if n.Op == Mark {
			placeIn(&a.code.Marked, int(i.Low))
		}
	case Fetch, Words:
		of := Fetched{int(placeIn(&a.code.Lookups, a.program.Lookups[n.Low])), int(n.High), n.Op == Words}
		i.Op, i.Low, i.High = Fetch, placeIn(&a.code.Fetched, of), 0
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

// placeIn returns where an element is in a list, to which it is added if it is not there yet.
func placeIn[T comparable](list *[]T, of T) int64 {
	at := slices.Index(*list, of)
	if at < 0 {
		at, *list = len(*list), append(*list, of)
	}
	return int64(at)
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
