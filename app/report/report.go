// Package report writes what a query did as one HTML page, which loads nothing: its plan, its
// figures, and pictures of its time, its partitions and its tables.
package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"
	"time"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/trace"
	"github.com/mpga/mpga/kernels"
)

// Page is what a report tells. Fields that are zero are left out of the page.
type Page struct {
	Query    string // as the user has written it
	Error    string // that ended the query
	Warning  string // what the figures do not say
	Plan     string // lines
	Stats    engine.Stats
	Timeline trace.Timeline

	// Facts and Device are the figures of the query and of its devices, as text.
	Facts, Device []Fact
}

// Fact is a line of a table.
type Fact struct{ Name, Value string }

// Style and Script are the style of pages, and the script by which timelines are zoomed, for pages
// that have parts of a report.
var (
	//go:embed page.css
	Style string
	//go:embed page.js
	Script string
)

// inlineScript is Script as an element that is also well-formed XML.
var inlineScript = "//<![CDATA[\n" + Script + "//]]>"

// Policy is the Content-Security-Policy of a page: nothing is loaded, and no script runs but the
// page's own.
func Policy() string {
	digest := sha256.Sum256([]byte(inlineScript))
	return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(digest[:]) + "'"
}

// Write writes the page, with URLs without secrets.
func (p *Page) Write(to io.Writer) error {
	w := &writer{}
	Begin(&w.Writer, "What a query did", redact.Text(p.Query))
	for _, text := range []string{p.Error, p.Warning} {
		if text != "" {
			w.F("<p class=\"error\">%s</p>\n", redact.Text(text))
		}
	}
	if summary := Summary(&p.Stats, &p.Timeline); summary != "" {
		w.F("<p class=\"summary\">%s</p>\n", summary)
	}
	if p.Plan != "" {
		w.F("<h2>Plan</h2>\n<pre>%s</pre>\n", redact.Text(p.Plan))
	}
	w.phases(p.Stats.PhaseTimes)
	w.timelines(&p.Timeline)
	if d := p.Stats.Device; d != nil {
		w.partitions(d.Sizes, d.Tasks)
		w.loads(d.Loads, d.Rounds)
	}
	if d := p.Stats.Device; d != nil && d.Devices != "" || kernels.Possible() == nil { // else there is none to tell of
		w.facts("Devices", p.Device)
	}
	w.facts("Statistics", p.Facts)
	if len(p.Timeline.Queries) > 0 {
		w.WriteString("<script>" + inlineScript + "</script>\n")
	}
	w.F("</body>\n</html>\n")
	_, err := w.WriteTo(to)
	return err
}

// writer writes a page.
type writer struct{ chart.Writer }

// Begin writes a page up to the query.
func Begin(w *chart.Writer, title, query string) {
	w.F(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy" content="%s"/>
<title>mpga: %s</title>
<style>
`, Policy(), query)
	w.WriteString(Style)
	w.F("</style>\n</head>\n<body>\n<h1>%s</h1>\n<pre>%s</pre>\n", title, query)
}

func (w *writer) phases(times map[engine.Phase]time.Duration) {
	if len(times) == 0 {
		return
	}
	longest := time.Duration(1)
	for _, d := range times {
		longest = max(longest, d)
	}
	w.F("<h2>Phases</h2>\n<table>")
	for _, phase := range []engine.Phase{engine.PhasePlan, engine.PhasePartition, engine.PhaseProcess} {
		if d, ok := times[phase]; ok {
			w.bar(string(phase), rounded(d), float64(d)/float64(longest))
		}
	}
	w.F("</table>\n")
}

// bar writes a row of a table: a name, a time as text, and a bar of so much of the longest.
func (w *writer) bar(name, took string, part float64) {
	w.F(`<tr><td>%s</td><td>%s</td><td><svg viewBox="0 0 500 12" width="500" role="img"><title>%s: %s</title>`+
		`<rect class="bar" x="0" y="1" width="%.1f" height="10"/></svg></td></tr>`,
		name, took, name, took, pictureWidth/2*part)
}

// rounded writes a time with three digits or so.
func rounded(d time.Duration) string {
	switch {
	case d >= time.Second:
		d = d.Round(time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(time.Microsecond)
	}
	return d.String()
}

func (w *writer) facts(title string, facts []Fact) {
	if len(facts) == 0 {
		return
	}
	w.F("<h2>%s</h2>\n<table>", title)
	for _, f := range facts {
		w.F("<tr><td>%s</td><td>%s</td></tr>\n", f.Name, f.Value)
	}
	w.F("</table>\n")
}
