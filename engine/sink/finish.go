package sink

import (
	"context"
	"fmt"
	"hash"

	"github.com/mpga/mpga/internal/spawn"
)

// finisher commits the files of a directory in the background: a file that waits for its disk or
// its store does not hold up the encoding of the next file. Each file that is being written or
// committed takes a slot.
type finisher struct {
	slots  chan struct{}
	group  *spawn.Group
	failed context.Context // done once a commit has failed
}

func newFinisher(slots int) *finisher {
	f := &finisher{slots: make(chan struct{}, slots)}
	f.group, f.failed = spawn.WithContext(context.Background())
	return f
}

// begin waits for a free slot and takes it for a file. It returns the error of a commit that has
// failed.
func (f *finisher) begin() error {
	f.slots <- struct{}{}
	if f.failed.Err() != nil {
		<-f.slots
		return context.Cause(f.failed)
	}
	return nil
}

// wait returns when all commits have ended, with the first error.
func (f *finisher) wait() error { return f.group.Wait() }

// partOutput is a file of a directory, which the finisher commits: commit returns at once.
type partOutput struct {
	output
	name     string // within the directory
	finisher *finisher
	earlier  *earlier  // of Options.Update; else nil
	sum      hash.Hash // of the bytes, for the manifest; nil unless Options.hashed
	bytes    int64     // written
}

func (o *partOutput) Write(b []byte) (int, error) {
	n, err := o.output.Write(b)
	if o.bytes += int64(n); o.sum != nil {
		o.sum.Write(b[:n])
	}
	return n, err
}

func (o *partOutput) commit() error {
	if o.earlier != nil {
		kept, err := o.earlier.keep(o)
		if kept || err != nil {
			<-o.finisher.slots
			return err
		}
	}
	o.finisher.group.Go(func() error {
		defer func() { <-o.finisher.slots }()
		if err := o.output.commit(); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		return nil
	})
	return nil
}

func (o *partOutput) abort() error {
	defer func() { <-o.finisher.slots }()
	return o.output.abort()
}
