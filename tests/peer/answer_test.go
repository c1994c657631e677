package peer

import "testing"

// Answers that are not the same are told apart, down to one unit of one column.
func TestAnswerEqual(t *testing.T) {
	a := Answer{Rows: 3, Ints: []int64{1, 1 << 60}, Floats: []float64{1e6}}
	for _, c := range []struct {
		name string
		b    Answer
		want bool
	}{
		{"same", Answer{3, []int64{1, 1 << 60}, []float64{1e6}}, true},
		{"rounded", Answer{3, []int64{1, 1 << 60}, []float64{1e6 + 1e-4}}, true},
		{"rows", Answer{4, []int64{1, 1 << 60}, []float64{1e6}}, false},
		{"integer", Answer{3, []int64{1, 1<<60 + 1}, []float64{1e6}}, false},
		{"double", Answer{3, []int64{1, 1 << 60}, []float64{1e6 + 1}}, false},
		{"columns", Answer{3, []int64{1}, []float64{1e6}}, false},
	} {
		if got := a.Equal(c.b); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
