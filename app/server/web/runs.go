package web

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/mpga/mpga/app/report"
	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/redact"
)

// W5: of lists of runs.
const (
	runsShown     = 100
	textRunesList = 300 // of a statement
)

// run is what the page is told of a run.
type run struct {
	ID       int64         `json:"id"`
	Client   string        `json:"client"`
	Text     string        `json:"text"`
	State    server.State  `json:"state"`
	Began    int64         `json:"began"`   // milliseconds since 1970
	Waited   float64       `json:"waited"`  // seconds
	Elapsed  float64       `json:"elapsed"` // seconds
	Rows     int64         `json:"rows"`    // of the result
	Error    string        `json:"error,omitempty"`
	Progress *progress     `json:"progress,omitempty"`
	Stats    *figures      `json:"stats,omitempty"`
	Record   bool          `json:"record"` // there is a timeline
	Result   *result       `json:"result,omitempty"`
	Summary  string        `json:"summary,omitempty"`
	Facts    []report.Fact `json:"facts,omitempty"`
}

// progress is how far a run is.
type progress struct {
	Phase     engine.Phase `json:"phase"`
	Fraction  float64      `json:"fraction"` // -1 is not known
	RowsRead  int64        `json:"rowsRead"`
	RowsTotal int64        `json:"rowsTotal"` // -1 is not known
	BytesRead int64        `json:"bytesRead"`
	Groups    int64        `json:"groups"`
	Left      float64      `json:"left"` // seconds; -1 is not known
}

// figures are what a run did, for lists.
type figures struct {
	Route        string  `json:"route"`
	RowsRead     int64   `json:"rowsRead"`
	BytesRead    int64   `json:"bytesRead"`
	SpilledBytes int64   `json:"spilledBytes"`
	Devices      string  `json:"devices,omitempty"` // that had a part
	BytesIn      int64   `json:"bytesIn"`           // over the link
	BytesOut     int64   `json:"bytesOut"`
	CopyIn       float64 `json:"copyIn"` // seconds
	Kernel       float64 `json:"kernel"`
	CopyOut      float64 `json:"copyOut"`
}

// result is what a session keeps of a run.
type result struct {
	Columns []column `json:"columns"`
	Rows    int64    `json:"rows"`
	Whole   bool     `json:"whole"`
}

// described describes a run.
func described(s *server.Status) run {
	r := run{
		ID: s.ID, Client: s.Client, Text: redact.Text(s.Text), State: s.State, Began: s.Began.UnixMilli(),
		Waited: s.Waited.Seconds(), Elapsed: s.Elapsed.Seconds(), Rows: s.Rows, Record: s.HasRecord,
	}
	if s.Error != nil {
		r.Error = redact.Error(s.Error).Error()
	}
	if p := s.Progress; p != nil {
		r.Progress = &progress{
			Phase: p.Phase, Fraction: p.Fraction, RowsRead: p.RowsRead, RowsTotal: p.RowsTotal, BytesRead: p.BytesRead,
			Groups: p.Groups, Left: seconds(p.Left),
		}
	}
	if st := s.Stats; st != nil {
		r.Stats = &figures{Route: st.Route, RowsRead: st.RowsRead, BytesRead: st.BytesRead, SpilledBytes: st.SpilledBytes}
		if d := st.Device; d != nil && d.Tiles > 0 {
			r.Stats.Devices, r.Stats.BytesIn, r.Stats.BytesOut = d.Devices, d.BytesIn, d.BytesOut
			r.Stats.CopyIn, r.Stats.Kernel, r.Stats.CopyOut = d.CopyIn.Seconds(), d.Kernel.Seconds(), d.CopyOut.Seconds()
		}
	}
	return r
}

// seconds returns a time in seconds; -1 of a time that is not known.
func seconds(d time.Duration) float64 {
	if d < 0 {
		return -1
	}
	return d.Seconds()
}

// runs answers with the latest runs that the client may see, and how much the server has to do.
func (s *Service) runs(r *request) error {
	list := []run{}
	for _, one := range s.opt.Server.Runs(r.client) {
		status := one.Status()
		d := described(&status)
		if runes := []rune(d.Text); len(runes) > textRunesList {
			d.Text = string(runes[:textRunesList]) + "…"
		}
		if list = append(list, d); len(list) == runsShown {
			break
		}
	}
	counts := s.opt.Server.Counts()
	answer(r.w, http.StatusOK, map[string]any{"runs": list, "running": counts.Running, "waiting": counts.Waiting})
	return nil
}

// asked returns the run that a request names, if the client may see it. W4.
func (s *Service) asked(r *request) (*server.Run, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err == nil {
		if one, ok := s.opt.Server.Run(id, r.client); ok {
			return one, nil
		}
	}
	return nil, fmt.Errorf("%w: there is no run %q, or it is too long ago", server.ErrUnknown, r.PathValue("id"))
}

// run answers with a run.
func (s *Service) run(r *request) error {
	one, err := s.asked(r)
	if err != nil {
		return err
	}
	status := one.Status()
	d := described(&status)
	if status.Stats != nil {
		timeline := one.Timeline()
		d.Summary = report.Summary(status.Stats, &timeline)
		d.Facts, _ = s.opt.Facts(*status.Stats)
	}
	if r.session != nil {
		if kept, release, err := r.session.Kept(one.ID); err == nil {
			d.Result = &result{columnsOf(kept.Schema), kept.Rows, kept.Whole}
			if err := release(); err != nil {
				return err
			}
		}
	}
	answer(r.w, http.StatusOK, d)
	return nil
}

// plan answers with the plan of a run.
func (s *Service) plan(r *request) error {
	one, err := s.asked(r)
	if err != nil {
		return err
	}
	plan, err := one.Plan(r.Context())
	if err != nil {
		return err
	}
	answer(r.w, http.StatusOK, map[string]any{"plan": redact.Text(plan)})
	return nil
}

// timeline answers with a picture of when a run did what.
func (s *Service) timeline(r *request) error {
	one, err := s.asked(r)
	if err != nil {
		return err
	}
	timeline := one.Timeline()
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	r.w.Header().Set("Cache-Control", "no-store")
	_ = report.WriteTimeline(r.w, &timeline) // the client may have gone
	return nil
}

// report answers with the report on a run, as --report writes it.
func (s *Service) report(r *request) error {
	one, err := s.asked(r)
	if err != nil {
		return err
	}
	status := one.Status()
	p := report.Page{Query: status.Text, Timeline: one.Timeline()}
	if p.Plan, err = one.Plan(r.Context()); err != nil {
		p.Plan = "not known any more: " + redact.Error(err).Error()
	}
	if status.Error != nil {
		p.Error = redact.Error(status.Error).Error()
	}
	if status.Stats != nil {
		p.Stats = *status.Stats
		p.Facts, p.Device = s.opt.Facts(p.Stats)
	}
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	r.w.Header().Set("Content-Security-Policy", report.Policy()+"; frame-ancestors 'none'")
	r.w.Header().Set("Cache-Control", "no-store")
	_ = p.Write(r.w) // the client may have gone
	return nil
}

// cancelRun ends a run.
func (s *Service) cancelRun(r *request) error {
	one, err := s.asked(r)
	if err != nil {
		return err
	}
	one.Cancel()
	answer(r.w, http.StatusOK, struct{}{})
	return nil
}
