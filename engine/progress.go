package engine

import (
	"sync/atomic"
	"time"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/spawn"
)

// progress counts what a running query has done and reports it now and then.
type progress struct {
	clock
	report     func(Progress)
	rowsTotal  int64 // -1 when it is not known
	bytesTotal int64 // -1 when it is not known

	rows      atomic.Int64 // read
	delivered atomic.Int64 // rows of batches that readers have returned; some are not taken yet
	bytes     atomic.Int64 // read
	groups    atomic.Int64 // emitted
	emitted   atomic.Int64 // of groups, before the input was begun anew
	scattered func() int64 // rows and states in partitions
	foreseen  func() bool  // whether scattered counts all that the second phase will process
	work      atomic.Int64 // of the tasks, in rows and states
	workDone  atomic.Int64
	last      Progress // as last reported
}

// reportEvery is the time between two reports.
const reportEvery = 100 * time.Millisecond

func newProgress(report func(Progress), stats scan.Stats, splits []scan.Split, started time.Time) *progress {
	p := &progress{report: report, rowsTotal: stats.Rows, last: Progress{Fraction: -1}}
	p.scattered, p.foreseen = func() int64 { return 0 }, func() bool { return true }
	p.started, p.times = started, map[Phase]time.Duration{PhasePlan: time.Since(started)}
	for _, s := range splits {
		p.bytesTotal += s.Bytes()
	}
	if p.bytesTotal == 0 {
		p.bytesTotal = -1
	}
	p.setPhase(PhasePlan)
	return p
}

// takeSplits counts whole splits that devices have taken, or, by a sign of -1, have not taken after
// all. Rows that are not known before are counted by passed.
func (p *progress) takeSplits(sign int64, splits ...scan.Split) {
	for _, s := range splits {
		p.passed(sign * max(s.Rows(), 0))
		p.bytes.Add(sign * s.Bytes())
	}
}

// passed counts rows that devices have taken.
func (p *progress) passed(rows int64) {
	p.rows.Add(rows)
	p.delivered.Add(rows)
}

// start reports until the returned function is called, which reports a last time if all is done.
func (p *progress) start() (stop func(done bool) error) {
	if p.report == nil {
		return func(bool) error { return nil }
	}
	quit := make(chan bool, 1)
	var reporter spawn.Group
	reporter.Go(func() error {
		ticker := time.NewTicker(reportEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				spawn.Step()
				p.report(p.now(false))
			case done := <-quit:
				if done {
					p.report(p.now(true))
				}
				return nil
			}
		}
	})
	return func(done bool) error {
		quit <- done
		return reporter.Wait()
	}
}

func (p *progress) now(done bool) Progress {
	elapsed := time.Since(p.started)
	now := Progress{
		Phase:      *p.phase.Load(),
		RowsRead:   p.rows.Load(),
		RowsTotal:  p.rowsTotal,
		BytesRead:  p.bytes.Load(),
		BytesTotal: p.bytesTotal,
		Groups:     p.groups.Load(),
		Elapsed:    elapsed,
		Reading:    time.Duration(p.reading.Load()),
		PhaseLeft:  -1,
		Left:       -1,
		Fraction:   p.last.Fraction,
		Done:       done,
	}
	m := moment{
		rows:      now.RowsRead,
		read:      readFraction(now),
		scattered: p.scattered(),
		foreseen:  p.foreseen(),
		phase:     elapsed - time.Duration(p.began.Load()),
		work:      p.work.Load(),
		workDone:  p.workDone.Load(),
	}
	if (now.Phase == PhasePartition || now.Phase == PhaseRead) && now.Reading == 0 {
		now.Reading = m.phase
	}
	now.Fraction = max(now.Fraction, min(m.fraction(now.Phase), fractionMax))
	now.PhaseLeft, now.Left = m.left(now.Phase)
	if done {
		now.Fraction, now.PhaseLeft, now.Left = 1, 0, 0
	}
	// Input that is read once more counts when it is more than before.
	now.RowsRead, now.BytesRead = max(now.RowsRead, p.last.RowsRead), max(now.BytesRead, p.last.BytesRead)
	now.Reading = max(now.Reading, p.last.Reading)
	p.last = now
	return now
}

// read returns how many rows of the input have been read, and which part of it they are; -1 where that is not known.
func (p *progress) read() (rows int64, part float64) {
	rows = p.rows.Load()
	return rows, p.partOf(rows)
}

// partOf returns which part of the input some rows of it are; -1 where that is not known.
func (p *progress) partOf(rows int64) float64 {
	now := Progress{RowsRead: rows, RowsTotal: p.rowsTotal, BytesRead: p.bytes.Load(), BytesTotal: p.bytesTotal}
	return readFraction(now)
}

// rowsExpected returns about how many rows the input has: what statistics promise, or what the part
// that was read lets expect; 0 where nothing tells.
func (p *progress) rowsExpected() int64 {
	if p.rowsTotal >= 0 {
		return p.rowsTotal
	}
	rows := p.delivered.Load()
	read := readFraction(Progress{BytesRead: p.bytes.Load(), BytesTotal: p.bytesTotal})
	if rows == 0 || read <= 0 {
		return 0
	}
	return int64(float64(rows) / read)
}

// groupsExpected returns about how many groups the query will emit, or 0 before its second phase.
func (p *progress) groupsExpected() int64 {
	emitted, work, done := p.emitted.Load(), p.work.Load(), p.workDone.Load()
	if done == 0 { // no task has ended: a row or state is a group at most
		return emitted + work
	}
	return emitted + int64(float64(p.groups.Load()-emitted)*max(float64(work)/float64(done), 1))
}

// again begins the input anew.
func (p *progress) again() {
	p.emitted.Store(p.groups.Load())
	for _, n := range []*atomic.Int64{&p.rows, &p.delivered, &p.bytes, &p.reading, &p.work, &p.workDone} {
		n.Store(0)
	}
}

const (
	// fractionMax is as far as a query gets before it is done.
	fractionMax = 0.999

	// The time left of a phase is told leftAfter its begin, when leftFraction of it is done: it would
	// be a guess before.
	leftAfter    = time.Second
	leftFraction = 0.02

	// foreseenShift is the part, as a shift, of the rows that may be scattered in a query whose second
	// phase is short: the time left of the first phase is the time left of the query.
	foreseenShift = 6
)

// readFraction returns how much of the input has been read, or -1.
func readFraction(now Progress) float64 {
	switch {
	case now.RowsTotal > 0:
		return min(1, float64(now.RowsRead)/float64(now.RowsTotal))
	case now.BytesTotal > 0:
		return min(1, float64(now.BytesRead)/float64(now.BytesTotal))
	}
	return -1
}

// moment is what is known when the time left is estimated.
type moment struct {
	rows           int64         // read
	read           float64       // fraction of the input, or -1
	scattered      int64         // rows and states, so far
	foreseen       bool          // scattered has all that is to be processed
	phase          time.Duration // since it began
	work, workDone int64         // of the tasks that are known, in rows and states
}

// part returns which part of a phase is done, or -1.
func (m *moment) part(phase Phase) float64 {
	switch {
	case phase == PhasePartition || phase == PhaseRead:
		return m.read
	case phase == PhaseProcess && m.work > 0:
		return float64(m.workDone) / float64(m.work)
	}
	return -1
}

// fraction returns which part of the query's work is done, or -1: a row that is read counts as much
// as a row or state that is processed.
func (m *moment) fraction(phase Phase) float64 {
	part := m.part(phase)
	switch {
	case part < 0:
		return -1
	case phase != PhaseProcess:
		return part * float64(m.rows) / float64(max(m.rows+m.scattered, 1))
	}
	return float64(m.rows+m.workDone) / float64(m.rows+m.work)
}

// left estimates the time that is left of a phase, and of the query, by what the phase has taken so
// far. It returns -1 where that tells nothing: how long a row takes in the second phase has little
// to do with how long it took to be read.
func (m *moment) left(phase Phase) (ofPhase, ofQuery time.Duration) {
	part := m.part(phase)
	if part < leftFraction || m.phase < leftAfter {
		return -1, -1
	}
	left := time.Duration(float64(m.phase) * (1 - part) / part)
	if phase == PhasePartition && (!m.foreseen || m.scattered > m.rows>>foreseenShift) || phase == PhaseRead {
		return left, -1
	}
	return left, left
}
