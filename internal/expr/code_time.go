package expr

import "github.com/mpga/mpga/internal/rowcode"

// This file has the instructions of parts of dates and of date_trunc: the arithmetic of calendar.go, in integers that
// are not negative, since a quotient of instructions rounds towards 0.

// codeEras is how many eras are added to a day so that no day of 32 bits is before March 1 of the year 0.
const codeEras = 15_000

// quotient divides a value that is not negative by a constant, or rounds the quotient of another towards 0.
func (c *coder) quotient(v rowcode.Value, by int64) rowcode.Value {
	return c.any(rowcode.Quotient, v, c.Int(by))
}

func (c *coder) times(v rowcode.Value, by int64) rowcode.Value {
	return c.any(rowcode.Mul, v, c.Int(by))
}

func (c *coder) plus(v rowcode.Value, by int64) rowcode.Value {
	return c.any(rowcode.Add, v, c.Int(by))
}

func (c *coder) sum(a, b rowcode.Value) rowcode.Value { return c.any(rowcode.Add, a, b) }

func (c *coder) less(a, b rowcode.Value) rowcode.Value { return c.any(rowcode.Sub, a, b) }

// rest returns what is left of a value after it is divided by a constant, rounded down.
func (c *coder) rest(v rowcode.Value, by int64) rowcode.Value {
	r := c.any(rowcode.Rest, v, c.Int(by))
	return c.Do(rowcode.Select, c.Do(rowcode.Less, r, c.Int(0)), c.plus(r, by), r)
}

// floor divides a value by a constant, rounded down.
func (c *coder) floor(v rowcode.Value, by int64) rowcode.Value {
	isBelow := c.Do(rowcode.Less, c.any(rowcode.Rest, v, c.Int(by)), c.Int(0))
	return c.less(c.quotient(v, by), isBelow)
}

// civil returns the year, month and day of days since 1970-01-01.
func (c *coder) civil(days rowcode.Value) (year, month, day rowcode.Value) {
	z := c.plus(days, eraEpoch+codeEras*daysPerEra)
	ofEra := c.any(rowcode.Rest, z, c.Int(daysPerEra))
	leaps := c.less(c.sum(c.less(ofEra, c.quotient(ofEra, 1460)), c.quotient(ofEra, 36_524)),
		c.quotient(ofEra, daysPerEra-1))
	yearOfEra := c.quotient(leaps, 365)
	// of a year from March on
	march := c.sum(yearOfEra, c.plus(c.times(c.quotient(z, daysPerEra), yearsPerEra),
		-codeEras*yearsPerEra))
	before := c.less(c.sum(c.times(yearOfEra, 365), c.quotient(yearOfEra, 4)), c.quotient(yearOfEra, 100))
	ofYear := c.less(ofEra, before)
	m := c.quotient(c.plus(c.times(ofYear, 5), 2), 153) // 0 is March
	day = c.plus(c.less(ofYear, c.quotient(c.plus(c.times(m, 153), 2), 5)), 1)
	month = c.Do(rowcode.Select, c.Do(rowcode.Less, m, c.Int(10)), c.plus(m, 3), c.plus(m, -9))
	return c.sum(march, c.Do(rowcode.LessEqual, month, c.Int(2))), month, day
}

// monthDays returns the days from 1970-01-01 to the first of a month, as civil.days.
func (c *coder) monthDays(year, month rowcode.Value) rowcode.Value {
	early := c.Do(rowcode.Less, month, c.Int(3))
	m := c.Do(rowcode.Select, early, c.plus(month, 9), c.plus(month, -3))
	y := c.plus(c.less(year, early), codeEras*yearsPerEra)
	days := c.sum(c.sum(c.times(y, 365), c.quotient(y, 4)), c.less(c.quotient(y, 400), c.quotient(y, 100)))
	return c.plus(c.sum(days, c.quotient(c.plus(c.times(m, 153), 2), 5)), -eraEpoch-codeEras*daysPerEra)
}

func yearCode(c *coder, days, _ rowcode.Value) rowcode.Value {
	year, _, _ := c.civil(days)
	return year
}

func quarterCode(c *coder, days, _ rowcode.Value) rowcode.Value {
	return c.quotient(c.plus(monthCode(c, days, rowcode.None), 2), 3)
}

func monthCode(c *coder, days, _ rowcode.Value) rowcode.Value {
	_, month, _ := c.civil(days)
	return month
}

func dayCode(c *coder, days, _ rowcode.Value) rowcode.Value {
	_, _, day := c.civil(days)
	return day
}

func weekdayCode(c *coder, days, _ rowcode.Value) rowcode.Value { return c.rest(c.plus(days, 4), 7) }

func isoWeekdayCode(c *coder, days, _ rowcode.Value) rowcode.Value {
	return c.plus(c.rest(c.plus(days, 3), 7), 1)
}

func dayOfYearCode(c *coder, days, _ rowcode.Value) rowcode.Value {
	return c.plus(c.less(days, yearBeginCode(c, days)), 1)
}

// clockCode counts the units of unit microseconds since the begin of a larger unit, which has `of` of
// them.
func clockCode(unit, of int64) func(c *coder, days, clock rowcode.Value) rowcode.Value {
	return func(c *coder, _, clock rowcode.Value) rowcode.Value {
		return c.any(rowcode.Rest, c.quotient(clock, unit), c.Int(of))
	}
}

func yearBeginCode(c *coder, days rowcode.Value) rowcode.Value {
	year, _, _ := c.civil(days)
	return c.monthDays(year, c.Int(1))
}

func quarterBeginCode(c *coder, days rowcode.Value) rowcode.Value {
	year, month, _ := c.civil(days)
	return c.monthDays(year, c.plus(c.times(c.quotient(c.plus(month, -1), 3), 3), 1))
}

func monthBeginCode(c *coder, days rowcode.Value) rowcode.Value {
	_, _, day := c.civil(days)
	return c.plus(c.less(days, day), 1)
}

func weekBeginCode(c *coder, days rowcode.Value) rowcode.Value {
	return c.plus(c.less(days, isoWeekdayCode(c, days, rowcode.None)), 1)
}

// finite leaves rows to the CPU where a timestamp stands for infinity.
func (c *coder) finite(v rowcode.Value) { c.scaled = append(c.scaled, c.times(v, 2)) }

// part returns a part of a date or a time.
func (c *coder) part(n *node) rowcode.Value {
	p, a := n.part, n.args[0]
	if p == nil || p.code == nil { // 'epoch' is none
		return c.refuse(n)
	}
	v := c.value(a)
	switch {
	case c.err != nil:
		return 0
	case a.typ.ID == Date && p.time:
		return c.Do(rowcode.Select, c.Do(rowcode.IsNull, v), c.Null(), c.Int(0))
	case a.typ.ID == Date:
		c.scale(v, dayMicros) // no infinity
		return p.code(c, v, rowcode.None)
	case a.typ.ID != Timestamp && a.typ.ID != TimestampTZ:
		return c.refuse(n)
	case p.time:
		c.finite(v)
		return p.code(c, rowcode.None, c.rest(v, dayMicros))
	}
	c.finite(v)
	return p.code(c, c.floor(v, dayMicros), rowcode.None)
}

// truncation returns date_trunc.
func (c *coder) truncation(n *node) rowcode.Value {
	u, a := n.unit, n.args[0]
	v := c.value(a)
	switch {
	case c.err != nil:
		return 0
	case a.typ.ID != Date && a.typ.ID != Timestamp && a.typ.ID != TimestampTZ, u.day != nil && u.code == nil:
		return c.refuse(n)
	case u.day == nil:
		begin := c.less(v, c.rest(v, u.clock))
		c.scaled = append(c.scaled, begin)
		return begin
	case a.typ.ID != Date:
		c.finite(v)
		v = c.floor(v, dayMicros)
	}
	return c.scale(u.code(c, v), dayMicros)
}
