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
	names := []string{"no folds", "count of two", "rows 33", "key 24, groups 31", "sum of column type 0, extreme, heavy", "count of rows, many groups"}
	cases := slices.DeleteFunc(devicetest.Cases(200), func(c devicetest.Case) bool { return !slices.Contains(names, c.Name) })
	if len(cases) != len(names) {
		t.Fatalf("%d of the cases %q exist", len(cases), names)
	}
	var plans []kernels.Plan
	for _, kernel := range kernels.Kernels() {
		plans = append(plans, kernels.Plan{Kernel: kernel})
	}
	parts := []struct {
		name string
		seed uint64
		try  func(t *testing.T, d kernels.Device)
	}{
		{"decompress", 2, func(t *testing.T, d kernels.Device) { devicetest.Decompress(t, d, 300, 1000) }},
		{"expand", 3, func(t *testing.T, d kernels.Device) { devicetest.Expand(t, d, 150, 700) }},
		{"pages", 3, func(t *testing.T, d kernels.Device) { devicetest.Pages(t, d, 150, 1500) }},
		{"strings", 3, func(t *testing.T, d kernels.Device) { devicetest.Strings(t, d, 8, 300) }},
		{"keys", 2, func(t *testing.T, d kernels.Device) { devicetest.Keys(t, d, 30, 600) }},
		{"evaluate", 2, func(t *testing.T, d kernels.Device) { devicetest.Evaluate(t, d, 60, 300) }},
		{"sorts", 2, func(t *testing.T, d kernels.Device) { devicetest.Sorts(t, d, 16, 1500) }},
		{"joins", 2, func(t *testing.T, d kernels.Device) { devicetest.Joins(t, d, 24, 700) }},
		{"algorithms", 2, func(t *testing.T, d kernels.Device) { devicetest.Algorithms(t, d, 12, 400) }},
		{"repeated keys", 2, func(t *testing.T, d kernels.Device) { devicetest.RepeatedKeys(t, d) }},
		{"gathers", 2, func(t *testing.T, d kernels.Device) { devicetest.Gathers(t, d, 10, 2000) }},
		{"exact", 2, func(t *testing.T, d kernels.Device) {
			shared, sorted := kernels.Plan{Kernel: kernels.KernelShared}, kernels.Plan{Kernel: kernels.KernelSorted}
			devicetest.Exact(t, d, 4, 400, shared, sorted)
		}},
		{"operators", 1, func(t *testing.T, d kernels.Device) { devicetest.Operators(t, d, cases, plans...) }},
	}
	for _, part := range parts {
		t.Run(part.name, func(t *testing.T) { part.try(t, kernels.OpenExecutorDevice(t, part.seed)) })
	}
}
