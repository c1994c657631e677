package devicetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/kernels"
)

// Strings holds NumberStrings and AddStrings to pages of random strings, some damaged, of several
// columns and calls, with known strings that have room for all, for some and for none.
func Strings(t *testing.T, device kernels.Device, calls, stringsMax int) {
	for _, tableBytes := range []int64{0, 1 << 10, 1 << 22} {
		r := newRig(t, device)
		rng := rand.New(rand.NewPCG(19, uint64(calls)+uint64(tableBytes)))
		n := numbering{r: r, known: kernels.NewStringTable(tableBytes), numbers: map[string]uint32{},
			roomy: tableBytes == 1<<22}
		if n.known.Slots > 0 {
			n.known.Memory = r.alloc(n.known.MemoryBytes())
			r.must(r.stream.Fill(n.known.Memory, n.known.ResetBytes(), 0))
		}
		for range calls {
			n.call(rng, stringsMax)
		}
		r.close()
	}
}

// numbering is the strings of several calls, by column and string.
type numbering struct {
	r       *Rig
	known   kernels.StringTable
	numbers map[string]uint32
	roomy   bool // known has room for all strings
}

// call numbers the strings of random pages.
func (n *numbering) call(rng *rand.Rand, stringsMax int) {
	r := n.r
	var memory, list []byte
	var want []string // "" is no string, else its column and itself
	for range 1 + rng.IntN(6) {
		page := kernels.StringPage{From: uint64(len(memory)), First: uint32(len(want)),
			Column: uint32(rng.IntN(3)), Levels: kernels.PageLevels(rng.IntN(3))}
		content, of := randomStrings(rng, rng.IntN(stringsMax+1), page.Levels)
		page.Most = uint32(len(of) + rng.IntN(3) - min(rng.IntN(3), len(of)))
		of = of[:min(len(of), int(page.Most))]
		if rng.IntN(4) == 0 { // a page that ends early
			content = content[:rng.IntN(len(content)+1)]
			of = of[:wholeStrings(content, &page, len(of))]
		}
		page.Bytes = uint32(len(content))
		memory = append(append(memory, content...), make([]byte, rng.IntN(9))...)
		for _, s := range of {
			want = append(want, fmt.Sprint(page.Column, " ", s))
		}
		want = append(want, make([]string, int(page.Most)-len(of))...)
		list = kernels.AppendListed(list, page)
	}
	bytesOfMemory, all := uint64(len(memory)), uint32(len(want))
	for _, outside := range []kernels.StringPage{
		{From: bytesOfMemory, Bytes: 1, Most: 1}, {From: ^uint64(0), Bytes: 8, Most: 1},
		{First: all, Most: 1}, {First: ^uint32(0), Most: 1},
	} {
		list = kernels.AppendListed(list, outside)
	}
	s := &kernels.Strings{
		Memory: r.put(append(memory, make([]byte, kernels.PagesPad)...)), MemoryBytes: int64(len(memory)),
		Pages: r.put(list), Count: int64(len(list)) / kernels.StringPageBytes, Strings: int64(len(want)), Known: n.known,
		Numbers: r.alloc(4 * int64(len(want))), Head: r.alloc(kernels.MissingHeadBytes),
		List:      r.alloc(kernels.MissingBytes * int64(len(want))),
		TextBytes: int64(len(memory)) * int64(rng.IntN(5)) / 4,
	}
	s.Text, s.Scratch = r.alloc(s.TextBytes), r.alloc(s.ScratchBytes())
	if rng.IntN(2) == 0 {
		n.matched(rng, s, want)
	}
	r.must(r.stream.NumberStrings(s))
	if len(s.Matched) > 0 {
		n.checkWords(s, want)
		for i := range want {
			if c := n.columnOf(s, want[i]); c != nil && !c.Numbered {
				want[i] = ""
			}
		}
	}
	given, missing := n.listed(s, want)
	s.Given = r.put(given)
	r.must(r.stream.AddStrings(s, missing))
	numbers := r.get(s.Numbers, 4*s.Strings)
	for i, of := range want {
		if got := binary.LittleEndian.Uint32(numbers[4*i:]); got != n.numbers[of] {
			r.t.Errorf("string %d, %q: number %d, want %d", i, of, got, n.numbers[of])
			return
		}
	}
}

// matched lets strings of some columns be compared with patterns, some of which are parts of these strings.
func (n *numbering) matched(rng *rand.Rand, s *kernels.Strings, want []string) {
	for range rng.IntN(rowcode.PatternsMax + 1) {
		text := []string{"", "0", "00", "1", "é", "x\xfez"}[rng.IntN(6)]
		if of := want[rng.IntN(max(len(want), 1)):]; len(of) > 0 && len(of[0]) < 30 && rng.IntN(3) > 0 {
			text = of[0]
			text = text[min(len(text), 2):] // without its column
			if from := rng.IntN(len(text) + 1); rng.IntN(2) == 0 {
				text = text[from : from+rng.IntN(len(text)-from+1)]
			}
		}
		p := rowcode.Pattern{Kind: rowcode.PatternKind(rng.IntN(4)), Text: text}
		if p.Kind == rowcode.IsLike {
			p.Text = []string{"", text, "0"}[rng.IntN(3)] + string([]byte{rowcode.PartEnd}) + text
			if rng.IntN(2) == 0 {
				p.Text += string([]byte{rowcode.PartEnd}) + []string{"", text, "1"}[rng.IntN(3)]
			}
		}
		s.Patterns = append(s.Patterns, p)
	}
	for column := range uint32(3) {
		if rng.IntN(3) > 0 {
			s.Matched = append(s.Matched, kernels.MatchedColumn{
				Column: column, Patterns: rng.Uint32() & (1<<len(s.Patterns) - 1), Numbered: rng.IntN(2) == 0,
				Text: rng.IntN(2) == 0,
			})
		}
	}
	s.Words, s.Refused = n.r.alloc(4*s.Strings), n.r.alloc(4)
}

// columnOf returns how the strings of a string's column are compared; nil where they are not.
func (n *numbering) columnOf(s *kernels.Strings, of string) *kernels.MatchedColumn {
	for i := range s.Matched {
		if strings.HasPrefix(of, fmt.Sprint(s.Matched[i].Column, " ")) {
			return &s.Matched[i]
		}
	}
	return nil
}

// checkWords compares the words of strings with what the patterns say.
func (n *numbering) checkWords(s *kernels.Strings, want []string) {
	words := n.r.get(s.Words, 4*s.Strings)
	notText := false
	for i, of := range want {
		word := uint32(0)
		if c := n.columnOf(s, of); c != nil {
			word = rowcode.StringThere
			for j := range s.Patterns {
				if c.Patterns>>j&1 == 1 && matches(&s.Patterns[j], of[2:]) {
					word |= 1 << j
				}
			}
			notText = notText || c.Text && !utf8.ValidString(of[2:])
		}
		if got := binary.LittleEndian.Uint32(words[4*i:]); got != word {
			n.r.t.Errorf("string %d, %.60q: word %x, want %x of %q", i, of, got, word, s.Patterns)
			return
		}
	}
	if got := binary.LittleEndian.Uint32(n.r.get(s.Refused, 4)) != 0; got != notText {
		n.r.t.Errorf("a string is not UTF-8: %v, want %v", got, notText)
	}
}

// matches is rowcode.Pattern.Matches by a regular expression, or by comparing.
func matches(p *rowcode.Pattern, s string) bool {
	switch d := bytes.Compare([]byte(s), []byte(p.Text)); p.Kind {
	case rowcode.IsEqual:
		return d == 0
	case rowcode.IsBefore:
		return d < 0
	case rowcode.IsUpTo:
		return d <= 0
	}
	hexed := func(s string) string { return fmt.Sprintf("%x", s) }
	var parts []string
	for _, part := range strings.Split(p.Text, string([]byte{rowcode.PartEnd})) {
		parts = append(parts, hexed(part))
	}
	return regexp.MustCompile("^" + strings.Join(parts, "(..)*") + "$").MatchString(hexed(s))
}

// listed gives numbers to the strings that a call has listed, each of which is to be listed once.
func (n *numbering) listed(s *kernels.Strings, want []string) (given []byte, missing int64) {
	r := n.r
	words := r.words(s.Head, 1)
	head := kernels.Missing{Bytes: uint32(words[0]), Count: uint32(words[0] >> 32)}
	numbers := r.get(s.Numbers, 4*s.Strings)
	expected, bytesOf := map[string]bool{}, 0
	for i, of := range want {
		got := binary.LittleEndian.Uint32(numbers[4*i:])
		if got != 0 && got != n.numbers[of] || got == 0 && of != "" && n.roomy &&
			len(of)-2 <= kernels.KnownStringMax && n.numbers[of] != 0 {
			r.t.Errorf("string %d, %.60q: number %d before any was given, and %d is known", i, of, got, n.numbers[of])
		}
		if got == 0 && of != "" && !expected[of] {
			expected[of] = true
			bytesOf += len(of) - 2 // column and a space
		}
	}
	if int(head.Count) != len(expected) || int(head.Bytes) != bytesOf {
		r.t.Fatalf("%d strings of %d B are listed, want %d of %d B", head.Count, head.Bytes, len(expected), bytesOf)
	}
	text, list := r.get(s.Text, s.TextBytes), r.get(s.List, kernels.MissingBytes*int64(head.Count))
	at := 0
	for _, m := range unsafe.Slice((*kernels.MissingString)(unsafe.Pointer(unsafe.SliceData(list))), head.Count) {
		of := want[m.String]
		if !expected[of] || int(m.Bytes) != len(of)-2 {
			r.t.Fatalf("string %d, %q, is listed as %+v", m.String, of, m)
		}
		delete(expected, of)
		if end := at + int(m.Bytes); end <= len(text) && !bytes.Equal(text[at:end], []byte(of[2:])) {
			r.t.Errorf("string %d, %q, is listed with the text %q", m.String, of, text[at:end])
		}
		at += int(m.Bytes)
		if n.numbers[of] == 0 {
			n.numbers[of] = uint32(len(n.numbers)) + 1
		}
		given = binary.LittleEndian.AppendUint32(given, n.numbers[of])
	}
	return append(given, make([]byte, 4*s.Strings-int64(len(given)))...), int64(head.Count)
}

// randomStrings returns a page of strings, some of which are equal or begin alike.
func randomStrings(rng *rand.Rand, count int, levels kernels.PageLevels) (content []byte, list []string) {
	before := make([]byte, rng.IntN(40))
	if levels == kernels.LevelsPrefixed {
		content = append(binary.LittleEndian.AppendUint32(nil, uint32(len(before))), before...)
	}
	distinct := 1 + rng.IntN(2*count+1)
	length := rng.IntN(20)
	kind := rng.IntN(3)
	for range count {
		s := fmt.Sprintf("%0*d", length, rng.IntN(distinct))
		switch {
		case kind == 1 && rng.IntN(200) == 0:
			s += []string{"é", "\xff", "\xed\xa0\x80", "\U0010FFFF", "\xf4\x90\x80\x80", "\xc0\x80",
				"\xe0\x9f\xbf", "x\xfe", "\xe2\x82"}[rng.IntN(9)]
		case kind == 1:
			s = s[rng.IntN(len(s)):]
		case kind == 2 && rng.IntN(3) == 0:
			s = string(bytes.Repeat([]byte(s), 1+rng.IntN(3))) + string([]byte{0, 0, 0}[:rng.IntN(4)])
		case kind == 2 && rng.IntN(50) == 0:
			s = string(bytes.Repeat([]byte{'x'}, 5000+rng.IntN(2)))
		}
		list = append(list, s)
		content = append(binary.LittleEndian.AppendUint32(content, uint32(len(s))), s...)
	}
	return content, list
}

// wholeStrings returns how many of its first `most` strings a page has that ends early.
func wholeStrings(content []byte, p *kernels.StringPage, most int) (n int) {
	if p.Levels == kernels.LevelsPrefixed {
		if len(content) < 4 || int(binary.LittleEndian.Uint32(content)) > len(content)-4 {
			return 0
		}
		content = content[4+binary.LittleEndian.Uint32(content):]
	}
	for n < most && len(content) >= 4 && int(binary.LittleEndian.Uint32(content)) <= len(content)-4 {
		content = content[4+binary.LittleEndian.Uint32(content):]
		n++
	}
	return n
}
