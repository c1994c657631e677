package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/digits"
)

// progress shows how far a query is. Calls of update come one at a time, except to oneProgress;
// close may come at any time and twice; updates after it are not shown.
type progress interface {
	update(engine.Progress)
	close()
}

var progressModes = []string{"auto", "bar", "plain", "json", "off"}

// newProgress returns the progress of a mode, which writes to w. shared says that the terminal of w
// gets the result too, row by row; the bar of mode auto then stays away.
func newProgress(mode string, w io.Writer, shared bool) (progress, error) {
	if mode == "auto" {
		mode = "off"
		if isTerminal(w) && !shared {
			mode = "bar"
		}
	}
	switch mode {
	case "bar":
		return &barProgress{out: w}, nil
	case "plain":
		return &lineProgress{out: w, every: time.Second, line: plainLine}, nil
	case "json":
		return &lineProgress{out: w, line: jsonLine}, nil
	case "off":
		return noProgress{}, nil
	}
	return nil, usagef("--progress %q: want one of %s", mode, strings.Join(progressModes, ", "))
}

// isTerminal reports whether w is a file that is a terminal.
func isTerminal(w io.Writer) bool {
	if checked, ok := w.(*checkedWriter); ok {
		w = checked.to
	}
	f, ok := w.(*os.File)
	return ok && cwriter.IsTerminal(int(f.Fd()))
}

// oneProgress shows the queries of a statement, which may run at the same time: a query that does not
// know how far it is, since it reads the groups of another, gives way to that.
type oneProgress struct {
	mu    sync.Mutex
	to    progress
	known time.Time // when a running query said last how far it is
}

// giveWay is how long a query that does not know how far it is waits for another that does.
const giveWay = time.Second

func (o *oneProgress) update(p engine.Progress) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case p.Done:
		o.known = time.Time{}
	case p.Fraction >= 0:
		o.known = time.Now()
	case time.Since(o.known) < giveWay:
		return
	}
	o.to.update(p)
}

func (o *oneProgress) close() { o.to.close() }

type noProgress struct{}

func (noProgress) update(engine.Progress) {}
func (noProgress) close()                 {}

// lineProgress writes one line for each update, at most one in a while; the last comes always.
type lineProgress struct {
	out   io.Writer
	every time.Duration
	line  func(engine.Progress) string
	next  time.Duration // elapsed time from which another line is due
}

func (l *lineProgress) update(p engine.Progress) {
	if p.Elapsed < l.next && !p.Done {
		return
	}
	l.next = p.Elapsed + l.every
	fmt.Fprintln(l.out, l.line(p)) // a lost line of progress ends no query
}

func (l *lineProgress) close() {}

func plainLine(p engine.Progress) string {
	return fmt.Sprintf("%-9s %s  %s", p.Phase, percent(p.Fraction), figures(p))
}

// percent is four columns wide.
func percent(fraction float64) string {
	if fraction < 0 {
		return " --%"
	}
	return fmt.Sprintf("%3d%%", int(100*min(fraction, 1)))
}

// figures describes rows, bytes, rates of reading and time:
// 1,234 of 5,000 rows, 1.0 MiB of 4.1 MiB, 1.2 k rows/s, 1.0 MiB/s, 3s left.
func figures(p engine.Progress) string {
	parts := []string{
		amount(p.RowsRead, p.RowsTotal, humanize.Comma) + " rows",
		amount(p.BytesRead, p.BytesTotal, byteSize),
	}
	if seconds := p.Reading.Seconds(); seconds > 0 {
		parts = append(parts, rowRate(p.RowsRead, p.Reading), humanize.IBytes(uint64(float64(p.BytesRead)/seconds))+"/s")
	}
	switch {
	case p.Done && p.Phase == engine.PhaseRead:
		parts = append(parts, "done in "+roundTime(p.Elapsed))
	case p.Done:
		parts = append(parts, digits.Counted(p.Groups, "group"), "done in "+roundTime(p.Elapsed))
	case p.PhaseLeft >= 0: // a plain "left" would promise the end of a statement, which may sort its groups
		parts = append(parts, fmt.Sprintf("about %s left to %s", p.PhaseLeft.Round(time.Second), p.Phase))
	}
	return strings.Join(parts, ", ")
}

// amount is done of total; a total below zero is not known.
func amount(done, total int64, format func(int64) string) string {
	if total < 0 {
		return format(done)
	}
	return format(done) + " of " + format(total)
}

// roundTime keeps three figures of a duration.
func roundTime(d time.Duration) string {
	unit := time.Nanosecond
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

// progressJSON is a line of --progress json. Unknown figures are null.
type progressJSON struct {
	Phase          engine.Phase `json:"phase"`
	Fraction       *float64     `json:"fraction"`
	RowsRead       int64        `json:"rows_read"`
	RowsTotal      *int64       `json:"rows_total"`
	BytesRead      int64        `json:"bytes_read"`
	BytesTotal     *int64       `json:"bytes_total"`
	Groups         int64        `json:"groups"`
	ElapsedSeconds float64      `json:"elapsed_seconds"`
	RowsPerSecond  float64      `json:"rows_per_second"` // read
	PhaseLeft      *float64     `json:"phase_left_seconds"`
	LeftSeconds    *float64     `json:"left_seconds"`
	Done           bool         `json:"done"`
}

func jsonLine(p engine.Progress) string {
	line := progressJSON{Phase: p.Phase, Fraction: known(p.Fraction), RowsRead: p.RowsRead, RowsTotal: known(p.RowsTotal),
		BytesRead: p.BytesRead, BytesTotal: known(p.BytesTotal), Groups: p.Groups,
		ElapsedSeconds: p.Elapsed.Seconds(), PhaseLeft: known(p.PhaseLeft.Seconds()),
		LeftSeconds: known(p.Left.Seconds()), Done: p.Done}
	if seconds := p.Reading.Seconds(); seconds > 0 {
		line.RowsPerSecond = float64(p.RowsRead) / seconds
	}
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // numbers and a word
	}
	return string(text)
}

// barProgress is a bar on a terminal that is gone when the query has ended.
type barProgress struct {
	out  io.Writer
	last atomic.Pointer[engine.Progress] // mpb draws from a goroutine of its own

	mu        sync.Mutex
	closed    bool
	container *mpb.Progress // nil until the bar is shown
	bar       *mpb.Bar
}

const (
	barDelay = 300 * time.Millisecond // a query that ends sooner shows no bar
	barSteps = 1000                   // of the whole query
)

func (b *barProgress) update(p engine.Progress) {
	b.last.Store(&p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.container == nil {
		if p.Elapsed < barDelay || p.Done || b.closed {
			return
		}
		b.show()
	}
	b.bar.SetCurrent(int64(barSteps * min(max(p.Fraction, 0), 1)))
}

// show draws the bar for the first time. Requires: b.mu is held.
func (b *barProgress) show() {
	text := func(format func(engine.Progress) string) decor.Decorator {
		return decor.Any(func(decor.Statistics) string { return format(*b.last.Load()) })
	}
	b.container = mpb.New(mpb.WithOutput(b.out), mpb.WithWidth(32))
	// A total of zero keeps mpb from ending the bar when it is full: close does.
	b.bar = b.container.New(0, mpb.BarStyle().Rbound("|").Lbound("|"),
		mpb.PrependDecorators(text(func(p engine.Progress) string {
			return fmt.Sprintf("%-9s %s ", p.Phase, percent(p.Fraction))
		})),
		mpb.AppendDecorators(text(func(p engine.Progress) string { return " " + figures(p) })))
	b.bar.SetTotal(barSteps, false)
}

func (b *barProgress) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.container == nil {
		return
	}
	b.bar.Abort(true)
	b.container.Wait()
	b.container = nil
}
