package csv

import (
	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/internal/timeformat"
)

// dateShapes are the ways in which people write dates: an order and a character between the numbers.
// Which of them a text has shows in all values of a sample together: 31/12/2025 begins with the
// day, and 12/31/2025 with the month.
var dateShapes = []string{
	"%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d",
}

// clockShapes are what may stand behind a date; the empty one makes it a date.
var clockShapes = []string{"", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p"}

// shapes are the formats of times that are looked for besides ISO's, by date, then by clock.
var shapes = func() (list []*timeformat.Format) {
	for _, date := range dateShapes {
		for _, clock := range clockShapes {
			f, err := timeformat.Reader(date + clock)
			if err != nil {
				panic(err) // a constant
			}
			list = append(list, f)
		}
	}
	return list
}()

// firstShape is the bit of a typeSet that stands for the first of shapes; the bits behind it stand
// for the others.
const firstShape = 16

const _ = uint(firstShape - bitsOfTypes)

// shapesOf returns the bits of the shapes that a value may have: its numbers have the digits, and
// its characters the places, that the shapes ask for, and there is such a time.
func shapesOf(value []byte) (set typeSet) {
	var lengths [3]int // digits
	var separator byte
	rest := value
	for i := range lengths {
		for len(rest) > 0 && rest[0]-'0' <= 9 {
			lengths[i]++
			rest = rest[1:]
		}
		switch {
		case lengths[i] == 0:
			return 0
		case i == 2:
		case len(rest) == 0 || i == 1 && rest[0] != separator:
			return 0
		default:
			separator, rest = rest[0], rest[1:]
		}
	}
	clock, ok := clockOf(rest)
	if !ok || separator != '.' && separator != '/' && separator != '-' {
		return 0
	}
	for i, date := range dateShapes {
		yearFirst := date[1] == 'Y'
		year, other := lengths[2], lengths[0]
		if yearFirst {
			year, other = other, year
		}
		if date[2] != separator || year != 4 || other > 2 || lengths[1] > 2 {
			continue
		}
		at := i*len(clockShapes) + clock
		of := fields.Format{Times: shapes[at]}
		if _, ok := of.ReadTime(value); ok {
			set |= 1 << (firstShape + at)
		}
	}
	return set
}

// clockOf returns which of clockShapes stands behind a date, by its characters.
func clockOf(rest []byte) (index int, ok bool) {
	if len(rest) == 0 {
		return 0, true
	}
	colons, half, fraction := 0, false, false
	for _, c := range rest {
		switch c {
		case ':':
			colons++
		case '.':
			fraction = true
		case 'M', 'm':
			half = true
		}
	}
	switch {
	case rest[0] != ' ' || colons < 1 || colons > 2 || half && fraction:
		return 0, false
	case half:
		return colons + 3, true
	case fraction:
		return 3, colons == 2
	}
	return colons, true
}

// shape returns the shape that all values of a sample have, if there is just one, and whether it is
// of a date.
func (s typeSet) shape() (f *timeformat.Format, isDate bool) {
	at := -1
	for i := range shapes {
		if s&(1<<(firstShape+i)) == 0 {
			continue
		}
		if at >= 0 {
			return nil, false // the day and the month may be either
		}
		at = i
	}
	if at < 0 {
		return nil, false
	}
	return shapes[at], at%len(clockShapes) == 0
}

// readerOf returns a format to read times by, or nil where the text is empty.
func readerOf(text string) (*timeformat.Format, error) {
	if text == "" {
		return nil, nil
	}
	return timeformat.Reader(text)
}
