package expr

import "slices"

// This file binds calls of intervals. Where an interval is a constant, CASE of constants, or a constant times an
// integer, it is of type Interval, and what it is added to has instructions for devices; others are of type Period.

// comparingIntervals are the operators of intervals whose result is none.
var comparingIntervals = []string{"=", "<>", "<", "<=", ">", ">=", "between", "in",
	"is distinct from", "is not distinct from", "is null", "is not null"}

// choosingIntervals are the functions whose result is one of their intervals.
var choosingIntervals = []string{"case", "if", "coalesce", "nullif", "greatest", "least"}

// callOfIntervals binds a call that has intervals among its arguments. It returns false for other
// calls, and for arithmetic.
func (b *binder) callOfIntervals(f *Function, n *node) bool {
	isInterval := func(a *node) bool { return a.typ.ID == Interval || a.typ.ID == Period }
	isDuration := func(a *node) bool { return a.typ.ID == Duration }
	isVaried := slices.ContainsFunc(n.args, (*node).isVaried)
	switch {
	case !slices.ContainsFunc(n.args, isInterval), slices.Contains(ofIntervals, f.Name), spanParts[f.Name] != nil:
		return false
	case slices.ContainsFunc(n.args, isDuration) && b.durations(n):
		return false
	case f.Name == "is null" || f.Name == "is not null":
		if isVaried {
			return false
		}
		n.args[0] = b.lengthOf(n, n.args[0])
		f.bind(b, n)
	case slices.Contains(comparingIntervals, f.Name) && (isVaried || slices.ContainsFunc(n.args, isDuration)):
		b.periodLengths(n)
		f.bind(b, n)
	case slices.Contains(comparingIntervals, f.Name):
		for i, a := range n.args {
			n.args[i] = b.lengthOf(n, a)
		}
		f.bind(b, n)
	case slices.Contains(choosingIntervals, f.Name):
		places := resultPlaces(f, n)
		if isOpen := func(i int) bool { return !n.args[i].isConst }; slices.ContainsFunc(places, isOpen) {
			b.periods(n, places...)
			return false
		}
		b.chooseInterval(f, n)
	default: // nested values, and whatever takes any type
		for i, a := range n.args {
			if a.typ.ID == Interval {
				b.periods(n, i)
			}
		}
		return false
	}
	return true
}

// durations makes all intervals among arguments durations, and returns false where one has months or is a value.
func (b *binder) durations(n *node) bool {
	args := slices.Clone(n.args)
	for i, a := range args {
		if a.typ.ID != Interval && a.typ.ID != Period {
			continue
		}
		span, ok := b.spanOf(a)
		if !ok {
			return false
		}
		args[i] = span
	}
	n.args = args
	return true
}

// ofIntervals are the operators and functions that take intervals by themselves.
var ofIntervals = []string{"+", "-", "*", "/", "date_add", "time_bucket", "date_part", "date_trunc", "epoch",
	"epoch_ms", "epoch_us", "epoch_ns", "nanosecond"}

// spanParts are the parts of an interval, and of a difference of times, which has no months.
var spanParts = map[string]func(IntervalValue) int64{
	"millennium":  func(v IntervalValue) int64 { return v.Months / 12_000 },
	"century":     func(v IntervalValue) int64 { return v.Months / 1200 },
	"decade":      func(v IntervalValue) int64 { return v.Months / 120 },
	"year":        func(v IntervalValue) int64 { return v.Months / 12 },
	"quarter":     func(v IntervalValue) int64 { return v.Months%12/3 + 1 },
	"month":       func(v IntervalValue) int64 { return v.Months % 12 },
	"day":         func(v IntervalValue) int64 { return v.Days },
	"hour":        func(v IntervalValue) int64 { return v.Micros / hourMicros },
	"minute":      func(v IntervalValue) int64 { return v.Micros % hourMicros / minuteMicros },
	"second":      func(v IntervalValue) int64 { return v.Micros % minuteMicros / secondMicros },
	"millisecond": func(v IntervalValue) int64 { return v.Micros % minuteMicros / 1000 },
	"microsecond": func(v IntervalValue) int64 { return v.Micros % minuteMicros },
}

// partOfSpan binds a part of a constant interval, or of a difference of times.
func (b *binder) partOfSpan(n *node, name string) {
	of, ok := spanParts[name]
	if !ok {
		b.fail(n.at, "%s: an INTERVAL has no part %s", n.text, name)
	}
	n.typ = typeOf(Int64)
	if n.args[0].typ.ID == Duration {
		n.eval = map1(n, func(a int64) int64 { return of(IntervalValue{Days: a / dayMicros, Micros: a % dayMicros}) })
		return
	}
	ofPeriod(b, n, n.typ, of)
}

// seconds returns the length of an interval, whose years have 365.25 days, and other months 30.
func (v IntervalValue) seconds() float64 {
	days := float64(v.Months/12)*365.25 + float64(v.Months%12*30+v.Days)
	return days*(dayMicros/secondMicros) + float64(v.Micros)/secondMicros
}

// length returns the microseconds of an interval as intervals are compared: a month has 30 days, a day 24
// hours.
func (v IntervalValue) length() wide {
	days := int128(v.Months).Mul(int128(30)).Add(int128(v.Days))
	return days.Mul(int128(dayMicros)).Add(int128(v.Micros))
}

// lengthOf returns the length of an argument of a call, which must be an interval or the text of one.
func (b *binder) lengthOf(call, a *node) *node {
	switch {
	case isNull(a):
		return b.constant(typeOf(Huge), nil)
	case a.textConstant():
		a = b.intervalOfText(a)
	case a.typ.ID != Interval:
		b.fail(a.at, "%s: INTERVAL and %s do not go together; cast one of them", call.text, a.typ)
	}
	switch {
	case a.isConst:
		return b.constant(typeOf(Huge), a.value.(IntervalValue).length())
	case a.unitOf != nil:
		length := a.unitOf.length()
		product := &node{text: a.text, at: a.at, column: -1, single: -1, typ: typeOf(Huge), args: a.args}
		product.eval = map1(product, func(k int64) wide { return length.Mul(int128(k)) })
		return b.finish(product)
	}
	return b.mapResults(a, func(result *node) *node { return b.lengthOf(call, result) })
}

// intervalOf returns the interval that a cast of a string constant or of NULL makes.
func (b *binder) intervalOf(n *node, try bool) *node {
	c := b.constant(n.typ, nil)
	if text, ok := n.args[0].value.(string); ok {
		v, err := parseInterval(text)
		switch {
		case err == nil:
			c = b.constant(n.typ, v)
		case !try:
			b.fail(n.at, "%v", err)
		}
	}
	c.at, c.text = n.at, n.text
	return c
}

// intervalOfText returns the interval that a string constant is.
func (b *binder) intervalOfText(a *node) *node {
	v, err := parseInterval(a.value.(string))
	if err != nil {
		b.fail(a.at, "%v", err)
	}
	return b.constant(typeOf(Interval), v)
}

// addCases binds + and - of a point in time and a choice among intervals, or of an interval that is NULL,
// and returns false for other arguments.
func (b *binder) addCases(sign string, n *node) bool {
	at := slices.IndexFunc(n.args, func(a *node) bool { return a.typ.ID == Interval && (!a.isConst || a.value == nil) })
	if at < 0 {
		return false
	}
	interval, other := n.args[at], n.args[1-at]
	switch {
	case interval.isConst && !other.typ.temporal():
		n.typ, n.isConst = typeOf(Interval), true
	case !other.typ.temporal():
		b.fail(n.at, "not supported: %s of intervals that are no constants", n.text)
	case interval.unitOf != nil:
		return false
	case interval.isConst:
		if n.typ = other.typ; n.typ.ID == Date || n.typ.ID == TimestampNS {
			n.typ = typeOf(Timestamp)
		}
		n.isConst = true
	default:
		*n = *b.mapResults(interval, func(result *node) *node {
			sum := &node{text: n.text, at: n.at, column: -1, single: -1, name: sign, args: []*node{other, result}}
			if !b.timeArithmetic(sign, sum) {
				b.mismatch(n)
			}
			return b.finish(sum)
		})
	}
	return true
}

// mapResults returns CASE with what a function makes of each result in its place. CASE without ELSE
// gets one.
func (b *binder) mapResults(of *node, f func(*node) *node) *node {
	made := &node{text: of.text, at: of.at, column: -1, single: -1, name: "case", args: slices.Clone(of.args)}
	if len(made.args)%2 == 0 {
		made.args = append(made.args, b.constant(typeOf(Interval), nil))
	}
	for i := range made.args {
		if i%2 != 0 || i+1 == len(made.args) {
			made.args[i] = f(made.args[i])
		}
	}
	caseOf(b, made)
	return b.finish(made)
}

// chooseInterval binds a call whose result is one of its intervals: as a choice among their places, of
// intervals that are compared as their lengths.
func (b *binder) chooseInterval(f *Function, n *node) {
	isCase := f.Name == "case" || f.Name == "if"
	places := &node{text: n.text, at: n.at, column: -1, single: -1, name: f.Name, args: slices.Clone(n.args)}
	for i, a := range n.args {
		switch {
		case isCase && i%2 == 0 && i+1 < len(n.args): // a condition
			continue
		case a.textConstant():
			n.args[i] = b.intervalOfText(a)
		case a.typ.ID != Interval && !isNull(a):
			b.fail(a.at, "%s: INTERVAL and %s do not go together; cast one of them", n.text, a.typ)
		case !a.isConst:
			b.fail(a.at, "not supported: %s, an interval that is no constant, in a choice of intervals", a.text)
		}
		if places.args[i] = b.constant(typeOf(Int64), int64(i)); isNull(n.args[i]) {
			places.args[i] = b.constant(typeOf(Int64), nil)
		} else if !isCase {
			places.args[i] = b.constant(typeOf(Huge), n.args[i].value.(IntervalValue).length())
		}
	}
	f.bind(b, places)
	places = b.finish(places)
	n.typ = typeOf(Interval)
	switch {
	case isNull(places):
		n.isConst, n.value = true, nil
	case places.isConst && isCase:
		n.isConst, n.value = true, n.args[places.value.(int64)].value
	case places.isConst:
		i := slices.IndexFunc(n.args, func(a *node) bool {
			return !isNull(a) && a.value.(IntervalValue).length() == places.value
		})
		n.isConst, n.value = true, n.args[i].value
	}
	n.name = "case" // the conditions of which other nodes use
}
