package dataset

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// Would catch a value of a partition that a writer of Delta may write and that is refused, and one that would be
// rounded.
func TestLakePartitions(t *testing.T) {
	amount := &arrow.Decimal128Type{Precision: 10, Scale: 2}
	for _, c := range []struct {
		text string
		typ  arrow.DataType
		want string // "" where it is refused
	}{
		{"1.5", amount, "1.5"}, {"1.50", amount, "1.5"}, {"-7", amount, "-7"}, {"1.505", amount, ""}, {"x", amount, ""},
		{"TRUE", arrow.FixedWidthTypes.Boolean, "true"}, {"False", arrow.FixedWidthTypes.Boolean, "false"},
		{"yes", arrow.FixedWidthTypes.Boolean, ""},
	} {
		value, ok := parsePartition(c.text, c.typ)
		if got, is := value.(interface{ String() string }); ok != (c.want != "") || ok && (!is || got.String() != c.want) {
			t.Errorf("%q as %s: %v, %v, want %q", c.text, c.typ, value, ok, c.want)
		}
	}
}
