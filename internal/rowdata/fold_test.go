package rowdata

import (
	"math"
	"testing"
)

// Would catch pairs compared low word first or as signed numbers, and strings compared by their
// words, which begin with the length.
func TestFoldCompare(t *testing.T) {
	pair := func(s string) [2]uint64 { return ToBytes2([]byte(s)) }
	for _, c := range []struct {
		f    Fold
		less [2]uint64
		more [2]uint64
	}{
		{Fold{}, [2]uint64{1}, [2]uint64{math.MaxUint64}},
		{Fold{Wide: true}, [2]uint64{9, 1}, [2]uint64{1, 2}},
		{Fold{Wide: true}, [2]uint64{1, 1 << 63}, [2]uint64{2, 1 << 63}},
		{Fold{Wide: true}, [2]uint64{0, 1}, [2]uint64{0, math.MaxUint64}},
		{Fold{Long: true}, pair("b"), pair("ba")},
		{Fold{Long: true}, pair("a long string, longer"), pair("b")},
		{Fold{Long: true}, pair("a"), pair("\xFF")},
	} {
		if c.f.Compare2(c.less, c.more) != -1 || c.f.Compare2(c.more, c.less) != 1 || c.f.Compare2(c.less, c.less) != 0 {
			t.Errorf("%+v: %x and %x compare as %d", c.f, c.less, c.more, c.f.Compare2(c.less, c.more))
		}
	}
}
