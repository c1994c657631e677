package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/app/temporary"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/trace"
)

// State is how far a run is.
type State string

// The states of a run, in their order; a run ends in one of the last three.
//
//	waiting -> running -> done | failed | cancelled
const (
	Waiting   State = "waiting"
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// watch keeps what an engine tells of the queries of a run.
type watch struct {
	progress atomic.Pointer[engine.Progress] // nil before the first report
	recorder *trace.Recorder                 // nil where nobody wants to look
}

func newWatch(record bool) *watch {
	w := &watch{}
	if record {
		w.recorder = trace.New()
	}
	return w
}

// Run is a run of a statement: a reader of the batches of its result. One goroutine at a time calls
// Next, RecordBatch and Release. The other methods may be called at any time.
type Run struct {
	ID        int64 // counted from 1 by the server
	Statement *Statement
	Began     time.Time

	server *Server
	ctx    context.Context // of the run: done when the caller's context is, the session ends, or a limit is met
	cancel context.CancelCauseFunc
	stall  *time.Timer
	yield  *time.Timer
	limit  *time.Timer // nil without a limit of the time
	detach func() bool // ends the watch of the session's end

	prepares bool // the run reads and plans its statement alone, and is forgotten where that ends well

	schema  *arrow.Schema      // of all results; nil before the first is planned
	values  [][]plan.Parameter // of the results that are still to be read, after the current
	current rows               // nil before the first and after the last
	made    int64              // rows that the statement has put in a table or in files
	planned *prepared          // of current; nil before the first and once it is closed
	result  *plan.Result       // whose rows current has, or has put elsewhere; nil where its plan is not noted

	mu      sync.Mutex
	leave   func() // gives the run's place in the queue back; nil while the run has none
	state   State
	started time.Time // when the run got a place; zero before
	ended   time.Time // zero before
	rows    int64     // returned
	err     error
	stats   engine.Stats // of the last result that has been read to its end
	plan    string       // of that result, with what each operator did; "" where Meaning.Record did not ask
	watch   *watch       // nil before the statement is planned
}

// yieldAfter is how long a client may take for a batch before the run's place is given to another.
// A client that takes rows as they come needs some milliseconds.
const yieldAfter = 500 * time.Millisecond

// newRun begins a run, which waits for a place.
func newRun(ctx context.Context, st *Statement) (*Run, error) {
	r := &Run{Statement: st, values: st.bound()}
	if err := r.register(ctx); err != nil {
		return nil, err
	}
	st.mu.Lock()
	st.runs = append(st.runs, r)
	st.last = r
	st.mu.Unlock()
	return r, nil
}

// register makes the run one of the server's, which has an ID and ends with the session.
func (r *Run) register(ctx context.Context) error {
	session := r.Statement.session
	r.server, r.Began, r.state = session.server, time.Now(), Waiting
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	if !r.server.history.begin(r, r.server.Draining) {
		r.cancel(nil)
		return errDraining
	}
	r.detach = context.AfterFunc(session.ctx, func() { r.cancel(context.Cause(session.ctx)) })
	return nil
}

// enter waits for a place where the run needs one. The time of the run counts from then on.
func (r *Run) enter(needsPlace bool) error {
	if needsPlace {
		leave, err := r.server.queue.enter(r.ctx, r.Statement.session.queueName())
		if err != nil {
			return r.fail(err)
		}
		r.setLeave(leave)
	}
	r.mu.Lock()
	r.state, r.started = Running, time.Now()
	r.mu.Unlock()
	if most := r.server.opt.Limits.QueryTime; most > 0 {
		r.limit = time.AfterFunc(most, func() {
			const why = "%w: the statement has run for %s, the longest that one may (%s)"
			r.cancel(knob.Errorf(why, ErrTime, most, queryTimeKnob))
		})
	}
	return nil
}

// Start waits for a place, and begins the statement. It is called once, before Next.
func (r *Run) Start() error {
	if err := r.enter(r.Statement.needsPlace()); err != nil {
		return err
	}
	r.yield = time.AfterFunc(time.Hour, func() {
		_ = spawn.Call(func() error { // giveUp has no error
			r.giveUp()
			return nil
		})
	})
	r.yield.Stop()
	r.stall = time.AfterFunc(time.Hour, func() {
		long := r.server.opt.Limits.StallTime
		r.cancel(knob.Errorf("%w: the client has taken no rows for %s (%s)", ErrStalled, long, StallTimeKnob))
	})
	r.stall.Stop()
	return r.fail(r.next())
}

// setLeave notes how the run's place is given back.
func (r *Run) setLeave(leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave = leave
}

// giveUp gives the run's place to another while its client takes no rows. R3.
func (r *Run) giveUp() {
	r.mu.Lock()
	leave := r.leave
	r.leave = nil
	r.mu.Unlock()
	if leave != nil {
		leave()
	}
}

// hasGivenUp says whether a run that needs a place has none.
func (r *Run) hasGivenUp() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leave == nil && r.Statement.needsPlace()
}

// next begins the statement with the next values of its parameters, or without any.
func (r *Run) next() error {
	var values []plan.Parameter
	if len(r.values) > 0 {
		values, r.values = r.values[0], r.values[1:]
	}
	st := r.Statement
	switch {
	case st.drop != nil:
		r.schema = st.schema
		return st.session.dropped(st.drop)
	case st.set != nil:
		r.schema = st.schema
		return st.session.set(st.set)
	}
	p, err := st.prepareRun(r.ctx, values)
	if err != nil {
		return err
	}
	r.planned = p
	watch := newWatch(r.server.opt.Record || st.meaning.Record)
	r.mu.Lock()
	r.watch = watch
	r.mu.Unlock()
	if st.counts() {
		r.schema = st.schema
	} else if r.schema == nil {
		r.schema = p.query.Schema()
	}
	if !st.counts() && !r.schema.Equal(p.query.Schema()) {
		return fmt.Errorf("%w: other values of the parameters give other columns: %s; the values before gave %s",
			engine.ErrQuery, temporary.ColumnsText(p.query.Schema()), temporary.ColumnsText(r.schema))
	}
	observer := engine.Observer{Progress: func(p engine.Progress) { watch.progress.Store(&p) }, Trace: watch.recorder}
	run := func() (result *plan.Result, err error) {
		result, err = p.query.Observed(observer).Run(r.ctx)
		if err == nil && st.meaning.Record {
			result.Analyze()
			r.result = result
		}
		return result, err
	}
	if st.counts() {
		answer, err := r.count(run)
		if err != nil || answer == nil {
			return errors.Join(err, r.closePlanned())
		}
		r.current, r.made = answer, answer.Rows()
		return nil
	}
	result, err := run()
	if err != nil {
		return err
	}
	r.current = result
	return nil
}

// Schema returns the columns of the result.
func (r *Run) Schema() *arrow.Schema { return r.schema }

// Next makes the next batch current. It returns false at the end and after an error.
func (r *Run) Next() bool {
	r.stall.Stop()
	r.yield.Stop()
	if r.current == nil {
		return false
	}
	if r.hasGivenUp() { // R2
		leave, err := r.server.queue.enterAgain(r.ctx, r.Statement.session.queueName())
		if err != nil {
			r.fail(err)
			return false
		}
		r.setLeave(leave)
	}
	for r.current != nil {
		if r.current.Next() {
			r.mu.Lock()
			r.rows += r.current.RecordBatch().NumRows()
			r.mu.Unlock()
			r.yield.Reset(yieldAfter)
			r.stall.Reset(r.server.opt.Limits.StallTime)
			return true
		}
		if err := r.endCurrent(); err != nil {
			r.fail(err)
			return false
		}
		if len(r.values) == 0 {
			return false
		}
		if err := r.fail(r.next()); err != nil {
			return false
		}
	}
	return false
}

// endCurrent ends the result that has been read, and returns the error that it ended with.
func (r *Run) endCurrent() error {
	err := r.current.Err()
	r.current.Release()
	stats, told := r.current.Stats(), ""
	if r.result != nil {
		told = r.result.Plan()
	}
	r.current, r.result = nil, nil
	r.mu.Lock()
	r.stats, r.plan = stats, told
	r.mu.Unlock()
	return errors.Join(err, r.closePlanned())
}

// closePlanned gives back what the query of the last result holds.
func (r *Run) closePlanned() error {
	p := r.planned
	r.planned = nil
	if p == nil {
		return nil
	}
	return p.release()
}

// stop ends the run well, though not all rows have been read.
func (r *Run) stop() {
	r.fail(r.endCurrent())
	r.values = nil
}

// RecordBatch returns the current batch, which is valid until Next or Release.
func (r *Run) RecordBatch() arrow.RecordBatch { return r.current.RecordBatch() }

// fail notes the error that ends the run, if it is one.
func (r *Run) fail(err error) error {
	if err == nil {
		return nil
	}
	cause := context.Cause(r.ctx)
	if cause != nil && (errors.Is(err, context.Canceled) || errors.Is(cause, ErrCancelled)) {
		err = cause
	}
	err = r.server.Reword(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = cmp.Or(r.err, err)
	return r.err
}

// Err returns what ended the run early, or nil: also a limit or a cancellation that the reader has not
// seen yet, because it is busy with a batch.
func (r *Run) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cause := context.Cause(r.ctx); r.err == nil && r.ended.IsZero() && !errors.Is(cause, errReleased) {
		return r.server.Reword(cause)
	}
	return r.err
}

// errReleased is the cause of the end of a run that nothing else has ended.
var errReleased = errors.New("the run has been released")

// Ended is closed when the run has been ended, by a limit, a cancellation or its release, whatever its
// reader is doing.
func (r *Run) Ended() <-chan struct{} { return r.ctx.Done() }

// Cancel ends the run.
func (r *Run) Cancel() { r.cancel(fmt.Errorf("%w: by its client", ErrCancelled)) }

// Release ends the run and gives everything back.
func (r *Run) Release() {
	for _, timer := range []*time.Timer{r.stall, r.yield, r.limit} {
		if timer != nil {
			timer.Stop()
		}
	}
	r.detach()
	cause := context.Cause(r.ctx)
	r.cancel(errReleased)
	if r.current != nil {
		if cause == nil {
			cause = fmt.Errorf("%w: not all rows were taken", ErrCancelled)
		}
		r.fail(cause)
		r.fail(r.endCurrent())
	} else {
		r.fail(r.closePlanned())
	}
	r.giveUp()
	r.end()
}

// end notes that the run has ended.
func (r *Run) end() {
	st := r.Statement
	st.mu.Lock()
	for i, other := range st.runs {
		if other == r {
			st.runs = append(st.runs[:i:i], st.runs[i+1:]...)
			break
		}
	}
	st.mu.Unlock()
	r.mu.Lock()
	r.ended, r.state = time.Now(), Done
	switch {
	case errors.Is(r.err, ErrCancelled), errors.Is(r.err, context.Canceled):
		r.state = Cancelled
	case r.err != nil:
		r.state = Failed
	}
	r.mu.Unlock()
	if r.prepares && r.state == Done {
		r.server.history.forget(r)
		return
	}
	s := r.server.history.end(r)
	attributes := []any{
		"id", s.ID, "client", s.Client, "state", s.State, "rows", s.Rows, "waited", s.Waited.Round(time.Microsecond),
		"elapsed", s.Elapsed.Round(time.Microsecond), "statement", shortened(s.Text),
	}
	if s.Error != nil {
		attributes = append(attributes, "error", redact.Error(s.Error))
	}
	r.server.opt.Logger.Info("statement ended", attributes...)
}

// shortened returns the beginning of a statement, on one line and without the secrets of URLs, for
// logs.
func shortened(text string) string {
	const runesMax = 200
	line := []rune(redact.Text(strings.Join(strings.Fields(text), " ")))
	if len(line) > runesMax {
		return string(line[:runesMax]) + "…"
	}
	return string(line)
}

// Status is what a run is doing, or has done.
type Status struct {
	ID        int64
	Client    string
	Text      string
	State     State
	Began     time.Time
	Waited    time.Duration // for a place
	Elapsed   time.Duration // since the run began
	Rows      int64         // of the result, that the client has taken
	Progress  *engine.Progress
	Stats     *engine.Stats // of a run that has ended well
	Error     error
	HasRecord bool // Timeline has what happened
}

// Status returns what the run is doing, or has done.
func (r *Run) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{
		ID: r.ID, Client: r.Statement.session.Client, Text: r.Statement.Text,
		State: r.state, Began: r.Began, Rows: r.rows, Error: r.err,
	}
	until := r.ended
	if until.IsZero() {
		until = time.Now()
	}
	s.Elapsed = until.Sub(r.Began)
	s.Waited = s.Elapsed
	if !r.started.IsZero() {
		s.Waited = r.started.Sub(r.Began)
	}
	if r.watch != nil {
		s.Progress = r.watch.progress.Load()
		s.HasRecord = r.watch.recorder != nil
	}
	if r.state == Done {
		stats := r.stats
		s.Stats = &stats
	}
	return s
}

// Plan returns the plan of the run's statement: of a run that has ended well, and for which Meaning.Record asked, with
// what each operator did.
func (r *Run) Plan(ctx context.Context) (string, error) {
	r.mu.Lock()
	told := r.plan
	r.mu.Unlock()
	if told != "" {
		return told, nil
	}
	return r.Statement.Explain(ctx)
}

// Timeline returns what was recorded of the run; nothing where Status.HasRecord is false.
func (r *Run) Timeline() trace.Timeline {
	r.mu.Lock()
	w := r.watch
	r.mu.Unlock()
	if w == nil || w.recorder == nil {
		return trace.Timeline{}
	}
	return w.recorder.Timeline()
}
