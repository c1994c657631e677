package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mpga/mpga/engine/scan"
)

// progress counts what a running query has done and reports it now and then.
type progress struct {
	report     func(Progress)
	started    time.Time
	rowsTotal  int64 // -1 when it is not known
	bytesTotal int64

	phase     atomic.Pointer[Phase]
	rows      atomic.Int64
	bytes     atomic.Int64
	groups    atomic.Int64
	tasks     atomic.Int64
	tasksDone atomic.Int64
	fraction  float64 // as last reported; -1 at first
}

// reportEvery is the time between two reports.
const reportEvery = 100 * time.Millisecond

// readShare is the part of a query's time that reading usually takes when groups are many.
const readShare = 0.75

func newProgress(report func(Progress), stats scan.Stats, splits []scan.Split, started time.Time) *progress {
	p := &progress{report: report, started: started, rowsTotal: stats.Rows, fraction: -1}
	for _, s := range splits {
		p.bytesTotal += s.Bytes()
	}
	if p.bytesTotal == 0 {
		p.bytesTotal = -1
	}
	p.setPhase(PhasePlan)
	return p
}

func (p *progress) setPhase(phase Phase) { p.phase.Store(&phase) }

func (p *progress) setTasks(n int) { p.tasks.Store(int64(n)) }

// start reports until the returned function is called, which reports a last time if all is done.
func (p *progress) start() (stop func(done bool)) {
	if p.report == nil {
		return func(bool) {}
	}
	quit := make(chan bool)
	var reporter sync.WaitGroup
	reporter.Go(func() {
		ticker := time.NewTicker(reportEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.report(p.now(false))
			case done := <-quit:
				if done {
					p.report(p.now(true))
				}
				return
			}
		}
	})
	return func(done bool) {
		quit <- done
		reporter.Wait()
	}
}

func (p *progress) now(done bool) Progress {
	now := Progress{
		Phase:      *p.phase.Load(),
		RowsRead:   p.rows.Load(),
		RowsTotal:  p.rowsTotal,
		BytesRead:  p.bytes.Load(),
		BytesTotal: p.bytesTotal,
		Groups:     p.groups.Load(),
		Elapsed:    time.Since(p.started),
		Done:       done,
	}
	p.fraction = max(p.fraction, p.estimate(now))
	now.Fraction = p.fraction
	return now
}

// estimate returns how much of the query is done, or -1.
func (p *progress) estimate(now Progress) float64 {
	switch {
	case now.Done:
		return 1
	case now.Phase == PhaseProcess:
		return readShare + (1-readShare)*float64(p.tasksDone.Load())/float64(max(p.tasks.Load(), 1))
	case now.RowsTotal > 0:
		return readShare * min(1, float64(now.RowsRead)/float64(now.RowsTotal))
	case now.BytesTotal > 0:
		return readShare * min(1, float64(now.BytesRead)/float64(now.BytesTotal))
	}
	return -1
}
