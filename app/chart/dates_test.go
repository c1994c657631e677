package chart

import (
	"strings"
	"testing"
	"time"
)

// Would catch ticks of dates that are not round, too many of them, or none.
func TestDateTicks(t *testing.T) {
	at := func(text string) float64 {
		d, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return float64(d.Unix())
	}
	for _, c := range []struct{ low, high, want string }{
		{"2001-01-01T00:00:00Z", "2001-06-30T23:59:00Z", "2001-01 2001-02 2001-03 2001-04 2001-05 2001-06"},
		{"2001-01-01T22:00:00Z", "2001-01-02T04:00:00Z", "22:00 23:00 2001-01-02 01:00 02:00 03:00 04:00"},
		{"1999-05-01T00:00:00Z", "2004-02-01T00:00:00Z", "2000 2001 2002 2003 2004"},
		{"2001-02-27T00:00:00Z", "2001-03-02T00:00:00Z", "2001-02-27 12:00 2001-02-28 12:00 2001-03-01 12:00 2001-03-02"},
	} {
		list, text := dateTicks(at(c.low), at(c.high), 8)
		var texts []string
		for _, v := range list {
			texts = append(texts, text(v))
		}
		if got := strings.Join(texts, " "); got != c.want {
			t.Errorf("%s to %s: %s, want %s", c.low, c.high, got, c.want)
		}
	}
	for length := 1.0; length < 1e11; length *= 1.7 {
		if list, _ := dateTicks(1e9, 1e9+length, 8); len(list) < 1 || len(list) > 17 {
			t.Errorf("%g seconds: %d ticks", length, len(list))
		}
	}
}
