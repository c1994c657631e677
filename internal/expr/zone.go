package expr

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones by their names, on machines that have none

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/timeformat"
)

// This file has the time zone of a statement: TIMESTAMPTZ is an instant, and clocks of the zone show its parts, texts
// and dates. Functions of TIMESTAMP get such times by the cast, which is implicit.

// zoneKey is the key of the zone in a context.
type zoneKey struct{}

// InZone returns a context whose expressions are bound in a time zone, by its name as in Europe/Berlin; "" is UTC.
func InZone(ctx context.Context, name string) (context.Context, error) {
	if name == "" {
		name = "UTC"
	}
	zone, ok := findZone(name)
	if !ok {
		return nil, zoneError(name)
	}
	return context.WithValue(ctx, zoneKey{}, zone), nil
}

// ZoneOf returns the time zone in which expressions of a context are bound.
func ZoneOf(ctx context.Context) *time.Location {
	if zone, ok := ctx.Value(zoneKey{}).(*time.Location); ok {
		return zone
	}
	return time.UTC
}

// isUTC says whether clocks of a zone show UTC.
func isUTC(zone *time.Location) bool {
	switch strings.ToUpper(zone.String()) {
	case "", "UTC", "ETC/UTC", "GMT", "ETC/GMT", "ZULU", "ETC/ZULU", "UCT", "ETC/UCT", "UNIVERSAL", "ETC/UNIVERSAL":
		return true
	}
	return false
}

// NameOf returns the name of a zone in results: one name of UTC, which has several.
func NameOf(zone *time.Location) string {
	if isUTC(zone) {
		return "UTC"
	}
	return zone.String()
}

// zones are the zones that were found, by their names: LoadLocation reads files.
var zones sync.Map

func findZone(name string) (*time.Location, bool) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), true
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, false
	}
	zones.Store(name, zone)
	return zone, true
}

func zoneError(name string) error {
	return query.Valuef("no time zone is named %q; want a name as 'UTC' or 'Europe/Berlin'", name)
}

// offsetIn returns how many microseconds the clocks of a zone are ahead of UTC at an instant.
func offsetIn(zone *time.Location, micros int64) int64 {
	_, seconds := time.UnixMicro(micros).In(zone).Zone()
	return int64(seconds) * secondMicros
}

// localTime returns what clocks of a zone show at an instant; infinities stay.
func localTime(zone *time.Location, micros int64) int64 {
	if zone == nil || timeformat.InfinitySign(micros, timeformat.InfiniteTime) != 0 {
		return micros
	}
	return micros + offsetIn(zone, micros)
}

// instant returns when clocks of a zone show a time: of two instants the later, and of a time that they leap over as if
// they went on as before.
func instant(zone *time.Location, local int64) int64 {
	if zone == nil || timeformat.InfinitySign(local, timeformat.InfiniteTime) != 0 {
		return local
	}
	before, behind := offsetIn(zone, local-dayMicros), offsetIn(zone, local+dayMicros)
	if offsetIn(zone, local-behind) == behind {
		return local - behind
	}
	return local - before
}

// zoneFor returns the zone in which points in time of a type are shifted; nil where clocks of no zone are looked at.
func (b *binder) zoneFor(t Type) *time.Location {
	if t.ID != TimestampTZ {
		return nil
	}
	return cmp.Or(b.zone, time.UTC)
}

// shiftedIn is shifted in a zone: months and days are of its calendar, and the rest is time that passes. As in DuckDB,
// the rest comes first where a part of the interval is negative. No zone is shifted's order.
func shiftedIn(zone *time.Location, v IntervalValue) func(micros int64) (int64, bool) {
	isDown := v.Months < 0 || v.Days < 0 || v.Micros < 0
	isPlain := zone == time.UTC && (!isDown || v.Months == 0 || v.Micros == 0) // where no clock is changed
	if zone == nil || isPlain || v.Months == 0 && v.Days == 0 {
		return shifted(v)
	}
	onCalendar := func(v IntervalValue) func(micros int64) (int64, bool) {
		by := shifted(v)
		return func(micros int64) (int64, bool) {
			local, ok := by(localTime(zone, micros))
			return instant(zone, local), ok
		}
	}
	steps := []func(micros int64) (int64, bool){onCalendar(IntervalValue{Months: v.Months}),
		onCalendar(IntervalValue{Days: v.Days}), shifted(IntervalValue{Micros: v.Micros})}
	if isDown {
		steps = []func(micros int64) (int64, bool){steps[2], steps[0], steps[1]}
	}
	return func(micros int64) (int64, bool) {
		ok := true
		for i := 0; i < len(steps) && ok; i++ {
			micros, ok = steps[i](micros)
		}
		return micros, ok
	}
}

// appendOffset writes how far clocks are ahead of UTC: +02, -03:30.
func appendOffset(b []byte, micros int64) []byte {
	sign, seconds := byte('+'), micros/secondMicros
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	b = digits.AppendPadded(append(b, sign), uint64(seconds/3600), 2)
	for rest := seconds % 3600; rest != 0; rest = rest * 60 % 3600 {
		b = digits.AppendPadded(append(b, ':'), uint64(rest/60), 2)
	}
	return b
}

// appendInstant writes a TIMESTAMPTZ as clocks of a zone show it.
func appendInstant(b []byte, micros int64, zone *time.Location) []byte {
	if word := timeformat.Infinity(micros, timeformat.InfiniteTime); word != "" {
		return append(b, word...)
	}
	offset := offsetIn(zone, micros)
	return appendOffset(appendTimestamp(b, micros+offset, typeOf(Timestamp)), offset)
}

// instantParser returns what reads a TIMESTAMPTZ: an offset or the name of a zone stands behind the time, or else it is
// one of the given zone.
func instantParser(zone *time.Location) func(text string) (micros int64, ok bool) {
	return func(text string) (int64, bool) {
		if sign := infinityOf(text); sign != 0 {
			return sign * timeformat.InfiniteTime, true
		}
		in, text := zone, strings.TrimSpace(text)
		if at := strings.LastIndexByte(text, ' '); at > 0 && isNameOfZone(text[at+1:]) {
			named, ok := findZone(text[at+1:])
			if !ok {
				return 0, false
			}
			in, text = named, strings.TrimSpace(text[:at])
		}
		days, clock, offset, isZoned, dated, ok := parseZoned(text)
		micros, fits := dayAndClock(days, clock-offset)
		if !isZoned {
			micros = instant(in, micros)
		}
		return micros, ok && dated && fits
	}
}

// zoneWithin returns the zone of the timestamps within a type, of one of them where they differ; nil where all are UTC.
func zoneWithin(dt arrow.DataType) *time.Location {
	switch dt := dt.(type) {
	case *arrow.TimestampType:
		if zone, err := dt.GetZone(); err == nil && dt.TimeZone != "" && !isUTC(zone) {
			return zone
		}
	case arrow.NestedType:
		for _, f := range dt.Fields() {
			if zone := zoneWithin(f.Type); zone != nil {
				return zone
			}
		}
	}
	return nil
}

// zonedTexts returns a node in whose value texts stand for instants, as clocks of the zone show them.
func (b *binder) zonedTexts(a *node) *node {
	if t := instantTexts(a.typ); b.zone != nil && t != a.typ {
		if c, ok := b.converted(a, t); ok {
			return c
		}
	}
	return a
}

// instantTexts returns a type with strings in place of instants.
func instantTexts(t Type) Type {
	switch {
	case t.ID == TimestampTZ:
		return typeOf(Text)
	case !t.nested() || t.whole():
		return t
	}
	parts := make([]Type, len(t.parts))
	for i, p := range t.parts {
		parts[i] = instantTexts(p)
	}
	if slices.Equal(parts, t.parts) {
		return t
	}
	return newNested(t.ID, t.names, parts...)
}

// isNameOfZone says whether a word may be the name of a zone.
func isNameOfZone(word string) bool {
	return len(word) > 1 && (word[0]|0x20 >= 'a' && word[0]|0x20 <= 'z') && word[1] != ':' &&
		(word[0] != 'T' || word[1] < '0' || word[1] > '9')
}

// setZonedCast is setCast of points in time from or to TIMESTAMPTZ in the node's zone. It returns false for others.
func setZonedCast(n *node, from Type, try bool) bool {
	zone, to := n.zone, n.typ
	inner := &node{typ: typeOf(Timestamp), text: n.text, at: n.at, column: -1, single: -1, args: n.args}
	switch {
	case from.ID == TimestampTZ && to.ID == Text:
		n.fallible, n.conversion = false, noCast
		n.eval = map1f(n, func(e *Evaluator, micros int64) (string, error) {
			return e.keep(appendInstant(e.draft[:0], micros, zone)), nil
		})
	case from.ID == TimestampTZ && to == timeTZType:
		n.eval = finite(n, from, func(micros int64) string {
			offset := offsetIn(zone, micros)
			local := micros + offset
			return namedText(nested.TimeTZBytes(local-digits.FloorDiv(local, dayMicros)*dayMicros, int32(offset/secondMicros)))
		})
	case from.ID == TimestampTZ && (to.temporal() || to.ID == Time || to.ID == TimeNS):
		inner.eval = map1(inner, func(micros int64) int64 { return localTime(zone, micros) })
		n.args = []*node{inner}
		return setCast(n, inner.typ, try)
	case to.ID == TimestampTZ && from.temporal():
		if setCast(inner, from, try) && from.ID != Timestamp {
			n.args = []*node{inner}
		}
		n.fallible, n.conversion = inner.fallible && from.ID != Timestamp, noCast
		n.eval = map1(n, func(local int64) int64 { return instant(zone, local) })
	default:
		return false
	}
	return true
}

// atInstants makes arguments that are TIMESTAMPTZ times of UTC, whatever the zone is.
func (b *binder) atInstants(n *node) {
	for i, a := range n.args {
		if b.zone != nil && a.typ.ID == TimestampTZ {
			n.args[i] = b.made(n, "timezone", b.constant(typeOf(Text), "UTC"), a)
		}
	}
}

// betweenInstants binds x - y of instants: whole days of the zone's calendar, and the time that passes beside them.
func (b *binder) betweenInstants(n *node) {
	zone := b.zone
	n.typ, n.fallible = typeOf(Duration), true
	b.castArgs(n, typeOf(TimestampTZ))
	n.eval = betweenTimes(n, func(to, from int64) (int64, error) {
		sign := int64(1)
		if to < from {
			to, from, sign = from, to, -1
		}
		start := localTime(zone, from)
		days := digits.FloorDiv(localTime(zone, to)-start, dayMicros)
		at := instant(zone, start+days*dayMicros)
		if at > to {
			days--
			at = instant(zone, start+days*dayMicros)
		}
		if days == 0 {
			at = from
		}
		return sign * (days*dayMicros + to - at), nil
	})
}

func isInstant(a *node) bool { return a.typ.ID == TimestampTZ }

// timeBelowDay says whether a unit is of time that passes, whatever the calendar is.
func timeBelowDay(unit IntervalValue) bool { return unit.Months == 0 && unit.Days == 0 }

// inZone makes a node a call on the times that clocks of the zone show, and its result an instant again.
func (b *binder) inZone(n *node, name string) {
	zone := b.constant(typeOf(Text), b.zone.String())
	args := append([]*node(nil), n.args...)
	for i, a := range args {
		if a.typ.ID == TimestampTZ {
			args[i] = b.made(n, "timezone", zone, a)
		}
	}
	b.becomes(n, "timezone", zone, b.made(n, name, args...))
}

// zoneOffset binds how far clocks of the zone are ahead of UTC: seconds, or the hours or minutes of them.
func (b *binder) zoneOffset(n *node, per, below int64) {
	zone := b.zone
	n.typ = typeOf(Int64)
	n.eval = finite(n, n.args[0].typ, func(micros int64) int64 {
		return offsetIn(zone, micros) / (secondMicros * per) % below
	})
}
