package cpuagg

import "math"

// The moments of a group are held relative to its first value K; see spec.FoldMoments2. The count
// is an integer word, the rest are float64 bits.

func float(w uint64) float64 { return math.Float64frombits(w) }
func word(f float64) uint64  { return math.Float64bits(f) }

func addTo(w *uint64, f float64) { *w = word(float(*w) + f) }

func accumulateMoments2(state []uint64, gids []uint32, x []uint64) {
	for i, g := range gids {
		s := (*[4]uint64)(state[4*g:])
		if s[0] == 0 {
			s[1] = x[i]
		}
		s[0]++
		d := float(x[i]) - float(s[1])
		addTo(&s[2], d)
		addTo(&s[3], d*d)
	}
}

func accumulateMoments4(state []uint64, gids []uint32, x []uint64) {
	for i, g := range gids {
		s := (*[6]uint64)(state[6*g:])
		if s[0] == 0 {
			s[1] = x[i]
		}
		s[0]++
		d := float(x[i]) - float(s[1])
		d2 := d * d
		addTo(&s[2], d)
		addTo(&s[3], d2)
		addTo(&s[4], d2*d)
		addTo(&s[5], d2*d2)
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

func accumulateComoments(state []uint64, gids []uint32, x, y []uint64) {
	for i, g := range gids {
		s := (*[8]uint64)(state[8*g:])
		if s[coN] == 0 {
			s[coKx], s[coKy] = x[i], y[i]
		}
		s[coN]++
		dx, dy := float(x[i])-float(s[coKx]), float(y[i])-float(s[coKy])
		addTo(&s[coX], dx)
		addTo(&s[coY], dy)
		addTo(&s[coXX], dx*dx)
		addTo(&s[coYY], dy*dy)
		addTo(&s[coXY], dx*dy)
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
