package expr

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/timeformat"
)

// clocks are the functions of the time at which a statement is planned, of buckets, zones and whole units, and of times
// that are put together.
func clocks() []Function {
	list := []Function{
		function("now", "", "when the statement began, the same in all its places; current_timestamp too",
			"now() > TIMESTAMP '2020-01-01'", "true", unplanned, "current_timestamp", "get_current_timestamp",
			"transaction_timestamp"),
		function("today", "", "its date, in the session's zone; current_date too", "today() = now()::DATE", "true", unplanned,
			"current_date"),
		function("current_localtimestamp", "", "now() without a zone; localtimestamp too",
			"current_localtimestamp() = now()::TIMESTAMP", "true", unplanned, "localtimestamp"),
		function("current_localtime", "", "its time of day; localtime too", "localtime = now()::TIMESTAMP::TIME", "true",
			unplanned, "localtime"),
		function("date_add", "t, interval", "t + interval", "date_add(DATE '2020-01-31', INTERVAL 1 MONTH)",
			"2020-02-29 00:00:00", arithmetic(addition)),
		function("date_sub", "unit, from, to", "how many whole units lie between",
			"date_sub('month', DATE '2020-01-31', DATE '2020-03-01')", "1", wholeUnits, "datesub"),
		operator("time_bucket", "time_bucket(width, t [, offset or origin])",
			"beginning of the bucket, as wide as an interval, that t is in; of months they count from 2000-01-01, of "+
				"others from 2000-01-03",
			"time_bucket(INTERVAL 2 WEEKS, DATE '2020-02-05')", "2020-02-03", 2, 3, timeBucket),
		function("make_time", "hour, minute, seconds", "a time of day", "make_time(14, 5, 6.5)", "14:05:06.5", makeTime),
		function("make_timestamp_ns", "nanoseconds", "a timestamp, of nanoseconds since 1970",
			"make_timestamp_ns(1)", "1970-01-01 00:00:00.000000001", toTimestamp(TimestampNS, 1)),
		function("epoch_ns", "t", "nanoseconds since 1970", "epoch_ns(TIMESTAMP '1970-01-01 00:00:01')", "1000000000",
			epochNanos),
		function("nanosecond", "t", "seconds of the minute, in nanoseconds", "nanosecond(TIMESTAMP '2020-02-03 04:05:06.7')",
			"6700000000", nanosecond),
		function("julian", "t", "the Julian day, as a double", "julian(TIMESTAMP '2020-02-03 12:00:00')", "2458883.5",
			julian),
		function("normalized_interval", "i", "the interval of its length with a day for 24 hours and a month for 30 days",
			"normalized_interval(INTERVAL '40 days 25:00:00')", "1 month 11 days 01:00:00", normalized),
		function("current_setting", "name", "the value of the setting TimeZone", "current_setting('TimeZone')", "UTC",
			setting),
		operator("timezone", "timezone(zone, t)", "the time of a zone as a TIMESTAMPTZ, and of a TIMESTAMPTZ the zone's "+
			"time; t AT TIME ZONE zone too; without a zone the seconds that the session's zone is ahead of UTC at t",
			"timezone('Asia/Tokyo', TIMESTAMP '2020-01-01 09:00:00')", "2020-01-01 00:00:00+00", 1, 2, atZone),
	}
	for _, u := range []struct {
		name string
		unit IntervalValue
	}{
		{"millennia", intervalUnits["millennium"]}, {"centuries", intervalUnits["century"]},
		{"decades", intervalUnits["decade"]}, {"years", intervalUnits["year"]}, {"quarters", intervalUnits["quarter"]},
		{"months", intervalUnits["month"]}, {"weeks", intervalUnits["week"]}, {"days", intervalUnits["day"]},
		{"hours", intervalUnits["hour"]}, {"minutes", intervalUnits["minute"]}, {"seconds", intervalUnits["second"]},
		{"milliseconds", intervalUnits["ms"]}, {"microseconds", intervalUnits["us"]},
	} {
		name := "to_" + u.name
		sum, _ := shifted(u.unit)(0)
		list = append(list, function(name, "n", "an interval of n "+u.name+"; INTERVAL (n) "+u.name+" too",
			"TIMESTAMP '1970-01-01' + "+name+"(1)", formatValue(typeOf(Timestamp), sum), unitsOf(u.unit)))
	}
	return list
}

// zonedTimes are functions that make times with a zone.
func zonedTimes() []Function {
	return []Function{
		operator("make_timestamptz",
			"make_timestamptz(year, month, day, hour, minute, seconds [, zone]), make_timestamptz(microseconds)",
			"a timestamp with time zone, of the parts that it has in a zone, or in the session's, or of microseconds since 1970",
			"make_timestamptz(2020, 2, 3, 4, 5, 6.7, 'Asia/Tokyo')", "2020-02-02 19:05:06.7+00", 1, 7, makeTimestampTZ),
	}
}

func makeTimestampTZ(b *binder, n *node) {
	zone, parts := b.constant(typeOf(Text), cmp.Or(b.zone, time.UTC).String()), n.args
	switch len(parts) {
	case 1:
		toTimestamp(TimestampTZ, 1)(b, n)
		return
	case 7:
		zone, parts = parts[6], parts[:6]
	}
	b.becomes(n, "timezone", zone, b.made(n, "make_timestamp", parts...))
}

// momentary are the functions of the time at which a statement is planned, with their types.
var momentary = map[string]TypeID{
	"now": TimestampTZ, "current_timestamp": TimestampTZ, "get_current_timestamp": TimestampTZ,
	"transaction_timestamp": TimestampTZ, "today": Date, "current_date": Date, "current_localtimestamp": Timestamp,
	"localtimestamp": Timestamp, "current_localtime": Time, "localtime": Time,
}

// IsMomentary says whether an expression is a call of now or its kin, which Moment replaces.
func (e *Expr) IsMomentary() bool {
	_, ok := momentary[e.Name]
	return ok && e.Op == OpCall && len(e.Args) == 0
}

// Moment returns the value that a call of now or its kin has at a time, as clocks of the time's zone show it.
func (e *Expr) Moment(at time.Time) *Expr {
	t, text := momentary[e.Name], "2006-01-02 15:04:05.999999"
	v := Cast(Constant(at.Format(text)), typeOf(Timestamp))
	switch {
	case t == TimestampTZ && !isUTC(at.Location()):
		v = Cast(Constant(at.UTC().Format(text)+"+00"), typeOf(t))
	case t != Timestamp:
		v = Cast(v, typeOf(t))
		v.Args[0].At = e.At
	}
	v.At, v.Args[0].At = e.At, e.At
	return v
}

// unplanned binds now and its kin where no plan has replaced them by their value.
func unplanned(b *binder, n *node) {
	b.fail(n.at, "not supported: %s here; it stands in a SELECT, and in ON of its joins", n.text)
}

// shifted returns a function that adds an interval to microseconds: months, then days, then the rest. It returns false
// beyond the range.
func shifted(v IntervalValue) func(micros int64) (int64, bool) {
	return func(micros int64) (int64, bool) {
		if timeformat.InfinitySign(micros, timeformat.InfiniteTime) != 0 {
			return micros, true
		}
		days := digits.FloorDiv(micros, dayMicros)
		clock := micros - days*dayMicros
		if v.Months != 0 {
			days = addMonths(days, v.Months)
		}
		days += v.Days
		r := days*dayMicros + clock
		return r + v.Micros, days < daysMax-1 && days > -daysMax+1 && (v.Micros > 0) == (r+v.Micros > r)
	}
}

// unitsOf binds to_days and its kin: an interval of a number of units.
func unitsOf(unit IntervalValue) binding {
	return func(b *binder, n *node) {
		if t := n.args[0].typ; !t.integer() && t.ID != Null && unit.Micros > 0 && unit.Micros <= secondMicros && t.numeric() {
			micros := &node{text: n.text, at: n.at, column: -1, single: -1, typ: typeOf(Int64), args: n.args, fallible: true}
			factor := float64(unit.Micros)
			micros.eval = map1e(micros, func(v float64) (int64, error) {
				r := math.Round(v * factor)
				if !(math.Abs(r) < 1<<63) {
					return 0, query.Valuef("%s: overflow: the result does not fit an INTERVAL", n.text)
				}
				return int64(r), nil
			})
			b.castArgs(micros, typeOf(Float64))
			b.scaled(n, IntervalValue{Micros: 1}, b.finish(micros))
			return
		}
		b.want(n, Int64)
		b.scaled(n, unit, n.args[0])
	}
}

// scaled makes a node the product of an interval and an integer.
func (b *binder) scaled(n *node, unit IntervalValue, factor *node) {
	n.typ = typeOf(Interval)
	switch k, ok := factor.value.(int64); {
	case isNull(factor):
		n.isConst, n.value = true, nil
	case ok:
		product, ok := unit.times(k)
		b.interval(n, product, ok)
	default:
		n.args, n.unitOf = []*node{factor}, &unit
	}
}

// shiftScaled binds + and - of points in time and a product of an interval and an integer of each row.
func (b *binder) shiftScaled(n *node, sign string) {
	unit := *n.args[1].unitOf
	if sign == "-" {
		unit = unit.negated()
	}
	n.typ = shiftedType(n.args[0].typ)
	b.castArg(n, 0, n.typ)
	n.args = []*node{n.args[0], n.args[1].args[0]}
	n.fallible = true
	zone := b.zoneFor(n.typ)
	n.eval = map2e(n, func(micros, k int64) (int64, error) {
		v, ok := unit.times(k)
		if ok {
			micros, ok = shiftedIn(zone, v)(micros)
		}
		if !ok {
			return 0, query.Valuef("%s: overflow: the result does not fit %s", n.text, n.typ)
		}
		return micros, nil
	})
}

// shiftedType is the type of a point in time and an interval.
func shiftedType(t Type) Type {
	if t.ID == TimestampTZ {
		return t
	}
	return typeOf(Timestamp)
}

// wholeUnits binds date_sub(unit, from, to).
func wholeUnits(b *binder, n *node) {
	unit := b.unitBetween(n)
	n.typ = typeOf(Int64)
	length := unit.Days*dayMicros + unit.Micros
	n.fallible = true
	n.eval = betweenTimes(n, func(from, to int64) (int64, error) {
		if unit.Months > 0 {
			if from > to {
				return -(wholeMonths(to, from) / unit.Months), nil
			}
			return wholeMonths(from, to) / unit.Months, nil
		}
		if (to-from > 0) != (to > from) {
			return 0, query.Valuef("%s: overflow: the times are too far apart", n.text)
		}
		return (to - from) / length, nil
	})
}

// wholeMonths returns how many whole months lie between two times in order. The last day of a month ends one that began
// on a later day.
func wholeMonths(from, to int64) int64 {
	startDay, endDay := digits.FloorDiv(from, dayMicros), digits.FloorDiv(to, dayMicros)
	start, end := civilOf(startDay), civilOf(endDay)
	months := (end.year-start.year)*12 + end.month - start.month
	day := start.day
	if end.day == daysInMonth(end.year, end.month) {
		day = min(day, end.day)
	}
	if day > end.day || day == end.day && from-startDay*dayMicros > to-endDay*dayMicros {
		months--
	}
	return months
}

// bucketsFrom is 2000-01-03, a Monday: buckets of days and hours count from it.
var bucketsFrom = civil{2000, 1, 3}.days() * dayMicros

// timeBucket binds time_bucket(width, time), or with an offset or an origin behind.
func timeBucket(b *binder, n *node) {
	t := n.args[1].typ
	b.check(&node{text: n.text, at: n.at, args: n.args[1:2]}, Timestamp)
	if n.typ = t; !t.temporal() || t.ID == TimestampNS {
		n.typ = typeOf(Timestamp)
	}
	if isNull(n.args[0]) {
		n.isConst = true
		return
	}
	width := b.constantInterval(n, 0)
	if width.Months != 0 && (width.Days != 0 || width.Micros != 0) || width.length().Sign() <= 0 {
		b.fail(n.args[0].at, "%s: the width is months, or days and hours, above 0", n.text)
	}
	offset, origin := IntervalValue{}, bucketsFrom
	if width.Months > 0 {
		origin = civil{2000, 1, 1}.days() * dayMicros
	}
	if len(n.args) == 3 {
		switch a := n.args[2]; {
		case isNull(a):
			n.isConst = true
			return
		case a.typ.ID == Interval || a.textConstant():
			offset = b.constantInterval(n, 2)
		default:
			b.castArg(n, 2, typeOf(Timestamp))
			at, ok := n.args[2].value.(int64)
			if !ok || timeformat.InfinitySign(at, timeformat.InfiniteTime) != 0 {
				b.fail(a.at, "%s: the origin is a constant date or time", n.text)
			}
			origin = at
		}
	}
	n.args = n.args[1:2]
	if n.typ.ID == Date {
		micros := &node{text: n.text, at: n.at, column: -1, single: -1, typ: typeOf(Timestamp), args: n.args}
		b.bucket(micros, origin, width, offset)
		n.args = []*node{b.finish(micros)}
		n.eval = timeCast(n, micros.typ, false)
		return
	}
	b.bucket(n, origin, width, offset)
}

// bucket gives a node the kernel of buckets of its argument.
func (b *binder) bucket(n *node, origin int64, width, offset IntervalValue) {
	b.castArgs(n, n.typ)
	n.eval = checked(n, n.typ, false, func(at int64) (int64, bool) {
		if timeformat.InfinitySign(at, timeformat.InfiniteTime) != 0 {
			return at, true
		}
		at, ok := shifted(offset.negated())(at)
		if !ok {
			return 0, false
		}
		return shifted(offset)(bucketOf(at, origin, width))
	})
}

// bucketOf returns where the bucket of a time begins.
func bucketOf(at, origin int64, width IntervalValue) int64 {
	if width.Months == 0 {
		length := width.Days*dayMicros + width.Micros
		return origin + digits.FloorDiv(at-origin, length)*length
	}
	monthOf := func(micros int64) int64 {
		c := civilOf(digits.FloorDiv(micros, dayMicros))
		return c.year*12 + c.month - 1
	}
	first := monthOf(origin)
	month := first + digits.FloorDiv(monthOf(at)-first, width.Months)*width.Months
	year := digits.FloorDiv(month, 12)
	return civil{year, month - year*12 + 1, 1}.days() * dayMicros
}

// constantInterval returns the interval that an argument is.
func (b *binder) constantInterval(n *node, i int) IntervalValue {
	a := n.args[i]
	if a.textConstant() {
		a = b.intervalOfText(a)
	}
	v, ok := a.value.(IntervalValue)
	if !ok {
		b.fail(a.at, "%s: argument %d must be a constant INTERVAL", n.text, i+1)
	}
	return v
}

// clockOf returns the microseconds of a time of day, up to 24:00:00.
func clockOf(hour, minute int64, seconds float64) (micros int64, ok bool) {
	if hour < 0 || hour > 24 || minute < 0 || minute > 59 || !(seconds >= 0 && seconds <= 60) {
		return 0, false
	}
	micros = hour*hourMicros + minute*minuteMicros + int64(math.Round(seconds*secondMicros))
	return micros, micros <= dayMicros
}

func makeTime(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Time), true
	b.want(n, Int64, Int64, Float64)
	n.eval = map3f(n, func(_ *Evaluator, hour, minute int64, seconds float64) (int64, error) {
		micros, ok := clockOf(hour, minute, seconds)
		if !ok {
			return 0, query.Valuef("%s: there is no time %d:%d:%g", n.text, hour, minute, seconds)
		}
		return micros, nil
	})
}

// makeTimestamp binds make_timestamp of a date's parts and a time's, or of microseconds since 1970.
func makeTimestamp(b *binder, n *node) {
	switch len(n.args) {
	case 1:
		toTimestamp(Timestamp, 1)(b, n)
		return
	case 6:
	default:
		b.fail(n.at, "%s takes microseconds, or year, month, day, hour, minute and seconds", n.text)
	}
	n.typ, n.fallible = typeOf(Timestamp), true
	b.want(n, Int64, Int64, Int64, Int64, Int64, Float64)
	n.eval = func(f *frame) (*vector, error) {
		args, out, err := f.all(n, intKind)
		if err != nil {
			return nil, err
		}
		for i := range out.ints {
			if out.isNull(i) {
				continue
			}
			c := civil{args[0].ints[i], args[1].ints[i], args[2].ints[i]}
			clock, ok := clockOf(args[3].ints[i], args[4].ints[i], args[5].floats[i])
			if ok = ok && c.valid(); ok {
				out.ints[i], ok = dayAndClock(c.days(), clock)
			}
			if !ok {
				return nil, query.Valuef("%s: there is no time %d-%d-%d %d:%d:%g", n.text, c.year, c.month, c.day,
					args[3].ints[i], args[4].ints[i], args[5].floats[i])
			}
		}
		return out, nil
	}
}

// epochNanos binds epoch_ns.
func epochNanos(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Int64), true
	switch n.args[0].typ.ID {
	case Time:
		n.eval = map1(n, func(a int64) int64 { return a * 1000 })
		return
	case TimeNS:
		n.eval = sameValues(n)
		return
	case Interval, Period, Duration:
		b.periods(n)
		n.eval = map1e(n, func(s string) (int64, error) {
			nanos := intervalFrom(s).length().Mul(int128(1000))
			if !fitsType(nanos, typeOf(Int64)) {
				return 0, query.Valuef("%s: overflow: the result does not fit %s", n.text, n.typ)
			}
			return int64(nanos.LowBits()), nil
		})
		return
	}
	b.atInstants(n)
	b.want(n, TimestampNS)
	n.eval = finite(n, typeOf(TimestampNS), func(a int64) int64 { return a })
}

// nanosecond binds nanosecond: since the minute began.
func nanosecond(b *binder, n *node) {
	n.typ = typeOf(Int64)
	const minute = minuteMicros * 1000
	switch t := n.args[0].typ; t.ID {
	case TimestampNS, TimeNS:
		n.eval = finite(n, t, func(a int64) int64 { return a - digits.FloorDiv(a, minute)*minute })
		return
	}
	part, _ := findPart("microsecond")
	micros := *n
	b.part(&micros, part)
	n.args = []*node{b.finish(&micros)}
	n.eval = map1(n, func(a int64) int64 { return a * 1000 })
}

// julian binds julian.
func julian(b *binder, n *node) {
	n.typ = typeOf(Float64)
	b.want(n, Timestamp)
	const epochDay = 2440588 // of 1970-01-01
	n.eval = finite(n, typeOf(Timestamp), func(a int64) float64 {
		days := digits.FloorDiv(a, dayMicros)
		return float64(days+epochDay) + float64(a-days*dayMicros)/dayMicros
	})
}

// atZone binds timezone(zone, time).
func atZone(b *binder, n *node) {
	if len(n.args) == 1 {
		b.becomes(n, "date_part", b.constant(typeOf(Text), "timezone"), n.args[0])
		return
	}
	name := b.word(n, 0)
	zone, ok := findZone(name)
	if !ok {
		b.fail(n.args[0].at, "%v", zoneError(name))
	}
	n.args = n.args[1:]
	if n.args[0].typ.ID == TimestampTZ {
		n.typ = typeOf(Timestamp)
		n.eval = map1(n, func(micros int64) int64 { return localTime(zone, micros) })
		return
	}
	n.typ = typeOf(TimestampTZ)
	b.want(n, Timestamp)
	n.eval = map1(n, func(local int64) int64 { return instant(zone, local) })
}

// setting binds current_setting.
func setting(b *binder, n *node) {
	if name := b.word(n, 0); !strings.EqualFold(name, "TimeZone") {
		b.fail(n.args[0].at, "%s: there is no setting %q; there is TimeZone", n.text, name)
	}
	n.typ, n.isConst, n.value = typeOf(Text), true, NameOf(cmp.Or(b.zone, time.UTC))
}
