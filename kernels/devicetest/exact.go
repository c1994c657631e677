package devicetest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mpga/mpga/kernels"
)

// Exact holds exact sums of doubles, and the exponents of columns, to integers of any size. It tries
// `cases` random cases, each of up to rowsMax rows, with plans of the named kernels and by tables.
func Exact(t *testing.T, device kernels.Device, cases, rowsMax int, plans ...kernels.Plan) {
	for seed := range uint64(cases) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0x6578))
			unit := rng.IntN(kernels.ExactPlaces - 100)
			c := Case{
				Shape: kernels.Shape{
					KeyBytes: []int{4, 8, 24}[rng.IntN(3)],
					Columns:  []kernels.ColumnType{kernels.Float64, kernels.Int64, kernels.Float64},
					Folds: []kernels.Fold{
						{Op: kernels.SumExact, Column: 2, Other: -1, Unit: unit}, {Op: kernels.Sum128, Column: 1, Other: -1},
						{Op: kernels.SumExact, Column: 0, Other: -1, Unit: unit},
					},
				},
				Rows: 1 + rng.IntN(rowsMax), Nulls: []float64{0, 0.3}[rng.IntN(2)], Extreme: rng.IntN(2) == 0, Seed: seed,
			}
			c.Groups = 1 + rng.IntN(c.Rows)
			data := c.Data()
			r := newRig(t, device)
			defer r.close()
			r.exponents(&c, r.putRows(data), data)
			for _, column := range []int{0, 2} { // the words have room for sums of these values
				for i := range c.Rows {
					x := math.Ldexp(float64(rng.Int64()>>(10+rng.IntN(53))), unit-1074+rng.IntN(45))
					binary.LittleEndian.PutUint64(data.Columns[column][8*i:], math.Float64bits(x))
				}
			}
			rows, answer := r.putRows(data), data.Answer(&c.Shape)
			for _, plan := range plansFor(&c.Shape, plans) {
				r.aggregate(&c, plan, rows, answer)
			}
			r.table(&c, rows, data, answer)
		})
	}
}

// exponents compares the exponents of rows, and of their halves, with the exponents of the values.
func (r *Rig) exponents(c *Case, rows *kernels.Rows, data *Data) {
	r.t.Helper()
	at := r.alloc(2 * kernels.ExponentsBytes)
	r.must(r.stream.Fill(at, 2*kernels.ExponentsBytes, 0))
	for _, part := range halves(&c.Shape, rows) {
		r.must(r.stream.Exponents(&c.Shape, part, at))
	}
	got := r.get(at, 2*kernels.ExponentsBytes)
	for i, column := range []int{2, 0} { // in the order of the folds
		want := kernels.Exponents{High: -1, Low: kernels.ExactPlaces, Finite: true}
		for row := range data.Rows {
			x := math.Float64frombits(binary.LittleEndian.Uint64(data.Columns[column][8*row:]))
			switch {
			case !isSet(data.Valid[column], row) || x == 0:
			case !isFinite(x):
				want.Finite = false
			default:
				v := exactInt(x, 0)
				v.Abs(v)
				want.High = max(want.High, v.BitLen()-1)
				want.Low = min(want.Low, int(v.TrailingZeroBits()))
			}
		}
		e := kernels.ExponentsOf(got[i*kernels.ExponentsBytes:])
		if e.Finite != want.Finite || want.Finite && e != want {
			r.t.Errorf("exponents of column %d: %+v, want %+v", column, e, want)
		}
	}
}

// exactInt returns a double in units of 2^(unit-1074). Requires: the double is a multiple of that.
func exactInt(x float64, unit int) *big.Int {
	v, _ := new(big.Float).SetMantExp(big.NewFloat(x), 1074-unit).Int(nil)
	return v
}

// checkExact compares an exact sum.
func checkExact(fold kernels.Fold, values []value, got []uint64) error {
	sum := new(big.Int)
	for _, v := range values {
		sum.Add(sum, exactInt(v.float, fold.Unit))
	}
	sum.And(sum, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1)))
	low := new(big.Int).And(sum, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	if want := []uint64{low, sum.Rsh(sum, 64).Uint64()}; !slices.Equal(got, want) {
		return fmt.Errorf("exact sum %x, want %x", got, want)
	}
	return nil
}
