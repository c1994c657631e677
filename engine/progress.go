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
	delivered atomic.Int64 // rows of batches that readers have returned, of which some are not taken yet
	bytes     atomic.Int64 // read
	groups    atomic.Int64 // emitted
	emitted   atomic.Int64 // of groups, before the input was begun anew
	batches   atomic.Int64 // of the result
	scattered func() int64 // rows and states in partitions
	work      atomic.Int64 // of the tasks, in rows and states
	workDone  atomic.Int64
	last      Progress // as last reported
}

// reportEvery is the time between two reports.
const reportEvery = 100 * time.Millisecond

func newProgress(report func(Progress), stats scan.Stats, splits []scan.Split, started time.Time) *progress {
	p := &progress{report: report, rowsTotal: stats.Rows, last: Progress{Fraction: -1}}
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
		Left:       -1,
		Fraction:   p.last.Fraction,
		Done:       done,
	}
	m := moment{
		rows:      now.RowsRead,
		read:      readFraction(now),
		scattered: p.scattered(),
		phase:     elapsed - time.Duration(p.began.Load()),
		reading:   now.Reading,
		work:      p.work.Load(),
		workDone:  p.workDone.Load(),
	}
	if now.Phase == PhasePartition && now.Reading == 0 {
		now.Reading, m.reading = m.phase, m.phase
	}
	if left := m.left(now.Phase); left >= 0 {
		now.Fraction = max(now.Fraction, min(float64(elapsed)/float64(elapsed+left), fractionMax))
		if elapsed >= leftAfter && now.Fraction >= leftFraction {
			now.Left = left
		}
	}
	if done {
		now.Fraction, now.Left = 1, 0
	}
	// Input that is read once more counts when it is more than before.
	now.RowsRead, now.BytesRead = max(now.RowsRead, p.last.RowsRead), max(now.BytesRead, p.last.BytesRead)
	now.Reading = max(now.Reading, p.last.Reading)
	p.last = now
	return now
}

// read returns how many rows of the input have been read, and which part of it they are; -1 where that is not known.
func (p *progress) read() (rows int64, part float64) {
	now := Progress{RowsRead: p.rows.Load(), RowsTotal: p.rowsTotal, BytesRead: p.bytes.Load(), BytesTotal: p.bytesTotal}
	return now.RowsRead, readFraction(now)
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

	// The time left is told after leftAfter, when leftFraction is done: a guess before.
	leftAfter    = time.Second
	leftFraction = 0.02
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
	phase          time.Duration // since it began
	reading        time.Duration // what the input took, or takes so far
	work, workDone int64         // of the tasks that are known, in rows and states
}

// left estimates the time that is left of both phases, or returns -1. A row that is scattered is
// expected to take as long again as reading it took, until tasks have shown what they take.
func (m *moment) left(phase Phase) time.Duration {
	each := float64(m.reading) / float64(max(m.rows, 1)) // nanoseconds of a row, then of a row of a task
	switch {
	case phase == PhasePartition && m.read > 0:
		reading := float64(m.phase) * (1 - m.read) / m.read
		return time.Duration(reading + float64(m.scattered)/m.read*each)
	case phase == PhaseProcess && m.work > 0:
		const believed = 64 // the expectation weighs as much as this part of the tasks
		weight := float64(m.work) / believed
		if m.reading == 0 {
			weight = 0
		}
		if float64(m.workDone)+weight == 0 {
			return -1
		}
		each = (float64(m.phase) + weight*each) / (float64(m.workDone) + weight)
		return time.Duration(float64(m.work-m.workDone) * each)
	}
	return -1
}
