package temporary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/nearest"
)

// Names that may qualify a table of a session: catalog.schema.table.
const (
	Catalog = "mpga"
	Schema  = "temp"
)

// Kinds of errors of names and limits.
var (
	ErrUnknown = errors.New("unknown") // a table or a view that is not there
	ErrExists  = errors.New("exists")  // a table or a view of that name is there
	ErrBusy    = errors.New("busy")    // a limit has been reached; later it may be met
)

// nameError is an error of a kind, which its text does not repeat.
type nameError struct {
	error
	kind error
}

func (e *nameError) Is(kind error) bool { return kind == e.kind }
func (e *nameError) Unwrap() error      { return e.error }

func errorOf(kind error, format string, args ...any) error {
	return &nameError{knob.Errorf(format, args...), kind}
}

// namesMax bounds the tables and views of a session, viewBytes what a byte of a view's text is taken to be in its tree.
const (
	namesMax  = 1000
	viewBytes = 32
)

// Tables are the tables and views of one session, by name. It is safe for concurrent use.
type Tables struct {
	store *Store
	given func(name string) bool // says whether a name is of a table that the session has from elsewhere

	mu      sync.Mutex
	entries map[string]entry // by name, in lower case
	closed  bool
}

// entry is what a name stands for.
type entry struct {
	name  string      // as it was written
	table *Table      // held; nil of a view
	view  *sql.Select // nil of a table

	columns *arrow.Schema // of a view, when it was made
}

// word says what an entry is.
func (e entry) word() string {
	if e.view != nil {
		return "view"
	}
	return "table"
}

// NewTables returns the tables of a session, which has none. given says which names it has from elsewhere, and cannot
// take.
func (s *Store) NewTables(given func(name string) bool) *Tables {
	return &Tables{store: s, given: given, entries: map[string]entry{}}
}

// find returns what a name stands for, in whatever case it is written.
// Requires: t.mu is held.
func (t *Tables) find(name string) (entry, bool) {
	e, ok := t.entries[strings.ToLower(name)]
	return e, ok
}

// Info is a table or a view of a session.
type Info struct {
	Name string
	View bool
}

// List returns the tables and views, sorted by name.
func (t *Tables) List() (list []Info) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.entries {
		list = append(list, Info{e.name, e.view != nil})
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Has says whether a name is taken.
func (t *Tables) Has(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.find(name)
	return ok
}

// PlanTables adds what names stand for to the tables of a statement. The statement may read the tables until they are
// released. T1.
func (t *Tables) PlanTables(tables map[string]plan.Table) (held []*Table) {
	in := []string{Catalog, Schema}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.entries {
		if e.view != nil {
			tables[e.name] = plan.Table{View: e.view, Made: e.columns, In: in}
			continue
		}
		e.table.Hold()
		held = append(held, e.table)
		tables[e.name] = e.table.PlanTable(in)
	}
	return held
}

// Names returns the options of a statement that reads the session's tables, too, until release is called.
func (t *Tables) Names(opt plan.Options) (names plan.Options, release func() error) {
	opt.Tables = maps.Clone(opt.Tables)
	if opt.Tables == nil {
		opt.Tables = map[string]plan.Table{}
	}
	held := t.PlanTables(opt.Tables)
	return opt, func() error {
		var errs []error
		for _, table := range held {
			errs = append(errs, table.Release())
		}
		return errors.Join(errs...)
	}
}

// Check refuses a CREATE whose name is taken, and says whether there is nothing to do: IF NOT EXISTS.
func (t *Tables) Check(c *sql.Create) (there bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.place(c)
}

// place does what Check says.
// Requires: t.mu is held.
func (t *Tables) place(c *sql.Create) (there bool, err error) {
	kind := entry{view: c.Query}
	if !c.View {
		kind.view = nil
	}
	e, taken := t.find(c.Name)
	own := plan.Table{In: []string{Catalog, Schema}}
	name := strings.ToUpper(kind.word()) + " " + c.Name
	switch {
	case t.closed:
		err = errorOf(ErrUnknown, "the session has ended")
	case !own.IsIn(c.In):
		const where = "a session's tables and views are in %s.%s, not in %s"
		err = errorOf(ErrUnknown, where, Catalog, Schema, strings.Join(c.In, "."))
	case c.Name == "" || strings.ContainsRune(c.Name, 0):
		err = errorOf(ErrUnknown, "a %s needs a name", kind.word())
	case t.given != nil && t.given(c.Name):
		err = errorOf(ErrExists, "%s is a table that is given, which statements only read: choose another name", c.Name)
	case taken && e.word() != kind.word():
		err = errorOf(ErrExists, "%s is a %s, and no %s: DROP %s %s first, or choose another name",
			e.name, e.word(), kind.word(), strings.ToUpper(e.word()), e.name)
	case taken && c.IfNotExists:
		return true, nil
	case taken && !c.Replace:
		err = errorOf(ErrExists, "a %s is named %s: CREATE OR REPLACE %s replaces it", e.word(), e.name, name)
	case !taken && len(t.entries) >= namesMax:
		err = errorOf(ErrBusy, "a session has %d tables and views, the most that it may: drop some", namesMax)
	}
	if err != nil {
		at := c.Query.ErrorAt(c.At, err.Error())
		at.Cause = err
		return false, at
	}
	return false, nil
}

// Define gives a table, which it takes over, or a view of some columns its name.
func (t *Tables) Define(c *sql.Create, table *Table, columns *arrow.Schema) error {
	made := entry{name: c.Name, table: table}
	if c.View {
		made = entry{name: c.Name, view: c.Query, columns: columns}
		if err := t.store.opt.Engine.Budget().Reserve(viewBytes * int64(len(c.Query.Text))); err != nil {
			return fmt.Errorf("view %s: %w", c.Name, err)
		}
	}
	t.mu.Lock()
	there, err := t.place(c)
	old, replaced := t.find(c.Name)
	if err == nil && !there {
		t.entries[strings.ToLower(c.Name)] = made
	}
	t.mu.Unlock()
	switch {
	case err != nil || there:
		return errors.Join(err, t.release(made))
	case replaced:
		return t.release(old)
	}
	return nil
}

// release gives back what an entry holds.
func (t *Tables) release(e entry) error {
	if e.view != nil {
		t.store.opt.Engine.Budget().Unreserve(viewBytes * int64(len(e.view.Text)))
		return nil
	}
	return e.table.Release()
}

// Drop drops a table or a view. Statements that read it go on. T1.
func (t *Tables) Drop(d *sql.Drop) error {
	own := plan.Table{In: []string{Catalog, Schema}}
	kind := "table"
	if d.View {
		kind = "view"
	}
	t.mu.Lock()
	e, ok := t.find(d.Table)
	var err error
	switch {
	case !own.IsIn(d.In):
		err = errorOf(engine.ErrQuery, "a session drops its own tables and views alone, which are in %s.%s, not in %s",
			Catalog, Schema, strings.Join(d.In, "."))
	case ok && e.word() != kind:
		err = errorOf(ErrExists, "%s is a %s, and no %s: DROP %s %s",
			e.name, e.word(), kind, strings.ToUpper(e.word()), e.name)
	case !ok && !d.IfExists && t.given != nil && t.given(d.Table):
		err = errorOf(ErrUnknown, "%s is a table that is given, which statements only read", d.Table)
	case !ok && !d.IfExists:
		var names []string
		for _, other := range t.entries {
			names = append(names, other.name)
		}
		offer := nearest.Offer(d.Table, names)
		err = errorOf(ErrUnknown, "the session has no %s %s%s", kind, d.Table, offer)
	case ok:
		delete(t.entries, strings.ToLower(d.Table))
	}
	t.mu.Unlock()
	if err != nil || !ok {
		return err
	}
	return t.release(e)
}

// Close drops all.
func (t *Tables) Close() error {
	t.mu.Lock()
	entries := t.entries
	t.entries, t.closed = nil, true
	t.mu.Unlock()
	var errs []error
	for _, e := range entries {
		errs = append(errs, t.release(e))
	}
	return errors.Join(errs...)
}

// Mode says what happens to a table that is there, and to one that is not.
type Mode struct {
	Create  bool // a table that is not there is made; else it is an error
	Append  bool // the rows are added to a table that is there
	Replace bool // a table that is there is replaced
}

// Base returns the table that rows are added to, held, or nil for a new table. It refuses what the mode does not let
// happen.
func (t *Tables) Base(name string, mode Mode) (*Table, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	there, ok := t.find(name)
	switch {
	case t.closed:
		return nil, fmt.Errorf("%w: the session has ended", ErrUnknown)
	case name == "" || strings.ContainsRune(name, 0):
		return nil, fmt.Errorf("%w: a table needs a name", ErrUnknown)
	case t.given != nil && t.given(name):
		const why = "%w: %s is a table of the server, which clients only read: choose another name"
		return nil, fmt.Errorf(why, ErrExists, name)
	case there.view != nil:
		const why = "%w: %s is a view: DROP VIEW %s first, or choose another name"
		return nil, fmt.Errorf(why, ErrExists, there.name, there.name)
	case ok && !mode.Append && !mode.Replace:
		return nil, fmt.Errorf("%w: the session has a table %s: append to it or replace it", ErrExists, there.name)
	case !ok && !mode.Create:
		return nil, fmt.Errorf("%w: the session has no table %s to append to", ErrUnknown, name)
	case !ok && len(t.entries) >= namesMax:
		const why = "%w: a session has %d tables and views, the most that it may: drop some"
		return nil, fmt.Errorf(why, ErrBusy, namesMax)
	}
	if !ok || !mode.Append {
		return nil, nil
	}
	there.table.Hold() // the session holds it
	return there.table, nil
}

// Replace gives a table its name in place of another: of base, which it continues, if that is not nil. It takes the
// table over.
func (t *Tables) Replace(name string, base, table *Table) error {
	t.mu.Lock()
	old, ok := t.find(name)
	closed, gone := t.closed, base != nil && old.table != base
	if !closed && !gone {
		t.entries[strings.ToLower(name)] = entry{name: cmp.Or(old.name, name), table: table}
	}
	t.mu.Unlock()
	switch {
	case closed:
		return errors.Join(fmt.Errorf("%w: the session has ended", ErrUnknown), table.Release())
	case gone:
		err := fmt.Errorf("%w: the table %s has been dropped or replaced meanwhile", ErrUnknown, name)
		return errors.Join(err, table.Release())
	case ok:
		return t.release(old)
	}
	return nil
}

// Run does what a CREATE says, over names, and returns how many rows a table has, and what was done for them; a view
// has none. run runs the statement of a table.
func (t *Tables) Run(
	ctx context.Context, c *sql.Create, names plan.Options, run func(*plan.Query) (*plan.Result, error),
) (rows int64, stats engine.Stats, err error) {
	if there, err := t.Check(c); there || err != nil {
		return 0, stats, err
	}
	names.IsView = c.View
	names, release := t.Names(names)
	defer func() { err = errors.Join(err, release()) }()
	query, err := plan.Prepare(ctx, t.store.opt.Engine, c.Query, names)
	if err != nil {
		return 0, stats, err
	}
	defer query.Close()
	if once := query.ReadsOnce(); c.View && once != "" {
		const why = "%s can be read once, and a view reads it wherever its name stands: CREATE TABLE %s AS ... keeps the rows"
		return 0, stats, c.Query.ErrorAt(c.At, fmt.Sprintf(why, once, c.Name))
	}
	if c.View {
		return 0, stats, t.Define(c, nil, query.Schema())
	}
	result, err := run(query)
	if err != nil {
		return 0, stats, err
	}
	defer result.Release()
	table, rows, err := t.store.Keep(ctx, result)
	if err != nil {
		return 0, stats, fmt.Errorf("table %s: %w", c.Name, err)
	}
	return rows, result.Stats(), t.Define(c, table, nil)
}
