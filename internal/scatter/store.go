package scatter

import (
	"errors"
	"io"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// Content says which of two kinds of rows pages hold. What the kinds are is the operator's: each has a
// RowLayout.
type Content uint8

// Contents is how many contents there are.
const Contents = 2

// Store keeps the pages of partitions until they are processed. It is safe for concurrent use.
type Store interface {
	// NewPass returns the partitions of a scatter.
	NewPass(radix partition.Radix) Partitions

	// NewSpool returns an empty spool of rows with a layout.
	NewSpool(layout *rowdata.RowLayout) Spool

	// Reclaim frees this many bytes of memory, or as many as waiting pages take.
	Reclaim(bytes int64) error
}

// Partitions keeps the pages of one scatter. It is safe for concurrent use.
type Partitions interface {
	// Put takes over all pages, also where it returns an error. It keeps nothing of the slice.
	Put(content Content, pages []PartitionPage) error

	// Sizes returns the number of rows, of both contents, that have been put into each partition.
	Sizes() []int64

	// Take hands over the pages of a partition, which has no pages of that content afterwards.
	Take(partition int, content Content) Pages
}

// PartitionPage is a page, and the partition that its rows are of.
type PartitionPage struct {
	Partition int
	Page      *rowdata.Page
}

// Pages is a sequence of pages. One goroutine at a time uses it.
type Pages interface {
	// Next hands over the next page; at the end it returns io.EOF.
	Next() (*rowdata.Page, error)

	// Close drops the pages that Next has not handed over.
	Close()
}

// Spool is a sequence of pages on disk, written once and read as often as needed. One goroutine at
// a time uses it.
type Spool interface {
	// Put writes a page, which it takes over.
	Put(page *rowdata.Page) error

	// End ends the writing.
	End() error

	// Pages reads the pages in the order in which they were put.
	Pages() Pages

	// Discard gives the space on disk back. Nothing may read the spool any more.
	Discard()
}

// EachPage calls a function with all pages of a sequence, which takes them over, and closes it.
func EachPage(pages Pages, f func(*rowdata.Page) error) error {
	defer pages.Close()
	for {
		page, err := pages.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(page)
		}
		if err != nil {
			return err
		}
	}
}
