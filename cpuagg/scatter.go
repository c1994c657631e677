package cpuagg

import (
	"fmt"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/table"
)

// The contents of pages.
const (
	Rows   scatter.Content = iota // keys and arguments
	States                        // keys and accumulator states
)

// scatterStates scatters all groups of a table.
func scatterStates(w *scatter.Writer, t *table.Table, st *states) error {
	for from := 0; from < t.Len; from += rowdata.TileRows {
		to := min(from+rowdata.TileRows, t.Len)
		keys, states := t.Keys(from, to), st.slice(from, to)
		if st.heap.Bytes() > stateBytesMax {
			if err := scatterParts(w, st.bound, keys, to-from, states); err != nil {
				return err
			}
		}
		if err := scatterGroups(w, st.bound, keys, to-from, states); err != nil {
			return err
		}
	}
	return nil
}

// scatterGroups scatters n groups, at most rowdata.TileRows: their keys, and their states by fold.
func scatterGroups(w *scatter.Writer, b *rowdata.Bound, keys []uint64, n int, states [][]uint64) error {
	var hashes [rowdata.TileRows]uint64
	w.Pass.Hash(&b.Keys, keys, hashes[:n])
	w.Put(n, keys, states, hashes[:n], w.Layout.Refers())
	for i := range b.Folds {
		if f := &b.Folds[i]; f.Refers() {
			keepStates(w, n, f, w.Layout.Parts[i])
		}
	}
	return w.Seal()
}

// keepStates moves the strings and blocks that the states at an offset of the placed rows refer to
// into the rows' pages.
func keepStates(w *scatter.Writer, n int, f *rowdata.Fold, offset int) {
	for i := range n {
		state, heap := w.Placed(i, offset, f.Words)
		if err := f.Relocate(state, heap); err != nil {
			panic(fmt.Sprintf("cpuagg: a state of %s: %v", f.Kind, err)) // made here, a moment ago
		}
	}
}

// stateBytesMax is how many bytes of elements a state takes into a page: a page can then be held,
// and written, where memory is short. Further elements become states of the same group, which merge
// again.
const stateBytesMax = scatter.PageBytesMax

// cutElementsMin is how many elements a state must have to be cut: fewer are not measured.
const cutElementsMin = 64

// scatterParts scatters the elements that the states of n groups have beyond stateBytesMax, and
// takes them off the states.
func scatterParts(w *scatter.Writer, b *rowdata.Bound, keys []uint64, n int, states [][]uint64) error {
	var parts [][]uint64
	for i := range b.Folds {
		f := &b.Folds[i]
		if !f.KeepsElements() {
			continue
		}
		for group := range n {
			state := states[i][group*f.Words : (group+1)*f.Words]
			for n := cut(f, state); n > 0; n = cut(f, state) {
				invariants.Sometimes("cpuagg: a state is cut into several")
				if parts == nil {
					parts = emptyStates(b)
				}
				elements := f.Elements(state)
				state[0] -= uint64(n)
				parts[i][0], parts[i][1] = uint64(n), rowdata.Address(elements[int(state[0])*f.ElementWords:])
				if err := scatterGroups(w, b, keys[group*b.Keys.Words:(group+1)*b.Keys.Words], 1, parts); err != nil {
					return err
				}
				clear(parts[i])
			}
		}
	}
	return nil
}

// cut returns how many of a state's last elements make a part of their own; 0 when the state needs
// no cut.
func cut(f *rowdata.Fold, state []uint64) int {
	count := int(state[0])
	if count < cutElementsMin || !f.Long && 8*count*f.ElementWords <= stateBytesMax {
		return 0
	}
	if !f.Long {
		return stateBytesMax / 8 / f.ElementWords
	}
	words := 0
	elements := f.Elements(state)
	for n := 1; n <= count; n++ {
		words += f.ElementWords + longWords(elements[(count-n)*f.ElementWords:])
		if 8*words > stateBytesMax {
			return n
		}
	}
	return 0
}

// emptyStates returns an empty state of every fold.
func emptyStates(b *rowdata.Bound) [][]uint64 {
	parts := make([][]uint64, len(b.Folds))
	for i := range b.Folds {
		parts[i] = make([]uint64, b.Folds[i].Words)
		for j := range parts[i] {
			parts[i][j] = identityOf(b.Folds[i].Kind)
		}
	}
	return parts
}
