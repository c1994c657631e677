package cpuagg

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
)

// keepingFolds are folds of all sorts of elements.
var keepingFolds = map[string]rowdata.Fold{
	"set of words":             {Kind: rowdata.FoldDistinct, Words: rowdata.SetWords, ElementWords: 1},
	"set of pairs":             {Kind: rowdata.FoldDistinct, Words: rowdata.SetWords, ElementWords: 2, Wide: true},
	"set of strings":           {Kind: rowdata.FoldDistinct, Words: rowdata.SetWords, ElementWords: 2, Long: true},
	"counted set of words":     {Kind: rowdata.FoldHistogram, Words: rowdata.SetWords, ElementWords: 3},
	"counted set of strings":   {Kind: rowdata.FoldHistogram, Words: rowdata.SetWords, ElementWords: 4, Long: true},
	"words":                    {Kind: rowdata.FoldCollect, Words: rowdata.VectorWords, ElementWords: 1},
	"strings":                  {Kind: rowdata.FoldCollect, Words: rowdata.VectorWords, ElementWords: 2, Long: true},
	"words with positions":     {Kind: rowdata.FoldCollect, Words: rowdata.VectorWords, ElementWords: 2},
	"strings with positions":   {Kind: rowdata.FoldCollect, Words: rowdata.VectorWords, ElementWords: 3, Long: true},
	"first pairs":              {Kind: rowdata.FoldTop, Words: rowdata.VectorWords, ElementWords: 2, Wide: true, Limit: 1 << 20},
	"last words, descending":   {Kind: rowdata.FoldTop, Words: rowdata.VectorWords, ElementWords: 1, Descending: true, Limit: 1 << 20},
	"last strings, descending": {Kind: rowdata.FoldTop, Words: rowdata.VectorWords, ElementWords: 2, Long: true, Descending: true, Limit: 1 << 20},
}

// randomRow returns the inputs of a row for a fold; positions count from 0.
func randomRow(rng *rand.Rand, f *rowdata.Fold, position int, batch *rowtest.Arena) (row [3][]uint64) {
	n := rng.IntN(500)
	switch {
	case f.Long:
		text := strings.Repeat("x", n%17) + fmt.Sprint(n)
		if n%3 == 0 {
			text = fmt.Sprintf("%d\x00%d", n%7, n) + strings.Repeat("\x00", n%11)
		}
		v := batch.Value(text)
		row[0] = v[:]
	case f.Wide:
		row[0] = []uint64{uint64(n), uint64(n%3) << 62}
	default:
		row[0] = []uint64{uint64(n) << 55}
	}
	if f.Kind == rowdata.FoldHistogram || f.Kind == rowdata.FoldCollect && f.ElementWords > f.OrderWords() {
		row[1] = []uint64{uint64(position)}
	}
	return row
}

// elementTexts describes elements, in order.
func elementTexts(f *rowdata.Fold, elements []uint64) (texts []string) {
	for e := elements; len(e) > 0; e = e[f.ElementWords:] {
		texts = append(texts, elementText(f, e[:f.ElementWords]))
	}
	return texts
}

func elementText(f *rowdata.Fold, e []uint64) string {
	if f.Long {
		return fmt.Sprintf("%q %v", rowdata.AsBytes2(e[:2]).Bytes(), e[2:])
	}
	return fmt.Sprint(e)
}

// Would catch a prefix that contradicts the order: of strings that differ in their length or in
// zeros, of pairs by their low word, or of values that are wanted in descending order.
func TestPrefixFollowsOrder(t *testing.T) {
	rng := rowtest.Rand(t)
	for name, f := range keepingFolds {
		t.Run(name, func(t *testing.T) {
			var batch rowtest.Arena
			s := oneFold(f, 1)
			for i := range 2000 {
				addRows(s, [][3][]uint64{randomRow(rng, &f, i, &batch)}, []uint32{0})
			}
			o := orderOf(&f)
			elements := f.Elements(s.group(0))
			before := elementTexts(&f, elements)
			o.sort(elements)
			w := f.ElementWords
			for at := w; at < len(elements); at += w {
				a, b := elements[at-w:at], elements[at:at+w]
				if c := o.compare(a, b); c > 0 || o.prefix(a) > o.prefix(b) || c == 0 && o.prefix(a) != o.prefix(b) {
					t.Fatalf("%s, then %s: compared %d, prefixes %x and %x", elementText(&f, a), elementText(&f, b), c, o.prefix(a), o.prefix(b))
				}
			}
			after := elementTexts(&f, elements)
			slices.Sort(before)
			if slices.Sort(after); !slices.Equal(before, after) {
				t.Error("sorting changes elements")
			}
			runtime.KeepAlive(s)
		})
	}
}
