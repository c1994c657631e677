package kernels_test

import (
	"slices"
	"testing"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/devicetest"
)

// The operators' suite on the kernels' own code, with a few of its cases: those of a GPU are all.
func TestExecutorSuite(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute of kernels on the CPU")
	}
	names := []string{"no folds", "count of two", "rows 33", "key 24, groups 31", "heavy 0.99, groups 50", "sum of column type 0, extreme, heavy", "count of rows, many groups"}
	cases := slices.DeleteFunc(devicetest.Cases(200), func(c devicetest.Case) bool { return !slices.Contains(names, c.Name) })
	if len(cases) != len(names) {
		t.Fatalf("%d of the cases %q exist", len(cases), names)
	}
	devicetest.Decompress(t, kernels.OpenExecutorDevice(t, 2), 300, 1000)
	devicetest.Expand(t, kernels.OpenExecutorDevice(t, 3), 150, 700)
	devicetest.Pages(t, kernels.OpenExecutorDevice(t, 3), 150, 1500)
	devicetest.Strings(t, kernels.OpenExecutorDevice(t, 3), 8, 300)
	devicetest.Keys(t, kernels.OpenExecutorDevice(t, 2), 30, 600)
	devicetest.Evaluate(t, kernels.OpenExecutorDevice(t, 2), 60, 300)
	devicetest.Sorts(t, kernels.OpenExecutorDevice(t, 2), 30, 1500)
	devicetest.Joins(t, kernels.OpenExecutorDevice(t, 2), 24, 700)
	devicetest.Algorithms(t, kernels.OpenExecutorDevice(t, 2), 20, 400)
	devicetest.RepeatedKeys(t, kernels.OpenExecutorDevice(t, 2))
	devicetest.Gathers(t, kernels.OpenExecutorDevice(t, 2), 10, 2000)
	devicetest.Exact(t, kernels.OpenExecutorDevice(t, 2), 4, 400, kernels.Plan{Kernel: kernels.KernelShared}, kernels.Plan{Kernel: kernels.KernelSorted})
	var plans []kernels.Plan
	for _, kernel := range kernels.Kernels() {
		plans = append(plans, kernels.Plan{Kernel: kernel})
	}
	devicetest.Operators(t, kernels.OpenExecutorDevice(t, 1), cases, plans...)
}
