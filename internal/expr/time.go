package expr

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/nearest"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/internal/timeformat"
)

// nanos is the unit of a type of points in time, in nanoseconds.
func (t Type) nanos() int64 {
	switch t.ID {
	case Date:
		return dayMicros * 1000
	case TimestampNS:
		return 1
	}
	return 1000
}

// timeCast casts among dates and timestamps.
func timeCast(n *node, from Type, try bool) kernel {
	to := n.typ
	switch {
	case from.ID == Time && to.ID == TimeNS:
		return map1(n, func(a int64) int64 { return a * 1000 })
	case from.ID == TimeNS && to.ID == Time:
		return map1(n, roundedMicros)
	case !from.temporal() || !to.temporal() && (to.ID != Time || from.ID == Date):
		return nil
	case to.ID == Time:
		n.fallible = !try
		return tried(n, from, try, func(a int64) (int64, bool) {
			isFinite := timeformat.InfinitySign(a, timeformat.InfiniteTime) == 0
			if from.ID == TimestampNS {
				a = roundedMicros(a)
			}
			return a - digits.FloorDiv(a, dayMicros)*dayMicros, isFinite
		})
	case from.nanos() == to.nanos():
		return sameValues(n)
	case from.nanos() < to.nanos():
		unit, infinite := to.nanos()/1000, int64(timeformat.InfiniteTime)
		if to.ID == Date {
			n.floor, infinite = dayMicros, timeformat.InfiniteDays
		}
		return map1(n, func(a int64) int64 {
			if sign := timeformat.InfinitySign(a, timeformat.InfiniteTime); sign != 0 {
				return sign * infinite
			}
			if from.ID == TimestampNS {
				a = roundedMicros(a)
			}
			return digits.FloorDiv(a, unit)
		})
	case to.ID == TimestampNS:
		unit := from.nanos()
		most := math.MaxInt64 / unit
		n.fallible = !try
		infinite := infiniteOf(from)
		return tried(n, from, try, func(a int64) (int64, bool) {
			if sign := timeformat.InfinitySign(a, infinite); sign != 0 {
				return sign * timeformat.InfiniteTime, true
			}
			return a * unit, a <= most && a >= -most
		})
	}
	return checked(n, from, try, func(days int64) (int64, bool) {
		if sign := timeformat.InfinitySign(days, timeformat.InfiniteDays); sign != 0 {
			return sign * timeformat.InfiniteTime, true
		}
		return dayStart(days)
	})
}

// finite makes the kernel of a function of points in time of a type, which has no value of infinity. The node is not
// fallible for it, as checked.
func finite[R element](n *node, t Type, fn func(int64) R) kernel {
	infinite := infiniteOf(t)
	return map1e(n, func(a int64) (r R, err error) {
		if timeformat.InfinitySign(a, infinite) != 0 {
			return r, errNull
		}
		return fn(a), nil
	})
}

// roundedMicros rounds nanoseconds to microseconds, halves away from zero.
func roundedMicros(nanos int64) int64 {
	micros, rest := nanos/1000, nanos%1000
	switch {
	case rest >= 500:
		micros++
	case rest <= -500:
		micros--
	}
	return micros
}

// RoundedTime is the function that rounds a timestamp to a unit, in microseconds: halves go away from 1970.
const RoundedTime = "rounded time"

func roundedTime(b *binder, n *node) {
	unit := n.args[1].value.(int64)
	n.args = n.args[:1]
	n.typ = typeOf(Timestamp)
	b.castArgs(n, n.typ)
	n.eval = map1(n, func(a int64) int64 {
		if timeformat.InfinitySign(a, timeformat.InfiniteTime) != 0 {
			return a
		}
		return (a/unit + a%unit/((unit+1)/2)) * unit
	})
}

// infiniteOf returns the value of a type of points in time that stands for infinity.
func infiniteOf(t Type) int64 {
	if t.ID == Date {
		return timeformat.InfiniteDays
	}
	return timeformat.InfiniteTime
}

// daysMax is how many days before and after 1970-01-01 microseconds can count.
const daysMax = math.MaxInt64 / dayMicros

// dayStart returns the microsecond at which a day begins, and false if 64 bits do not hold it.
func dayStart(days int64) (int64, bool) { return days * dayMicros, days <= daysMax && days >= -daysMax }

// checked makes the kernel of a function that fails for few arguments, and then gives NULL if it is
// TRY_CAST, else an error that shows the argument as a value of the type from. The function is
// called for whatever stands at a NULL, too. The node is not fallible for such arguments: CASE and AND
// may give the error of a row that does not reach the result; coder.scale is the same on devices.
func checked(n *node, from Type, try bool, fn func(int64) (int64, bool)) kernel {
	return unary(n, intKind, func(f *frame, a, out *vector) error {
		x, y := a.ints[:f.n], out.ints[:f.n]
		for i := range y {
			r, ok := fn(x[i])
			y[i] = r
			switch {
			case ok || a.isNull(i):
			case try:
				_ = out.setNull(f, i, errNull, a.null)
			default:
				value := formatValue(from, x[i])
				return query.Valuef("%s: overflow: the result for %s does not fit %s", n.text, value, n.typ)
			}
		}
		return nil
	})
}

// timeArithmetic binds + and - of dates, timestamps, times and intervals, and * of intervals. It
// returns false for other arguments.
func (b *binder) timeArithmetic(sign string, n *node) bool {
	for i, a := range n.args {
		if a.typ.ID == TimeNS {
			b.castArg(n, i, typeOf(Time))
		}
	}
	x, y := n.args[0].typ, n.args[1].typ
	if sign == "+" && (x.span() || x.integer()) && y.temporal() || sign == "+" && x.span() && y.ID == Time {
		n.args[0], n.args[1] = n.args[1], n.args[0]
		x, y = y, x
	}
	switch {
	case b.zonedArithmetic(sign, n):
	case b.periodArithmetic(sign, n):
	case b.addCases(sign, n):
	case x.ID == Interval && y.ID == Interval && sign != "*":
		sum, ok := n.args[0].value.(IntervalValue).plus(n.step(sign))
		b.interval(n, sum, ok)
	case sign == "*" && (x.ID == Interval || y.ID == Interval):
		b.timesInterval(n)
	case sign == "*":
		return false
	case x.temporal() && y.ID == Interval:
		b.shift(n, sign)
	case x.temporal() && x.ID != Date && y.ID == Duration:
		if x.ID == TimestampNS {
			x = typeOf(Timestamp)
		}
		b.plainTime(n, sign, x, x, y)
	case x.ID == Date && y.integer() && y.kind() == intKind:
		b.plainTime(n, sign, x, x, y)
	case sign == "-" && x.ID == Date && y.ID == Date:
		b.plainTime(n, sign, typeOf(Int64), x, y)
	case sign == "-" && x.temporal() && y.temporal():
		if b.zone != nil && slices.ContainsFunc(n.args, isInstant) {
			b.betweenInstants(n)
			return true
		}
		b.plainTime(n, sign, typeOf(Duration), typeOf(Timestamp), typeOf(Timestamp))
		n.eval = map2e(n, func(x, y int64) (int64, error) {
			if timeformat.InfinitySign(x, timeformat.InfiniteTime) != 0 ||
				timeformat.InfinitySign(y, timeformat.InfiniteTime) != 0 {
				return 0, query.Valuef("%s: a time is infinite", n.text)
			}
			if r := x - y; (x > y) == (r > 0) {
				return r, nil
			}
			return 0, query.Valuef("%s: overflow: the difference does not fit an INTERVAL", n.text)
		})
	case x.ID == Duration && (y.ID == Duration || y.ID == Interval), x.ID == Interval && y.ID == Duration:
		b.plainTime(n, sign, typeOf(Duration), typeOf(Duration), typeOf(Duration))
	case x.ID == Time && y.ID == Interval:
		b.shiftClock(n, sign)
	case sign == "+" && x.ID == Time && y.ID == Date, sign == "+" && x.ID == Date && y.ID == Time:
		n.typ, n.fallible, n.eval = typeOf(Timestamp), true, intArithmetic(addition, n)
		for i := range n.args {
			if n.args[i].typ.ID == Date {
				b.castArg(n, i, n.typ)
			}
		}
	case !x.numeric() && x.ID != Null && x.ID != Text || !y.numeric() && y.ID != Null && y.ID != Text:
		b.mismatch(n)
	default:
		return false
	}
	return true
}

// plainTime binds + and - of values that have the same unit, of types x and y, to a result type.
func (b *binder) plainTime(n *node, sign string, result, x, y Type) {
	b.castArg(n, 0, x)
	b.castArg(n, 1, y)
	op := addition
	if sign == "-" {
		op = subtraction
	}
	n.typ, n.fallible = result, true
	n.eval = intArithmetic(op, n)
}

// step returns the interval that is the second operand of + or -, for - negated.
func (n *node) step(sign string) IntervalValue {
	v := n.args[1].value.(IntervalValue)
	if sign == "-" {
		return v.negated()
	}
	return v
}

// timesInterval multiplies an interval by an integer.
func (b *binder) timesInterval(n *node) {
	interval, factor := n.args[0], n.args[1]
	if factor.typ.ID == Interval {
		interval, factor = factor, interval
	}
	unit, ok := interval.value.(IntervalValue)
	if !ok || !factor.typ.integer() && !isNull(factor) {
		b.fail(n.at, "%s: only a constant INTERVAL can be multiplied, and by integers", n.text)
	}
	integer := &node{text: n.text, at: n.at, args: []*node{factor}}
	b.castArgs(integer, typeOf(Int64))
	if factor.isConst && !integer.args[0].isConst { // the cast failed
		b.interval(n, unit, false)
	}
	b.scaled(n, unit, integer.args[0])
}

// interval makes a node a constant interval, unless it overflowed.
func (b *binder) interval(n *node, v IntervalValue, ok bool) {
	if !ok {
		b.fail(n.at, "%s: overflow: the result does not fit an INTERVAL", n.text)
	}
	n.typ, n.isConst, n.value = typeOf(Interval), true, v
}

// shift adds an interval to points in time, in the order of shiftedIn. Dates become timestamps.
func (b *binder) shift(n *node, sign string) {
	if n.args[1].unitOf != nil {
		b.shiftScaled(n, sign)
		return
	}
	v := n.step(sign)
	n.typ = shiftedType(n.args[0].typ)
	n.args = n.args[:1]
	b.castArgs(n, n.typ)
	n.fallible = true
	add := shiftedIn(b.zoneFor(n.typ), v)
	n.eval = map1e(n, func(micros int64) (int64, error) {
		r, ok := add(micros)
		if !ok {
			return 0, query.Valuef("%s: overflow: the result does not fit %s", n.text, n.typ)
		}
		return r, nil
	})
}

// shiftClock adds an interval to times of day, which come round.
func (b *binder) shiftClock(n *node, sign string) {
	step := n.step(sign).Micros % dayMicros
	n.typ, n.args = typeOf(Time), n.args[:1]
	n.eval = map1(n, func(a int64) int64 {
		r := a + step
		return r - digits.FloorDiv(r, dayMicros)*dayMicros
	})
}

// datePart is a number that a point in time has.
type datePart struct {
	names []string
	of    func(days, clock int64) int64 // of days since 1970-01-01 and microseconds of the day
	time  bool                          // the part depends on the time of day alone, and is 0 of a date

	span *numbers // the values that the part may have; nil if these are many

	code func(c *coder, days, clock rowcode.Value) rowcode.Value // as of; nil where there are no instructions
}

var dateParts = []datePart{
	{[]string{"year", "y", "yr"}, func(d, _ int64) int64 { return civilOf(d).year }, false, nil, yearCode},
	{[]string{"quarter"}, func(d, _ int64) int64 { return (civilOf(d).month + 2) / 3 }, false, &numbers{1, 4}, quarterCode},
	{[]string{"month", "mon"}, func(d, _ int64) int64 { return civilOf(d).month }, false, &numbers{1, 12}, monthCode},
	{[]string{"week", "weekofyear", "w"}, func(d, _ int64) int64 { _, w := isoWeek(d); return w }, false, &numbers{1, 53}, nil},
	{[]string{"day", "dayofmonth", "d"}, func(d, _ int64) int64 { return civilOf(d).day }, false, &numbers{1, 31}, dayCode},
	{[]string{"dow", "dayofweek", "weekday"}, func(d, _ int64) int64 { return weekday(d) }, false, &numbers{0, 6}, weekdayCode},
	{[]string{"isodow"}, func(d, _ int64) int64 { return isoWeekday(d) }, false, &numbers{1, 7}, isoWeekdayCode},
	{[]string{"doy", "dayofyear"}, func(d, _ int64) int64 { return d - civil{civilOf(d).year, 1, 1}.days() + 1 }, false, &numbers{1, 366}, dayOfYearCode},
	{[]string{"isoyear"}, func(d, _ int64) int64 { y, _ := isoWeek(d); return y }, false, nil, nil},
	{[]string{"yearweek"}, func(d, _ int64) int64 { y, w := isoWeek(d); return y*100 + w }, false, nil, nil},
	{[]string{"decade"}, func(d, _ int64) int64 { return civilOf(d).year / 10 }, false, nil, nil},
	{[]string{"century"}, func(d, _ int64) int64 { return ordinalOf(civilOf(d).year, 100) }, false, nil, nil},
	{[]string{"millennium"}, func(d, _ int64) int64 { return ordinalOf(civilOf(d).year, 1000) }, false, nil, nil},
	{[]string{"era"}, func(d, _ int64) int64 { return int64(bitOf(civilOf(d).year > 0)) }, false, &numbers{0, 1}, nil},
	{[]string{"timezone"}, func(_, _ int64) int64 { return 0 }, true, &numbers{0, 0}, nil},
	{[]string{"timezone_hour"}, func(_, _ int64) int64 { return 0 }, true, &numbers{0, 0}, nil},
	{[]string{"timezone_minute"}, func(_, _ int64) int64 { return 0 }, true, &numbers{0, 0}, nil},
	{[]string{"hour", "h", "hr"}, func(_, c int64) int64 { return c / hourMicros }, true, &numbers{0, 23}, clockCode(hourMicros, 24)},
	{[]string{"minute", "min", "m"}, func(_, c int64) int64 { return c / minuteMicros % 60 }, true, &numbers{0, 59}, clockCode(minuteMicros, 60)},
	{[]string{"second", "sec", "s"}, func(_, c int64) int64 { return c / secondMicros % 60 }, true, &numbers{0, 59}, clockCode(secondMicros, 60)},
	{[]string{"millisecond", "milliseconds", "ms"}, func(_, c int64) int64 { return c % minuteMicros / 1000 }, true, &numbers{0, 59999}, clockCode(1000, 60_000)},
	{[]string{"microsecond", "microseconds", "us"}, func(_, c int64) int64 { return c % minuteMicros }, true, nil, clockCode(1, minuteMicros)},
}

// ordinalOf numbers the centuries and millennia: the first begins with year 1.
func ordinalOf(year, years int64) int64 {
	if year > 0 {
		return (year-1)/years + 1
	}
	return -((-year)/years + 1)
}

func findPart(name string) (*datePart, bool) {
	name = strings.ToLower(name)
	for i := range dateParts {
		for _, known := range dateParts[i].names {
			if name == known || name == known+"s" {
				return &dateParts[i], true
			}
		}
	}
	return nil, false
}

// extraction binds date_part(part, time), which EXTRACT is too.
func extraction(b *binder, n *node) {
	if n.args[0].typ.ID == List {
		b.partsOfTime(n)
		return
	}
	name := b.word(n, 0)
	n.args = n.args[1:]
	switch strings.ToLower(name) {
	case "epoch":
		epoch(b, n)
		return
	case "julian":
		julian(b, n)
		return
	}
	part, ok := findPart(name)
	if !ok {
		names := []string{"epoch", "julian"}
		for _, p := range dateParts {
			names = append(names, p.names[0])
		}
		b.fail(n.at, "no part of a date is named %s%s", name, nearest.Offer(name, names))
	}
	b.part(n, part)
}

// partsOfTime binds date_part of a list of parts: a struct of them.
func (b *binder) partsOfTime(n *node) {
	t, text := n.args[0].typ, b.word(n, 0)
	if t != ListOf(typeOf(Text)) {
		b.fail(n.args[0].at, "%s: want a list of names of parts", n.text)
	}
	at := n.args[1]
	at.shared, b.program.shared = true, true
	var names []string
	var parts []*node
	for _, x := range t.layout.Elements(nil, text) {
		if x.Null {
			b.fail(n.args[0].at, "%s: the name of a part is NULL", n.text)
		}
		name := nested.TextOf(x.Value)
		names = append(names, name)
		parts = append(parts, b.made(n, "date_part", b.constant(typeOf(Text), name), at))
	}
	made := &node{text: n.text, at: n.at, column: -1, single: -1, args: parts}
	b.pack(made, names)
	b.becomes(n, "case", b.made(n, "is not null", at), b.finish(made))
}

// partOf binds a function that is named as its part is: year(time).
func partOf(part *datePart) binding {
	return func(b *binder, n *node) { b.part(n, part) }
}

// offsetUnits are the parts of a TIMESTAMPTZ's offset: by how many seconds it is divided, and what is left out.
var offsetUnits = map[string][2]int64{
	"timezone": {1, 1 << 32}, "timezone_hour": {3600, 100}, "timezone_minute": {60, 60},
}

func (b *binder) part(n *node, part *datePart) {
	t := n.args[0].typ
	if t.span() {
		b.partOfSpan(n, part.names[0])
		return
	}
	if per, ok := offsetUnits[part.names[0]]; ok && b.zone != nil && t.ID == TimestampTZ {
		b.zoneOffset(n, per[0], per[1])
		return
	}
	if partOfZone(n, part.names[0]) {
		return
	}
	b.localClock(n)
	t = n.args[0].typ
	n.typ, n.span, n.isYear, n.part = typeOf(Int64), part.span, part.names[0] == "year", part
	switch {
	case t.ID == Date:
		n.eval = finite(n, t, func(a int64) int64 { return part.of(a, 0) })
		return
	case t.ID == TimeNS && part.time:
		n.eval = map1(n, func(a int64) int64 { return part.of(0, a/1000) })
		return
	case t.ID == Time && part.time:
		n.eval = map1(n, func(a int64) int64 { return part.of(0, a) })
		return
	}
	b.want(n, Timestamp)
	n.eval = finite(n, typeOf(Timestamp), func(a int64) int64 {
		days := digits.FloorDiv(a, dayMicros)
		return part.of(days, a-days*dayMicros)
	})
}

// epoch binds the seconds since 1970, or of a duration, as a double.
func epoch(b *binder, n *node) {
	n.typ = typeOf(Float64)
	b.localClock(n)
	if t := n.args[0].typ.ID; t == Interval || t == Period {
		ofPeriod(b, n, n.typ, IntervalValue.seconds)
		return
	}
	b.atInstants(n)
	seconds := func(a int64) float64 { return float64(a) / secondMicros }
	n.eval = map1(n, seconds)
	if n.args[0].typ.ID == TimeNS {
		b.castArg(n, 0, typeOf(Time))
	}
	if t := n.args[0].typ; t.ID != Duration && t.ID != Time {
		b.want(n, Timestamp)
		n.eval = finite(n, typeOf(Timestamp), seconds)
	}
}

// epochIn binds the units since 1970, each of unit microseconds, to the nearest one; half a unit goes away from 1970.
func epochIn(unit int64) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Int64)
		b.localClock(n)
		nearest := func(a int64) int64 { return a/unit + a%unit/((unit+1)/2) }
		switch t := n.args[0].typ.ID; t {
		case Time, Duration:
			n.eval = map1(n, nearest)
			return
		case Interval, Period:
			ofPeriod(b, n, n.typ, func(v IntervalValue) int64 { return nearest(int64(v.length().LowBits())) })
			return
		}
		b.atInstants(n)
		b.want(n, Timestamp)
		n.eval = finite(n, typeOf(Timestamp), nearest)
	}
}

// epochMillis binds epoch_ms: milliseconds since 1970 of a time, and the other way round.
func epochMillis(b *binder, n *node) {
	if n.args[0].typ.integer() {
		toTimestamp(Timestamp, 1000)(b, n)
		return
	}
	epochIn(1000)(b, n)
}

// truncationUnit is a unit of date_trunc.
type truncationUnit struct {
	day   func(days int64) int64 // the day on which the unit of a day begins; nil of units up to a day
	days  int64                  // length at most, of a unit that has day
	clock int64                  // length in microseconds, of other units

	code func(c *coder, days rowcode.Value) rowcode.Value // as day; nil where there are no instructions
}

// truncations are the units of date_trunc.
var truncations = map[string]truncationUnit{
	"millennium": {days: 366000, day: func(d int64) int64 { return civil{digits.FloorDiv(civilOf(d).year, 1000) * 1000, 1, 1}.days() }},
	"century":    {days: 36600, day: func(d int64) int64 { return civil{digits.FloorDiv(civilOf(d).year, 100) * 100, 1, 1}.days() }},
	"decade":     {days: 3660, day: func(d int64) int64 { return civil{digits.FloorDiv(civilOf(d).year, 10) * 10, 1, 1}.days() }},
	"year":       {days: 366, day: func(d int64) int64 { return civil{civilOf(d).year, 1, 1}.days() }, code: yearBeginCode},
	"quarter": {days: 92, code: quarterBeginCode, day: func(d int64) int64 {
		c := civilOf(d)
		return civil{c.year, (c.month-1)/3*3 + 1, 1}.days()
	}},
	"month":       {days: 31, day: func(d int64) int64 { return d - civilOf(d).day + 1 }, code: monthBeginCode},
	"week":        {days: 7, day: func(d int64) int64 { return d + 1 - isoWeekday(d) }, code: weekBeginCode},
	"day":         {clock: dayMicros},
	"hour":        {clock: hourMicros},
	"minute":      {clock: minuteMicros},
	"second":      {clock: secondMicros},
	"millisecond": {clock: 1000},
	"microsecond": {clock: 1},
}

// truncation binds date_trunc(unit, time). Of a date it is a timestamp, as it is in DuckDB.
func truncation(b *binder, n *node) {
	if t := n.args[1].typ; t.span() {
		b.truncateSpan(n)
		return
	}
	name := b.word(n, 0)
	unit, ok := truncations[strings.ToLower(name)]
	if !ok {
		unit, ok = truncations[strings.TrimSuffix(strings.ToLower(name), "s")]
	}
	if !ok {
		b.fail(n.at, "no unit of time is named %s%s", name, nearest.Offer(name, slices.Collect(maps.Keys(truncations))))
	}
	if b.zone != nil && n.args[1].typ.ID == TimestampTZ && (unit.day != nil || unit.clock > minuteMicros) {
		b.inZone(n, "date_trunc")
		return
	}
	n.args = n.args[1:]
	t := n.args[0].typ
	b.check(n, Timestamp)
	// the longest that the unit may be
	n.typ, n.floor, n.unit = typeOf(Timestamp), max(unit.days*dayMicros, unit.clock), &unit
	switch {
	case t.ID == TimestampTZ:
		n.typ = t
	case t.ID == Date && unit.day != nil:
		n.eval = checked(n, t, false, func(a int64) (int64, bool) {
			if sign := timeformat.InfinitySign(a, timeformat.InfiniteDays); sign != 0 {
				return sign * timeformat.InfiniteTime, true
			}
			return dayStart(unit.day(a))
		})
		return
	}
	b.castArgs(n, n.typ)
	begin := func(a int64) (int64, bool) {
		r := digits.FloorDiv(a, unit.clock) * unit.clock
		return r, r <= a
	}
	if unit.day != nil {
		begin = func(a int64) (int64, bool) { return dayStart(unit.day(digits.FloorDiv(a, dayMicros))) }
	}
	n.eval = checked(n, n.typ, false, func(a int64) (int64, bool) {
		if timeformat.InfinitySign(a, timeformat.InfiniteTime) != 0 {
			return a, true
		}
		return begin(a)
	})
}

// difference binds date_diff(unit, from, to): the borders of the unit that lie between, or weeks.
func difference(b *binder, n *node) {
	hour := b.constant(typeOf(Text), "hour")
	unit, _ := intervalUnit(b.word(n, 0))
	if b.zone != nil && unit.Micros == hourMicros && slices.ContainsFunc(n.args, isInstant) {
		b.castArg(n, 1, typeOf(TimestampTZ))
		b.castArg(n, 2, typeOf(TimestampTZ))
		b.becomes(n, "date_sub", hour, b.made(n, "date_trunc", hour, n.args[1]), b.made(n, "date_trunc", hour, n.args[2]))
		return
	}
	unit = b.unitBetween(n)
	n.typ = typeOf(Int64)
	days := func(a int64) int64 { return digits.FloorDiv(a, dayMicros) }
	count := func(a int64) int64 { return digits.FloorDiv(a, unit.Micros) }
	switch {
	case unit.Days == 7: // DuckDB counts whole weeks, and not their borders
		n.eval = betweenTimes(n, func(from, to int64) (int64, error) { return (days(to) - days(from)) / 7, nil })
		return
	case unit.Days > 0:
		count = days
	case unit.Months > 0:
		count = func(a int64) int64 {
			c := civilOf(days(a))
			return digits.FloorDiv(c.year*12+c.month-1, unit.Months)
		}
	}
	n.fallible = true
	n.eval = betweenTimes(n, func(from, to int64) (int64, error) {
		a, b := count(to), count(from)
		if (a-b > 0) != (a > b) {
			return 0, query.Valuef("%s: overflow: more than %d units lie between", n.text, int64(math.MaxInt64))
		}
		return a - b, nil
	})
}

// unitBetween returns the unit of a call of date_diff or date_sub, and leaves it two timestamps, or times of a day.
func (b *binder) unitBetween(n *node) IntervalValue {
	name := b.word(n, 0)
	unit, ok := intervalUnit(name)
	n.args = n.args[1:]
	if !ok {
		b.fail(n.at, "no unit of time is named %s%s", name, nearest.Offer(name, slices.Collect(maps.Keys(intervalUnits))))
	}
	switch {
	case b.zone != nil && timeBelowDay(unit) && slices.ContainsFunc(n.args, isInstant):
		b.castArgs(n, typeOf(TimestampTZ))
		b.atInstants(n)
	case n.args[0].typ.clock() && n.args[1].typ.clock() && unit.Micros > 0:
		b.castArgs(n, typeOf(Time))
	default:
		b.castArgs(n, typeOf(Timestamp))
	}
	return unit
}

// betweenTimes makes the kernel of a count of units between two times.
func betweenTimes(n *node, of func(from, to int64) (int64, error)) kernel {
	return map2e(n, func(from, to int64) (int64, error) {
		if timeformat.InfinitySign(from, timeformat.InfiniteTime) != 0 ||
			timeformat.InfinitySign(to, timeformat.InfiniteTime) != 0 {
			return 0, errNull
		}
		return of(from, to)
	})
}

// lastDay binds last_day: the last of the month.
func lastDay(b *binder, n *node) {
	n.typ = typeOf(Date)
	b.want(n, Date)
	n.eval = map1e(n, func(a int64) (int64, error) {
		c := civilOf(a)
		last := civil{c.year, c.month, daysInMonth(c.year, c.month)}.days()
		switch {
		case timeformat.InfinitySign(a, timeformat.InfiniteDays) != 0:
			return 0, errNull
		case last > math.MaxInt32:
			return 0, query.Valuef("%s: overflow: the result for %s does not fit DATE", n.text, formatValue(n.typ, a))
		}
		return last, nil
	})
}

// makeDate binds make_date of a date's parts, or of days since 1970.
func makeDate(b *binder, n *node) {
	switch len(n.args) {
	case 1:
		b.want(n, Int64)
		n.typ, n.fallible = typeOf(Date), true
		n.eval = checked(n, typeOf(Int64), false, func(a int64) (int64, bool) { return a, a == int64(int32(a)) })
		return
	case 2:
		b.fail(n.at, "%s takes days, or year, month and day", n.text)
	}
	for _, a := range n.args {
		if !a.typ.integer() && a.typ.ID != Null {
			b.mismatch(n)
		}
	}
	b.castArgs(n, typeOf(Int64))
	n.typ, n.fallible = typeOf(Date), true
	n.eval = map3f(n, func(_ *Evaluator, year, month, day int64) (int64, error) {
		c := civil{year, month, day}
		if !c.valid() {
			return 0, query.Valuef("%s: there is no day %d-%d-%d", n.text, year, month, day)
		}
		return c.days(), nil
	})
}

// toTimestamp binds to_timestamp(seconds since 1970) and its kin.
func toTimestamp(id TypeID, unit int64) binding {
	return func(b *binder, n *node) {
		t := n.args[0].typ
		if !t.numeric() && t.ID != Null {
			b.mismatch(n)
		}
		n.typ, n.fallible = typeOf(id), true
		beyond := func(a any) error { return query.Valuef("%s: overflow: %v does not fit %s", n.text, a, n.typ) }
		if t.integer() {
			b.castArgs(n, typeOf(Int64))
			n.eval = map1e(n, func(a int64) (int64, error) {
				if a*unit/unit != a {
					return 0, beyond(a)
				}
				return a * unit, nil
			})
			return
		}
		b.castArgs(n, typeOf(Float64))
		n.eval = map1e(n, func(a float64) (int64, error) {
			r := math.Round(a * float64(unit))
			if !(math.Abs(r) < 1<<63) {
				return 0, beyond(a)
			}
			return int64(r), nil
		})
	}
}
