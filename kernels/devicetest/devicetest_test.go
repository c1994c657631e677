package devicetest_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/kernels"
	_ "github.com/mpga/mpga/kernels/cuda"
	"github.com/mpga/mpga/kernels/devicetest"
	"github.com/mpga/mpga/kernels/hostdevice"
)

var (
	rowsFlag = flag.Int("rows", 0, "rows of the larger cases; the default is 10,000, or 3,000 with -short, and 100,000 on a GPU")
	repeats  = flag.Int("repeats", 10, "runs that must give the same answer")
	families = flag.String("kernels", "", "families to try on a GPU, separated by commas; the default is all")
)

func rows(otherwise int) int {
	switch {
	case *rowsFlag > 0:
		return *rowsFlag
	case testing.Short():
		return 3_000
	}
	return otherwise
}

// cases returns the cases of the operators: with -short every third.
func cases(rows int) []devicetest.Case {
	n := 0
	return slices.DeleteFunc(devicetest.Cases(rows), func(devicetest.Case) bool {
		n++
		return testing.Short() && n%3 != 0
	})
}

// plans returns a plan of each family.
func plans() (all []kernels.Plan) {
	for _, kernel := range kernels.Kernels() {
		all = append(all, kernels.Plan{Kernel: kernel})
	}
	return all
}

// chosen returns the plans of the families flag.
func chosen(t *testing.T) []kernels.Plan {
	if *families == "" {
		return plans()
	}
	var out []kernels.Plan
	for _, name := range strings.Split(*families, ",") {
		i := slices.IndexFunc(plans(), func(p kernels.Plan) bool { return p.Kernel.String() == name })
		if i < 0 {
			t.Fatalf("-kernels: want some of %v", kernels.Kernels())
		}
		out = append(out, plans()[i])
	}
	return out
}

func suite(t *testing.T, open func(t *testing.T, limitBytes int64) kernels.Device, rows int, plans []kernels.Plan) {
	closed := func(t *testing.T, device kernels.Device) {
		if err := device.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Run("device", func(t *testing.T) {
		const limit = 64 << 20
		device := open(t, limit)
		defer closed(t, device)
		devicetest.Device(t, device, limit)
	})
	t.Run("operators", func(t *testing.T) {
		device := open(t, 0)
		defer closed(t, device)
		devicetest.Operators(t, device, cases(rows), plans...)
	})
	t.Run("decompress", func(t *testing.T) {
		device := open(t, 0)
		defer closed(t, device)
		devicetest.Decompress(t, device, 500, 70_000)
		devicetest.Decompress(t, device, 8000, 1000) // on a large GPU by 16 lanes each
		devicetest.Decompress(t, device, 20_000, 1000)
	})
	t.Run("expand", func(t *testing.T) {
		device := open(t, 0)
		defer closed(t, device)
		devicetest.Expand(t, device, 1000, 200)
		devicetest.Expand(t, device, 100, 20_000)
	})
	t.Run("pages", func(t *testing.T) {
		device := open(t, 0)
		defer closed(t, device)
		devicetest.Pages(t, device, 1500, 200)
		devicetest.Pages(t, device, 100, 5000)
	})
	t.Run("strings", func(t *testing.T) {
		device := open(t, 0)
		defer closed(t, device)
		devicetest.Strings(t, device, 30, 300)
		devicetest.Strings(t, device, 5, 20_000)
	})
	t.Run("keys", func(t *testing.T) {
		device := open(t, 0)
		defer closed(t, device)
		devicetest.Keys(t, device, 100, 3000)
	})
	t.Run("recode", func(t *testing.T) {
		device := open(t, 0)
		defer closed(t, device)
		devicetest.Recode(t, device, 50, 3000)
		devicetest.Recode(t, device, 3, 1_000_000)
	})
	t.Run("evaluate", func(t *testing.T) {
		device := open(t, 0)
		defer closed(t, device)
		devicetest.Evaluate(t, device, 200, 300)
		devicetest.Evaluate(t, device, 10, 20_000)
	})
	t.Run("sorted folds", func(t *testing.T) {
		device := open(t, 0)
		defer closed(t, device)
		devicetest.Sorts(t, device, 100, 1000)
		devicetest.Sorts(t, device, 10, 20_000)
	})
	t.Run("joins", func(t *testing.T) {
		device := open(t, 0)
		defer closed(t, device)
		devicetest.Joins(t, device, 100, 1500)
		devicetest.Joins(t, device, 12, rows)
		devicetest.RepeatedKeys(t, device)
		devicetest.Gathers(t, device, 100, 3000)
	})
	t.Run("join algorithms", func(t *testing.T) {
		device := open(t, 0)
		defer closed(t, device)
		devicetest.Algorithms(t, device, 150, 500)
		devicetest.Algorithms(t, device, 10, rows/2)
	})
	t.Run("exact sums", func(t *testing.T) {
		device := open(t, 0)
		defer closed(t, device)
		devicetest.Exact(t, device, 30, rows, plans...)
	})
	t.Run("overflow", func(t *testing.T) {
		device := open(t, 0)
		defer closed(t, device)
		devicetest.Overflow(t, device, plans...)
	})
	t.Run("repeat", func(t *testing.T) {
		device := open(t, 0)
		defer closed(t, device)
		devicetest.Repeat(t, device, rows, *repeats, plans...)
	})
}

func TestHost(t *testing.T) {
	suite(t, func(t *testing.T, limitBytes int64) kernels.Device {
		device, err := hostdevice.Open(hostdevice.Options{MemoryLimit: limitBytes})
		if err != nil {
			t.Fatal(err)
		}
		return device
	}, rows(10_000), plans()[:2])
}

func TestCUDA(t *testing.T) {
	if _, err := kernels.Devices(); errors.Is(err, kernels.ErrNoDevice) {
		fmt.Fprintln(os.Stderr, "skipped on a GPU:", err)
		t.Skip(err)
	}
	suite(t, func(t *testing.T, limitBytes int64) kernels.Device {
		device, err := kernels.Open(kernels.Options{MemoryLimit: limitBytes})
		if err != nil {
			t.Fatal(err)
		}
		return device
	}, rows(100_000), chosen(t))
}
