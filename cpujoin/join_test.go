package cpujoin_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/mpga/mpga/cpujoin"
	"github.com/mpga/mpga/internal/rowdata"
)

// each calls a function for each of n parts, by some goroutines.
func each(_ context.Context, n int, f func(i int) error) error {
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// counted is memory of the Go collector that counts what has not been given back.
type counted struct {
	rowdata.Memory
	mu    sync.Mutex
	words int
}

func (c *counted) Alloc(n int) []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.words += n
	return make([]uint64, n)
}

func (c *counted) Free(block []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.words -= cap(block)
}

// Would catch a pair that is lost, made up or doubled: keys of any width, unique and repeated ones, tables of one part
// and of many, rows that are skipped, lists of pairs that end within the rows of one key.
func TestPairs(t *testing.T) {
	seeds := uint64(80)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		words := rng.IntN(6)
		layout := &rowdata.KeyLayout{Words: words, Bits: 64 * words}
		if words == 1 { // few bits make keys places of a list, or name the tables
			layout.Bits = []int{64, 14, 20, 27}[rng.IntN(4)]
		}
		keys := 1 + rng.IntN(5000)
		rows := rng.IntN(min(9000, 20*keys+100))
		key := func(n int) []uint64 {
			k := make([]uint64, words)
			for i := range k {
				k[i] = uint64(n) * uint64(i+1)
			}
			return k
		}
		mem := &counted{Memory: rowdata.GoMemory}
		workers := 1 + rng.IntN(3)
		b := cpujoin.NewBuild(mem, layout, cpujoin.Ranges{}, workers)
		want := map[string][]uint64{}
		makers := make([]*cpujoin.Worker, workers)
		for i := range makers {
			makers[i] = b.NewWorker()
		}
		unique := rng.IntN(2) == 0 && keys > rows
		for first := 0; first < rows; {
			n := min(1+rng.IntN(rowdata.TileRows), rows-first)
			var tile []uint64
			skip := make([]uint8, n)
			for i := range n {
				number := rng.IntN(keys)
				if unique {
					number = first + i
				}
				k := key(number)
				tile = append(tile, k...)
				if skip[i] = uint8(rng.IntN(8) / 7); skip[i] == 0 {
					want[fmt.Sprint(k)] = append(want[fmt.Sprint(k)], uint64(first+i))
				}
			}
			if rng.IntN(2) == 0 && !slices.Contains(skip, 1) {
				skip = nil
			}
			makers[rng.IntN(workers)].Add(tile, n, uint64(first), skip, nil)
			first += n
		}
		if err := b.Finish(t.Context(), each); err != nil {
			t.Fatal(err)
		}
		isFirst := rng.IntN(4) == 0
		p := b.NewProber(isFirst)
		for range 3 {
			n := rng.IntN(rowdata.TileRows + 1)
			var tile []uint64
			var texts []string
			for range n {
				k := key(rng.IntN(2 * keys))
				tile, texts = append(tile, k...), append(texts, fmt.Sprint(k))
			}
			p.Begin(tile, n, nil)
			got := make([][]uint64, n)
			for more := true; more; {
				var pairs cpujoin.Pairs
				most := 1 + rng.IntN(3000)
				more = p.Next(&pairs, 7, most, nil)
				if len(pairs.Probe) > most || more && len(pairs.Probe) < most {
					t.Fatalf("seed %d: %d pairs where %d are asked for, more: %v", seed, len(pairs.Probe), most, more)
				}
				for i, row := range pairs.Probe {
					got[row-7] = append(got[row-7], pairs.Build[i])
				}
			}
			for i, text := range texts {
				slices.Sort(got[i])
				if isFirst && len(want[text]) > 0 {
					if len(got[i]) != 1 || !slices.Contains(want[text], got[i][0]) {
						t.Fatalf("seed %d, %d words, key %s: rows %v, want one of %v", seed, words, text, got[i], want[text])
					}
					continue
				}
				if !slices.Equal(got[i], want[text]) {
					t.Fatalf("seed %d, %d words, key %s: rows %v, want %v", seed, words, text, got[i], want[text])
				}
			}
		}
		b.Release()
		if mem.words != 0 {
			t.Fatalf("seed %d: %d words are not given back", seed, mem.words)
		}
	}
}
