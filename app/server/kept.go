package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/app/temporary"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
)

// Kept is the rows of a result that a session keeps, so that its client looks at them page by page,
// in any order, and takes them as a file, without running the statement again. It does not change,
// and is safe for concurrent use. Like a temporary table, it is in memory or in a file.
type Kept struct {
	RunID  int64
	Schema *arrow.Schema
	Rows   int64
	Whole  bool // false where Limits.ResultBytes was met: the rows are the first

	session *Session
	table   *temporary.Table
	ends    []int64 // rows up to the end of each batch

	ordering sync.Mutex // held while the rows are sorted

	mu      sync.Mutex
	dropped bool  // by the session
	by      Order // of ordered
	ordered *Kept // the same rows in another order: the last that was asked for; nil before
}

// Order is an order of rows by a column. NULLs come last.
type Order struct {
	Column     int
	Descending bool
}

// Keep reads a run to its end and keeps the rows of its result.
func (s *Session) Keep(r *Run) error {
	k, err := s.keepRows(r)
	if err != nil {
		return err
	}
	var dropped []*Kept
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.kept = append(s.kept, k)
		if n := len(s.kept) - s.server.opt.Limits.Results; n > 0 {
			dropped = slices.Clone(s.kept[:n])
			s.kept = slices.Delete(s.kept, 0, n)
		}
	}
	s.mu.Unlock()
	if closed {
		return errors.Join(errEnded, k.drop())
	}
	var errs []error
	for _, old := range dropped {
		errs = append(errs, old.drop())
	}
	return errors.Join(errs...)
}

// keepRows reads a run to its end, or until the rows are too many.
func (s *Session) keepRows(r *Run) (k *Kept, err error) {
	in := s.server.spilled.NewIntake(nil)
	k = &Kept{RunID: r.ID, Schema: r.Schema(), Whole: true, session: s}
	in.Table.Schema = k.Schema
	bytes := int64(0)
	err = spawn.Call(func() error {
		for r.Next() {
			batch := r.RecordBatch()
			if batch.NumRows() == 0 {
				continue
			}
			if bytes += rowdata.BatchBytes(batch); bytes > s.server.opt.Limits.ResultBytes && in.Rows > 0 {
				k.Whole = false
				return in.Finish()
			}
			if err := in.Add(batch); err != nil {
				return err
			}
			k.ends = append(k.ends, in.Rows)
		}
		if err := r.Err(); err != nil {
			return err
		}
		return in.Finish()
	})
	if err != nil {
		return nil, errors.Join(r.fail(fmt.Errorf("keeping the result: %w", err)), in.Abort())
	}
	if !k.Whole { // the run ends well: the client has what it may have
		r.stop()
	}
	k.Rows, k.table = in.Rows, in.Table
	return k, nil
}

// Kept returns the rows that Keep has kept of a run, or ErrUnknown. release must be called once they were read.
func (s *Session) Kept(runID int64) (k *Kept, release func() error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = time.Now()
	i := slices.IndexFunc(s.kept, func(k *Kept) bool { return k.RunID == runID })
	if i < 0 {
		return nil, nil, fmt.Errorf("%w: this session keeps no result of run %d, or not any more: run the statement again",
			ErrUnknown, runID)
	}
	k = s.kept[i]
	k.table.Retain()
	return k, k.table.Release, nil
}

// Discard drops the rows that Keep has kept of a run, whose client does not look at them any more.
func (s *Session) Discard(runID int64) error {
	k, release, err := s.Kept(runID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	i := slices.Index(s.kept, k)
	if i >= 0 { // else another call was faster
		s.kept = slices.Delete(s.kept, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 {
		return release()
	}
	return errors.Join(k.drop(), release())
}

// drop gives back what the session holds of the rows. It does not wait for rows that are being
// sorted: who sorts them may wait for a place in the queue that the caller has.
func (k *Kept) drop() error {
	k.mu.Lock()
	k.dropped = true
	ordered := k.ordered
	k.ordered = nil
	k.mu.Unlock()
	if ordered != nil {
		return errors.Join(ordered.table.Release(), k.table.Release())
	}
	return k.table.Release()
}

// Ordered returns the rows in an order, which are made by a run that takes its turn as others do,
// and are kept until another order is asked for. release must be called.
func (k *Kept) Ordered(ctx context.Context, by Order) (ordered *Kept, release func() error, err error) {
	if by.Column < 0 || by.Column >= k.Schema.NumFields() {
		return nil, nil, fmt.Errorf("%w: the result has no column %d", ErrUnknown, by.Column+1)
	}
	k.ordering.Lock()
	defer k.ordering.Unlock()
	if ordered = k.inOrder(by); ordered != nil {
		return ordered, ordered.table.Release, nil
	}
	if ordered, err = k.sort(ctx, by); err != nil {
		return nil, nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.ordered
	if !k.dropped {
		ordered.table.Retain() // the caller's hold is another
		k.by, k.ordered = by, ordered
	}
	if old != nil {
		if err := old.table.Release(); err != nil {
			return nil, nil, errors.Join(err, ordered.table.Release())
		}
	}
	return ordered, ordered.table.Release, nil
}

// inOrder returns the rows in an order, held, if they are kept; else nil.
func (k *Kept) inOrder(by Order) *Kept {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ordered == nil || k.by != by {
		return nil
	}
	k.ordered.table.Retain()
	return k.ordered
}

// sort runs a statement that has the rows in an order.
func (k *Kept) sort(ctx context.Context, by Order) (*Kept, error) {
	direction := "ASC"
	if by.Descending {
		direction = "DESC"
	}
	text := fmt.Sprintf("SELECT * FROM result ORDER BY %d %s NULLS LAST", by.Column+1, direction)
	parsed, err := sql.Parse(text)
	if err != nil {
		return nil, err
	}
	st := newStatement(k.session, parsed, Meaning{})
	st.over = map[string]*temporary.Table{"result": k.table}
	r, err := st.Run(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	ordered, err := k.session.keepRows(r)
	if err != nil {
		return nil, err
	}
	ordered.Schema, ordered.Whole = k.Schema, k.Whole
	return ordered, nil
}
