package cpuagg

import (
	"slices"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
)

// view is a tile as the folds see it: for each selection the groups of its rows, for each input
// the values of the selected rows.
type view struct {
	bound  *rowdata.Bound
	gids   [][]uint32 // by selection
	inputs [][]uint64 // by input

	several bool // rows are of several groups, without keys

	rows [][]uint32 // by selection: the selected rows, when they are not all

	// Buffers of gids and inputs, which grow with the first tile that leaves rows out: a wide query
	// has thousands of columns, few of which have NULLs.
	gidsBuf  [][]uint32
	inputBuf [][]uint64
}

func newView(b *rowdata.Bound) *view {
	return &view{
		bound:    b,
		gids:     make([][]uint32, len(b.Selections)),
		inputs:   make([][]uint64, len(b.Inputs)),
		rows:     make([][]uint32, len(b.Selections)),
		gidsBuf:  make([][]uint32, len(b.Selections)),
		inputBuf: make([][]uint64, len(b.Inputs)),
	}
}

// set turns the view to a tile whose rows are in groups gids.
func (v *view) set(t *rowdata.Tile, gids []uint32) {
	for s, sel := range v.bound.Selections {
		v.gids[s] = gids
		switch {
		case !v.selectRows(s, sel, t):
		case v.bound.Keys.Words == 0 && !v.several:
			v.gids[s] = gids[:len(v.rows[s])]
		default:
			v.gidsBuf[s] = slices.Grow(v.gidsBuf[s][:0], len(v.rows[s]))
			v.gids[s] = v.gidsBuf[s][:len(v.rows[s])]
			for i, row := range v.rows[s] {
				v.gids[s][i] = gids[row]
			}
		}
	}
	if invariants.Enabled {
		v.check(t)
	}
	for i, in := range v.bound.Inputs {
		arg := t.Args[in.Arg]
		if len(v.gids[in.Selection]) < t.Rows {
			v.inputBuf[i] = gather(v.inputBuf[i], arg, v.rows[in.Selection], v.bound.Args[in.Arg].Words)
			arg = v.inputBuf[i]
		}
		v.inputs[i] = arg
	}
}

// check panics unless each selection has exactly the rows without a NULL (A4), and columns have no
// NULL where statistics promise that (W2).
func (v *view) check(t *rowdata.Tile) {
	for c, col := range v.bound.Columns {
		null := t.Valid[c] != nil && slices.Contains(t.Valid[c][:t.Rows], 0)
		invariants.Checkf(col.Nullable || !null, "W2: column %q has a NULL", col.Name)
	}
	for s, sel := range v.bound.Selections {
		selected := 0
		for row := range t.Rows {
			if !slices.ContainsFunc(sel, func(c int) bool { return t.Valid[c] != nil && t.Valid[c][row] == 0 }) {
				selected++
			} else {
				invariants.Checkf(len(v.gids[s]) < t.Rows && !slices.Contains(v.rows[s], uint32(row)),
					"A4: selection %d has row %d, a NULL", s, row)
			}
		}
		invariants.Checkf(len(v.gids[s]) == selected, "A4: selection %d has %d rows, %d have no NULL", s,
			len(v.gids[s]), selected)
	}
}

// selectRows lists the rows in which no column of a selection is NULL, and reports whether some
// row is left out.
func (v *view) selectRows(s int, sel rowdata.Selection, t *rowdata.Tile) bool {
	var valid []uint8
	for _, c := range sel {
		switch {
		case t.Valid[c] == nil:
		case valid == nil:
			valid = t.Valid[c]
		default:
			return v.selectAll(s, sel, t)
		}
	}
	if valid == nil {
		return false
	}
	rows := slices.Grow(v.rows[s][:0], t.Rows)[:t.Rows]
	n := 0
	for i, ok := range valid[:t.Rows] {
		rows[n] = uint32(i) // overwritten unless ok: no branch to predict
		n += int(ok)
	}
	v.rows[s] = rows[:n]
	return n < t.Rows
}

// selectAll is selectRows for several columns with NULLs.
func (v *view) selectAll(s int, sel rowdata.Selection, t *rowdata.Tile) bool {
	rows := v.rows[s][:0]
	for i := range t.Rows {
		ok := uint8(1)
		for _, c := range sel {
			if t.Valid[c] != nil {
				ok &= t.Valid[c][i]
			}
		}
		if ok != 0 {
			rows = append(rows, uint32(i))
		}
	}
	v.rows[s] = rows
	return len(rows) < t.Rows
}

// gather copies the values of some rows to a buffer, which it grows if need be, and returns it.
func gather(buf, arg []uint64, rows []uint32, words int) []uint64 {
	buf = slices.Grow(buf[:0], len(rows)*words)[:len(rows)*words]
	if words == 1 {
		for i, row := range rows {
			buf[i] = arg[row]
		}
		return buf
	}
	for i, row := range rows {
		copy(buf[i*words:(i+1)*words], arg[int(row)*words:])
	}
	return buf
}
