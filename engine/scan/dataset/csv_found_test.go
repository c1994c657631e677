package dataset

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/internal/invariants"
)

// dialect is how a text of CSV is written, which no option says.
type dialect struct {
	delimiter, quote, end string
	escaped               bool // quotes within quotes have a backslash before them, and are not doubled
	spaced                bool // spaces stand around quotes
	commented, titled     bool
	trailing              bool // a delimiter ends each row but the header
	noEnd                 bool // the last row has no newline
}

func randomDialect(rng *rand.Rand) dialect {
	d := dialect{
		delimiter: []string{",", ";", "\t", "|"}[rng.IntN(4)], quote: `"`, end: []string{"\n", "\n", "\r\n", "\r"}[rng.IntN(4)],
		spaced: rng.IntN(4) == 0, commented: rng.IntN(5) == 0, titled: rng.IntN(6) == 0, trailing: rng.IntN(6) == 0,
		noEnd: rng.IntN(3) == 0,
	}
	switch rng.IntN(4) {
	case 0:
		d.quote = "'"
	case 1:
		d.escaped = true
	}
	return d
}

// quoted writes a text in quotes.
func (d *dialect) quoted(rng *rand.Rand, text string) string {
	inner := strings.ReplaceAll(text, d.quote, d.quote+d.quote)
	if d.escaped {
		inner = strings.ReplaceAll(text, d.quote, `\`+d.quote)
	}
	inner = d.quote + inner + d.quote
	if d.spaced {
		inner = strings.Repeat(" ", rng.IntN(3)) + inner + strings.Repeat(" ", rng.IntN(2))
	}
	return inner
}

// write writes rows of a number, a text and a number, and returns the text of CSV.
func (d *dialect) write(rng *rand.Rand, texts []string) string {
	var lines []string
	if d.titled {
		lines = append(lines, "All that was sold", "")
	}
	lines = append(lines, strings.Join([]string{"id", "what", "price"}, d.delimiter))
	for i, text := range texts {
		if d.commented && rng.IntN(4) == 0 {
			lines = append(lines, "# a word of the author")
		}
		line := strings.Join([]string{fmt.Sprint(i), d.quoted(rng, text), fmt.Sprintf("%d.5", i)}, d.delimiter)
		if d.trailing {
			line += d.delimiter
		}
		lines = append(lines, line)
	}
	text := strings.Join(lines, d.end)
	if !d.noEnd {
		text += d.end
	}
	return text
}

// Would catch a dialect that is not found in a text, or found where there is another.
func TestCSVDialectsFound(t *testing.T) {
	for seed := range uint64(invariants.Fewer(400, 60)) {
		rng := rand.New(rand.NewPCG(seed, 8))
		d := randomDialect(rng)
		parts := []string{"x", "two words", d.delimiter, "12", "ü", "#"}
		if d.end != "\r" {
			parts = append(parts, "\n")
		}
		if d.quote == `"` {
			parts = append(parts, "'")
		}
		texts := []string{"say " + d.quote + "a" + d.delimiter + "b" + d.quote + d.delimiter + " now"} // no dialect but d gives three fields
		for range 3 + rng.IntN(30) {
			text := ""
			for range 1 + rng.IntN(4) {
				text += parts[rng.IntN(len(parts))]
			}
			if rng.IntN(6) == 0 {
				text += d.quote
			}
			texts = append(texts, "t"+text)
		}
		var want []string
		for i, text := range texts {
			want = append(want, fmt.Sprintf("%d|%s|%d.5", i, text, i))
		}
		text := d.write(rng, texts)
		src, rows, err := readSized(t, text, csv.Options{}, textfile.Sizes{Chunk: int64(rng.IntN(80))}, scan.OpenOptions{})
		if err != nil {
			t.Fatalf("seed %d, %+v: %v\n%s", seed, d, err, text)
		}
		if got := scantest.SchemaText(src.Schema()); got != "id int64, what utf8, price float64" {
			t.Fatalf("seed %d, %+v: %s\n%s", seed, d, got, text)
		}
		for i := range want {
			if i >= len(rows) || rows[i] != want[i] {
				t.Fatalf("seed %d, %+v: row %d of %d: %q, want %q\n%s", seed, d, i, len(rows), rows[min(i, len(rows)-1)], want[i], text)
			}
		}
		if len(rows) != len(want) {
			t.Fatalf("seed %d, %+v: %d rows, want %d\n%s", seed, d, len(rows), len(want), text)
		}
	}
}
