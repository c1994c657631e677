package report

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/internal/trace"
)

func counted(n int) string { return humanize.Comma(int64(n)) }

func loadCurve(d *device.Stats) *curve {
	if d == nil || len(d.Loads) == 0 {
		return nil
	}
	c := &curve{Rounds: d.Rounds, Height: pictureHeight}
	step := float64(pictureWidth) / float64(len(d.Loads))
	for i, load := range d.Loads {
		c.Points = append(c.Points, point{
			X: (float64(i) + 0.5) * step, Y: pictureHeight * (1 - load), Title: fmt.Sprintf("round %d: %.3f", i+1, load),
		})
	}
	return c
}

// timeline is the picture of one query.
type timeline struct {
	Title  string
	Rows   []timelineRow
	Marks  []mark  // of time
	Names  []name  // of what is done
	Height float64 // of all rows
	Full   float64 // with the marks
}

type timelineRow struct {
	Name  string
	Head  bool // of a group
	Y     float64
	Boxes []box
}

type mark struct {
	X      float64
	Anchor string // of the text: the last mark's ends there
	Text   string
}

type name struct {
	Text  string
	Class int
}

const (
	rowHeight   = 18.0
	nameWidth   = 190.0
	timeWidth   = pictureWidth - nameWidth
	colours     = 8   // classes of the page's style
	boxWidthMin = 0.5 // spans that are narrower are drawn with their neighbours
	timeMarks   = 8
)

// timelines draws each query with its rows.
func timelines(t *trace.Timeline) []timeline {
	var list []timeline
	classes := map[string]int{}
	for i, q := range t.Queries {
		pic := timeline{Title: rounded(q.End - q.Begin)}
		if len(t.Queries) > 1 {
			pic.Title = fmt.Sprintf("query %d: %s", i+1, pic.Title)
		}
		length := float64(max(q.End-q.Begin, 1))
		seen := map[string]bool{}
		group := ""
		for _, row := range q.Rows {
			if row.Group != group {
				group = row.Group
				pic.Rows = append(pic.Rows, timelineRow{Name: group, Head: true, Y: pic.Height})
				pic.Height += rowHeight
			}
			r := timelineRow{Name: row.Name, Y: pic.Height, Boxes: boxes(row.Spans, q.Begin, timeWidth/length, pic.Height, classes)}
			pic.Rows = append(pic.Rows, r)
			pic.Height += rowHeight
			for _, s := range row.Spans {
				if !seen[s.Name] {
					seen[s.Name] = true
					pic.Names = append(pic.Names, name{s.Name, classes[s.Name] % colours})
				}
			}
		}
		for m := range timeMarks + 1 {
			at, anchor := time.Duration(length*float64(m)/timeMarks), "middle"
			if m == timeMarks {
				anchor = "end"
			}
			pic.Marks = append(pic.Marks, mark{Anchor: anchor, X: nameWidth + timeWidth*float64(m)/timeMarks, Text: rounded(at.Round(max(q.End-q.Begin, 1) / 1000))})
		}
		pic.Full = pic.Height + rowHeight
		list = append(list, pic)
	}
	return list
}

// boxes draws the spans of a row; those that could not be seen are part of the one before.
func boxes(spans []trace.Span, begin time.Duration, scale, y float64, classes map[string]int) []box {
	var out []box
	for _, s := range spans {
		class, known := classes[s.Name]
		if !known {
			class = len(classes)
			classes[s.Name] = class
		}
		x, width := nameWidth+float64(s.Begin-begin)*scale, float64(s.End-s.Begin)*scale
		if n := len(out); n > 0 && width < boxWidthMin && x-(out[n-1].X+out[n-1].Width) < boxWidthMin {
			out[n-1].Width = x + width - out[n-1].X
			continue
		}
		out = append(out, box{
			X: x, Y: y + 2, Width: max(width, boxWidthMin/2), Height: rowHeight - 4, Class: class % colours,
			Title: fmt.Sprintf("%s: %s, from %s", s.Name, rounded(s.End-s.Begin), rounded(s.Begin-begin)),
		})
	}
	return out
}
