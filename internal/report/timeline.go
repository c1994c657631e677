package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/mpga/mpga/internal/trace"
)

const (
	rowHeight   = 18.0
	nameWidth   = 190.0
	timeWidth   = pictureWidth - nameWidth
	colours     = 8   // classes of the page's style
	boxWidthMin = 0.5 // spans that are narrower are drawn with their neighbours
	timeMarks   = 8
)

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
		w.f("<p>%d spans shorter than %s are not shown.</p>\n", t.Dropped, t.Shortest)
	}
}

// timeline draws a query.
func (w *writer) timeline(title string, q *trace.QueryTimeline, classes map[string]int) {
	var rows writer
	var names []string // of what is done
	length := float64(max(q.End-q.Begin, 1))
	height, group := 0.0, ""
	text := func(x int, what string) {
		rows.f("<text x=\"%d\" y=\"%.0f\" dy=\"13\">%s</text>\n", x, height, what)
	}
	for _, row := range q.Rows {
		if row.Group != group {
			group = row.Group
			text(0, group)
			height += rowHeight
		}
		text(12, row.Name)
		for _, s := range row.Spans {
			if _, known := classes[s.Name]; !known {
				classes[s.Name] = len(classes)
			}
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
		rows.boxes(row.Spans, q.Begin, timeWidth/length, height, classes)
		height += rowHeight
	}
	w.f("<h2>Timeline, %s</h2>\n<p class=\"legend\">", title)
	for _, name := range names {
		w.f(`<span><svg viewBox="0 0 10 10"><rect class="c%d" width="10" height="10"/></svg> %s</span> `, classes[name]%colours, name)
	}
	w.f("</p>\n<svg viewBox=\"0 -16 1010 %.0f\" role=\"img\">\n<title>What was done when</title>\n", height+rowHeight)
	for m := range timeMarks + 1 {
		at, anchor := time.Duration(length*float64(m)/timeMarks), "middle"
		if m == timeMarks {
			anchor = "end" // of the picture
		}
		w.f("<line x1=\"%[1].1f\" x2=\"%[1].1f\" y1=\"0\" y2=\"%[2].0f\"/><text class=\"dim\" x=\"%[1].1f\" y=\"-4\" text-anchor=\"%[3]s\">%[4]s</text>\n",
			nameWidth+timeWidth*float64(m)/timeMarks, height, anchor, rounded(at.Round(max(q.End-q.Begin, 1)/1000)))
	}
	_, _ = rows.WriteTo(w)
	w.f("</svg>\n")
}

// boxes draws the spans of a row. A span that could not be seen is drawn as a part of the span
// before it.
func (w *writer) boxes(spans []trace.Span, begin time.Duration, scale, y float64, classes map[string]int) {
	for i := 0; i < len(spans); {
		s := &spans[i]
		x := nameWidth + float64(s.Begin-begin)*scale
		width := max(float64(s.End-s.Begin)*scale, boxWidthMin/2)
		for i++; i < len(spans); i++ {
			nextX, nextWidth := nameWidth+float64(spans[i].Begin-begin)*scale, float64(spans[i].End-spans[i].Begin)*scale
			if nextWidth >= boxWidthMin || nextX-(x+width) >= boxWidthMin {
				break
			}
			width = nextX + nextWidth - x
		}
		w.f("<rect class=\"c%d\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\"><title>%s: %s, from %s</title></rect>\n",
			classes[s.Name]%colours, x, y+2, width, rowHeight-4, s.Name, rounded(s.End-s.Begin), rounded(s.Begin-begin))
	}
}
