package expr

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/timeformat"
)

// Would catch times that wrap at the ends of their types, and errors of what stands at a NULL.
func TestTimeEnds(t *testing.T) {
	to := func(id TypeID, e *Expr) *Expr { return &Expr{Op: OpCast, Type: typeOf(id), Args: []*Expr{e}, At: -1} }
	try := func(id TypeID, e *Expr) *Expr {
		return &Expr{Op: OpTryCast, Type: typeOf(id), Args: []*Expr{e}, At: -1}
	}
	trunc := func(unit string, e *Expr) *Expr { return Call("date_trunc", Constant(unit), e) }
	x := Column("x")
	micros := arrow.FixedWidthTypes.Timestamp_us
	for _, c := range []struct {
		typ  arrow.DataType
		bits int64
		expr *Expr
		want string // of an error; "" is none
	}{
		{micros, math.MinInt64, trunc("week", x), "date_trunc('week', x): overflow"},
		{micros, math.MinInt64, trunc("hour", x), "does not fit TIMESTAMP"},
		{micros, math.MinInt64, trunc("millennium", x), "overflow"},
		{micros, math.MinInt64, trunc("microsecond", x), ""},
		{micros, math.MaxInt64, trunc("year", x), ""},
		{micros, math.MaxInt64, Call("date_diff", Constant("day"), x, x), ""},
		{micros, math.MaxInt64, Call("year", x), ""},
		{micros, math.MaxInt64, to(Time, x), "infinity"},
		{micros, -math.MaxInt64, try(Time, x), ""},
		{&arrow.TimestampType{Unit: arrow.Nanosecond}, -math.MaxInt64, to(Time, x), "-infinity"},
		{micros, -math.MaxInt64, Call("dayname", x), ""},
		{micros, math.MaxInt64 - 1, Call("date_diff", Constant("microsecond"), Call("make_timestamp", Constant(int64(-2))), x), "overflow"},
		{micros, math.MaxInt64 - 1, Call("date_diff", Constant("day"), Call("make_timestamp", Constant(int64(-1))), x), ""},
		{arrow.FixedWidthTypes.Date32, math.MaxInt32 - 1, trunc("week", x), "overflow"},
		{arrow.FixedWidthTypes.Date32, math.MaxInt32 - 1, trunc("hour", x), "overflow"},
		{arrow.FixedWidthTypes.Date32, math.MaxInt32, trunc("week", x), ""},
		{arrow.FixedWidthTypes.Date32, math.MinInt32, to(Timestamp, x), "does not fit TIMESTAMP"},
		{arrow.FixedWidthTypes.Date32, math.MinInt32, try(Timestamp, x), ""},
		{arrow.FixedWidthTypes.Date32, 106_000_000, to(Timestamp, x), ""},
		{arrow.FixedWidthTypes.Date32, math.MaxInt32 - 1, Call("last_day", x), "overflow"},
		{arrow.FixedWidthTypes.Timestamp_s, math.MaxInt64, Call("year", x), "column \"x\": overflow"},
		{arrow.FixedWidthTypes.Timestamp_ms, math.MinInt64, Call("year", x), "overflow"},
		{arrow.FixedWidthTypes.Timestamp_ns, math.MinInt64, trunc("week", x), ""},
	} {
		for _, null := range []bool{false, true} {
			data := make([]byte, 8)
			arrow.Int64Traits.CastFromBytes(data)[0] = c.bits
			valid, nulls := byte(1), 0
			if null {
				valid, nulls = 0, 1
			}
			buffers := []*memory.Buffer{memory.NewBufferBytes([]byte{valid}), memory.NewBufferBytes(data)}
			column := array.MakeFromData(array.NewData(c.typ, 1, buffers, nil, nulls, 0))
			schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: c.typ, Nullable: true}}, nil)
			p, err := Bind(t.Context(), schema, c.expr)
			if err == nil {
				e := p.NewEvaluator(memory.DefaultAllocator)
				var made []arrow.Array
				made, _, err = e.Eval(t.Context(), array.NewRecordBatch(schema, []arrow.Array{column}, 1), 0)
				if err == nil {
					made[0].Release()
				}
				e.Release()
			}
			switch {
			case err != nil && (c.want == "" || null):
				t.Errorf("%s of %d (NULL: %v): %v", c.expr, c.bits, null, err)
			case c.want != "" && !null && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s of %d: %v, want %s", c.expr, c.bits, err, c.want)
			}
		}
	}
}

// The calendar beside the time package's: a day taken apart, put together, and written.
func BenchmarkCalendar(b *testing.B) {
	const first = 19_000 // days after 1970-01-01
	sum, day := int64(0), int64(first)
	stamp, err := timeformat.Parse("%Y-%m-%d %H:%M:%S.%f")
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		once func()
	}{
		{"civilOf", func() { sum += civilOf(day).day }},
		{"days", func() { sum += civil{2024, 3, day % 28}.days() }},
		{"time.Date", func() { sum += time.Date(2024, 3, int(day%28), 0, 0, 0, 0, time.UTC).Unix() }},
		{"strftime", func() { sum += int64(len(appendTime(nil, stamp, momentOf(day*dayMicros)))) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.once()
				day++
			}
		})
	}
}
