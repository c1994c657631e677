package cpuagg

import "github.com/mpga/mpga/internal/rowdata"

// The moments of a group are held relative to its first value k; see rowdata.FoldMoments2. States
// are viewed as structs, whose sums the compiler adds to in one instruction.

// moments2 is a state of FoldMoments2.
type moments2 struct {
	n         uint64
	k, d1, d2 float64
}

func accumulateMoments2(state []uint64, gids []uint32, x []uint64) {
	states, values := rowdata.View[moments2](state), rowdata.View[float64](x)[:len(gids)]
	for i, g := range gids {
		s, v := &states[g], values[i]
		if s.n == 0 {
			s.k = v
		}
		s.n++
		d := v - s.k
		s.d1 += d
		s.d2 += d * d
	}
}

// merge adds other moments, re-expressed relative to the k of s by the binomial theorem.
func (s *moments2) merge(from *moments2) {
	switch {
	case from.n == 0:
		return
	case s.n == 0:
		*s = *from
		return
	}
	n, d := float64(from.n), from.k-s.k
	s.n += from.n
	s.d1 += from.d1 + n*d
	s.d2 += from.d2 + 2*d*from.d1 + n*d*d
}

// moments4 is a state of FoldMoments4.
type moments4 struct {
	moments2
	d3, d4 float64
}

func accumulateMoments4(state []uint64, gids []uint32, x []uint64) {
	states, values := rowdata.View[moments4](state), rowdata.View[float64](x)[:len(gids)]
	for i, g := range gids {
		s, v := &states[g], values[i]
		if s.n == 0 {
			s.k = v
		}
		s.n++
		d := v - s.k
		d2 := d * d
		s.d1 += d
		s.d2 += d2
		s.d3 += d2 * d
		s.d4 += d2 * d2
	}
}

// merge is moments2.merge for four moments.
func (s *moments4) merge(from *moments4) {
	switch {
	case from.n == 0:
		return
	case s.n == 0:
		*s = *from
		return
	}
	n, d := float64(from.n), from.k-s.k
	s.moments2.merge(&from.moments2)
	s.d3 += from.d3 + 3*d*from.d2 + 3*d*d*from.d1 + n*d*d*d
	s.d4 += from.d4 + 4*d*from.d3 + 6*d*d*from.d2 + 4*d*d*d*from.d1 + n*d*d*d*d
}

// comoments is a state of FoldComoments.
type comoments struct {
	n                        uint64
	kx, ky, x, y, xx, yy, xy float64
}

func accumulateComoments(state []uint64, gids []uint32, x, y []uint64) {
	states := rowdata.View[comoments](state)
	xs, ys := rowdata.View[float64](x)[:len(gids)], rowdata.View[float64](y)[:len(gids)]
	for i, g := range gids {
		s, vx, vy := &states[g], xs[i], ys[i]
		if s.n == 0 {
			s.kx, s.ky = vx, vy
		}
		s.n++
		dx, dy := vx-s.kx, vy-s.ky
		s.x += dx
		s.y += dy
		s.xx += dx * dx
		s.yy += dy * dy
		s.xy += dx * dy
	}
}

// merge is moments2.merge for co-moments.
func (s *comoments) merge(from *comoments) {
	switch {
	case from.n == 0:
		return
	case s.n == 0:
		*s = *from
		return
	}
	n, ex, ey := float64(from.n), from.kx-s.kx, from.ky-s.ky
	s.n += from.n
	s.x += from.x + n*ex
	s.y += from.y + n*ey
	s.xx += from.xx + 2*ex*from.x + n*ex*ex
	s.yy += from.yy + 2*ey*from.y + n*ey*ey
	s.xy += from.xy + ex*from.y + ey*from.x + n*ex*ey
}
