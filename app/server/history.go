package server

import (
	"context"
	"slices"
	"sync"
)

// history is the runs of a server: all that run, and the last that have ended.
type history struct {
	mu      sync.Mutex
	last    int64          // ID given
	running map[int64]*Run // by ID
	ended   []*Run         // in the order of their ends
	idle    chan struct{}  // closed when no run runs
	totals  Totals
}

// Totals are counts since the server began.
type Totals struct {
	Done, Failed, Cancelled int64
	Rows                    int64 // of results, that clients have taken
	RowsRead                int64
	BytesRead               int64
	SpilledBytes            int64
	Seconds                 float64 // that runs took, waiting for places apart
	WaitedSeconds           float64
	DeviceRuns              int64 // that devices had a part in
}

const (
	// runsKept is how many ended runs are kept to be looked at.
	runsKept = 200

	// recordsKept is how many of these keep what was recorded: a record takes up to some megabytes.
	recordsKept = 20
)

func newHistory() *history {
	idle := make(chan struct{})
	close(idle)
	return &history{running: make(map[int64]*Run), idle: idle}
}

// begin gives a run its ID, unless the server is draining.
func (h *history) begin(r *Run, draining func() bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if draining() {
		return false
	}
	h.last++
	r.ID = h.last
	if len(h.running) == 0 {
		h.idle = make(chan struct{})
	}
	h.running[r.ID] = r
	return true
}

// end moves a run to the runs that have ended, and returns what it did.
func (h *history) end(r *Run) (s Status) {
	s = r.Status()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.totals.add(&s)
	h.stop(r)
	h.ended = append(h.ended, r)
	if n := len(h.ended); n > recordsKept {
		h.ended[n-1-recordsKept].dropRecord()
	}
	if len(h.ended) > runsKept {
		h.ended = slices.Delete(h.ended, 0, len(h.ended)-runsKept)
	}
	return s
}

// forget drops a run, which counts for nothing.
func (h *history) forget(r *Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stop(r)
}

// stop notes that a run does not run any more.
// Requires: h.mu is held.
func (h *history) stop(r *Run) {
	delete(h.running, r.ID)
	if len(h.running) == 0 {
		close(h.idle)
	}
}

// dropRecord drops what was recorded, and the plan with what its operators did.
func (r *Run) dropRecord() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plan = ""
	if r.watch != nil {
		w := &watch{}
		w.progress.Store(r.watch.progress.Load())
		r.watch = w
	}
}

// add counts a run that has ended.
func (t *Totals) add(s *Status) {
	switch s.State {
	case Done:
		t.Done++
	case Cancelled:
		t.Cancelled++
	default:
		t.Failed++
	}
	t.Rows += s.Rows
	t.Seconds += (s.Elapsed - s.Waited).Seconds()
	t.WaitedSeconds += s.Waited.Seconds()
	if s.Stats != nil {
		t.RowsRead += s.Stats.RowsRead
		t.BytesRead += s.Stats.BytesRead
		t.SpilledBytes += s.Stats.SpilledBytes
		if s.Stats.Route != "" && s.Stats.Route != "cpu" {
			t.DeviceRuns++
		}
	}
}

// wait waits until no run runs, or the context is done.
func (h *history) wait(ctx context.Context) {
	for {
		h.mu.Lock()
		idle := h.idle
		h.mu.Unlock()
		select {
		case <-idle:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Runs returns the runs of the server that a client may see, the latest first: of client "" all.
func (s *Server) Runs(client string) []*Run {
	h := s.history
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []*Run
	for _, r := range h.running {
		list = append(list, r)
	}
	list = append(list, h.ended...)
	list = slices.DeleteFunc(list, func(r *Run) bool { return client != "" && r.Statement.session.Client != client })
	slices.SortFunc(list, func(a, b *Run) int { return int(b.ID - a.ID) })
	return list
}

// Run returns the run of an ID, if it is kept and a client may see it.
func (s *Server) Run(id int64, client string) (*Run, bool) {
	for _, r := range s.Runs(client) {
		if r.ID == id {
			return r, true
		}
	}
	return nil, false
}

// Totals returns counts since the server began.
func (s *Server) Totals() Totals {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	return s.history.totals
}
