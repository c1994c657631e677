package report

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/internal/trace"
)

const (
	rowHeight   = 18.0
	nameWidth   = 190.0
	timeWidth   = pictureWidth - nameWidth
	timeMargin  = 25.0 // for half of the last tick's text
	timeTickMax = 10

	// A box narrower than boxWidthMin is drawn with its neighbours. Where a query has more than boxesMax
	// boxes, wider boxes are, too: who zooms in sees as much as a page may hold.
	boxWidthMin = 0.01
	boxesMax    = 2500
)

// WriteTimeline writes a picture of what was done when, as HTML for a page that has Style and Script.
func WriteTimeline(to io.Writer, t *trace.Timeline) error {
	w := &writer{}
	w.timelines(t)
	_, err := w.WriteTo(to)
	return err
}

// timelines draws each query with its rows.
func (w *writer) timelines(t *trace.Timeline) {
	classes := make(map[string]int) // of the page's style, by what is done
	for i := range t.Queries {
		q := &t.Queries[i]
		title := rounded(q.End - q.Begin)
		if len(t.Queries) > 1 {
			title = fmt.Sprintf("query %d: %s", i+1, title)
		}
		w.timeline(title, q, classes)
	}
	if t.Dropped > 0 {
		w.F("<p>%d spans shorter than %s are not shown.</p>\n", t.Dropped, t.Shortest)
	}
}

// timeline draws a query. The spans are in a picture of their own, whose part in view the script of
// the page changes.
func (w *writer) timeline(title string, q *trace.QueryTimeline, classes map[string]int) {
	var names, boxes writer // of the rows
	var done []string       // what is done
	height, group := 0.0, ""
	least := boxWidth(q)
	for _, row := range q.Rows {
		if row.Group != group {
			group = row.Group
			names.F("<text y=\"%.0f\" dy=\"13\">%s</text>\n", height, group)
			height += rowHeight
		}
		names.F("<text class=\"dim\" x=\"12\" y=\"%.0f\" dy=\"13\">%s</text>\n", height, row.Name)
		for _, s := range row.Spans {
			if _, known := classes[s.Name]; !known {
				classes[s.Name] = len(classes)
			}
			if !slices.Contains(done, s.Name) {
				done = append(done, s.Name)
			}
		}
		for _, b := range boxesOf(row.Spans, q, least) {
			boxes.box(&b, q, height, classes)
		}
		height += rowHeight
	}
	w.F("<h2>Timeline, %s</h2>\n<p class=\"legend\">", title)
	for _, name := range done {
		w.F(`<span><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="c%d" width="10" height="10"/></svg> %s</span> `,
			classes[name]%chart.Colours, name)
	}
	w.F("</p>\n<div class=\"timeline\" role=\"group\" tabindex=\"0\" data-nanos=\"%d\" "+
		"aria-label=\"Timeline: plus and minus zoom, arrows move, 0 shows all\">\n", int64(length(q)))
	w.F("<svg viewBox=\"0 -16 %.0f %.0f\" role=\"img\">\n<title>What was done when</title>\n<g class=\"ticks\">",
		pictureWidth+timeMargin, height+rowHeight)
	for _, at := range timeTicks(length(q), timeTickMax) {
		x := nameWidth + timeWidth*float64(at)/float64(length(q))
		w.F("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%.0f\"/>"+
			"<text class=\"dim\" x=\"%.1f\" y=\"-4\" text-anchor=\"middle\">%s</text>", x, x, height, x, rounded(at))
	}
	w.F("</g>\n")
	_, _ = names.WriteTo(w)
	w.F("<svg class=\"spans\" x=\"%.0f\" y=\"0\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "+
		"preserveAspectRatio=\"none\">\n", nameWidth, timeWidth, height, timeWidth, height)
	_, _ = boxes.WriteTo(w)
	w.F("</svg>\n</svg>\n<p class=\"readout\" aria-hidden=\"true\">" +
		"Drag over a part to see it alone; + and - zoom, arrows move, a double click shows all.</p>\n</div>\n")
}

// length returns how long a query took.
func length(q *trace.QueryTimeline) time.Duration { return max(q.End-q.Begin, 1) }

// box is a rectangle of a timeline: a span, and further ones behind it that are too short to be seen.
type box struct {
	span    *trace.Span // the first
	x, end  float64     // from 0 to timeWidth
	further int
}

// boxWidth returns the least width of a box with which a query has few enough.
func boxWidth(q *trace.QueryTimeline) float64 {
	for least := boxWidthMin; ; least *= 2 {
		count := 0
		for _, row := range q.Rows {
			count += len(boxesOf(row.Spans, q, least))
		}
		if count <= boxesMax || least > 1 {
			return least
		}
	}
}

// boxesOf returns the boxes of a row's spans, which are in order. A span narrower than least, so near
// behind another, is part of the box of the other.
func boxesOf(spans []trace.Span, q *trace.QueryTimeline, least float64) (list []box) {
	scale := timeWidth / float64(length(q))
	for i := range spans {
		s := &spans[i]
		x, end := float64(s.Begin-q.Begin)*scale, float64(s.End-q.Begin)*scale
		if n := len(list); n > 0 && end-x < least && x-list[n-1].end < least {
			list[n-1].end = end
			list[n-1].further++
			continue
		}
		list = append(list, box{span: s, x: x, end: end})
	}
	return list
}

// box draws a box at a height.
func (w *writer) box(b *box, q *trace.QueryTimeline, y float64, classes map[string]int) {
	further := ""
	if b.further > 0 {
		further = fmt.Sprintf(", with %d more", b.further)
	}
	w.F("<rect class=\"c%d\" x=\"%.3f\" y=\"%.0f\" width=\"%.3f\" height=\"%.0f\">"+
		"<title>%s: %s, from %s%s</title></rect>\n",
		classes[b.span.Name]%chart.Colours, b.x, y+2, max(b.end-b.x, 0.2), rowHeight-4,
		b.span.Name, rounded(b.span.End-b.span.Begin), rounded(b.span.Begin-q.Begin), further)
}
