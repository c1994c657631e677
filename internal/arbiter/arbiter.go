// Package arbiter divides the memory of an engine among the statements that run, and the memory of a
// statement among its sinks: aggregations, sorts, and whatever else holds rows until it has seen all.
//
//			limit = a quarter for decoded columns and results + the grants of all sinks
//
//		                  Join, Ask, Leave                       Bytes
//			sink  ------------------------------>  Arbiter  ---------------->  the sink flushes, spills, splits
//			Memory  --- Reclaim: no room left -->  Arbiter  --- Held, Spill -->  the pages of who is over its grant
//
//	  - G1 (fair): statements have equal parts, but none less than the least of its sinks nor more than
//	    they wish; the sinks of a statement divide its part by the same rule.
//	  - G2 (bounded): the grants together take three quarters of the limit at most, unless the leasts of
//	    all sinks are more.
//	  - G3 (over first): pages of a sink that is within its grant are spilled after the pages by which
//	    others are over theirs.
//
// Grants change when a sink comes, goes or asks for another share. A sink looks at its grant where it
// decides what to keep; it is not called for that. Pages that wait are spilled by whoever needs the
// room, since their owner may wait for a slow reader. The package knows no sink, file or row.
package arbiter

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// All is the wish of a sink that takes as much as there is.
const All = math.MaxInt64

// Arbiter divides one memory. It is safe for concurrent use.
type Arbiter struct {
	limit func() int64 // of the memory, in bytes, at present

	mu         sync.Mutex
	statements []*Statement // that have sinks, in the order of their first
}

// New returns an arbiter of a memory whose limit, in bytes, is asked whenever grants change.
func New(limit func() int64) *Arbiter { return &Arbiter{limit: limit} }

// Statement is the sinks of one statement. It is safe for concurrent use, and counts while it has sinks.
type Statement struct {
	of    *Arbiter
	sinks []*Grant // guarded by of.mu
}

// NewStatement returns a statement without sinks.
func (a *Arbiter) NewStatement() *Statement { return &Statement{of: a} }

// Pages are what a sink keeps in memory, and can write to disk.
type Pages interface {
	// Held returns how many bytes of pages are in memory.
	Held() int64

	// Spill writes pages of this many bytes, or all, and returns how many bytes that has freed. Any
	// goroutine calls it.
	Spill(bytes int64) (freed int64, err error)
}

// Grant is how much memory one sink may hold.
type Grant struct {
	statement *Statement
	pages     Pages        // nil of a sink that spills by itself alone
	bytes     atomic.Int64 // of the grant
	ask       ask          // guarded by the arbiter's mu

	spilling sync.RWMutex // held for reading during Pages.Spill
	left     bool         // Leave was called; guarded by spilling
}

// ask is what a sink or a statement asks for, in bytes.
type ask struct{ least, wish int64 }

// Join adds a sink that cannot work with less than least bytes, and has no use for more than wish. It
// must leave. pages are the sink's; nil where only the sink itself can spill.
func (s *Statement) Join(least, wish int64, pages Pages) *Grant {
	g := &Grant{statement: s, pages: pages, ask: ask{least, max(least, wish)}}
	a := s.of
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(s.sinks) == 0 {
		a.statements = append(a.statements, s)
	}
	s.sinks = append(s.sinks, g)
	a.divide()
	return g
}

// Offer returns the bytes that one more sink of the statement would have if it wished for All.
func (s *Statement) Offer() int64 {
	a := s.of
	a.mu.Lock()
	defer a.mu.Unlock()
	statements := a.statements
	if len(s.sinks) == 0 {
		statements = append(slices.Clone(statements), s)
	}
	sinks := append(asksOf(s.sinks), ask{0, All})
	asks := make([]ask, len(statements))
	for i, other := range statements {
		asks[i] = sum(asksOf(other.sinks))
		if other == s {
			asks[i] = sum(sinks)
		}
	}
	parts := shares(a.forSinks(), asks)
	offers := shares(parts[slices.Index(statements, s)], sinks)
	return offers[len(offers)-1]
}

// Part returns the statement's equal part of a number of bytes.
func (s *Statement) Part(of int64) int64 {
	a := s.of
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.statements)
	if len(s.sinks) == 0 {
		n++
	}
	return of / int64(n)
}

// IsShared says whether several statements have sinks.
func (a *Arbiter) IsShared() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.statements) > 1
}

// Bytes returns how much the sink may hold at present.
func (g *Grant) Bytes() int64 { return g.bytes.Load() }

// Ask changes what the sink asks for: a sink that cannot give back what it holds asks for that as its
// least, so that others get the rest.
func (g *Grant) Ask(least, wish int64) {
	a := g.statement.of
	a.mu.Lock()
	defer a.mu.Unlock()
	g.ask = ask{least, max(least, wish)}
	a.divide()
}

// Leave ends the grant. Nobody spills pages of the sink after it.
func (g *Grant) Leave() {
	g.spilling.Lock()
	g.left = true
	g.spilling.Unlock()
	s, a := g.statement, g.statement.of
	a.mu.Lock()
	defer a.mu.Unlock()
	s.sinks = slices.DeleteFunc(s.sinks, func(other *Grant) bool { return other == g })
	if len(s.sinks) == 0 {
		a.statements = slices.DeleteFunc(a.statements, func(other *Statement) bool { return other == s })
	}
	a.divide()
}

// forSinks returns the bytes that all grants together may take: the rest is for decoded columns.
func (a *Arbiter) forSinks() int64 { return a.limit() / 4 * 3 }

// divide sets all grants.
// Requires: a.mu is held.
func (a *Arbiter) divide() {
	asks := make([]ask, len(a.statements))
	for i, s := range a.statements {
		asks[i] = sum(asksOf(s.sinks))
	}
	for i, part := range shares(a.forSinks(), asks) {
		sinks := a.statements[i].sinks
		for j, bytes := range shares(part, asksOf(sinks)) {
			sinks[j].bytes.Store(bytes)
		}
	}
}

func asksOf(sinks []*Grant) []ask {
	asks := make([]ask, len(sinks), len(sinks)+1)
	for i, g := range sinks {
		asks[i] = g.ask
	}
	return asks
}

// sum returns what several asks are together.
func sum(asks []ask) (all ask) {
	for _, one := range asks {
		all.least += one.least
		all.wish += min(one.wish, All-all.wish)
	}
	all.wish = max(all.wish, all.least)
	return all
}

// shares divides bytes: all get the same, but no less than their least and no more than their wish. G1.
func shares(bytes int64, asks []ask) []int64 {
	clamped := func(level int64) (list []int64, total int64) {
		list = make([]int64, len(asks))
		for i, one := range asks {
			list[i] = min(max(level, one.least), one.wish)
			total += list[i]
		}
		return list, total
	}
	level, above := int64(0), bytes+1 // level fits, or is 0; above does not, or nobody can have it
	for above-level > 1 {
		middle := level + (above-level)/2
		if _, total := clamped(middle); total <= bytes {
			level = middle
		} else {
			above = middle
		}
	}
	list, _ := clamped(level)
	return list
}

// Reclaim writes pages of this many bytes to disk, or all there are: first pages by which sinks are
// over their grants, the most first, then the pages of the sink with the most. G3.
func (a *Arbiter) Reclaim(bytes int64) error {
	sinks := a.holders()
	for _, s := range sinks {
		if bytes <= 0 || s.over() <= 0 {
			break
		}
		freed, err := s.grant.spill(min(bytes, s.over()))
		if err != nil {
			return err
		}
		bytes -= freed
	}
	slices.SortStableFunc(sinks, func(x, y holder) int { return cmp.Compare(y.held, x.held) })
	for _, s := range sinks {
		if bytes <= 0 {
			break
		}
		freed, err := s.grant.spill(bytes)
		if err != nil {
			return err
		}
		bytes -= freed
	}
	return nil
}

// Reclaim is Reclaim of the arbiter: of the sinks of all statements.
func (s *Statement) Reclaim(bytes int64) error { return s.of.Reclaim(bytes) }

// holder is a sink that can spill.
type holder struct {
	grant         *Grant
	held, granted int64 // bytes, when Reclaim has looked
}

func (h *holder) over() int64 { return h.held - h.granted }

// holders returns the sinks that have pages in memory, the one that is most over its grant first.
func (a *Arbiter) holders() (list []holder) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.statements {
		for _, g := range s.sinks {
			if g.pages == nil {
				continue
			}
			if held := g.pages.Held(); held > 0 {
				list = append(list, holder{g, held, g.Bytes()})
			}
		}
	}
	slices.SortStableFunc(list, func(x, y holder) int { return cmp.Compare(y.over(), x.over()) })
	return list
}

// spill spills pages of the sink, unless it has left.
func (g *Grant) spill(bytes int64) (freed int64, err error) {
	g.spilling.RLock()
	defer g.spilling.RUnlock()
	if g.left {
		return 0, nil
	}
	return g.pages.Spill(bytes)
}
