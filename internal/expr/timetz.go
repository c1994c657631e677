package expr

import (
	"slices"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/timeformat"
)

// This file has the parts and the arithmetic of TIME WITH TIME ZONE.

// zoneParts are the parts of an offset from UTC, in seconds.
var zoneParts = map[string]func(offset int64) int64{
	"timezone":        func(offset int64) int64 { return offset },
	"timezone_hour":   func(offset int64) int64 { return offset / 3600 },
	"timezone_minute": func(offset int64) int64 { return offset / 60 % 60 },
}

// partOfZone binds a part of the offset of a TIME WITH TIME ZONE. It returns false for other parts and types.
func partOfZone(n *node, name string) bool {
	of := zoneParts[name]
	if of == nil || n.args[0].typ != timeTZType {
		return false
	}
	n.typ = typeOf(Int64)
	n.eval = map1e(n, func(s string) (int64, error) {
		_, offset := nested.TimeTZOf(nested.TextOf(s))
		return of(int64(offset)), nil
	})
	return true
}

// localClock makes the first argument of a function the time of a day, where it has a zone.
func (b *binder) localClock(n *node) {
	if n.args[0].typ == timeTZType {
		n.args[0], _ = b.converted(n.args[0], typeOf(Time))
	}
}

// zonedArithmetic binds + and - of a TIME WITH TIME ZONE and an interval, which come round, and + of one and a date. It
// returns false for other arguments.
func (b *binder) zonedArithmetic(sign string, n *node) bool {
	at := slices.IndexFunc(n.args, func(a *node) bool { return a.typ == timeTZType })
	if at < 0 || sign != "+" && (sign != "-" || at == 1) {
		return false
	}
	clock, other := n.args[at], n.args[1-at]
	switch t := other.typ; {
	case t.span() && t.ID != Duration:
		n.args = []*node{clock, other}
		b.periods(n, 1)
		n.typ = timeTZType
		n.eval = map2e(n, func(s, interval string) (string, error) {
			micros, offset := nested.TimeTZOf(nested.TextOf(s))
			step := intervalFrom(interval).Micros % dayMicros
			if sign == "-" {
				step = -step
			}
			micros += step
			return namedText(nested.TimeTZBytes(micros-digits.FloorDiv(micros, dayMicros)*dayMicros, offset)), nil
		})
	case t.ID == Date && sign == "+":
		n.args = []*node{clock, other}
		b.castArg(n, 1, typeOf(Timestamp))
		n.typ, n.fallible = typeOf(TimestampTZ), true
		n.eval = map2e(n, func(s string, day int64) (int64, error) {
			micros, offset := nested.TimeTZOf(nested.TextOf(s))
			if timeformat.InfinitySign(day, timeformat.InfiniteTime) != 0 {
				return day, nil
			}
			clock := micros - int64(offset)*secondMicros
			sum := day + clock
			if clock != 0 && (sum > day) != (clock > 0) {
				return 0, query.Valuef("%s: overflow: the result does not fit %s", n.text, n.typ)
			}
			return sum, nil
		})
	default:
		return false
	}
	return true
}
