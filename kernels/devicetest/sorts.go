package devicetest

import (
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/kernels"
)

// Sorts holds folds that need the values of a group in order, beside others, to the oracle. It tries
// count cases: random shapes over random rows, each of up to `rows` rows.
func Sorts(t *testing.T, device kernels.Device, count, rows int) {
	for seed := range uint64(count) {
		rng := rand.New(rand.NewPCG(seed, 0x736f7274))
		c := sortsCase(rng, rows)
		r := newRig(t, device)
		data := c.Data()
		for i := range data.Valid {
			if rng.IntN(2) == 0 {
				data.Valid[i] = nil
			}
		}
		answer := data.Answer(&c.Shape)
		plan := kernels.Choose(&c.Shape, kernels.Estimate{Rows: int64(c.Rows)}, device.Properties())
		if plan.Kernel != kernels.KernelSorted {
			t.Fatalf("seed %d: the %s kernel was chosen", seed, plan.Kernel)
		}
		in, into := r.putRows(data), r.groups(&c.Shape, int64(len(answer.rows)))
		r.must(r.stream.Aggregate(&c.Shape, plan, in, into, r.scratch(plan, &c.Shape, in.Count)))
		if err := r.checkGroups(answer, into); err != nil {
			t.Errorf("seed %d, %d rows, %d groups, %+v: %v", seed, c.Rows, len(answer.rows), c.Shape, err)
		}
		if s := r.status(into.Status); s.Rows != uint64(c.Rows) {
			t.Errorf("seed %d: %d rows aggregated, want %d", seed, s.Rows, c.Rows)
		}
		r.close()
	}
}

// sortsCase draws a shape with folds that sort, and what its rows are like.
func sortsCase(rng *rand.Rand, rows int) Case {
	types := []kernels.ColumnType{kernels.Int32, kernels.Uint32, kernels.Int64, kernels.Uint64, kernels.Float64}
	shape := kernels.Shape{KeyBytes: []int{4, 8, 16, 24, kernels.KeyBytesMax}[rng.IntN(5)]}
	for range 1 + rng.IntN(3) {
		shape.Columns = append(shape.Columns, types[rng.IntN(len(types))])
	}
	ops := []kernels.FoldOp{kernels.CountDistinct, kernels.QuantileCont, kernels.QuantileDisc,
		kernels.Count, kernels.Sum128, kernels.Max, kernels.Moments2}
	fractions := []float64{0, 0.5, 1, rng.Float64(), 1e-9, 0.99}
	add := func(op kernels.FoldOp) {
		f := kernels.Fold{Op: op, Column: rng.IntN(len(shape.Columns)), Other: -1}
		if op == kernels.QuantileCont || op == kernels.QuantileDisc {
			f.Fraction = fractions[rng.IntN(len(fractions))]
		}
		if op == kernels.Sum128 && shape.Columns[f.Column] == kernels.Float64 {
			f.Op = kernels.SumFloat
		}
		shape.Folds = append(shape.Folds, f)
	}
	add(ops[rng.IntN(3)])
	for range rng.IntN(6) {
		add(ops[rng.IntN(len(ops))])
	}
	rng.Shuffle(len(shape.Folds), func(i, j int) { shape.Folds[i], shape.Folds[j] = shape.Folds[j], shape.Folds[i] })
	n := 1 + rng.IntN(rows)
	return Case{
		Shape: shape, Rows: n, Groups: 1 + rng.IntN(n), Nulls: []float64{0, 0.1, 0.9}[rng.IntN(3)], Extreme: rng.IntN(2) == 0,
		Distribution: []Distribution{{Kind: Uniform}, {Zipf, 1}, {Heavy, 0.9}}[rng.IntN(3)], Seed: rng.Uint64(),
	}
}
