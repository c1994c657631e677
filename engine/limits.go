package engine

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/store"
)

// roomBytesMin is how many bytes a batch of results may take without asking for room.
const roomBytesMin = 1 << 20

// roomCopies is how many times a result is in memory while it is written to a file: as a batch,
// encoded, compressed, and in the encoders' tables. Where a result of the same size went before,
// all but roomCopiesOwn of these are taken already.
const (
	roomCopies    = 8
	roomCopiesOwn = 4
)

// resultRoom looks for room for results.
type resultRoom struct {
	memory  *mem.Memory
	largest atomic.Int64 // bytes of the largest result so far
}

// find returns an ErrMemoryLimit where a result, whose size is bytes, does not fit the memory until
// it is in a file, once pages that wait have gone to disk.
func (r *resultRoom) find(bytes int64) error {
	if bytes <= roomBytesMin {
		return nil
	}
	copies := int64(roomCopiesOwn)
	if largest := r.largest.Load(); bytes > largest+largest/4 {
		copies = roomCopies
	}
	if err := r.memory.Room(copies * bytes); err != nil {
		return fmt.Errorf("a result of %s, %d times as much until it is in a file: %w",
			humanize.IBytes(uint64(bytes)), roomCopies, err)
	}
	r.largest.Store(max(bytes, r.largest.Load()))
	return nil
}

// explainLimit adds to an ErrTempLimit which option moves the limit, and which limit would do: what the query's files
// are expected to take beside the files of others.
func (q *execution) explainLimit(err error) error {
	if !errors.Is(err, store.ErrTempLimit) {
		return err
	}
	rows, part := q.progress.read()
	files, temp, scattered := q.cpu.Store(), q.statement.engine.temp, q.progress.scattered()
	stored := part
	if part < 1 && scattered > 0 {
		stored /= min(max(math.Sqrt(float64(rows)/float64(scattered)), 1), absorbedMax)
	}
	return store.NeedTemp(err, part, temp.Need(files, files.Need(stored, files.Unpaged(scattered))))
}

// absorbedMax is how many times the pages that a query has made of the rows so far it may make of as many rows later.
// Rows that are in no page are in tables. Either their groups were there before, and later rows are absorbed alike,
// or the tables were not full before, and later rows are not: the estimate lies between.
const absorbedMax = 3
