package parquet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan/internal/decode"
)

// The first string that is not UTF-8 is found, whatever the lengths between strings look like, and
// whatever two strings are together.
func TestInvalidStrings(t *testing.T) {
	pieces := []string{"a", "http://", "ж", "日", "😀", "\x00", "\x7f"}
	wrong := []string{"\x80", "\xd0", "\xe6\x97", "\xf0\x9f\x98", "\xc0\xaf", "\xed\xa0\x80", "\xff", "\xbf\xbf"}
	for seed := range uint64(5000) {
		rng := rand.New(rand.NewPCG(41, seed))
		values := make([]string, 1+rng.IntN(40))
		for i := range values {
			kinds := []int{2, 3, len(pieces)}[rng.IntN(3)]
			for range rng.IntN([]int{3, 30, 140, 300}[rng.IntN(4)]) {
				values[i] += pieces[rng.IntN(kinds)]
			}
		}
		for range rng.IntN(3) {
			i := rng.IntN(len(values))
			at := []int{0, len(values[i])}[rng.IntN(2)]
			values[i] = values[i][:at] + wrong[rng.IntN(len(wrong))] + values[i][at:]
		}
		want := slices.IndexFunc(values, func(s string) bool { return !utf8.ValidString(s) })

		page, spans := plainStrings(values...), make([]stringSpan, len(values))
		if _, err := findStrings(spans, page, 0); err != nil {
			t.Fatal(err)
		}
		if got := invalidPlain(page, spans); got != want {
			t.Fatalf("seed %d: plain, %q: %d, want %d", seed, values, got, want)
		}
		joined, at := []byte(strings.Join(values, "")), 0
		for i, s := range values {
			spans[i] = stringSpan{at: uint32(at), bytes: uint32(len(s))}
			at += len(s)
		}
		if got := invalidJoined(joined, spans); got != want {
			t.Fatalf("seed %d: joined, %q: %d, want %d", seed, values, got, want)
		}
	}
}

// An entry that is not UTF-8 is an error where a row has it, and nothing where none does; also where
// entries repeat, and where rows are NULL.
func TestInvalidEntries(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	long := strings.Repeat("long ", 10)
	for _, before := range []string{"", long} {
		entries := []string{"é", before + "\xff", "b", before + "\xff", before + "\xd0"}
		dictionary := dictionaryOfStrings(len(entries), entries...)
		cases := []struct {
			name  string
			pages []page
			rows  int
			want  string // of row and value, or of the values
		}{
			{"unused", []page{dictionary, codesV1(3, []byte{6, 1}, 3, 2, 0, 4, 2)}, 3, "é b b"},
			{"used", []page{dictionary, codesV1(3, []byte{6, 1}, 3, 4, 2, 2, 1)}, 3, `row 2, \xff`},
			{"repeated", []page{dictionary, codesV1(3, []byte{6, 1}, 3, 4, 2, 2, 3)}, 3, `row 2, \xff`},
			{"NULL before", []page{dictionary, codesV1(4, []byte{3, 0b1010}, 3, 2, 0, 2, 4)}, 4, `row 3, \xd0`},
			{"second page", []page{dictionary, codesV1(2, []byte{4, 1}, 3, 4, 0), codesV1(2, []byte{4, 1}, 3, 2, 2, 2, 4)}, 4, `row 3, \xd0`},
			{"code that is wrong, too", []page{dictionary, codesV1(2, []byte{4, 1}, 3, 2, 1, 2, 7)}, 2, "code 7 of a dictionary of 5 entries"},
		}
		for _, c := range cases {
			ways := map[string]columnValues{"views": newViews(arrow.BinaryTypes.String, mem), "codes": newStringCodes(arrow.BinaryTypes.String, mem)}
			for way, values := range ways {
				got, err := readValues(values, mem, c.rows, 3, c.pages...)
				said := strings.Join(got, " ")
				if text := (*decode.TextError)(nil); errors.As(err, &text) {
					said = fmt.Sprintf("row %d, %s", text.Row, text.Value[len(text.Value)-len(`\xff"`):len(text.Value)-1])
				} else if err != nil {
					said = err.Error()
				}
				if !strings.HasSuffix(said, c.want) {
					t.Errorf("%s, %s: %s, want %s", c.name, way, said, c.want)
				}
			}
			bytes, err := readValues(newViews(arrow.BinaryTypes.Binary, mem), mem, c.rows, 3, c.pages...)
			if wrongCode := strings.HasPrefix(c.want, "code"); (err != nil) != wrongCode || !wrongCode && len(bytes) != c.rows {
				t.Errorf("%s, bytes: %v, %v", c.name, bytes, err)
			}
		}
	}
}
