package csv

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
)

// cutAll cuts a text into fields; a quoted field is marked by a quote in front.
func cutAll(s *rowSplitter, split func(buf []byte, p, limit, maxRows int) (int, int, error), buf []byte, limit, maxRows int) (cut []string, at int, err error) {
	for {
		next, rows, err := split(buf, at, limit, maxRows)
		at = next
		if err == io.EOF {
			return cut, at, nil
		}
		if rows == 0 || err != nil {
			return cut, at, err
		}
		for row := range rows {
			for _, column := range s.spans {
				var scratch []byte
				field := string(column[row].Bytes(buf, s.unescape, &scratch))
				if column[row].IsQuoted() {
					field = string(s.quote) + field
				}
				cut = append(cut, field)
			}
		}
	}
}

// sameCuts cuts a text by blocks and row by row, which must agree on fields, places and errors.
func sameCuts(t *testing.T, text string, width int, columns []int, o Options, limit, maxRows int) {
	t.Helper()
	o.Quote = '"'
	d := newDialect(&o, ',')
	buf := append(make([]byte, 0, len(text)+fields.Slack), text...)
	byBlock, byRow := newRowSplitter(d, width, columns), newRowSplitter(d, width, columns)
	got, gotAt, gotErr := cutAll(byBlock, byBlock.Split, buf, limit, maxRows)
	want, wantAt, wantErr := cutAll(byRow, func(buf []byte, p, limit, maxRows int) (int, int, error) {
		if p >= limit {
			return p, 0, nil
		}
		return byRow.splitRows(buf, p, limit, min(maxRows, slowRows))
	}, buf, limit, maxRows)
	if !slices.Equal(got, want) || gotAt != wantAt || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
		t.Fatalf("%q\nwidth %d, columns %v, limit %d, rows %d:\ngot  %q to %d, %v\nwant %q to %d, %v", text, width, columns, limit, maxRows, got, gotAt, gotErr, want, wantAt, wantErr)
	}
	if at := (*textfile.Error)(nil); errors.As(gotErr, &at) {
		if other := (*textfile.Error)(nil); !errors.As(wantErr, &other) || at.At != other.At {
			t.Fatalf("%q: error at %d, want %v", text, at.At, wantErr)
		}
	}
}

// Regular rows with few faults, so that blocks are cut and refused at every place.
func TestBlocksAgainstRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	fields := []string{"", "a", "12", "1.50", "a longer text than a word", `"q"`, `""`, `"a,b"`, "\"two\nlines\"", `"say ""x"""`, `""""`, `"` + strings.Repeat("long,\n", 40) + `"`}
	faults := []string{`a"b`, `"a"b`, `"open`, "\n", "\r\n", "a\r", ",", "\"a\"\r", `"a""b"c"`, `" "x`, `  "a"`, ` "x,""y""" `, `"a" "b"`, "\"a\" \r", ` a"b`, `"a\"b"`, `"\\"`, `a\`}
	dialects := []Options{{}, {}, {NoQuote: true}, {Escape: '\\'}}
	for range 3000 {
		width := 1 + rng.IntN(4)
		kinds := []int{5, len(fields)}[rng.IntN(2)]
		end := []string{"\n", "\r\n"}[rng.IntN(2)]
		var text strings.Builder
		for range rng.IntN(200) {
			for i := range width {
				if i > 0 {
					text.WriteByte(',')
				}
				if rng.IntN(3000) == 0 {
					text.WriteString(faults[rng.IntN(len(faults))])
				} else {
					text.WriteString(fields[rng.IntN(kinds)])
				}
			}
			text.WriteString(end)
		}
		var columns []int
		for c := range width {
			if rng.IntN(3) > 0 {
				columns = append(columns, c)
			}
		}
		n := text.Len()
		cut := n - min(rng.IntN(40), n) // the buffer may end anywhere
		limit := n
		if rng.IntN(2) == 0 {
			limit = rng.IntN(n + 1)
		}
		sameCuts(t, text.String()[:cut], width, columns, dialects[rng.IntN(len(dialects))], limit, 1+rng.IntN(300))
	}
}

// A block is longer than a mask, so the text is repeated.
func FuzzBlocks(f *testing.F) {
	f.Add("a,b\n1,2\n", uint8(40), uint8(2), false)
	f.Add("\"a\",\"b\"\"\n\"\r\n", uint8(30), uint8(2), false)
	f.Add("\"\"\"\"\n\"x\"\r", uint8(20), uint8(1), false)
	f.Add("\r\n,\n", uint8(99), uint8(1), true)
	f.Fuzz(func(t *testing.T, text string, times, width uint8, noQuote bool) {
		long := strings.Repeat(text, int(times))
		w := int(width)%5 + 1
		sameCuts(t, long, w, []int{0, w - 1}[:min(w, 2)], Options{NoQuote: noQuote}, len(long), 1000)
	})
}
