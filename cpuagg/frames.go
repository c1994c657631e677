package cpuagg

import "github.com/mpga/mpga/internal/rowdata"

// Frames are the states of ranges of rows: of window functions. They belong to one goroutine, and must be released.
type Frames struct {
	states *states
	view   *view
}

// NewFrames returns n empty states of the folds of a query without keys.
func NewFrames(b *rowdata.Bound, m rowdata.Memory, n int) *Frames {
	f := &Frames{states: newStates(m, b), view: newView(b)}
	f.view.several = true
	f.states.grow(n)
	return f
}

// Add folds the rows of a tile into the states of the given numbers.
func (f *Frames) Add(t *rowdata.Tile, states []uint32) {
	f.view.set(t, states)
	f.states.accumulate(f.view)
}

// Scan folds into each state the state before it, unless isFirst says that a range of states begins with it.
func (f *Frames) Scan(isFirst func(state int) bool) {
	f.states.settle()
	for i := range f.states.bound.Folds {
		fold, words := &f.states.bound.Folds[i], f.states.words[i]
		for state := 1; state < f.states.groups; state++ {
			if !isFirst(state) {
				before := words[(state-1)*fold.Words : state*fold.Words]
				f.states.mergeFold(fold, words, []uint32{uint32(state)}, before)
			}
		}
	}
}

// Carry folds a state of others into the first state.
func (f *Frames) Carry(from *Frames, state int) {
	from.states.settle()
	f.states.settle()
	f.states.merge([]uint32{0}, from.states.slice(state, state+1))
}

// Len returns the number of states.
func (f *Frames) Len() int { return f.states.groups }

// treeFanout is how many states a state of the next level of a tree is merged of.
const treeFanout = 16

// Tree finds the states of ranges of states: by levels of merged states, each of treeFanout of the level below, as
// Leis et al. ("Efficient Processing of Window Functions in Analytical SQL Queries", VLDB 2015) have segment trees.
type Tree struct {
	levels []*Frames // the first is not its own
	parts  [][]part  // by level
	from   []uint64  // scratch: states
}

// part is a state that a range begins with, or goes on with.
type part struct{ state, of uint32 }

// NewTree returns a tree of states, which stay the caller's.
func NewTree(leaves *Frames) *Tree {
	leaves.states.settle()
	t := &Tree{levels: []*Frames{leaves}}
	for below := leaves.states; below.groups > treeFanout; {
		level := NewFrames(below.bound, below.memory, (below.groups+treeFanout-1)/treeFanout)
		gids := make([]uint32, below.groups)
		for i := range gids {
			gids[i] = uint32(i / treeFanout)
		}
		level.states.merge(gids, below.slice(0, below.groups))
		level.states.settle()
		t.levels = append(t.levels, level)
		below = level.states
	}
	t.parts = make([][]part, len(t.levels))
	return t
}

// Add notes that state `of` of Merge has the states from from to to.
func (t *Tree) Add(of, from, to int) {
	for level := 0; from < to; level++ {
		isLast := level == len(t.levels)-1
		for ; from < to && (isLast || from%treeFanout != 0); from++ {
			t.parts[level] = append(t.parts[level], part{uint32(from), uint32(of)})
		}
		for ; from < to && to%treeFanout != 0; to-- {
			t.parts[level] = append(t.parts[level], part{uint32(to - 1), uint32(of)})
		}
		from, to = from/treeFanout, to/treeFanout
	}
}

// Merge folds what was added into n states.
func (t *Tree) Merge(n int) *Frames {
	bottom := t.levels[0].states
	made := NewFrames(bottom.bound, bottom.memory, n)
	for level, parts := range t.parts {
		of := t.levels[level].states
		for len(parts) > 0 {
			some := parts[:min(len(parts), rowdata.TileRows)]
			parts = parts[len(some):]
			gids := make([]uint32, len(some))
			for i, p := range some {
				gids[i] = p.of
			}
			for i := range of.bound.Folds {
				fold := &of.bound.Folds[i]
				t.from = t.from[:0]
				for _, p := range some {
					t.from = append(t.from, of.words[i][int(p.state)*fold.Words:(int(p.state)+1)*fold.Words]...)
				}
				made.states.mergeFold(fold, made.states.words[i], gids, t.from)
			}
		}
		t.parts[level] = t.parts[level][:0]
	}
	return made
}

// Release gives back the memory of the levels above the leaves.
func (t *Tree) Release() {
	for _, level := range t.levels[1:] {
		level.Release()
	}
}

// Groups returns the states as groups without keys, which are valid until Release.
func (f *Frames) Groups() *Groups {
	return GroupsOf(f.states.groups, nil, f.states.slice(0, f.states.groups))
}

// Release gives back the memory of the states.
func (f *Frames) Release() { f.states.release() }
