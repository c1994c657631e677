package stream

import (
	"sync"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/spec"
	"github.com/mpga/mpga/partition"
)

// Store keeps the pages of a query's partitions in memory until they are processed. It is safe
// for concurrent use.
type Store struct {
	mu         sync.Mutex
	partitions []storedPartition
	bytes      int64
	bytesPeak  int64
}

type storedPartition struct {
	pages [2][]*spec.Page // by cpuagg.Content
	rows  int64
}

var _ cpuagg.Store = (*Store)(nil)

// NewStore returns an empty store for a fan-out.
func NewStore(radix partition.Radix) *Store {
	return &Store{partitions: make([]storedPartition, radix.FanOut())}
}

// Put takes over a page of a partition.
func (s *Store) Put(partition int, content cpuagg.Content, page *spec.Page) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.partitions[partition]
	p.pages[content] = append(p.pages[content], page)
	p.rows += int64(page.Rows)
	s.bytes += page.Bytes()
	s.bytesPeak = max(s.bytesPeak, s.bytes)
	return nil
}

// Sizes returns the number of rows and states that each partition holds.
func (s *Store) Sizes() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	sizes := make([]int64, len(s.partitions))
	for i := range s.partitions {
		sizes[i] = s.partitions[i].rows
	}
	return sizes
}

// Take hands over the pages of a partition.
func (s *Store) Take(partition int, content cpuagg.Content) ([]*spec.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.partitions[partition]
	pages := p.pages[content]
	p.pages[content] = nil
	for _, page := range pages {
		p.rows -= int64(page.Rows)
		s.bytes -= page.Bytes()
	}
	return pages, nil
}

// BytesPeak returns the most memory that the pages took at once.
func (s *Store) BytesPeak() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytesPeak
}
