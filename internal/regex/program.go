package regex

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// program is a simple expression as instructions. Each names the instruction that follows it.
type program struct {
	insts    []inst
	start    int
	anchored bool   // a match begins with the string
	prefix   string // of every match
	first    firsts // of a match
	leading  *set   // of a loop without a limit that every match begins with; nil of others
}

type op uint8

const (
	opMatch op = iota
	opText     // the text
	opSet      // a character of the set
	opLoop     // from min to max characters of the set
	opSplit    // what follows, or what stands at other
	opSave     // a group begins or ends
	opBegin    // the beginning of the string
	opEnd      // its end
)

type inst struct {
	op         op
	lazy       bool // of a loop: few characters are tried first
	possessive bool // of a loop: fewer characters than it can take never help
	next       int
	other      int    // of opSplit
	slot       int    // of opSave, in a match's bounds
	text       string // of opText
	set        *set
	min, max   int    // of opLoop; max is -1 without a limit
	then       firsts // of opLoop: of what follows
}

// set is a set of characters: some of ASCII, and all others or none.
type set struct {
	has [256]bool // by the first byte of a character
}

// firsts are the bytes that something that matches may begin with.
type firsts struct {
	bytes [256]bool
	empty bool // it may match without a byte
	sure  bool // it matches without a byte, wherever it stands
}

const (
	instsMax  = 500     // of a program
	prefixMax = 1 << 10 // bytes of a text that an instruction compares
)

// compiler makes a program, the last instruction first.
type compiler struct {
	insts  []inst
	failed bool // the expression is not simple
}

// compile returns the program of an expression, nil if it is not simple.
func compile(expr string) *program {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	c := &compiler{insts: []inst{{op: opMatch}}}
	start := c.add(tree.Simplify(), 0)
	if c.failed {
		return nil
	}
	p := &program{insts: c.insts, start: start}
	for i := range p.insts {
		if in := &p.insts[i]; in.op == opLoop {
			in.then = p.firstsOf(in.next)
			in.possessive = !in.lazy && (in.then.sure || !in.set.meets(&in.then))
		}
	}
	p.first = p.firstsOf(start)
	at := start
	for p.insts[at].op == opSave {
		at = p.insts[at].next
	}
	p.anchored = p.insts[at].op == opBegin
	switch in := &p.insts[at]; {
	case in.op == opText:
		p.prefix = in.text
	case in.op == opLoop && in.max < 0:
		p.leading = in.set
	}
	return p
}

// meets says whether something may begin with a character of the set.
func (s *set) meets(f *firsts) bool {
	for b, is := range f.bytes {
		if is && s.has[b] {
			return true
		}
	}
	return false
}

// emit adds an instruction and returns its number.
func (c *compiler) emit(in inst) int {
	if len(c.insts) == instsMax {
		c.failed = true
	}
	if c.failed {
		return 0
	}
	c.insts = append(c.insts, in)
	return len(c.insts) - 1
}

// add adds the instructions of a tree, which go on with next, and returns the first.
func (c *compiler) add(re *syntax.Regexp, next int) int {
	if c.failed {
		return 0
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return next
	case syntax.OpBeginText:
		return c.emit(inst{op: opBegin, next: next})
	case syntax.OpEndText:
		return c.emit(inst{op: opEnd, next: next})
	case syntax.OpCapture:
		end := c.emit(inst{op: opSave, slot: 2*re.Cap + 1, next: next})
		return c.emit(inst{op: opSave, slot: 2 * re.Cap, next: c.add(re.Sub[0], end)})
	case syntax.OpConcat:
		for i := len(re.Sub) - 1; i >= 0; i-- {
			next = c.add(re.Sub[i], next)
		}
		return next
	case syntax.OpAlternate:
		return c.alternatives(re.Sub, next)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		return c.repeated(re, next)
	case syntax.OpLiteral:
		return c.literal(re, next)
	}
	return c.emit(inst{op: opSet, set: c.setOf(re), next: next})
}

func (c *compiler) alternatives(subs []*syntax.Regexp, next int) int {
	last := len(subs) - 1
	at := c.add(subs[last], next)
	for i := last - 1; i >= 0; i-- {
		at = c.emit(inst{op: opSplit, next: c.add(subs[i], next), other: at})
	}
	return at
}

// repeated adds a tree that may stand several times, or never.
func (c *compiler) repeated(re *syntax.Regexp, next int) int {
	sub, lazy := re.Sub[0], re.Flags&syntax.NonGreedy != 0
	if single(sub) {
		in := inst{op: opLoop, set: c.setOf(sub), lazy: lazy, max: -1, next: next}
		if re.Op == syntax.OpPlus {
			in.min = 1
		}
		if re.Op == syntax.OpQuest {
			in.max = 1
		}
		return c.emit(in)
	}
	if re.Op == syntax.OpQuest {
		return c.split(c.add(sub, next), next, lazy)
	}
	if nullable(sub) { // which the library does not repeat without a byte
		c.failed = true
		return 0
	}
	again := c.emit(inst{op: opSplit})
	body := c.add(sub, again)
	if c.failed {
		return 0
	}
	in := &c.insts[again]
	if in.next, in.other = body, next; lazy {
		in.next, in.other = next, body
	}
	if re.Op == syntax.OpPlus {
		return body
	}
	return again
}

func (c *compiler) split(more, next int, lazy bool) int {
	if lazy {
		return c.emit(inst{op: opSplit, next: next, other: more})
	}
	return c.emit(inst{op: opSplit, next: more, other: next})
}

// literal adds characters one behind the other.
func (c *compiler) literal(re *syntax.Regexp, next int) int {
	if re.Flags&syntax.FoldCase == 0 {
		text := string(re.Rune)
		for _, r := range re.Rune {
			if r == utf8.RuneError { // as which bytes match that are no text
				c.failed = true
			}
		}
		for len(text) > prefixMax {
			next = c.emit(inst{op: opText, text: text[len(text)-prefixMax:], next: next})
			text = text[:len(text)-prefixMax]
		}
		return c.emit(inst{op: opText, text: text, next: next})
	}
	for i := len(re.Rune) - 1; i >= 0; i-- {
		next = c.emit(inst{op: opSet, set: c.folded(re.Rune[i]), next: next})
	}
	return next
}

// single says whether a tree is a character.
func single(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpLiteral:
		return len(re.Rune) == 1
	}
	return false
}

// setOf returns the set of a tree that is a character.
func (c *compiler) setOf(re *syntax.Regexp) *set {
	switch re.Op {
	case syntax.OpAnyChar:
		return newSet([]rune{0, unicode.MaxRune})
	case syntax.OpAnyCharNotNL:
		return newSet([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune})
	case syntax.OpCharClass:
		if s := newSet(re.Rune); s != nil {
			return s
		}
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return c.folded(re.Rune[0])
		}
		if r := re.Rune[0]; r < utf8.RuneSelf {
			return newSet([]rune{r, r})
		}
	}
	c.failed = true
	return nil
}

// folded returns the set of a letter in both cases.
func (c *compiler) folded(r rune) *set {
	s := new(set)
	for f := r; ; {
		if f >= utf8.RuneSelf {
			c.failed = true
			return nil
		}
		s.has[f] = true
		if f = unicode.SimpleFold(f); f == r {
			return s
		}
	}
}

// newSet returns the set of ranges of characters, in order; nil if it has some characters beyond
// ASCII, and not all.
func newSet(ranges []rune) *set {
	s := new(set)
	var wide rune // characters beyond ASCII
	for ; len(ranges) > 0; ranges = ranges[2:] {
		for r := ranges[0]; r <= min(ranges[1], utf8.RuneSelf-1); r++ {
			s.has[r] = true
		}
		wide += max(ranges[1]-max(ranges[0], utf8.RuneSelf)+1, 0)
	}
	switch wide {
	case 0:
	case unicode.MaxRune + 1 - utf8.RuneSelf:
		for b := utf8.RuneSelf; b < 256; b++ {
			s.has[b] = true
		}
	default:
		return nil
	}
	return s
}

// nullable says whether a tree may match without a byte.
func nullable(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false
	case syntax.OpPlus, syntax.OpCapture:
		return nullable(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !nullable(sub) {
				return false
			}
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if nullable(sub) {
				return true
			}
		}
		return false
	}
	return true
}

// firstsOf returns the bytes that a match of the instructions from one on may begin with.
func (p *program) firstsOf(at int) firsts {
	var f firsts
	p.collect(&f, at, make([]bool, len(p.insts)))
	return f
}

// collect adds the first bytes of the instructions from one on.
func (p *program) collect(f *firsts, at int, seen []bool) {
	for !seen[at] {
		seen[at] = true
		in := &p.insts[at]
		switch in.op {
		case opMatch:
			f.empty, f.sure = true, true
			return
		case opText:
			f.bytes[in.text[0]] = true
			return
		case opSet, opLoop:
			for b, is := range in.set.has {
				f.bytes[b] = f.bytes[b] || is
			}
			if in.op == opSet || in.min > 0 {
				return
			}
		case opSplit:
			p.collect(f, in.other, seen)
		case opBegin: // which holds behind fewer characters of a loop, too
			*f = firsts{empty: true}
			for b := range f.bytes {
				f.bytes[b] = true
			}
			return
		case opEnd:
			f.empty = true // at the end of the string, whatever follows
			return
		}
		at = in.next
	}
}
