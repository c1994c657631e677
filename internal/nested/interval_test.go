package nested

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// Would catch an interval that is another after AppendEqual, equal ones with other bytes, or another order; within
// lists and structs, too.
func TestEqualIntervals(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func(list ...int64) int64 { return list[random.IntN(len(list))] }
	interval := func() string {
		return string(AppendInterval(nil, some(math.MinInt32, -1, 0, 1, 12, math.MaxInt32),
			some(math.MinInt32, -30, 0, 1, 30, 60, math.MaxInt32),
			some(math.MinInt64, -dayMicros, 0, 1, 23*3_600_000_000, dayMicros, 30*dayMicros, math.MaxInt64)))
	}
	field := arrow.Field{Name: "a", Type: arrow.FixedWidthTypes.MonthDayNanoInterval, Nullable: true}
	list, plain := LayoutOf(Canonical(arrow.ListOf(arrow.StructOf(field)))), LayoutOf(field.Type)
	in := func(i string) string { // [{'a': i}, {'a': NULL}, NULL]
		return string(append(append([]byte{Some, Some}, i...), Some, None, None, End))
	}
	for range 20_000 {
		a, b := interval(), interval()
		sameA, sameB := string(plain.AppendEqual(nil, a)), string(plain.AppendEqual(nil, b))
		if LengthOf(sameA) != LengthOf(a) {
			t.Fatalf("% x becomes % x", a, sameA)
		}
		months, days, micros := IntervalOf(sameA)
		if again := string(AppendInterval(nil, months, days, micros)); again != sameA {
			t.Fatalf("%d months %d days %d microseconds: % x, not % x", months, days, micros, again, sameA)
		}
		if got, want := cmp.Compare(sameA, sameB), cmp.Compare(LengthOf(a), LengthOf(b)); got != want {
			t.Fatalf("% x and % x: %d, not %d", a, b, got, want)
		}
		if got := string(list.AppendEqual(nil, in(a))); got != in(sameA) {
			t.Fatalf("% x becomes % x", in(a), got)
		}
	}
}
