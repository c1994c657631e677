package timeformat

import (
	"errors"
	"fmt"
	"strings"
)

// Format is the text of a format, and its parts.
type Format struct {
	Text  string
	Parts []Part

	day daySource
}

// Part is a literal, and the specifier behind it.
type Part struct {
	Literal   string
	Specifier byte // the letter behind %; 0 of the last part, which has a literal alone
	Bare      bool // %-d: a number without zeros before it
}

// specifiers are the letters that may follow %, and bareSpecifiers the letters that may follow %-.
const (
	specifiers     = "aAwudhbBmyYGHIpMSnfgzZjUWV"
	bareSpecifiers = "dmyHIMSj"
)

// shorthands are specifiers that stand for others.
var shorthands = map[byte]string{'c': "%Y-%m-%d %H:%M:%S", 'x': "%Y-%m-%d", 'X': "%H:%M:%S", 'T': "%H:%M:%S"}

// daySource says what the day of a time follows from, of the specifiers that a format has.
type daySource uint8

const (
	fromDate    daySource = iota // year, month and day
	fromYearDay                  // year and day of the year
	fromSundays                  // year, week from its first Sunday on, weekday
	fromMondays                  // year, week from its first Monday on, weekday
	fromISOWeek                  // ISO year, week and weekday
)

// Parse reads a format. Its errors say what is wrong, and quote the format.
func Parse(format string) (*Format, error) {
	f := &Format{Text: format}
	if format == "" {
		return nil, errors.New("the format is empty")
	}
	if err := f.parse(format); err != nil {
		return nil, fmt.Errorf("the format %q %w", format, err)
	}
	return f, nil
}

func (f *Format) parse(format string) error {
	literal := ""
	for {
		before, rest, found := strings.Cut(format, "%")
		literal += before
		if !found {
			f.Parts = append(f.Parts, Part{Literal: literal})
			return nil
		}
		rest, bare := strings.CutPrefix(rest, "-")
		if rest == "" {
			return errors.New("ends with %")
		}
		letter := rest[0]
		format = rest[1:]
		long, isShorthand := shorthands[letter]
		switch {
		case bare && strings.IndexByte(bareSpecifiers, letter) < 0:
			return fmt.Errorf("has %%-%c, which is none of strftime's", letter)
		case letter == '%':
			literal += "%"
			continue
		case isShorthand:
			format = long + format
			continue
		case strings.IndexByte(specifiers, letter) < 0:
			return fmt.Errorf("has %%%c, which is none of strftime's", letter)
		}
		f.Parts = append(f.Parts, Part{literal, letter, bare})
		literal = ""
	}
}

// has says whether the format has one of some specifiers.
func (f *Format) has(letters string) bool { return f.count(letters) > 0 }

// count returns how often the format has one of some specifiers.
func (f *Format) count(letters string) (n int) {
	for _, p := range f.Parts {
		if p.Specifier != 0 && strings.IndexByte(letters, p.Specifier) >= 0 {
			n++
		}
	}
	return n
}

// Zoned says whether the times name a zone or an offset from UTC.
func (f *Format) Zoned() bool { return f.has("zZ") }

// Nanos says whether the times have nanoseconds.
func (f *Format) Nanos() bool { return f.has("n") }

// Reader returns a format to read times by. It is an error where parts of the format contradict
// each other.
func Reader(format string) (*Format, error) {
	f, err := Parse(format)
	if err != nil {
		return nil, err
	}
	week, yearDay := f.has("UW"), f.has("j")
	switch {
	case f.has("dm"): // the day of a month decides, whatever else there is
	case f.count("UWVj") > 1, (week || yearDay) && f.has("G"):
		return nil, fmt.Errorf("the format %q has the day of the year or its week in two ways", format)
	case f.has("V") && f.has("yY"):
		return nil, fmt.Errorf("the format %q has an ISO week (%%V) without its year (%%G)", format)
	case yearDay:
		f.day = fromYearDay
	case f.has("U"):
		f.day = fromSundays
	case f.has("W"):
		f.day = fromMondays
	case f.has("GV") && !f.has("yY"):
		f.day = fromISOWeek
	}
	return f, nil
}
