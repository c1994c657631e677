package device

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/internal/rowdata"
)

// Would catch strings that are out of order, or lost, where they are many or few, begin alike, are parts of each other
// or empty, and where numbers have no string.
func TestStringOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for i := range 300 {
		in, seen := new(encode.Interner), map[string]uint32{}
		var texts [][]byte // to which a Bytes2 refers, unseen by the garbage collector
		prefix := strings.Repeat("p", rng.IntN(20))
		for range 1 + rng.IntN([]int{3, 100, 20_000}[rng.IntN(3)]) {
			s := prefix + fmt.Sprint(rng.IntN(30_000)) + strings.Repeat("\x00", rng.IntN(3))
			if rng.IntN(50) == 0 {
				s = prefix[:rng.IntN(len(prefix)+1)]
			}
			texts = append(texts, []byte(s))
			var number [1]uint64
			if err := in.Numbers(number[:], []rowdata.Bytes2{rowdata.ToBytes2(texts[len(texts)-1])}, 0); err != nil {
				t.Fatal(err)
			}
			seen[s] = uint32(number[0])
		}
		o := stringOrder{strings: in.Strings(), list: make([]numberedString, in.Len()), parts: 1 + rng.IntN(5)}
		each := func(f func(part int)) error {
			for part := range o.parts {
				f(part)
			}
			return nil
		}
		if err := o.sort(each); err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(o.list, o.compare) {
			t.Fatalf("case %d: strings are out of order", i)
		}
		var got []string
		for _, s := range o.list {
			text := o.strings.At(uint64(s.number))
			if seen[string(text.Bytes())] == s.number {
				got = append(got, string(text.Bytes()))
			}
		}
		runtime.KeepAlive(in) // which has the bytes of the strings
		runtime.KeepAlive(texts)
		want := make([]string, 0, len(seen))
		for s := range seen {
			want = append(want, s)
		}
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Fatalf("case %d: %d strings, want %d", i, len(got), len(want))
		}
	}
}

func BenchmarkStringOrder(b *testing.B) {
	in, numbers := new(encode.Interner), make([]uint64, 1_000_000)
	list := make([]rowdata.Bytes2, len(numbers))
	for i := range list {
		list[i] = rowdata.ToBytes2(fmt.Appendf(nil, "id%010d", i*7919%len(list)))
	}
	if err := in.Numbers(numbers, list, 0); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		o := stringOrder{strings: in.Strings(), list: make([]numberedString, in.Len()), parts: 1}
		err := o.sort(func(f func(part int)) error {
			f(0)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
