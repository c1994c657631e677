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

// How many states a state of the next level of a tree is merged of: few save merges of a frame, many save levels, and
// each level copies what states refer to.
const (
	fanOutWords = 4  // of states that are words
	fanOutOther = 16 // of others
)

// Tree makes the states of ranges of states: by levels of merged states, each of some of the level below, as
// Leis et al. ("Efficient Processing of Window Functions in Analytical SQL Queries", VLDB 2015) have segment trees.
type Tree struct {
	fanOut int
	levels []*Frames // the first is not its own
	parts  [][]part  // by level: what is not merged yet, at most a tile
	made   *Frames   // the states of the ranges

	gids []uint32 // scratch
	from []uint64 // scratch: states
}

// part is a state of a level that a range has.
type part struct{ state, of uint32 }

// NewTree returns a tree of states, which stay the caller's, for n ranges of them.
func NewTree(leaves *Frames, n int) *Tree {
	leaves.states.settle()
	t := &Tree{fanOut: fanOutWords, levels: []*Frames{leaves}}
	bottom := leaves.states
	for i := range bottom.bound.Folds {
		if bottom.bound.Folds[i].Kind > rowdata.FoldBitXor {
			t.fanOut = fanOutOther
		}
	}
	for below := bottom; below.groups > t.fanOut; {
		level := NewFrames(below.bound, below.memory, (below.groups+t.fanOut-1)/t.fanOut)
		gids := make([]uint32, below.groups)
		for i := range gids {
			gids[i] = uint32(i / t.fanOut)
		}
		level.states.merge(gids, below.slice(0, below.groups))
		level.states.settle()
		t.levels = append(t.levels, level)
		below = level.states
	}
	t.parts = make([][]part, len(t.levels))
	t.made = NewFrames(bottom.bound, bottom.memory, n)
	return t
}

// Add adds the states from from to to to a range.
func (t *Tree) Add(of, from, to int) {
	for level := 0; from < to; level++ {
		isLast := level == len(t.levels)-1
		for ; from < to && (isLast || from%t.fanOut != 0); from++ {
			t.add(level, from, of)
		}
		for ; from < to && to%t.fanOut != 0; to-- {
			t.add(level, to-1, of)
		}
		from, to = from/t.fanOut, to/t.fanOut
	}
}

func (t *Tree) add(level, state, of int) {
	t.parts[level] = append(t.parts[level], part{uint32(state), uint32(of)})
	if len(t.parts[level]) == rowdata.TileRows {
		t.merge(level)
	}
}

// merge merges the parts of a level.
func (t *Tree) merge(level int) {
	from, to, parts := t.levels[level].states, t.made.states, t.parts[level]
	t.gids = t.gids[:0]
	for _, p := range parts {
		t.gids = append(t.gids, p.of)
	}
	for i := range from.bound.Folds {
		fold, words := &from.bound.Folds[i], from.words[i]
		t.from = t.from[:0]
		switch fold.Words {
		case 1:
			for _, p := range parts {
				t.from = append(t.from, words[p.state])
			}
		case 2:
			for _, p := range parts {
				t.from = append(t.from, words[2*p.state], words[2*p.state+1])
			}
		default:
			for _, p := range parts {
				t.from = append(t.from, words[int(p.state)*fold.Words:(int(p.state)+1)*fold.Words]...)
			}
		}
		to.mergeFold(fold, to.words[i], t.gids, t.from)
	}
	t.parts[level] = parts[:0]
}

// States returns the states of all ranges, which belong to the tree.
func (t *Tree) States() *Frames {
	for level := range t.parts {
		t.merge(level)
	}
	return t.made
}

// Release gives back the memory of the ranges, and of the levels above the leaves.
func (t *Tree) Release() {
	t.made.Release()
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
