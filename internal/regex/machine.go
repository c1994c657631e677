package regex

import (
	"strings"
	"unicode/utf8"
)

// machine runs a program.
type machine struct {
	groups []int   // bounds of the match and of its groups
	stack  []state // to go back to
	steps  int     // that are left
}

// state is where a run goes on when it cannot go on elsewhere, or a group's bound that it restores
// on the way there.
type state struct {
	kind stateKind
	pc   int // instruction to go on with; of a restored bound, its index
	at   int // place in the string; of a restored bound, its value
	low  int // of a loop that gives up characters: the place that it does not go below
}

const (
	// stepsPerByte bounds the instructions that are run for each byte of a string, and 64 bytes
	// more: an expression that goes back that often is no faster here.
	stepsPerByte = 16

	// stackMax bounds the states, which take 32 B each.
	stackMax = 1 << 15
)

// begin makes the machine ready for the matches of a string.
func (m *machine) begin(s string) { m.steps = stepsPerByte * (len(s) + 64) }

type stateKind uint8

const (
	goOn    stateKind = iota
	restore           // a group's bound
	giveUp            // a loop took the characters up to at, and may take fewer
	take              // a lazy loop took the characters up to at, and may take more
)

// run matches from a place on, and returns where the match ends, or -1. ok is false where the steps
// or the stack did not suffice.
func (m *machine) run(p *program, s string, from int) (end int, ok bool) {
	for i := range m.groups {
		m.groups[i] = -1
	}
	m.stack = m.stack[:0]
	pc, at := p.start, from
	for {
		if m.steps--; m.steps < 0 || len(m.stack) > stackMax {
			return -1, false
		}
		in := &p.insts[pc]
		matched := true
		switch in.op {
		case opMatch:
			return at, true
		case opText:
			if matched = strings.HasPrefix(s[at:], in.text); matched {
				at += len(in.text)
			}
		case opSet:
			n := in.set.width(s, at)
			at += n
			matched = n > 0
		case opLoop:
			at, matched = m.loop(pc, in, s, at)
		case opSplit:
			m.stack = append(m.stack, state{kind: goOn, pc: in.other, at: at})
		case opSave:
			m.stack = append(m.stack, state{kind: restore, pc: in.slot, at: m.groups[in.slot]})
			m.groups[in.slot] = at
		case opBegin:
			matched = at == 0
		case opEnd:
			matched = at == len(s)
		}
		pc = in.next
		if !matched {
			if pc, at = m.back(p, s); pc < 0 {
				return -1, true
			}
		}
	}
}

// width returns the bytes of the character at a place, 0 if the set does not have it.
func (c *set) width(s string, at int) int {
	if at == len(s) || !c.has[s[at]] {
		return 0
	}
	if s[at] < utf8.RuneSelf {
		return 1
	}
	_, size := utf8.DecodeRuneInString(s[at:])
	return size
}

// loop takes characters, and notes that it may take others.
func (m *machine) loop(pc int, in *inst, s string, at int) (end int, matched bool) {
	if in.min > 0 { // which is 1
		n := in.set.width(s, at)
		if n == 0 {
			return at, false
		}
		at += n
	}
	most := in.max - in.min // negative without a limit
	if most == 0 {
		return at, true
	}
	if in.lazy {
		if most < 0 {
			m.stack = append(m.stack, state{kind: take, pc: pc, at: at})
		} else if n := in.set.width(s, at); n > 0 {
			m.stack = append(m.stack, state{kind: goOn, pc: in.next, at: at + n})
		}
		return at, true
	}
	end = at
	if most < 0 {
		for end < len(s) && in.set.has[s[end]] { // a character of several bytes is all in the set
			end++
		}
		m.steps -= (end - at) / 8
	} else {
		end += in.set.width(s, at)
	}
	if end > at && !in.possessive {
		m.stack = append(m.stack, state{kind: giveUp, pc: pc, at: end, low: at})
	}
	return end, true
}

// back goes back to the last state, and returns the instruction to go on with, or -1, and the place.
func (m *machine) back(p *program, s string) (pc, at int) {
	for last := len(m.stack) - 1; last >= 0; last-- {
		st := &m.stack[last]
		switch st.kind {
		case goOn:
			m.stack = m.stack[:last]
			return st.pc, st.at
		case restore:
			m.groups[st.pc] = st.at
		case giveUp:
			if in := &p.insts[st.pc]; m.fewer(in, s, st) {
				at := st.at
				m.stack = m.stack[:last+1]
				if at == st.low {
					m.stack = m.stack[:last]
				}
				return in.next, at
			}
		case take:
			in := &p.insts[st.pc]
			if n := in.set.width(s, st.at); n > 0 {
				st.at += n
				m.stack = m.stack[:last+1]
				return in.next, st.at
			}
		}
	}
	m.stack = m.stack[:0]
	return -1, 0
}

// fewer gives up characters up to a place where what follows may match, and returns false where
// there is none.
func (m *machine) fewer(in *inst, s string, st *state) bool {
	for st.at > st.low {
		m.steps--
		if s[st.at-1] < utf8.RuneSelf {
			st.at--
		} else {
			_, size := utf8.DecodeLastRuneInString(s[st.low:st.at])
			st.at -= size
		}
		if in.then.empty || in.then.bytes[s[st.at]] {
			return true
		}
	}
	return false
}
