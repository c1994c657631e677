package engine

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/store"
)

// roomBytesMin is how many bytes a batch of results may take without asking for room.
const roomBytesMin = 1 << 20

// roomCopies is how many times a result is in memory while it is written to a file: as a batch,
// encoded, compressed, and in the encoders' tables. Where a result of the same size went before,
// all but roomCopiesOwn of these are taken already.
const (
	roomCopies    = 6
	roomCopiesOwn = 3
)

// resultRoom looks for room for results.
type resultRoom struct {
	memory  *mem.Memory
	largest atomic.Int64 // bytes of the largest result so far
}

// find returns an ErrMemoryLimit where a result of so many bytes does not fit the memory until it
// is in a file, once pages that wait have gone to disk.
func (r *resultRoom) find(bytes int64) error {
	if bytes <= roomBytesMin {
		return nil
	}
	copies := int64(roomCopiesOwn)
	if largest := r.largest.Load(); bytes > largest+largest/4 {
		copies = roomCopies
	}
	if err := r.memory.Room(copies * bytes); err != nil {
		return fmt.Errorf("a result of %s, %d times as much until it is in a file: %w", humanize.IBytes(uint64(bytes)), roomCopies, err)
	}
	r.largest.Store(max(bytes, r.largest.Load()))
	return nil
}

// explainLimit adds to an ErrTempLimit which option moves the limit, and which limit would do.
// stored is how many bytes the query had in files when it was as far as its progress says.
func explainLimit(err error, stored int64, p *progress) error {
	if !errors.Is(err, store.ErrTempLimit) {
		return err
	}
	total, read := p.rowsTotal, p.rows.Load()
	if total <= 0 || read <= 0 {
		return store.MoreTemp(err)
	}
	need := float64(stored) * float64(total) / float64(read) * tempSlack
	if read == total {
		need = float64(stored) * mergeSlack
	}
	return knob.Errorf("%w; %.0f%% of the rows are read: a %s of about %s would do, on a %s that has it, or a larger %s",
		err, 100*float64(read)/float64(total), knob.Name("engine.TempLimit"), humanize.IBytes(uint64(need)), knob.Name("engine.TempDir"), knob.Name("engine.MemoryLimit"))
}

// tempSlack is how much more the files take than the pages of the first scatter: partitions that
// are split lie there twice for a while.
const tempSlack = 1.25

// mergeSlack is how much more the files take at most than when all rows are read: partitions become
// runs, and runs are merged.
const mergeSlack = 2
