package stream

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/mpga/mpga/kernels"
)

// Exact sums of doubles are integers of 128 bits in a unit that the values of the first tile choose. Devices note which
// bits the values of all tiles have; where the sums might not have room for them, the run fails before any group is
// emitted, and the CPU, whose sums grow, takes the rows.

// exactBits is how many bits a sum may have: two such sums can be added by the CPU.
const exactBits = 126

// unitStep: units are multiples of it where that changes nothing, so that the sums of tiles have the units that the CPU
// chooses, and are merged without a shift.
const unitStep = 16

// unitMax is the largest unit that the CPU has.
const unitMax = kernels.ExactPlaces - 52 - 64

// openExponents makes room for the exponents of a tile's rows, where sums are exact.
func (t *Tile) openExponents() error {
	n := t.device.run.opt.Shape.ExactFolds() * kernels.ExponentsBytes
	if n == 0 {
		return nil
	}
	err := t.device.alloc(&t.exponents, int64(n))
	if err == nil {
		err = t.stream.Fill(kernels.Span{Buffer: t.exponents}, int64(n), 0)
	}
	return err
}

// exponentsOf returns the exponents of the rows that a tile has had, by exact fold. Nothing is enqueued for the tile.
func (t *Tile) exponentsOf() ([]kernels.Exponents, error) {
	n := t.device.run.opt.Shape.ExactFolds()
	host := make([]byte, n*kernels.ExponentsBytes)
	err := t.stream.Copy(kernels.Copy{Device: kernels.Span{Buffer: t.exponents}, Host: host, Out: true})
	if err = errors.Join(err, t.device.finish(t.stream)); err != nil {
		return nil, err
	}
	list := make([]kernels.Exponents, n)
	for i := range list {
		list[i] = kernels.ExponentsOf(host[i*kernels.ExponentsBytes:])
	}
	return list, nil
}

// chooseUnits chooses the units of exact sums by the values of a tile, which is on the device.
func (r *Run) chooseUnits(t *Tile) error {
	list, err := t.exponentsOf()
	if err != nil {
		return failure(err)
	}
	rows := bits.Len64(uint64(r.totalRows()))
	for i := range r.opt.Shape.Folds {
		f := &r.opt.Shape.Folds[i]
		if f.Op != kernels.SumExact {
			continue
		}
		e := list[0]
		list = list[1:]
		if e.High < 0 { // whatever comes is likely to be a number of some size
			e.High, e.Low = 1074, 1074
		}
		spare := exactBits - rows - (e.High - e.Low + 1)
		f.Unit = min(max(e.Low-max(spare, 0)/2, 0), unitMax)
		if step := f.Unit &^ (unitStep - 1); fitsUnit(e, step, rows) {
			f.Unit = step
		}
		if !fitsUnit(e, f.Unit, rows) {
			return failure(errUnits)
		}
	}
	return nil
}

// fitsUnit reports whether sums whose lowest bit is bit unit, from 2^-1074, have room for values with
// such exponents. rows is the bit length of the number of rows.
func fitsUnit(e kernels.Exponents, unit, rows int) bool {
	return e.Finite && (e.High < 0 || e.Low >= unit && e.High+1+rows <= unit+exactBits)
}

// checkUnits returns an error where exact sums may not have had room for the values of all tiles. No tile is under way.
func (r *Run) checkUnits() error {
	if r.opt.Shape.ExactFolds() == 0 {
		return nil
	}
	rows := bits.Len64(uint64(r.Counters().Rows))
	folds := slices.DeleteFunc(slices.Clone(r.opt.Shape.Folds), func(f kernels.Fold) bool {
		return f.Op != kernels.SumExact
	})
	for _, d := range r.devices {
		for _, t := range d.tiles {
			if t.exponents == nil { // the input has ended before
				continue
			}
			list, err := t.exponentsOf()
			if err != nil {
				return failure(err)
			}
			for i, e := range list {
				if !fitsUnit(e, folds[i].Unit, rows) {
					return failure(errUnits)
				}
			}
		}
	}
	return nil
}

var errUnits = errors.New("the values of an exact sum are not finite, or differ too much in size for a device's")
