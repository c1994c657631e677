package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
)

//go:embed page.css
var style string

// writer writes HTML. It is no template of the standard library: these call methods by their names, so a program
// that has one keeps all exported methods of all its types, 7 MB here.
type writer struct{ bytes.Buffer }

// f writes a format whose arguments are escaped, but for numbers.
func (w *writer) f(format string, args ...any) {
	for i, a := range args {
		switch a.(type) {
		case int, int64, float64:
		default:
			args[i] = html.EscapeString(fmt.Sprint(a))
		}
	}
	fmt.Fprintf(w, format, args...)
}

// html returns the page.
func (v *view) html() []byte {
	w := &writer{}
	w.f(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<title>mpga: %s</title>
<style>
`, v.Query)
	w.WriteString(style)
	w.f("</style>\n</head>\n<body>\n<h1>What a query did</h1>\n<pre>%s</pre>\n", v.Query)
	if v.Error != "" {
		w.f("<p class=\"error\">%s</p>\n", v.Error)
	}
	if v.Plan != "" {
		w.f("<h2>Plan</h2>\n<pre>%s</pre>\n", v.Plan)
	}
	w.phases(v.Phases)
	for i := range v.Timelines {
		w.timeline(&v.Timelines[i])
	}
	if v.Timeline.Dropped > 0 {
		w.f("<p>%d spans shorter than %s are not shown.</p>\n", v.Timeline.Dropped, v.Timeline.Shortest.String())
	}
	w.partitions(v.Partitions)
	w.loads(v.Loads)
	w.facts("Devices", v.Device)
	w.facts("Statistics", v.Facts)
	w.f("</body>\n</html>\n")
	return w.Bytes()
}

func (w *writer) phases(bars []bar) {
	if len(bars) == 0 {
		return
	}
	w.f("<h2>Phases</h2>\n<table>")
	for _, b := range bars {
		w.f(`<tr><td>%[1]s</td><td>%[2]s</td><td><svg viewBox="0 0 500 12" width="500" role="img"><title>%[1]s: %[2]s</title><rect class="bar" x="0" y="1" width="%[3].1f" height="10"/></svg></td></tr>`,
			b.Name, b.Value, b.Width)
	}
	w.f("</table>\n")
}

func (w *writer) timeline(t *timeline) {
	w.f("<h2>Timeline, %s</h2>\n<p class=\"legend\">", t.Title)
	for _, n := range t.Names {
		w.f(`<span><svg viewBox="0 0 10 10"><rect class="c%d" width="10" height="10"/></svg> %s</span> `, n.Class, n.Text)
	}
	w.f("</p>\n<svg viewBox=\"0 -16 1010 %.0f\" role=\"img\">\n<title>What was done when</title>\n", t.Full)
	for _, m := range t.Marks {
		w.f("<line x1=\"%[1].1f\" x2=\"%[1].1f\" y1=\"0\" y2=\"%[2].0f\"/><text class=\"dim\" x=\"%[1].1f\" y=\"-4\" text-anchor=\"%[3]s\">%[4]s</text>\n",
			m.X, t.Height, m.Anchor, m.Text)
	}
	for _, r := range t.Rows {
		indent := 12
		if r.Head {
			indent = 0
		}
		w.f("<text x=\"%d\" y=\"%.0f\" dy=\"13\">%s</text>\n", indent, r.Y, r.Name)
		for _, b := range r.Boxes {
			w.f("<rect class=\"c%d\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\"><title>%s</title></rect>\n", b.Class, b.X, b.Y, b.Width, b.Height, b.Title)
		}
	}
	w.f("</svg>\n")
}

func (w *writer) partitions(list []histogram) {
	if len(list) == 0 {
		return
	}
	w.f("<h2>Partitions</h2>\n")
	for _, h := range list {
		w.f("<h3>%s, %d rows at full height</h3>\n", h.Title, h.Most)
		w.f("<svg viewBox=\"0 0 1000 %[1]d\" role=\"img\"><title>%[2]s</title><line x1=\"0\" x2=\"1000\" y1=\"%[1]d\" y2=\"%[1]d\"/>\n", h.Height, h.Title)
		for _, b := range h.Bars {
			w.f("<rect class=\"bar\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>%s</title></rect>\n", b.X, b.Y, b.Width, b.Height, b.Title)
		}
		w.f("</svg>\n")
	}
}

func (w *writer) loads(c *curve) {
	if c == nil {
		return
	}
	w.f("<h2>Load factor by feedback round</h2>\n<h3>the first %d of %d rounds, from 0 to 1</h3>\n", len(c.Points), c.Rounds)
	w.f("<svg viewBox=\"0 0 1000 %[1]d\" role=\"img\"><title>Load factor of tables after each feedback load</title><line x1=\"0\" x2=\"1000\" y1=\"0\" y2=\"0\"/><line x1=\"0\" x2=\"1000\" y1=\"%[1]d\" y2=\"%[1]d\"/>\n<polyline class=\"curve\" points=\"", c.Height)
	for _, p := range c.Points {
		w.f("%.1f,%.1f ", p.X, p.Y)
	}
	w.f("\"/>\n")
	for _, p := range c.Points {
		w.f("<circle class=\"bar\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"><title>%s</title></circle>\n", p.X, p.Y, p.Title)
	}
	w.f("</svg>\n")
}

func (w *writer) facts(title string, facts []Fact) {
	if len(facts) == 0 {
		return
	}
	w.f("<h2>%s</h2>\n<table>", title)
	for _, f := range facts {
		w.f("<tr><td>%s</td><td>%s</td></tr>\n", f.Name, f.Value)
	}
	w.f("</table>\n")
}
