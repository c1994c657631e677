package stream

import (
	"sync"
	"testing"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/spec"
	"github.com/mpga/mpga/partition"
)

func page(rows, words int) *spec.Page {
	return &spec.Page{Words: make([]uint64, words), Rows: rows}
}

// Would catch pages handed to another partition or content, or handed over twice, sizes that do
// not follow the pages, and a peak that falls or that counts rows instead of bytes.
func TestStoreAccounting(t *testing.T) {
	s := NewStore(2)
	put := func(p int, content cpuagg.Content, page *spec.Page) {
		t.Helper()
		if err := s.Put(p, content, page); err != nil {
			t.Fatal(err)
		}
	}
	check := func(sizes [4]int64, bytes, peak int64) {
		t.Helper()
		if got := [4]int64(s.Sizes()); got != sizes {
			t.Errorf("sizes %v, want %v", got, sizes)
		}
		if s.bytes != bytes || s.BytesPeak() != peak {
			t.Errorf("%d B, at most %d; want %d and %d", s.bytes, s.BytesPeak(), bytes, peak)
		}
	}
	check([4]int64{}, 0, 0)
	rows, more, states := page(3, 10), page(1, 100), page(5, 20)
	states.Heap.Alloc(1)
	heap := states.Heap.Bytes()
	put(1, cpuagg.Rows, rows)
	put(1, cpuagg.Rows, more)
	put(1, cpuagg.States, states)
	put(3, cpuagg.States, page(7, 7))
	all := 8*137 + heap
	check([4]int64{0, 9, 0, 7}, all, all)

	take := func(p int, content cpuagg.Content, want ...*spec.Page) {
		t.Helper()
		got, err := s.Take(p, content)
		if err != nil || len(got) != len(want) {
			t.Fatalf("partition %d: %d pages, want %d: %v", p, len(got), len(want), err)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("partition %d: page %d is another", p, i)
			}
		}
	}
	take(0, cpuagg.Rows)
	take(1, cpuagg.Rows, rows, more)
	take(1, cpuagg.Rows)
	check([4]int64{0, 5, 0, 7}, all-8*110, all)
	take(1, cpuagg.States, states)
	check([4]int64{0, 0, 0, 7}, 8*7, all)
	put(0, cpuagg.Rows, page(1, 1))
	check([4]int64{1, 0, 0, 7}, 8*8, all)
}

// Would catch a race between workers that put and take pages, and pages lost by one.
func TestStoreConcurrently(t *testing.T) {
	const workers, each = 8, 500
	s := NewStore(partition.Radix(3))
	var wg sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for range workers {
		wg.Go(func() {
			for i := range each {
				if err := s.Put(i%8, cpuagg.Content(i%2), page(1, 2)); err != nil {
					t.Error(err)
				}
				if i%5 == 0 {
					pages, err := s.Take(i%8, cpuagg.Content(i%2))
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					taken += len(pages)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	left := int64(0)
	for _, n := range s.Sizes() {
		left += n
	}
	if int64(taken)+left != workers*each || s.bytes != 16*left {
		t.Errorf("%d pages taken, %d left in %d B, of %d", taken, left, s.bytes, workers*each)
	}
}
