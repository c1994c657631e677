package expr

import (
	"strings"
	"sync"
)

// memo keeps the results of a costly function of a string: neighbouring row groups have
// dictionaries of their own, with most entries in common. The zero value is empty, nil remembers
// nothing.
type memo struct {
	known        map[string]string // results by string; nil while the memo is empty, and when most strings are new
	bytes        int               // that known takes
	full         bool              // bytes have reached memoBytesMax
	asked, found int               // strings since the memo is full, and how many of these were known
}

const (
	// memoBytesMax bounds a memo: some 20,000 addresses and their results.
	memoBytesMax = 4 << 20

	// memoEntryMax bounds an entry: a string and its result.
	memoEntryMax = memoBytesMax / 64

	// memoEntryBytes is what an entry takes besides its bytes.
	memoEntryBytes = 48

	// memoTrial is how many strings a full memo is asked for until it must have known an eighth.
	memoTrial = 1 << 13
)

// find returns the result for a string.
func (m *memo) find(s string) (made string, ok bool) {
	if m == nil || m.known == nil {
		return "", false
	}
	made, ok = m.known[s]
	if m.full {
		m.asked++
		if ok {
			m.found++
		}
		if m.asked >= memoTrial && m.found < m.asked/8 {
			m.known = nil // strings are new most of the time
		}
	}
	return made, ok
}

// add remembers the result for a string, and returns the result.
func (m *memo) add(s, made string) string {
	if m == nil || m.full || len(s)+len(made) > memoEntryMax {
		return made
	}
	if m.known == nil {
		m.known = map[string]string{}
	}
	kept := strings.Clone(made) // the string and its result lie in memory that is used again
	m.known[strings.Clone(s)] = kept
	m.bytes += len(s) + len(made) + memoEntryBytes
	m.full = m.bytes >= memoBytesMax
	return kept
}

// memos lends memos to the evaluators of a program: an evaluator goes on with memos that another gave
// back.
type memos struct {
	mu   sync.Mutex
	free [][]*memo // by slot
}

func (m *memos) take(slots int) []*memo {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := len(m.free) - 1
	if last < 0 {
		return make([]*memo, slots)
	}
	taken := m.free[last]
	m.free = m.free[:last]
	return taken
}

func (m *memos) give(list []*memo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free = append(m.free, list)
}

// memo returns the memo of a node if all arguments but the first are constants, else nil.
func (e *Evaluator) memo(n *node) *memo {
	if n.args[0].isConst { // to be computed once, before the program is whole
		return nil
	}
	for _, a := range n.args[1:] {
		if !a.isConst {
			return nil
		}
	}
	if e.memos == nil {
		e.memos = e.program.memos.take(e.program.slots)
	}
	if e.memos[n.slot] == nil {
		e.memos[n.slot] = &memo{}
	}
	return e.memos[n.slot]
}
