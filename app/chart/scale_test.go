package chart_test

import (
	"testing"

	"github.com/mpga/mpga/app/chart"
)

// Would catch numbers that nobody reads.
func TestValue(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1.23456: "1.235", 53.56: "53.56", 1234.5: "1234",
		.0123456: "0.01235", 1048576: "1,048,576", 2e8: "200,000,000", -3.5: "-3.5"} {
		if got := chart.Value(v); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
}
