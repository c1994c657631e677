package bench

import (
	"errors"
	"testing"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
)

func openRunner(t *testing.T, o hostdevice.Options) *Runner {
	t.Helper()
	device, err := hostdevice.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRunner(device, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(r.Drop(), r.Close(), device.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Would catch a check that takes right answers for wrong, of sums, counts or maxima, and keys that do not all come.
func TestRun(t *testing.T) {
	for _, shape := range Shapes {
		for _, c := range []Case{
			{Rows: 5000, Groups: 10, Shape: shape},
			{Rows: 5000, Groups: 5000, Shape: shape},
			{Rows: 5000, Groups: 4900, Every: true, Skew: 1, Shape: shape},
			{Rows: 1, Groups: 1, Shape: shape},
		} {
			r := openRunner(t, hostdevice.Options{})
			data, err := r.Put(c)
			if err != nil {
				t.Fatal(err)
			}
			res, err := r.Run(data, kernels.Plan{Kernel: kernels.KernelSorted, Groups: c.Groups})
			if err != nil || res.Groups != c.Groups || res.Lost != 0 {
				t.Errorf("%s, %d of %d: %+v, %v", shape.Name, c.Groups, c.Rows, res, err)
			}
		}
	}
}

// Would catch an answer without some rows that passes for right, where nobody has asked for that.
func TestLossy(t *testing.T) {
	r := openRunner(t, hostdevice.Options{})
	shape, err := ShapeOf("2max64")
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.Put(Case{Rows: 1000, Groups: 1000, Shape: shape})
	if err != nil {
		t.Fatal(err)
	}
	plan := kernels.Plan{Kernel: kernels.KernelLinear, Groups: 1000, Slots: 900}
	if _, err := r.Run(data, plan); !errors.Is(err, ErrWrong) {
		t.Errorf("%v", err)
	}
	if res, err := r.RunLossy(data, plan); err != nil || res.Lost != 100 || res.Nanos <= 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

// Would catch sums and maxima that nobody would notice to be wrong.
func TestTally(t *testing.T) {
	c := &Case{Rows: 4, Groups: 4, Shape: Shape{Shape: twoMaxima(4)}}
	if distinct, maxima := tally([]uint64{3, 1, 3, 1}, []uint64{5, 0, 7, 2}, c); distinct != 2 || maxima != 9 {
		t.Errorf("%d, %d", distinct, maxima)
	}
	if _, err := ShapeOf("u31"); err == nil {
		t.Error("no error")
	}
}

// Would catch memory that is freed while a copy to it is under way, or twice: the device has room for the keys alone.
func TestPutWithoutRoom(t *testing.T) {
	r := openRunner(t, hostdevice.Options{MemoryLimit: 5 << 20, BytesPerSecond: 1e9})
	for range 2 {
		_, err := r.Put(Case{Rows: 1e6, Groups: 10, Shape: Shapes[0]})
		if !errors.Is(err, kernels.ErrOutOfMemory) {
			t.Fatal(err)
		}
		if err := r.Drop(); err != nil {
			t.Fatal(err)
		}
	}
}
