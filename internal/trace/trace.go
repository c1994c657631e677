package trace

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/mpga/mpga/internal/invariants"
)

// spansMax bounds the spans that are kept: 16 MiB.
const spansMax = 1 << 19

// spanMin is the least that a goroutine's span takes: a shorter span is a step on the way to the
// next.
const spanMin = time.Microsecond

// Recorder takes the spans of any number of queries. It is safe for concurrent use.
type Recorder struct {
	started time.Time
	limit   int // of spans

	mu       sync.Mutex
	queries  []*Query
	spans    int
	shortest time.Duration // of a span that is kept
	dropped  int64         // spans
}

// New returns an empty recorder, whose time begins now.
func New() *Recorder { return &Recorder{started: time.Now(), limit: spansMax} }

// Query is what is recorded of one query.
type Query struct {
	recorder *Recorder
	began    time.Duration // since the recorder's start
	ended    time.Duration // 0 while it runs
	rows     []*Row
}

// Query begins to record a query, which began at a time.
func (r *Recorder) Query(began time.Time) *Query {
	if r == nil {
		return nil
	}
	q := &Query{recorder: r, began: max(began.Sub(r.started), 0)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queries = append(r.queries, q)
	return q
}

// End ends a query: later spans are not shown.
func (q *Query) End() {
	if q == nil {
		return
	}
	q.recorder.mu.Lock()
	defer q.recorder.mu.Unlock()
	q.ended = time.Since(q.recorder.started)
}

// Row is a line of the picture.
type Row struct {
	query *Query
	group string
	name  string
	place int // in the group
	spans []Span

	doing string    // what Begin has named; "" between spans
	since time.Time // when doing began
	taken bool      // by Rows.Begin, until Rows.End; Rows.mu guards it
}

// Span is something that was done, in times since the recorder's start.
type Span struct {
	Name       string
	Begin, End time.Duration
}

// Row returns the row of a name in a group, such as a device. Rows of a group stand in order of
// their places; groups in the order in which they came.
func (q *Query) Row(group, name string, place int) *Row {
	if q == nil {
		return nil
	}
	q.recorder.mu.Lock()
	defer q.recorder.mu.Unlock()
	for _, r := range q.rows {
		if r.group == group && r.name == name {
			return r
		}
	}
	r := &Row{query: q, group: group, name: name, place: place}
	q.rows = append(q.rows, r)
	return r
}

// Add adds a span. It may be called by any goroutine.
func (r *Row) Add(name string, begin, end time.Time) {
	if r == nil {
		return
	}
	c := r.query.recorder
	s := Span{Name: name, Begin: begin.Sub(c.started), End: end.Sub(c.started)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.End-s.Begin < c.shortest {
		c.dropped++
		return
	}
	r.spans = append(r.spans, s)
	if c.spans++; c.spans >= c.limit {
		c.thin()
	}
}

// thin drops the shorter half of all spans, and from now on every span that is as short. Requires:
// r.mu is held.
func (r *Recorder) thin() {
	var rows []*Row
	for _, q := range r.queries {
		rows = append(rows, q.rows...)
	}
	lengths := make([]time.Duration, 0, r.spans)
	for _, row := range rows {
		for _, s := range row.spans {
			lengths = append(lengths, s.End-s.Begin)
		}
	}
	slices.Sort(lengths)
	r.shortest = lengths[len(lengths)/2] + 1
	before := r.spans
	r.spans = 0
	for _, row := range rows {
		row.spans = slices.DeleteFunc(row.spans, func(s Span) bool { return s.End-s.Begin < r.shortest })
		r.spans += len(row.spans)
	}
	r.dropped += int64(before - r.spans)
	if invariants.Enabled {
		invariants.Checkf(r.spans < r.limit, "T2: %d spans are kept, and %d may be", r.spans, r.limit)
	}
}

// Begin begins a span, and ends the span before. Begin and End are called by one goroutine at a
// time.
func (r *Row) Begin(name string) {
	if r == nil {
		return
	}
	now := time.Now()
	r.end(now)
	r.doing, r.since = name, now
}

// End ends the span that was begun last, if there is one.
func (r *Row) End() {
	if r != nil {
		r.end(time.Now())
	}
}

func (r *Row) end(now time.Time) {
	if r.doing != "" && now.Sub(r.since) >= spanMin {
		r.Add(r.doing, r.since, now)
	}
	r.doing = ""
}

// Rows are the rows of several goroutines: as many as have a span at a time.
type Rows struct {
	query *Query
	group string
	mu    sync.Mutex
	rows  []*Row
}

// Rows returns rows of a group, which are named after it.
func (q *Query) Rows(group string) *Rows {
	if q == nil {
		return nil
	}
	return &Rows{query: q, group: group}
}

// Begin begins a span on a free row, which End then gives back.
func (s *Rows) Begin(name string) *Row {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	i := slices.IndexFunc(s.rows, func(r *Row) bool { return !r.taken })
	if i < 0 {
		i = len(s.rows)
		s.rows = append(s.rows, s.query.Row(s.group, rowName(s.group, i), i))
	}
	row := s.rows[i]
	row.taken = true
	s.mu.Unlock()
	row.Begin(name)
	return row
}

// End ends the span of a row that Begin has returned.
func (s *Rows) End(r *Row) {
	if s == nil {
		return
	}
	r.End()
	s.mu.Lock()
	r.taken = false
	s.mu.Unlock()
}

// Timeline is what a recorder has, ready to be shown.
type Timeline struct {
	Queries  []QueryTimeline
	Dropped  int64         // spans that are not shown
	Shortest time.Duration // spans that are shorter were dropped
}

// QueryTimeline is one query's rows.
type QueryTimeline struct {
	Begin, End time.Duration // since the recorder's start
	Rows       []RowTimeline
}

// RowTimeline is the spans of a row, in order: each begins after the span before it has ended.
type RowTimeline struct {
	Group, Name string
	Spans       []Span
}

// Timeline returns what was recorded so far.
func (r *Recorder) Timeline() Timeline {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := Timeline{Dropped: r.dropped, Shortest: r.shortest}
	now := time.Since(r.started)
	for _, q := range r.queries {
		if len(q.rows) > 0 { // it was run, not planned alone
			t.Queries = append(t.Queries, q.timeline(cmp.Or(q.ended, now)))
		}
	}
	return t
}

func (q *Query) timeline(end time.Duration) QueryTimeline {
	t := QueryTimeline{Begin: q.began, End: end}
	groups := map[string]int{}
	for _, r := range q.rows {
		if _, known := groups[r.group]; !known {
			groups[r.group] = len(groups)
		}
	}
	rows := slices.Clone(q.rows)
	slices.SortStableFunc(rows, func(a, b *Row) int {
		return cmp.Or(cmp.Compare(groups[a.group], groups[b.group]), cmp.Compare(a.place, b.place))
	})
	for _, r := range rows {
		row := RowTimeline{Group: r.group, Name: r.name, Spans: inTurn(r.spans, q.began, end)}
		if invariants.Enabled {
			row.check(&t)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// check panics unless the spans of a row follow each other (T3), within their query (T4).
func (r *RowTimeline) check(q *QueryTimeline) {
	before := q.Begin
	for _, s := range r.Spans {
		invariants.Checkf(before <= s.Begin && s.Begin < s.End,
			"T3: in %s, a span of %v to %v begins before %v", r.Name, s.Begin, s.End, before)
		before = s.End
	}
	invariants.Checkf(len(r.Spans) == 0 || before <= q.End,
		"T4: in %s, a span ends at %v, and its query at %v", r.Name, before, q.End)
}

// inTurn returns spans in the order of their ends, each cut to the part after the span before it
// (T3), within a query from begin to end (T4).
func inTurn(spans []Span, begin, end time.Duration) []Span {
	out := make([]Span, 0, len(spans))
	sorted := slices.Clone(spans)
	slices.SortStableFunc(sorted, func(a, b Span) int { return cmp.Compare(a.End, b.End) })
	for _, s := range sorted {
		if s.Begin, s.End = max(s.Begin, begin), min(s.End, end); s.Begin < s.End {
			out = append(out, s)
			begin = s.End
		}
	}
	return out
}
