package cpuagg

import (
	"math"
	"unsafe"
)

// The moments of a group are held relative to its first value K; see rowdata.FoldMoments2. The count
// is an integer word, the rest are float64 bits.

func float(w uint64) float64 { return math.Float64frombits(w) }
func word(f float64) uint64  { return math.Float64bits(f) }

func addTo(w *uint64, f float64) { *w = word(float(*w) + f) }

// wordsAs views words as what they hold.
func wordsAs[T moments2 | moments4 | comoments | float64](words []uint64) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(words))), len(words)/int(unsafe.Sizeof(t)/8))
}

// moments2 is a state of FoldMoments2, its words as what they hold: a sum then takes one instruction.
type moments2 struct {
	n         uint64
	k, d1, d2 float64
}

func accumulateMoments2(state []uint64, gids []uint32, x []uint64) {
	states, values := wordsAs[moments2](state), wordsAs[float64](x)[:len(gids)]
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

// moments4 is a state of FoldMoments4.
type moments4 struct {
	n                 uint64
	k, d1, d2, d3, d4 float64
}

func accumulateMoments4(state []uint64, gids []uint32, x []uint64) {
	states, values := wordsAs[moments4](state), wordsAs[float64](x)[:len(gids)]
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

// mergeMoments adds the moments of from, re-expressed relative to the K of state by the binomial
// theorem. It serves FoldMoments2 and FoldMoments4.
func mergeMoments(state, from []uint64) {
	switch {
	case from[0] == 0:
		return
	case state[0] == 0:
		copy(state, from)
		return
	}
	n, d := float64(from[0]), float(from[1])-float(state[1])
	s1, s2 := float(from[2]), float(from[3])
	state[0] += from[0]
	addTo(&state[2], s1+n*d)
	addTo(&state[3], s2+2*d*s1+n*d*d)
	if len(state) == 6 {
		s3, s4 := float(from[4]), float(from[5])
		addTo(&state[4], s3+3*d*s2+3*d*d*s1+n*d*d*d)
		addTo(&state[5], s4+4*d*s3+6*d*d*s2+4*d*d*d*s1+n*d*d*d*d)
	}
}

// Words of a FoldComoments state.
const (
	coN = iota
	coKx
	coKy
	coX
	coY
	coXX
	coYY
	coXY
)

// comoments is a state of FoldComoments, its words as what they hold.
type comoments struct {
	n                        uint64
	kx, ky, x, y, xx, yy, xy float64
}

func accumulateComoments(state []uint64, gids []uint32, x, y []uint64) {
	states, xs, ys := wordsAs[comoments](state), wordsAs[float64](x)[:len(gids)], wordsAs[float64](y)[:len(gids)]
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

func mergeComoments(state, from []uint64) {
	switch {
	case from[coN] == 0:
		return
	case state[coN] == 0:
		copy(state, from)
		return
	}
	n := float64(from[coN])
	ex, ey := float(from[coKx])-float(state[coKx]), float(from[coKy])-float(state[coKy])
	sx, sy := float(from[coX]), float(from[coY])
	state[coN] += from[coN]
	addTo(&state[coX], sx+n*ex)
	addTo(&state[coY], sy+n*ey)
	addTo(&state[coXX], float(from[coXX])+2*ex*sx+n*ex*ex)
	addTo(&state[coYY], float(from[coYY])+2*ey*sy+n*ey*ey)
	addTo(&state[coXY], float(from[coXY])+ex*sy+ey*sx+n*ex*ey)
}
