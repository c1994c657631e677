package timeformat

import (
	"errors"
	"strings"
	"time"
)

// Moment is a point in time as a text has it.
type Moment struct {
	Days  int64 // since 1970-01-01
	Nanos int64 // of the day, less the offset from UTC: beyond a day, or negative, where that is
}

// The names of days and months, in English.
var (
	DayNames   = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	MonthNames = [...]string{"January", "February", "March", "April", "May", "June",
		"July", "August", "September", "October", "November", "December"}
)

// The errors of Read. They are made once: a reader of files tries formats on many texts.
var (
	errLiteral  = errors.New("the characters between the numbers are others")
	errNumber   = errors.New("a number is missing")
	errName     = errors.New("the name of a day or month is missing")
	errHalf     = errors.New("AM or PM is missing")
	errHour12   = errors.New("the hour before AM or PM is above 12")
	errOffset   = errors.New("an offset from UTC such as +02, +0230 or +02:30 is missing")
	errZone     = errors.New("the time zone is none of UTC and GMT")
	errTrailing = errors.New("something follows")
	errRange    = errors.New("a number is out of its range")
)

// ErrNoDay is the error of a text that is of the format, and whose month has no such day.
var ErrNoDay = errors.New("there is no such day")

// number says how a specifier reads a number.
type number struct {
	digits    int // at most
	low, high int64
}

var numbers = [256]number{
	'd': {2, 1, 31}, 'm': {2, 1, 12}, 'y': {2, 0, 99}, 'Y': {4, 0, 9999}, 'G': {4, 0, 9999},
	'H': {2, 0, 23}, 'I': {2, 1, 12}, 'M': {2, 0, 59}, 'S': {2, 0, 59},
	'n': {9, 0, 999_999_999}, 'f': {6, 0, 999_999}, 'g': {3, 0, 999},
	'w': {1, 0, 6}, 'u': {1, 1, 7}, 'U': {2, 0, 53}, 'W': {2, 0, 53}, 'V': {2, 1, 53}, 'j': {3, 1, 366},
}

// fields are the numbers of a text.
type fields struct {
	year, month, day, yearDay          int64
	isoYear, week, weekday, isoWeekday int64
	hour, minute, second, nanos        int64
	offsetSeconds                      int64
	half                               byte // 'a', 'p', or 0 without AM and PM
}

// Read reads a text. Its error says what is wrong, without the text and the format.
func (f *Format) Read(text string) (Moment, error) {
	v := fields{year: 1900, month: 1, day: 1, yearDay: 1, isoYear: 1900, week: -1, weekday: -1, isoWeekday: 1}
	rest := strings.TrimLeft(text, spaces)
	for i := range f.Parts {
		p := &f.Parts[i]
		var err error
		if rest, err = cutLiteral(rest, p.Literal); err != nil {
			return Moment{}, err
		}
		switch {
		case p.Specifier == 0:
		case numbers[p.Specifier].digits > 0:
			rest, err = v.cutNumber(rest, p.Specifier)
		default:
			rest, err = v.cutWord(rest, p.Specifier)
		}
		if err != nil {
			return Moment{}, err
		}
	}
	if strings.TrimLeft(rest, spaces) != "" {
		return Moment{}, errTrailing
	}
	return v.moment(f.day)
}

const spaces = " \t\n\v\f\r"

func isSpace(c byte) bool { return strings.IndexByte(spaces, c) >= 0 }

// cutLiteral takes a literal off a text; spaces stand for any number of spaces.
func cutLiteral(text, literal string) (rest string, err error) {
	for literal != "" {
		switch {
		case text == "":
			return text, errLiteral
		case isSpace(literal[0]):
			if !isSpace(text[0]) {
				return text, errLiteral
			}
			text, literal = strings.TrimLeft(text, spaces), strings.TrimLeft(literal, spaces)
		case text[0] != literal[0]:
			return text, errLiteral
		default:
			text, literal = text[1:], literal[1:]
		}
	}
	return text, nil
}

// cutNumber takes the number of a specifier off a text.
func (v *fields) cutNumber(text string, specifier byte) (rest string, err error) {
	of := &numbers[specifier]
	n, digits := int64(0), 0
	for digits < min(of.digits, len(text)) && text[digits]-'0' <= 9 {
		n = n*10 + int64(text[digits]-'0')
		digits++
	}
	if digits == 0 {
		return text, errNumber
	}
	rest = text[digits:]
	if n < of.low || n > of.high {
		return rest, errRange
	}
	switch specifier {
	case 'd':
		v.day = n
	case 'm':
		v.month = n
	case 'y': // 69 is 1969, 68 is 2068
		v.year = 1900 + n
		if n < 69 {
			v.year += 100
		}
	case 'Y':
		v.year = n
	case 'G':
		v.isoYear = n
	case 'H', 'I':
		v.hour = n
	case 'M':
		v.minute = n
	case 'S':
		v.second = n
	case 'n', 'f', 'g': // a fraction of a second
		for range 9 - digits {
			n *= 10
		}
		v.nanos = n
	case 'w':
		v.weekday = n
	case 'u':
		v.isoWeekday = n
	case 'U', 'W', 'V':
		v.week = n
	case 'j':
		v.yearDay = n
	}
	return rest, nil
}

// cutWord takes what is no number off a text.
func (v *fields) cutWord(text string, specifier byte) (rest string, err error) {
	switch specifier {
	case 'a', 'A':
		_, rest, err = cutName(text, DayNames[:], specifier == 'a')
	case 'b', 'h', 'B':
		var month int
		month, rest, err = cutName(text, MonthNames[:], specifier != 'B')
		v.month = int64(month) + 1
	case 'p':
		if len(text) < 2 || text[1]|0x20 != 'm' || text[0]|0x20 != 'a' && text[0]|0x20 != 'p' {
			return text, errHalf
		}
		v.half, rest = text[0]|0x20, text[2:]
	case 'z':
		v.offsetSeconds, rest, err = cutOffset(text)
	case 'Z':
		rest = strings.TrimLeft(text, spaces)
		end := len(rest) - len(strings.TrimLeftFunc(rest, isOfZone))
		if zone := rest[:end]; !strings.EqualFold(zone, "UTC") && !strings.EqualFold(zone, "GMT") {
			return text, errZone
		}
		rest = rest[end:]
	}
	return rest, err
}

// isOfZone says whether a character may stand in the name of a time zone.
func isOfZone(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_/+-:", r)
}

// cutName takes one of some names off a text, or the first three letters of one, in any case.
func cutName(text string, names []string, short bool) (index int, rest string, err error) {
	for i, name := range names {
		if short {
			name = name[:3]
		}
		if len(text) >= len(name) && strings.EqualFold(text[:len(name)], name) {
			return i, text[len(name):], nil
		}
	}
	return 0, text, errName
}

// cutOffset takes +HH, +HHMM, +HH:MM or +HH:MM:SS off a text; a minus may stand for the plus.
func cutOffset(text string) (seconds int64, rest string, err error) {
	if text == "" || text[0] != '+' && text[0] != '-' {
		return 0, text, errOffset
	}
	unit, separated := int64(3600), false
	rest = text[1:]
	for part := 0; part < 3; part++ {
		digits := rest
		if part > 0 && strings.HasPrefix(rest, ":") && (separated || part == 1) {
			digits, separated = rest[1:], true
		} else if part == 2 {
			break
		}
		if len(digits) < 2 || digits[0]-'0' > 9 || digits[1]-'0' > 9 {
			if part == 0 || separated && len(digits) < len(rest) {
				return 0, text, errOffset
			}
			break
		}
		seconds += unit * (int64(digits[0]-'0')*10 + int64(digits[1]-'0'))
		rest, unit = digits[2:], unit/60
	}
	if text[0] == '-' {
		seconds = -seconds
	}
	return seconds, rest, nil
}

// moment returns the point in time of the numbers.
func (v *fields) moment(by daySource) (Moment, error) {
	switch {
	case v.half == 0:
	case v.hour > 12:
		return Moment{}, errHour12
	default:
		if v.hour %= 12; v.half == 'p' {
			v.hour += 12
		}
	}
	clock := (v.hour*60+v.minute)*60 + v.second - v.offsetSeconds
	m := Moment{Nanos: clock*int64(time.Second) + v.nanos}
	switch by {
	case fromDate:
		at := time.Date(int(v.year), time.Month(v.month), int(v.day), 0, 0, 0, 0, time.UTC)
		if int64(at.Day()) != v.day {
			return Moment{}, ErrNoDay
		}
		m.Days = dayOf(at)
	case fromYearDay:
		m.Days = firstDay(v.year) + v.yearDay - 1
	case fromSundays, fromMondays:
		first := int64(0) // weekday of the first day of a week
		if by == fromMondays {
			first = 1
		}
		start := firstDay(v.year)
		before := (weekday(start)-first+6)%7 + 1 // days of week 0 in the year before
		m.Days = start - before + 7*v.week
		if v.weekday >= 0 {
			m.Days += (v.weekday - first + 7) % 7
		}
	case fromISOWeek:
		fourth := firstDay(v.isoYear) + 3 // is in week 1
		monday := fourth - (weekday(fourth)+6)%7
		m.Days = monday + 7*(max(v.week, 1)-1) + v.isoWeekday - 1
	}
	return m, nil
}

func dayOf(at time.Time) int64 { return at.Unix() / secondsPerDay }

func firstDay(year int64) int64 {
	return dayOf(time.Date(int(year), time.January, 1, 0, 0, 0, 0, time.UTC))
}

// weekday is 0 of a Sunday.
func weekday(days int64) int64 { return (days%7 + 11) % 7 }
