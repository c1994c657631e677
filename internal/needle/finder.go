package needle

import (
	"strings"
	"unsafe"
)

// Finder finds one needle. It may be shared.
type Finder struct {
	needle string

	// Where a match begins, the bytes at1 and at2 behind it are byte1 and byte2: the two bytes of
	// the needle that are rarest in text.
	at1, at2     int
	byte1, byte2 byte
}

// common are bytes in about the order in which texts have them, the most frequent first: the first
// bytes of characters of two and three bytes, then letters, digits and punctuation. All other bytes
// are rare.
const common = "\xd0\xd1\xe3\xe4\xe5\xe6\xc3\xce\xcf e\x81taoinsrhl0d1/cu.mp-2f:gw3yb4v5k968_7=&%?xj"

// ranks have, by byte, how rare it is.
var ranks = func() (ranks [256]int) {
	for i := range ranks {
		ranks[i] = len(common)
	}
	for i := range len(common) {
		ranks[common[i]] = i
	}
	return ranks
}()

// New returns a finder of a needle.
func New(needle string) *Finder {
	f := &Finder{needle: needle}
	if needle == "" {
		return f
	}
	for i := range len(needle) {
		if ranks[needle[i]] > ranks[needle[f.at1]] {
			f.at1 = i
		}
	}
	f.at2 = len(needle) - 1
	if f.at2 == f.at1 {
		f.at2 = 0
	}
	for i := range len(needle) {
		if i != f.at1 && ranks[needle[i]] > ranks[needle[f.at2]] {
			f.at2 = i
		}
	}
	f.byte1, f.byte2 = needle[f.at1], needle[f.at2]
	return f
}

// Each calls a function with the index of each text that has the needle, in order, and the first
// byte of the first match in the text.
func (f *Finder) Each(texts []string, found func(i, at int)) {
	if !hasVectors || f.needle == "" {
		for i, s := range texts {
			if at := strings.Index(s, f.needle); at >= 0 {
				found(i, at)
			}
		}
		return
	}
	for i := 0; i < len(texts); {
		if len(texts[i]) < len(f.needle) {
			i++
			continue
		}
		i = f.run(texts, i, found)
	}
}

// gapMax is how many bytes may lie between two strings of a run: a length, or the rest of a view.
const gapMax = 64

// run searches a run: the texts from one on that lie behind each other; a text that is too short for
// a match may lie anywhere. It returns the index of the first text behind the run.
// Requires: texts[from] is as long as the needle.
func (f *Finder) run(texts []string, from int, found func(i, at int)) (to int) {
	length, first := len(f.needle), address(texts[from])
	end := first + uintptr(len(texts[from]))
	for to = from + 1; to < len(texts); to++ {
		s := texts[to]
		if len(s) < length {
			continue
		}
		gap := address(s) - end
		if gap > gapMax {
			break
		}
		end += gap + uintptr(len(s))
	}
	base := unsafe.Pointer(unsafe.StringData(texts[from]))
	last := int(end-first) - 32 - max(f.at1, f.at2) // the last place where all of 32 positions lie in the run
	row, at := from, 0
	for at <= last {
		var is bool
		if at, is = findPair(base, at, last, f.at1, f.at2, f.byte1, f.byte2); !is {
			break
		}
		start := int(address(texts[row]) - first)
		for len(texts[row]) < length || start+len(texts[row]) <= at {
			row++
			start = int(address(texts[row]) - first)
		}
		s := texts[row]
		switch in := at - start; {
		case in < 0:
			at = start
		case in+length <= len(s) && s[in:in+length] == f.needle:
			found(row, in)
			at = start + len(s)
			row++
		default:
			at++
		}
	}
	for ; row < to; row++ {
		s := texts[row]
		if len(s) < length {
			continue
		}
		in := max(at-int(address(s)-first), 0)
		if in+length > len(s) {
			continue
		}
		if i := strings.Index(s[in:], f.needle); i >= 0 {
			found(row, in+i)
		}
	}
	return to
}

func address(s string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(s))) }
