package encode

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
)

// BenchmarkIntern numbers the dictionaries of row groups that share half of their strings, as
// ClickBench's SearchPhrase does: 42,000 entries each, a tile's worth at a time.
func BenchmarkIntern(b *testing.B) {
	const groups, entries, step = 6, 42_000, 1024
	dictionaries := phraseDictionaries(groups, entries)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			for b.Loop() {
				in := new(Interner)
				var next atomic.Int64
				var wg sync.WaitGroup
				for range workers {
					wg.Go(func() {
						r := columnReader{interner: in}
						codes := make([]uint64, step)
						for at := next.Add(1) - 1; at < groups; at = next.Add(1) - 1 {
							for words := dictionaries[at]; len(words) > 0; {
								n := min(step, len(words)/2)
								if err := r.internRows(codes[:n], words[:2*n], nil); err != nil {
									b.Error(err)
								}
								words = words[2*n:]
							}
						}
					})
				}
				wg.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())*float64(workers)/float64(b.N*groups*entries), "ns/entry")
		})
	}
}

// phraseDictionaries returns the words of the strings of dictionaries, whose bytes lie behind each
// other.
func phraseDictionaries(groups, entries int) [][]uint64 {
	rng := rand.New(rand.NewPCG(1, 2))
	dictionaries := make([][]uint64, groups)
	for g := range dictionaries {
		seen := map[int]bool{}
		offsets := []int32{0}
		var data []byte
		for len(seen) < entries {
			n := rng.IntN(3 * entries)
			if rng.IntN(2) == 0 {
				n = rng.IntN(entries)
			}
			if seen[n] {
				continue
			}
			seen[n] = true
			data = fmt.Appendf(data, "phrase %d of %0*d", n, 3+n%13, n*n)
			offsets = append(offsets, int32(len(data)))
		}
		dictionaries[g] = make([]uint64, 2*entries)
		rowdata.PutBytes2(rowdata.View[rowdata.Bytes2](dictionaries[g]), data, offsets, 0)
		dictionaryBytes = append(dictionaryBytes, data)
	}
	return dictionaries
}

// dictionaryBytes keeps what words refer to.
var dictionaryBytes [][]byte
