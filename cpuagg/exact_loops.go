package cpuagg

import (
	"math/bits"

	"github.com/mpga/mpga/internal/rowdata"
)

// The loops of exact folds. They add values that lie in the window of a state that has room, with
// one branch, and leave all other values to addExact.

func (s *states) accumulateExact(f *rowdata.Fold, state []uint64, gids []uint32, in [3][]uint64) {
	x := in[0][:len(gids)]
	switch f.Kind {
	case rowdata.FoldExactSum:
		s.exactSum(f, rowdata.View[[3]uint64](state), gids, x)
	case rowdata.FoldExactMoments2:
		s.exactMoments2(f, rowdata.View[[8]uint64](state), gids, x)
	case rowdata.FoldExactMoments4:
		s.exactMoments4(f, rowdata.View[[22]uint64](state), gids, x)
	case rowdata.FoldExactComoments:
		s.exactComoments(f, rowdata.View[[19]uint64](state), gids, x, in[1][:len(gids)])
	}
}

// shifted returns a normal double's mantissa, shifted by up to 63 bits, and its sign as all ones or
// 0.
func shifted(x, shift uint64) (low, high, sign uint64) {
	mantissa := x&(1<<52-1) | 1<<52
	return mantissa << (shift & 63), mantissa >> 1 >> (63 - shift&63), uint64(int64(x) >> 63)
}

// product returns the product of two numbers of two words.
func product(xLow, xHigh, yLow, yHigh uint64) (w0, w1, w2, w3 uint64) {
	w1, w0 = bits.Mul64(xLow, yLow)
	w3, w2 = bits.Mul64(xHigh, yHigh)
	h1, l1 := bits.Mul64(xLow, yHigh)
	h2, l2 := bits.Mul64(xHigh, yLow)
	var carry uint64
	w1, carry = bits.Add64(w1, l1, 0)
	w2, carry = bits.Add64(w2, h1, carry)
	w3 += carry
	w1, carry = bits.Add64(w1, l2, 0)
	w2, carry = bits.Add64(w2, h2, carry)
	return w0, w1, w2, w3 + carry
}

// addUpper adds the two upper words of one number to another number of four.
func addUpper(u0, u1, w0, w1, w2, w3 uint64) (_, _, _, _ uint64) {
	var carry uint64
	w0, carry = bits.Add64(w0, u0, 0)
	w1, carry = bits.Add64(w1, u1, carry)
	w2, carry = bits.Add64(w2, 0, carry)
	return w0, w1, w2, w3 + carry
}

// add2 adds a number, complemented when sign is all ones, and a carry to a sum.
func add2(sum *[2]uint64, low, high, sign, carry uint64) {
	sum[0], carry = bits.Add64(sum[0], low^sign, carry)
	sum[1], _ = bits.Add64(sum[1], high^sign, carry)
}

// add4 is add2 for four words. It returns the carry.
func add4(sum *[4]uint64, w0, w1, w2, w3, sign, carry uint64) uint64 {
	sum[0], carry = bits.Add64(sum[0], w0^sign, carry)
	sum[1], carry = bits.Add64(sum[1], w1^sign, carry)
	sum[2], carry = bits.Add64(sum[2], w2^sign, carry)
	sum[3], carry = bits.Add64(sum[3], w3^sign, carry)
	return carry
}

func (s *states) exactSum(f *rowdata.Fold, states [][3]uint64, gids []uint32, x []uint64) {
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
		add2((*[2]uint64)(state[1:]), low, high, sign, sign&1)
	}
}

func (s *states) exactMoments2(f *rowdata.Fold, states [][8]uint64, gids []uint32, x []uint64) {
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
		add2((*[2]uint64)(state[1:]), low, high, sign, sign&1)
		a0, a1, a2, a3 := product(low, high, low, high)
		add4((*[4]uint64)(state[3:]), a0, a1, a2, a3, 0, 0)
	}
}

func (s *states) exactMoments4(f *rowdata.Fold, states [][22]uint64, gids []uint32, x []uint64) {
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
		add2((*[2]uint64)(state[1:]), low, high, sign, sign&1)
		a0, a1, a2, a3 := product(low, high, low, high)
		add4((*[4]uint64)(state[3:]), a0, a1, a2, a3, 0, 0)

		// x^3 = (a0 a1) x + (a2 a3) x 2^128
		b0, b1, b2, b3 := product(a0, a1, low, high)
		c2, c3, c4, c5 := product(a2, a3, low, high)
		b2, b3, c4, c5 = addUpper(b2, b3, c2, c3, c4, c5)
		carry := add4((*[4]uint64)(state[7:]), b0, b1, b2, b3, sign, sign&1)
		add2((*[2]uint64)(state[11:]), c4, c5, sign, carry)

		// x^4 = (a0 a1)^2 + 2 (a0 a1) (a2 a3) 2^128 + (a2 a3)^2 2^256, where a3 is below 2^40
		b0, b1, b2, b3 = product(a0, a1, a0, a1)
		c2, c3, c4, c5 = product(a0, a1, a2<<1, a3<<1|a2>>63)
		b2, b3, c4, c5 = addUpper(b2, b3, c2, c3, c4, c5)
		d4, d5, d6, d7 := product(a2, a3, a2, a3)
		d4, d5, d6, d7 = addUpper(c4, c5, d4, d5, d6, d7)
		carry = add4((*[4]uint64)(state[13:]), b0, b1, b2, b3, 0, 0)
		add4((*[4]uint64)(state[17:]), d4, d5, d6, d7, 0, carry)
	}
}

func (s *states) exactComoments(f *rowdata.Fold, states [][19]uint64, gids []uint32, x, y []uint64) {
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
		add2((*[2]uint64)(state[2:]), xLow, xHigh, xSign, xSign&1)
		add2((*[2]uint64)(state[4:]), yLow, yHigh, ySign, ySign&1)
		w0, w1, w2, w3 := product(xLow, xHigh, xLow, xHigh)
		add4((*[4]uint64)(state[6:]), w0, w1, w2, w3, 0, 0)
		w0, w1, w2, w3 = product(yLow, yHigh, yLow, yHigh)
		add4((*[4]uint64)(state[10:]), w0, w1, w2, w3, 0, 0)
		w0, w1, w2, w3 = product(xLow, xHigh, yLow, yHigh)
		sign := xSign ^ ySign
		add4((*[4]uint64)(state[14:]), w0, w1, w2, w3, sign, sign&1)
	}
}
