package expr

import (
	"math"
	"slices"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/timeformat"
)

// This file has intervals that are values of rows: columns, results, parts of nested values. An interval of type
// Interval becomes one of type Period where it must be a value.

// text returns the bytes of an interval as a value.
func (v IntervalValue) text() string {
	return string(nested.AppendInterval(nil, v.Months, v.Days, v.Micros))
}

// intervalFrom returns the interval whose bytes as a value are given.
func intervalFrom(s string) (v IntervalValue) {
	v.Months, v.Days, v.Micros = nested.IntervalOf(s)
	return v
}

// periodOf returns a length of time, or the text of one, as a value, and false for other nodes.
func (b *binder) periodOf(a *node) (*node, bool) {
	switch v, ok := a.value.(IntervalValue); {
	case a.typ.ID == Period:
		return a, true
	case isNull(a):
		return b.constant(period, nil), true
	case ok:
		c := b.constant(period, v.text())
		c.text, c.at = a.text, a.at
		return c, true
	case a.typ.ID == Interval && a.unitOf == nil:
		return b.mapResults(a, func(result *node) *node {
			p, _ := b.periodOf(result) // of an interval
			return p
		}), true
	case a.typ.ID == Interval, a.typ.ID == Duration, a.textConstant():
		return b.converted(a, period)
	}
	return a, false
}

// setPeriod is setCast to an interval as a value, from anything but a choice of intervals.
func setPeriod(n *node, from Type, try bool) bool {
	n.fallible = !try
	switch unit := n.args[0].unitOf; {
	case from.ID == Text:
		n.eval = tried(n, from, try, func(s string) (string, bool) {
			v, err := parseInterval(s)
			return v.text(), err == nil
		})
	case from.ID == Duration:
		n.fallible = false
		n.eval = map1e(n, func(micros int64) (string, error) {
			return IntervalValue{Days: micros / dayMicros, Micros: micros % dayMicros}.text(), nil
		})
	case from.ID == Interval && unit != nil:
		n.args = n.args[0].args
		n.eval = map1e(n, func(k int64) (string, error) {
			v, ok := unit.times(k)
			return n.period(v, ok)
		})
	default:
		return false
	}
	return true
}

// period returns an interval as a value, or an error unless ok.
func (n *node) period(v IntervalValue, ok bool) (string, error) {
	if !ok {
		return "", query.Valuef("%s: overflow: the result does not fit an INTERVAL", n.text)
	}
	return v.text(), nil
}

// periods makes arguments of a call intervals as values, where they are lengths of time or stand for one. which has
// their places; nil is all.
func (b *binder) periods(n *node, which ...int) {
	if which == nil {
		for i := range n.args {
			which = append(which, i)
		}
	}
	for _, i := range which {
		p, ok := b.periodOf(n.args[i])
		if !ok {
			b.fail(n.args[i].at, "%s: INTERVAL and %s do not go together; cast one of them", n.text, n.args[i].typ)
		}
		n.args[i] = p
	}
}

// periodLengths makes arguments, which are intervals as values, bytes that are equal where the intervals are.
func (b *binder) periodLengths(n *node) {
	b.periods(n)
	for i, a := range n.args {
		length := &node{typ: typeOf(Blob), text: a.text, at: a.at, column: -1, single: -1, args: []*node{a}}
		length.eval = map1e(length, func(s string) (string, error) { return nested.LengthOf(s), nil })
		n.args[i] = b.finish(length)
	}
}

// EqualIntervals is the function that puts one interval in place of all of its length, as 1 month in place of 30 days,
// in a value that is an interval or has intervals.
const EqualIntervals = "equal intervals"

func equalIntervals(b *binder, n *node) {
	if n.args[0].typ.ID == Interval {
		b.periods(n, 0)
	}
	n.typ = n.args[0].typ
	l := layoutOf(n.typ)
	n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
		return e.keeping(n, l.AppendEqual(e.draft[:0], s))
	})
}

// normalized binds normalized_interval: hours within a day, and days within a month, from 0 on.
func normalized(b *binder, n *node) {
	b.periods(n, 0)
	n.typ, n.fallible = period, true
	n.eval = map1e(n, func(s string) (string, error) {
		v := intervalFrom(s)
		days := digits.FloorDiv(v.Micros, dayMicros)
		v.Micros -= days * dayMicros
		days += v.Days
		months := digits.FloorDiv(days, 30)
		v.Months, v.Days = v.Months+months, days-months*30
		return n.period(v, v.Months == int64(int32(v.Months)))
	})
}

// BytesOfValue is the function of a value's bytes, which tell apart intervals of one length.
const BytesOfValue = "bytes of value"

func bytesOfValue(b *binder, n *node) {
	if n.args[0].typ.ID == Interval {
		b.periods(n, 0)
	}
	n.typ, n.eval = typeOf(Blob), sameValues(n)
}

// HoldsIntervals says whether values of a type are intervals, or have parts that are.
func (t Type) HoldsIntervals() bool {
	return t.ID == Period || t.ID == Interval || t.nested() && slices.ContainsFunc(t.parts, Type.HoldsIntervals)
}

// byLength are the functions that compare elements, or values, as = does.
var byLength = []string{"list_contains", "list_position", RowOf}

// bindCall binds a call of a function whose arguments are no intervals themselves, or that takes values of any type.
// The intervals in what it compares are made such that equal ones have equal bytes.
func (b *binder) bindCall(f *Function, n *node) {
	if slices.Contains(byLength, f.Name) || slices.Contains(comparingIntervals, f.Name) {
		for i, a := range n.args {
			if a.typ.HoldsIntervals() {
				n.args[i] = b.made(n, EqualIntervals, a)
			}
		}
	}
	f.bind(b, n)
}

// resultPlaces are the places of the arguments of a choice that may be its result.
func resultPlaces(f *Function, n *node) (places []int) {
	isCase := f.Name == "case" || f.Name == "if"
	for i := range n.args {
		if !isCase || i%2 == 1 || i+1 == len(n.args) {
			places = append(places, i)
		}
	}
	return places
}

// isVaried says whether an interval has no constant unit, so that it must be a value.
func (a *node) isVaried() bool {
	return a.typ.ID == Period || a.typ.ID == Interval && !a.isConst && a.unitOf == nil
}

// periodArithmetic binds + - * / where intervals are values, or no constants, and returns false for other arguments.
func (b *binder) periodArithmetic(sign string, n *node) bool {
	x, y := n.args[0], n.args[1]
	isSpan := func(a *node) bool { return a.typ.span() }
	isSymbol := func(a *node) bool { return a.typ.ID == Interval && a.unitOf != nil }
	isScaled := sign == "*" && (isSpan(x) != isSpan(y)) || sign == "/" && isSpan(x)
	switch {
	case isScaled:
		span, factor := x, y
		if isSpan(y) {
			span, factor = y, x
		}
		plain := sign == "*" && span.typ.ID == Interval && span.isConst && factor.typ.integer()
		if plain || !factor.typ.numeric() {
			return false
		}
		n.args = []*node{span, factor}
		b.scalePeriod(n, sign)
	case isSpan(x) && isSpan(y) && sign != "*" && sign != "/":
		areConstants := x.typ.ID == Interval && x.isConst && y.typ.ID == Interval && y.isConst
		if areConstants || !x.isVaried() && !y.isVaried() && !isSymbol(x) && !isSymbol(y) && b.areDurations(x, y) {
			return false
		}
		b.periods(n)
		n.typ, n.fallible = period, true
		n.eval = map2e(n, func(s, t string) (string, error) {
			u := intervalFrom(t)
			if sign == "-" {
				u = u.negated()
			}
			v, ok := intervalFrom(s).plus(u)
			return n.period(v, ok)
		})
	case b.zone != nil && x.typ.ID == TimestampTZ && y.typ.span():
		b.shiftPeriod(n, sign)
	case (x.typ.temporal() || x.typ.ID == Time) && (y.typ.ID == Period || x.typ.ID == Time && isSymbol(y)):
		b.shiftPeriod(n, sign)
	default:
		return false
	}
	return true
}

// areDurations says whether both of two lengths of time are, or become, durations.
func (b *binder) areDurations(x, y *node) bool {
	for _, a := range []*node{x, y} {
		if _, ok := b.spanOf(a); !ok && a.typ.ID != Duration {
			return false
		}
	}
	return true
}

// shiftPeriod binds + and - of points in time, or times of day, and intervals as values.
func (b *binder) shiftPeriod(n *node, sign string) {
	b.periods(n, 1)
	isClock := n.args[0].typ.ID == Time
	if n.typ = n.args[0].typ; !isClock {
		n.typ = shiftedType(n.typ)
		b.castArg(n, 0, n.typ)
	}
	zone := b.zoneFor(n.typ)
	n.fallible = !isClock
	n.eval = map2e(n, func(micros int64, s string) (int64, error) {
		v := intervalFrom(s)
		if sign == "-" {
			v = v.negated()
		}
		if isClock {
			r := micros + v.Micros%dayMicros
			return r - digits.FloorDiv(r, dayMicros)*dayMicros, nil
		}
		r, ok := shiftedIn(zone, v)(micros)
		if !ok {
			return 0, query.Valuef("%s: overflow: the result does not fit %s", n.text, n.typ)
		}
		return r, nil
	})
}

// scalePeriod binds * and / of an interval and a number.
func (b *binder) scalePeriod(n *node, sign string) {
	b.periods(n, 0)
	n.typ, n.fallible = period, true
	if n.args[1].typ.integer() && sign == "*" {
		b.castArg(n, 1, typeOf(Int64))
		n.eval = map2e(n, func(s string, k int64) (string, error) {
			v, ok := intervalFrom(s).times(k)
			return n.period(v, ok)
		})
		return
	}
	b.castArg(n, 1, typeOf(Float64))
	n.eval = map2e(n, func(s string, k float64) (string, error) {
		if sign == "/" {
			if k == 0 {
				return "", divisionByZero(n)
			}
			k = 1 / k
		}
		v, ok := intervalFrom(s).scaled(k)
		return n.period(v, ok)
	})
}

// scaled multiplies an interval by a number: parts of months become days, of 30 to a month, and parts of days
// microseconds. It returns false where plus does.
func (v IntervalValue) scaled(k float64) (IntervalValue, bool) {
	const noise = 1e-9 // of a quotient, in months and days
	whole := func(x float64) (int64, float64) {
		if r := math.Round(x); math.Abs(x-r) < noise {
			return int64(r), 0
		}
		return int64(math.Trunc(x)), x - math.Trunc(x)
	}
	if limit := math.Abs(k); !(limit*math.Abs(float64(v.Months)) < 1<<31 && limit*math.Abs(float64(v.Days)) < 1<<31 &&
		limit*math.Abs(float64(v.Micros)) < 1<<62) {
		return v, false
	}
	months, part := whole(float64(v.Months) * k)
	days, rest := whole(float64(v.Days)*k + part*30)
	micros := math.Round(float64(v.Micros)*k + rest*dayMicros)
	return intervalOf(int128(months), int128(days), int128(int64(micros)))
}

// ofPeriod binds a function of an interval as a value.
func ofPeriod[R element](b *binder, n *node, t Type, fn func(v IntervalValue) R) {
	b.periods(n, len(n.args)-1)
	if len(n.args) > 1 {
		n.args = n.args[1:]
	}
	n.typ = t
	n.eval = map1e(n, func(s string) (R, error) { return fn(intervalFrom(s)), nil })
}

// truncated returns an interval without the parts below a unit; of months units may have several.
func (v IntervalValue) truncated(unit IntervalValue) IntervalValue {
	switch {
	case unit.Months > 0:
		return IntervalValue{Months: v.Months / unit.Months * unit.Months}
	case unit.Days > 0:
		return IntervalValue{v.Months, v.Days / unit.Days * unit.Days, 0}
	}
	return IntervalValue{v.Months, v.Days, v.Micros / unit.Micros * unit.Micros}
}

// truncateSpan binds date_trunc of an interval.
func (b *binder) truncateSpan(n *node) {
	name := b.word(n, 0)
	unit, ok := intervalUnit(name)
	if !ok {
		b.fail(n.args[0].at, "%s: no unit of an INTERVAL is named %s", n.text, name)
	}
	ofPeriod(b, n, period, func(v IntervalValue) string { return v.truncated(unit).text() })
}

// PartOfPeriod is the function of an interval and 0, 1 or 2 that has its months, its days or its microseconds;
// MeanOfPeriods has the mean of intervals by the sums of these and the number of the intervals.
const (
	PartOfPeriod  = "part of interval"
	MeanOfPeriods = "mean of intervals"
)

func partOfPeriod(b *binder, n *node) {
	at, _ := n.args[1].value.(int64)
	n.args = n.args[:1]
	ofPeriod(b, n, typeOf(Int64), func(v IntervalValue) int64 { return [...]int64{v.Months, v.Days, v.Micros}[at] })
}

// meanOfPeriods binds MeanOfPeriods: what is left of months is days, 30 to a month, and what is left of days
// microseconds.
func meanOfPeriods(b *binder, n *node) {
	b.castArgs(n, typeOf(Huge))
	n.typ, n.fallible = period, true
	n.eval = rowKernel(n, ofAny, func(_ *Evaluator, args []*vector, row int) (string, error) {
		months, days, micros, count := args[0].wides[row], args[1].wides[row], args[2].wides[row], args[3].wides[row]
		if count.Sign() == 0 {
			return "", errNull
		}
		whole, left := months.Div(count)
		ofMonths, leftOfMonths := left.Mul(int128(30)).Div(count)
		ofDays, leftOfDays := days.Div(count)
		rest, _ := leftOfMonths.Add(leftOfDays).Mul(int128(dayMicros)).Div(count)
		clock, _ := micros.Div(count)
		return n.period(intervalOf(whole, ofMonths.Add(ofDays), rest.Add(clock)))
	})
}

// age binds the years, months, days and microseconds between two times.
func age(b *binder, n *node) {
	b.want(n, Timestamp, Timestamp)
	n.typ = period
	n.eval = map2e(n, func(to, from int64) (string, error) {
		for _, v := range []int64{to, from} {
			if timeformat.InfinitySign(v, timeformat.InfiniteTime) != 0 {
				return "", errNull
			}
		}
		if to < from {
			return ageBetween(from, to).negated().text(), nil
		}
		return ageBetween(to, from).text(), nil
	})
}

// ageBetween returns the calendar's years, months and days, and the rest, from a time to a later one. Days are of the
// month in which the earlier time lies.
func ageBetween(to, from int64) IntervalValue {
	toDay, fromDay := digits.FloorDiv(to, dayMicros), digits.FloorDiv(from, dayMicros)
	a, c := civilOf(toDay), civilOf(fromDay)
	micros := (to - toDay*dayMicros) - (from - fromDay*dayMicros)
	days, months := a.day-c.day, (a.year-c.year)*12+a.month-c.month
	if micros < 0 {
		micros, days = micros+dayMicros, days-1
	}
	for ; days < 0; months-- {
		first := civil{c.year, c.month, 1}.days()
		days += addMonths(first, 1) - first
	}
	return IntervalValue{months, days, micros}
}
