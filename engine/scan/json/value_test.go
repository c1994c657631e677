package json

import (
	stdjson "encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/fields"
)

// padded returns a text with what a scanner needs behind it.
func padded(text string) []byte { return append(make([]byte, 0, len(text)+fields.Slack), text...) }

// whole says whether a text is one value, and no more.
func whole(text string) bool {
	var s scanner
	s.open(padded(text))
	p := s.space(0)
	if p < len(text) {
		p, _ = s.value(p)
	}
	return p != failed && p < len(text)+1 && strings.Trim(text[min(p, len(text)):], " \t\r\n") == "" && strings.Trim(text, " \t\r\n") != ""
}

// otherOpinion are texts of which encoding/json has another opinion: NaN, infinities and surrogates.
var otherOpinion = regexp.MustCompile(`(?i)nan|inf|\\ud`)

// encoding/json is the oracle of what is a value.
func TestValueAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	seeds := []string{`{"a":[1,-2.5e+3,0.0,true,false,null,"x\n\u00e9\\\""],"b":{}}`, `[[],[{}],[[1]]]`, `"text"`, `-0`, `12e5`, `true`, ` { } `}
	const alphabet = "{}[]\",:0123456789.eE+-truefalsn \\u\n\t\x01bné"
	for range 200_000 {
		text := []byte(seeds[rng.IntN(len(seeds))])
		for range rng.IntN(4) {
			at := rng.IntN(len(text))
			switch c := alphabet[rng.IntN(len(alphabet))]; rng.IntN(3) {
			case 0:
				text[at] = c
			case 1:
				text = append(text[:at], append([]byte{c}, text[at:]...)...)
			default:
				if len(text) > 1 {
					text = append(text[:at], text[at+1:]...)
				}
			}
		}
		if otherOpinion.Match(text) {
			continue
		}
		if got, want := whole(string(text)), stdjson.Valid(text); got != want {
			t.Fatalf("%q: a value: %v, want %v", text, got, want)
		}
	}
}

// encoding/json is the oracle of the characters of a string, of any escapes that it and the scanner
// take for right.
func TestUnescape(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	pieces := []string{"a", "é", `\n`, `\"`, `\\`, `\/`, `\u0000`, `\u00e9`, `\uFfFd`, `\ud83d\ude00`, `\uDBFF\uDFFF`, "😀", strings.Repeat("x", 9)}
	for range 20_000 {
		var text strings.Builder
		for range rng.IntN(8) {
			text.WriteString(pieces[rng.IntN(len(pieces))])
		}
		quoted := `"` + text.String() + `"`
		var s scanner
		s.open(padded(quoted))
		if end := s.str(1); end != len(quoted)-1 {
			t.Fatalf("%s ends at %d", quoted, end)
		}
		var want string
		if err := stdjson.Unmarshal([]byte(quoted), &want); err != nil {
			t.Fatal(err)
		}
		if got := string(unescape(nil, []byte(text.String()))); got != want {
			t.Fatalf("%s: %q, want %q", quoted, got, want)
		}
	}
}

// Wherever a buffer ends, what it has of a row is no error, and more text is asked for. Would catch a
// scanner that takes the end of the buffer for the end of the text.
func TestBufferEnds(t *testing.T) {
	text := `{"key":"a\"b\ud83d\ude00","longer key":-12.5e-3,"t":true,"n":null,"i":-Infinity , "x":[{"y":[1, "z"]}, {}]}`
	var columns []arrow.Field
	for _, name := range []string{"key", "longer key", "t", "n", "i", "x"} {
		columns = append(columns, arrow.Field{Name: name, Type: arrow.BinaryTypes.String})
	}
	file := &File{row: newObject(columns, nil, nil, "", false)}
	for i := range columns {
		file.row.place([]int{i}, int32(i))
	}
	file.RowLimit = 1000
	for _, array := range []bool{false, true} {
		file.array = array
		for end := range len(text) + 1 {
			s := newSplitter(file, []int{0, 5})
			next, rows, err := s.Split(padded(text[:end]), 0, 1000, 10)
			switch {
			case err != nil:
				t.Fatalf("%s: %v", text[:end], err)
			case end < len(text) && (rows != 0 || next != 0):
				t.Fatalf("%s: %d rows, up to %d", text[:end], rows, next)
			case end == len(text) && (rows != 1 || next != end):
				t.Fatalf("all: %d rows, up to %d", rows, next)
			}
		}
	}
}
