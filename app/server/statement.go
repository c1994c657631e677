package server

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/app/temporary"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
)

// Statement is a statement of a session, which may be run any number of times. It is safe for
// concurrent use.
type Statement struct {
	Handle     string           // the name of the statement in its session
	Text       string           // as the client wrote it
	Parameters []arrow.DataType // as their places let expect them

	session *Session
	place   *list.Element // in Session.recent, under the session's lock
	parsed  *sql.Select   // nil of a statement that drops a table; of CREATE and COPY, the statement in it
	create  *sql.Create   // nil of others
	copies  *copying      // nil of others
	made    *arrow.Schema // columns of the statement of create; nil of others
	drop    *sql.Drop     // nil of others
	set     *sql.Setting  // nil of others
	meaning Meaning
	over    map[string]*temporary.Table // tables of this statement alone, by name, which it does not hold

	mu     sync.Mutex
	schema *arrow.Schema      // of the result, with the values of the parameters as far as they have some
	values [][]plan.Parameter // a run for each; empty of a statement without parameters
	ready  *prepared          // for runs that begin while it is fresh; nil where a run prepares it itself
	held   bool               // the statement is a holder of ready, until its first run takes it over
	drops  int                // how often plans have been dropped, also plans that are being made
	runs   []*Run             // that have not ended
	last   *Run               // begun, it may have ended; nil before the first
	gone   bool               // the session has forgotten the statement
}

// Schema returns the columns of the result. Values of parameters may change their types.
func (st *Statement) Schema() *arrow.Schema {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.schema
}

// IsUpdate says whether the statement changes something, and gives no rows of tables: CREATE, COPY, DROP and SET.
func (st *Statement) IsUpdate() bool { return st.counts() || st.drop != nil || st.set != nil }

// counts says whether the answer is a number of rows, in place of rows.
func (st *Statement) counts() bool { return st.create != nil || st.copies != nil }

// Execute runs a statement to its end, and returns how many rows it has put in a table or in files.
func (st *Statement) Execute(ctx context.Context) (rows int64, err error) {
	r, err := st.Run(ctx)
	if err != nil {
		return 0, err
	}
	defer r.Release()
	for r.Next() {
	}
	return r.made, r.Err()
}

// errNoPlan is the error of planning a statement that drops a table or sets an option.
var errNoPlan = fmt.Errorf("%w: DROP and SET have no plan", engine.ErrQuery)

// prepared is a planned statement, which runs share.
type prepared struct {
	of                *Statement
	query             *plan.Query
	values            []plan.Parameter   // of its parameters; nil without any
	tables            []*temporary.Table // that the query may read, held
	at                time.Time          // when the tables were looked at
	temporary.Holders                    // its runs, and the statement while Statement.held
}

// release lets go of the query, and closes it where nobody else holds it.
func (p *prepared) release() error {
	if !p.Drop() {
		return nil
	}
	p.of.mu.Lock()
	if p.of.ready == p {
		p.of.ready = nil
	}
	p.of.mu.Unlock()
	return p.close()
}

// freshMax is how long what a statement found when it was prepared counts: then a run looks at the tables
// anew, to which somebody may have added rows.
const freshMax = 2 * time.Second

// close gives back what the query holds.
func (p *prepared) close() error {
	if p.query != nil {
		p.query.Close()
	}
	var errs []error
	for _, t := range p.tables {
		errs = append(errs, t.Release())
	}
	return errors.Join(errs...)
}

// prepare plans the statement. The caller releases what it returns.
func (st *Statement) prepare(ctx context.Context, values []plan.Parameter) (*prepared, error) {
	if st.parsed == nil {
		return nil, errNoPlan
	}
	server := st.session.server
	p := &prepared{of: st, at: time.Now(), values: values}
	p.Hold()
	tables, held := st.session.planTables()
	p.tables = held
	for name, t := range st.over {
		if !t.Retain() {
			return nil, errors.Join(fmt.Errorf("%w: the rows of the result are gone", ErrUnknown), p.close())
		}
		p.tables = append(p.tables, t)
		tables[name] = t.PlanTable(nil)
	}
	scan := server.clientScan(st.meaning.Dir)
	if err := st.meaning.apply(tables, scan); err != nil {
		return nil, errors.Join(err, p.close())
	}
	opt := plan.Options{
		Tables:        tables,
		Scan:          scan,
		Overflow:      server.opt.Overflow,
		Deterministic: server.opt.Deterministic,
		TimeZone:      cmp.Or(st.session.timeZone(), server.opt.TimeZone),
		Parameters:    values,
		IsView:        st.create != nil && st.create.View,
	}
	var err error
	p.query, err = plan.Prepare(ctx, server.opt.Engine, st.parsed, opt)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// end drops what a run would find prepared, for good: the session has forgotten the statement.
func (st *Statement) end() error {
	st.mu.Lock()
	st.gone = true
	st.mu.Unlock()
	return st.forget()
}

// forget drops what a run would find prepared, and what is being prepared now.
func (st *Statement) forget() error {
	st.mu.Lock()
	st.drops++
	st.mu.Unlock()
	return st.setReady(nil, false)
}

// setReady notes what runs may find prepared, and lets go of what they would have found before. held says
// that the statement holds p; a statement that is gone lets go of it at once.
func (st *Statement) setReady(p *prepared, held bool) error {
	var left []*prepared
	st.mu.Lock()
	if st.held {
		left = append(left, st.ready)
	}
	if st.gone && held {
		left = append(left, p)
	}
	if st.gone {
		p, held = nil, false
	}
	st.ready, st.held = p, held
	st.mu.Unlock()
	var errs []error
	for _, p := range left {
		errs = append(errs, p.release())
	}
	return errors.Join(errs...)
}

// share lets other runs find a plan, unless plans have been dropped since st.drops was before.
func (st *Statement) share(p *prepared, before int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.gone && st.drops == before && st.ready == nil {
		st.ready = p
	}
}

// prepareRun returns a plan for a run, which releases it: the plan of another run that goes on, where
// that is fresh and has the same values, or its own.
func (st *Statement) prepareRun(ctx context.Context, values []plan.Parameter) (*prepared, error) {
	if p := st.shareReady(values); p != nil {
		return p, nil
	}
	if err := st.setReady(nil, false); err != nil {
		return nil, err
	}
	st.mu.Lock()
	before := st.drops
	st.mu.Unlock()
	p, err := st.prepare(ctx, values)
	if err != nil {
		return nil, err
	}
	st.share(p, before)
	return p, nil
}

// shareReady returns what is prepared, held for the caller, or nil where nothing is that serves.
func (st *Statement) shareReady(values []plan.Parameter) *prepared {
	st.mu.Lock()
	defer st.mu.Unlock()
	p := st.ready
	if p == nil || !slices.Equal(p.values, values) || time.Since(p.at) > freshMax || !st.held && !p.Retain() {
		return nil
	}
	st.held = false // the run has taken it over
	return p
}

// Bind gives the parameters values: the statement runs once for each list of values, in their order.
// The first values decide the columns of the result.
func (st *Statement) Bind(ctx context.Context, values [][]plan.Parameter) error {
	if len(values) == 0 {
		return fmt.Errorf("%w: values of parameters: there is no row of values", engine.ErrQuery)
	}
	return st.session.prepares(ctx, st.Text, func(ctx context.Context) error { return st.bind(ctx, values) })
}

// bind does what Bind says.
func (st *Statement) bind(ctx context.Context, values [][]plan.Parameter) error {
	p, err := st.prepare(ctx, values[0])
	if err != nil {
		return err
	}
	st.mu.Lock()
	gone := st.gone
	if !gone {
		st.values = values
		if !st.counts() {
			st.schema = p.query.Schema()
		}
	}
	st.mu.Unlock()
	if gone {
		return errors.Join(fmt.Errorf("%w: the statement has been closed", ErrUnknown), p.release())
	}
	return st.setReady(p, true)
}

// bound returns the values of the parameters.
func (st *Statement) bound() [][]plan.Parameter {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.values
}

// needsPlace says whether a run needs a place in the queue: a statement that reads no table does
// not, so that a client that asks for a sign of life gets one from a busy server, too.
func (st *Statement) needsPlace() bool { return st.parsed != nil && st.parsed.From != nil }

// Run runs the statement, once there is a place for it. The run must be released.
func (st *Statement) Run(ctx context.Context) (*Run, error) {
	r, err := st.Begin(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.Start(); err != nil {
		r.Release()
		return nil, err
	}
	return r, nil
}

// Begin begins a run, which has an ID and can be seen from then on, and does not wait: Run.Start
// does. The run must be released.
func (st *Statement) Begin(ctx context.Context) (*Run, error) {
	return newRun(ctx, st)
}

// Cancel ends the runs of the statement, and reports whether there were any.
func (st *Statement) Cancel() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, r := range st.runs {
		r.Cancel()
	}
	return len(st.runs) > 0
}

// LastRun returns the run that was begun last, which may have ended, or nil before the first.
func (st *Statement) LastRun() *Run {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.last
}

// Explain returns the plan of the statement.
func (st *Statement) Explain(ctx context.Context) (text string, err error) {
	var values []plan.Parameter
	if all := st.bound(); len(all) > 0 {
		values = all[0]
	}
	err = st.session.prepares(ctx, st.Text, func(ctx context.Context) (err error) {
		p, err := st.prepare(ctx, values)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.release()) }()
		text, err = p.query.Explain(ctx)
		return err
	})
	return text, err
}
