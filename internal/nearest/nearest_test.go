package nearest

import (
	"slices"
	"strings"
	"testing"
)

// Would catch offers that miss the usual slips, or that offer names of another kind.
func TestNearest(t *testing.T) {
	columns := []string{"date", "delay", "distance", "origin", "destination"}
	for _, c := range []struct {
		name  string
		known []string
		want  []string
	}{
		{"dealy", columns, []string{"delay"}},
		{"DELAY", columns, []string{"delay"}},
		{"dest", columns, []string{"destination"}},
		{"dat", columns, []string{"date"}},
		{"distanc", columns, []string{"distance"}},
		{"origins", columns, []string{"origin"}},
		{"carrier", columns, nil},
		{"", columns, nil},
		{"x", nil, nil},
		{"größe", []string{"grösse", "große"}, []string{"große", "grösse"}},
		{"v", []string{"v1", "v2", "v3", "v4"}, []string{"v1", "v2", "v3"}},
		{"avrg", []string{"any", "arg_max", "avg", "corr", "count", "first", "max", "min", "sum", "var_pop"}, []string{"avg"}},
		{strings.Repeat("y", 100_000), columns, nil},
	} {
		if got := Names(c.name, c.known); !slices.Equal(got, c.want) {
			t.Errorf("Names(%.20q): got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"sum", "sum", 0}, {"ab", "ba", 1}, {"smu", "sum", 1},
	} {
		if got := editDistance(c.a, c.b, 5); got != c.want {
			t.Errorf("editDistance(%q, %q): got %d, want %d", c.a, c.b, got, c.want)
		}
	}
	if got := editDistance("kitten", "sitting", 1); got != 2 {
		t.Errorf("above the limit: got %d, want limit+1 = 2", got)
	}
}
