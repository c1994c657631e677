package digits

import (
	"math"
	"testing"
)

func TestAppendPadded(t *testing.T) {
	for _, c := range []struct {
		v      uint64
		digits int
		want   string
	}{{0, 0, "-"}, {0, 1, "-0"}, {7, 3, "-007"}, {1234, 3, "-1234"}, {math.MaxUint64, 20, "-18446744073709551615"}} {
		if got := string(AppendPadded([]byte("-"), c.v, c.digits)); got != c.want {
			t.Errorf("%d in %d digits: %s, want %s", c.v, c.digits, got, c.want)
		}
	}
}
