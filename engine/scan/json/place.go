package json

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mpga/mpga/engine/scan/internal/textfile"
)

// failureIn is failure within the row at p: it names the member.
func (s *scanner) failureIn(p int) error {
	if place := s.placeIn(p); place != "" {
		return &textfile.Error{At: s.at, Reason: fmt.Errorf("at %s: %w", place, s.reason)}
	}
	return s.failure()
}

// placeIn returns which value within a column of the row at p the last failure is in, as in a.b[2]; "" where it is in
// none. What stands before the failure is right.
func (s *scanner) placeIn(p int) string {
	type step struct {
		place   string // of the object or array
		element int    // of an array, from 1; 0 of an object
		key     string
	}
	var steps []step
	within := func() string {
		if len(steps) == 0 {
			return ""
		}
		switch last := &steps[len(steps)-1]; {
		case last.element > 0:
			return last.place + "[" + strconv.Itoa(last.element) + "]"
		case last.place == "" || last.key == "":
			return last.place + last.key
		default:
			return last.place + "." + last.key
		}
	}
	of := scanner{text: s.text, size: s.size}
	for p < s.at {
		switch c := s.text[p]; c {
		case '{':
			steps = append(steps, step{place: within()})
		case '[':
			steps = append(steps, step{place: within(), element: 1})
		case '}', ']':
			steps = steps[:max(len(steps)-1, 0)]
		case ',':
			if last := len(steps) - 1; last >= 0 && steps[last].element > 0 {
				steps[last].element++
			} else if last >= 0 {
				steps[last].key = ""
			}
		case '"':
			end := of.str(p + 1)
			if end == failed {
				end = s.at
			}
			if last := len(steps) - 1; end < s.at && last >= 0 && steps[last].element == 0 && steps[last].key == "" {
				steps[last].key = nameOf(s.text[p+1:end], of.escaped)
			}
			p = end
		}
		p++
	}
	if len(steps) < 2 {
		return ""
	}
	return shortPlace(within())
}

// shortPlace returns a place with its middle left out where it is long.
func shortPlace(place string) string {
	const kept = 40 // bytes of the beginning, and of the end
	if len(place) <= 2*kept {
		return place
	}
	return strings.ToValidUTF8(place[:kept], "") + "..." + strings.ToValidUTF8(place[len(place)-kept:], "")
}
