package cpuagg

import (
	"math/bits"
	"unsafe"

	"github.com/mpga/mpga/engine/spec"
)

// The loops of exact folds. They take what lies in the window of a state that has room, without a
// branch on anything else, and leave the rest to addExact.

func (s *states) accumulateExact(f *spec.Fold, state []uint64, gids []uint32, in [3][]uint64) {
	x := in[0][:len(gids)]
	switch f.Kind {
	case spec.FoldExactSum:
		s.exactSum(f, viewStates[[3]uint64](state), gids, x)
	case spec.FoldExactMoments2:
		s.exactMoments2(f, viewStates[[8]uint64](state), gids, x)
	case spec.FoldExactMoments4:
		s.exactMoments4(f, viewStates[[22]uint64](state), gids, x)
	case spec.FoldExactComoments:
		s.exactComoments(f, viewStates[[19]uint64](state), gids, x, in[1][:len(gids)])
	}
}

// viewStates views the states of a fold as arrays.
func viewStates[S any](words []uint64) []S {
	var state S
	return unsafe.Slice((*S)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words)/int(unsafe.Sizeof(state)))
}

// shifted returns a normal double's mantissa, shifted by up to 63 bits, and its sign as all ones or 0.
func shifted(x, shift uint64) (low, high, sign uint64) {
	mantissa := x&(1<<52-1) | 1<<52
	return mantissa << (shift & 63), mantissa >> 1 >> (63 - shift&63), uint64(int64(x) >> 63)
}

// square returns the square of a number of two words, the upper one below 2^52.
func square(low, high uint64) (w0, w1, w2, w3 uint64) {
	w1, w0 = bits.Mul64(low, low)
	w3, w2 = bits.Mul64(high, high)
	h, l := bits.Mul64(low, high<<1)
	var carry uint64
	w1, carry = bits.Add64(w1, l, 0)
	w2, carry = bits.Add64(w2, h, carry)
	return w0, w1, w2, w3 + carry
}

// add2 adds a number, negated when sign is all ones, to a signed sum.
func add2(sum *[2]uint64, low, high, sign uint64) {
	var carry uint64
	sum[0], carry = bits.Add64(sum[0], low^sign, sign&1)
	sum[1], _ = bits.Add64(sum[1], high^sign, carry)
}

// add4 is add2 for four words.
func add4(sum *[4]uint64, w0, w1, w2, w3, sign uint64) {
	var carry uint64
	sum[0], carry = bits.Add64(sum[0], w0^sign, sign&1)
	sum[1], carry = bits.Add64(sum[1], w1^sign, carry)
	sum[2], carry = bits.Add64(sum[2], w2^sign, carry)
	sum[3], _ = bits.Add64(sum[3], w3^sign, carry)
}

func (s *states) exactSum(f *spec.Fold, states [][3]uint64, gids []uint32, x []uint64) {
	for i, g := range gids {
		state := &states[g]
		shift := exactShift(x[i], state[0])
		if shift|crowded(state[2])>>63<<6 > 63 {
			if x[i]<<1 != 0 {
				s.addExact(f, state[:], x[i])
			}
			continue
		}
		low, high, sign := shifted(x[i], shift)
		add2((*[2]uint64)(state[1:3]), low, high, sign)
	}
}

func (s *states) exactMoments2(f *spec.Fold, states [][8]uint64, gids []uint32, x []uint64) {
	for i, g := range gids {
		state := &states[g]
		state[7]++
		shift := exactShift(x[i], state[0])
		if shift|(crowded(state[2])|crowded(state[6]))>>63<<6 > 63 {
			if x[i]<<1 != 0 {
				s.addExact(f, state[:], x[i])
			}
			continue
		}
		low, high, sign := shifted(x[i], shift)
		add2((*[2]uint64)(state[1:3]), low, high, sign)
		w0, w1, w2, w3 := square(low, high)
		add4((*[4]uint64)(state[3:7]), w0, w1, w2, w3, 0)
	}
}

func (s *states) exactMoments4(f *spec.Fold, states [][22]uint64, gids []uint32, x []uint64) {
	for i, g := range gids {
		state := &states[g]
		state[21]++
		shift := exactShift(x[i], state[0])
		if shift|(crowded(state[2])|crowded(state[6])|crowded(state[12])|crowded(state[20]))>>63<<6 > 63 {
			if x[i]<<1 != 0 {
				s.addExact(f, state[:], x[i])
			}
			continue
		}
		low, high, sign := shifted(x[i], shift)
		add2((*[2]uint64)(state[1:3]), low, high, sign)
		var x2 [4]uint64
		x2[0], x2[1], x2[2], x2[3] = square(low, high)
		add4((*[4]uint64)(state[3:7]), x2[0], x2[1], x2[2], x2[3], 0)
		var x3 [6]uint64
		var x4 [8]uint64
		multiply(x3[:], []uint64{low, high}, x2[:])
		addSigned(state[7:13], x3[:], sign)
		multiply(x4[:], x2[:], x2[:])
		addSigned(state[13:21], x4[:], 0)
	}
}

func (s *states) exactComoments(f *spec.Fold, states [][19]uint64, gids []uint32, x, y []uint64) {
	for i, g := range gids {
		state := &states[g]
		state[18]++
		shiftX, shiftY := exactShift(x[i], state[0]), exactShift(y[i], state[1])
		full := crowded(state[3]) | crowded(state[5]) | crowded(state[9]) | crowded(state[13]) | crowded(state[17])
		if shiftX|shiftY|full>>63<<6 > 63 {
			s.addExact(f, state[:], x[i], y[i])
			continue
		}
		xLow, xHigh, xSign := shifted(x[i], shiftX)
		yLow, yHigh, ySign := shifted(y[i], shiftY)
		add2((*[2]uint64)(state[2:4]), xLow, xHigh, xSign)
		add2((*[2]uint64)(state[4:6]), yLow, yHigh, ySign)
		w0, w1, w2, w3 := square(xLow, xHigh)
		add4((*[4]uint64)(state[6:10]), w0, w1, w2, w3, 0)
		w0, w1, w2, w3 = square(yLow, yHigh)
		add4((*[4]uint64)(state[10:14]), w0, w1, w2, w3, 0)
		var xy [4]uint64
		multiply(xy[:], []uint64{xLow, xHigh}, []uint64{yLow, yHigh})
		add4((*[4]uint64)(state[14:18]), xy[0], xy[1], xy[2], xy[3], xSign^ySign)
	}
}
