package digits

import "github.com/dustin/go-humanize"

// Counted returns a number with what it counts: 1 row, 2,000 rows.
func Counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return humanize.Comma(n) + " " + noun + "s"
}
