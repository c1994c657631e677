package chart

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Colours is the number of colours of series, which pages have as classes of their style.
const Colours = 8

// The measures of a chart, in units of its picture.
const (
	chartWidth  = 760.0
	chartHeight = 300.0 // of the plot of a panel
	chartLeft   = 70.0
	chartRight  = 16.0
	chartTop    = 30.0
	chartBottom = 56.0
	legendRow   = 18.0
	barsNameMax = 30 // letters of a name below bars
	namesMax    = 48 // names below bars; of more bars, some have none
)

// chartColours are the colours of series, of text, of dim text, of lines and of the ground, in a light and in a dark
// picture. The page's style has the same Colours; they are values here, since few programs but browsers know a
// style's variables.
var chartColours = [2][Colours + 4]string{
	{"#3c78b4", "#c8752c", "#3f8f5f", "#8a5ab0", "#b54848", "#5c93a3", "#8c7b2c", "#7a7f8a", "#1b1e23", "#666677",
		"#d5d8de", "#ffffff"},
	{"#6ba4dc", "#e39a5a", "#69b98a", "#b48ad6", "#dd7c7c", "#86bccb", "#bfae5e", "#a3a8b3", "#e4e6ea", "#9aa0ab",
		"#343943", "#15171b"},
}

// chartStyle writes the style of a picture of its own.
func (w *Writer) chartStyle() {
	w.F("<style>\nsvg { font: 11px system-ui, sans-serif; } .line { fill: none; stroke-width: 1.8; } .hollow { " +
		"stroke-width: 1.8; }\n")
	for dark, c := range chartColours {
		if dark == 1 {
			w.F("@media (prefers-color-scheme: dark) {\n")
		}
		for i, colour := range c[:Colours] {
			w.F(".c%d { fill: %s; } .s%d { stroke: %s; }\n", i, colour, i, colour)
		}
		w.F("text { fill: %s; } .dim { fill: %s; } line { stroke: %s; } .ground, .hollow { fill: %s; }\n", c[Colours],
			c[Colours+1], c[Colours+2], c[Colours+3])
	}
	w.F("}\n</style>\n<rect class=\"ground\" width=\"100%%\" height=\"100%%\"/>\n")
}

// Write writes panels, one below the other, as one SVG picture of its own.
func Write(to io.Writer, title string, panels []Panel) error {
	w := &Writer{}
	w.Draw(title, panels, true)
	_, err := w.WriteTo(to)
	return err
}

// HasPoints reports whether there is anything to draw: whether one of the panels has points.
func HasPoints(panels []Panel) bool {
	return slices.ContainsFunc(panels, func(panel Panel) bool {
		p := plot{panel: &panel}
		return p.measure()
	})
}

// Draw draws panels, one below the other; a picture of its own has a style.
func (w *Writer) Draw(title string, panels []Panel, alone bool) {
	var body Writer
	y := 0.0
	for i := range panels {
		p := plot{panel: &panels[i], top: y + chartTop}
		if p.measure() {
			y = p.draw(&body)
		}
	}
	if y == 0 {
		return
	}
	space := ""
	if alone {
		space = "xmlns=\"http://www.w3.org/2000/svg\" "
	}
	fmt.Fprintf(w, "<svg %sviewBox=\"0 0 %d %d\" role=\"img\">", space, int(chartWidth), int(math.Ceil(y)))
	w.F("<title>%s</title>\n", title)
	if alone {
		w.chartStyle()
	}
	_, _ = body.WriteTo(w)
	w.F("</svg>\n")
}

// plot is the chart of one panel.
type plot struct {
	panel *Panel
	top   float64
	x, y  scale

	apart bool // points are not joined
	dates bool // the numbers of the x axis are seconds since 1970
}

// measure finds the scales. It returns false where there is nothing to draw.
func (p *plot) measure() bool {
	var xs, ys []float64
	for _, s := range p.panel.Series {
		for _, at := range slices.Concat(s.Points, s.Paper) {
			if !math.IsNaN(at.Y) {
				xs, ys = append(xs, at.X), append(ys, at.Y)
			}
		}
	}
	if len(xs) == 0 {
		return false
	}
	p.x = scale{slices.Min(xs), slices.Max(xs), chartLeft, chartWidth - chartRight, p.panel.X.Log}
	p.y = scale{slices.Min(ys), slices.Max(ys), p.top + chartHeight, p.top, p.panel.Y.Log}
	if p.y.low <= 0 {
		p.y.log = 0
	}
	if names := len(p.panel.X.Names); names > 0 {
		p.x.low, p.x.high, p.x.log = -.5, float64(names)-.5, 0
	}
	p.x.widen(false)
	p.y.widen(true)
	return true
}

// draw draws the panel with its legend, and returns where it ends.
func (p *plot) draw(w *Writer) float64 {
	if len(p.panel.X.Names) > 0 {
		return p.drawKind(w, Bars)
	}
	return p.drawKind(w, Lines)
}

// drawKind draws the panel as a kind of chart.
func (p *plot) drawKind(w *Writer, kind Kind) float64 {
	bottom := p.top + chartHeight
	w.F("<text x=\"%.0f\" y=\"%.0f\" font-weight=\"bold\">%s</text>\n", chartLeft, p.top-12, p.panel.Title)
	for _, v := range p.y.ticks(8) {
		y := p.y.at(v)
		w.F("<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"dim\" x=\"%.0f\" y=\"%.1f\" dy=\"4\" "+
			"text-anchor=\"end\">%s</text>\n",
			chartLeft, chartWidth-chartRight, y, y, chartLeft-6, y, tick(v, p.y.log))
	}
	w.F("<text class=\"dim\" transform=\"translate(14 %.0f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
		p.top+chartHeight/2, Label(&p.panel.Y))
	if len(p.panel.X.Names) > 0 {
		bottom += p.names(w)
	} else {
		p.xTicks(w)
	}
	if kind == Bars {
		p.bars(w)
	} else {
		p.lines(w)
	}
	return p.legend(w, bottom+chartBottom)
}

func (p *plot) xTicks(w *Writer) {
	bottom := p.top + chartHeight
	ticks, text := p.x.ticks(12), func(v float64) string { return tick(v, p.x.log) }
	if p.dates {
		ticks, text = dateTicks(p.x.low, p.x.high, 8)
	}
	for _, v := range ticks {
		x := p.x.at(v)
		w.F("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\"/><text class=\"dim\" x=\"%.1f\" y=\"%.0f\" "+
			"text-anchor=\"middle\">%s</text>\n",
			x, x, bottom, bottom+5, x, bottom+18, text(v))
	}
	w.F("<text class=\"dim\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n",
		(chartLeft+chartWidth-chartRight)/2, bottom+35, Label(&p.panel.X))
}

// names writes the names of a axis without numbers, and returns the height that they take.
func (p *plot) names(w *Writer) float64 {
	bottom, longest := p.top+chartHeight, 0
	every := (len(p.panel.X.Names) + namesMax - 1) / namesMax
	for i, name := range p.panel.X.Names {
		if i%every > 0 {
			continue
		}
		runes := []rune(name)
		if len(runes) > barsNameMax {
			name = string(runes[:barsNameMax-1]) + "…"
		}
		longest = max(longest, min(len(runes), barsNameMax))
		w.F("<text class=\"dim\" transform=\"translate(%.1f %.0f) rotate(-28)\" text-anchor=\"end\">%s</text>\n",
			p.x.at(float64(i))+4, bottom+14, name)
	}
	return 2.8 * float64(longest)
}

// bars draws bars side by side for each name.
func (p *plot) bars(w *Writer) {
	count := float64(len(p.panel.Series))
	width := .8 * (p.x.at(1) - p.x.at(0)) / count
	base := p.y.begin
	if p.y.log == 0 {
		base = p.y.at(0)
	}
	for i, s := range p.panel.Series {
		for _, at := range s.Points {
			if math.IsNaN(at.Y) {
				continue
			}
			x, y := p.x.at(at.X)+(float64(i)-count/2)*width, p.y.at(at.Y)
			w.F("<rect class=\"c%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s</title></rect>\n",
				i%Colours, x, min(y, base), width*.92, math.Abs(y-base), p.tip(s, at, ""))
		}
		for _, at := range s.Paper {
			p.mark(w, i, p.x.at(at.X)+(float64(i)-count/2+.5)*width, p.y.at(at.Y), "hollow", p.tip(s, at, "paper"))
		}
	}
}

func (p *plot) lines(w *Writer) {
	for i, s := range p.panel.Series {
		dash := ""
		if s.Origin != Measured {
			dash = "5 4"
		}
		for _, part := range joined(s.Points, p.apart) {
			w.F("<polyline class=\"line s%d\" stroke-dasharray=\"%s\" points=\"", i%Colours, dash)
			for _, at := range part {
				w.F("%.1f,%.1f ", p.x.at(at.X), p.y.at(at.Y))
			}
			w.F("\"/>\n")
		}
		for _, at := range s.Points {
			if math.IsNaN(at.Y) || len(s.Points) > marksMax && !p.apart {
				continue
			}
			p.mark(w, i, p.x.at(at.X), p.y.at(at.Y), "c", p.tip(s, at, ""))
		}
		for _, at := range s.Paper {
			p.mark(w, i, p.x.at(at.X), p.y.at(at.Y), "hollow", p.tip(s, at, "paper"))
		}
	}
}

// marksMax bounds the marks of a line: further ones would hide it.
const marksMax = 250

// joined returns the parts of a line: a point without a value parts it.
func joined(points []Point, apart bool) (parts [][]Point) {
	begin := 0
	for i := 0; i <= len(points) && !apart; i++ {
		if i == len(points) || math.IsNaN(points[i].Y) {
			if i > begin {
				parts = append(parts, points[begin:i])
			}
			begin = i + 1
		}
	}
	return parts
}

// markShapes are the forms of marks, in turn, for eyes that do not tell the Colours apart.
var markShapes = []string{"M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z", "M-3.2 -3.2h6.4v6.4h-6.4z",
	"M0 -4.2l4 7.2h-8z", "M0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z", "M0 4.2l4 -7.2h-8z"}

// mark draws a mark of the i-th series: full ("c"), or hollow for a number of the paper.
func (p *plot) mark(w *Writer, i int, x, y float64, class, tip string) {
	if class == "c" {
		class += strconv.Itoa(i % Colours)
	} else {
		class += " s" + strconv.Itoa(i%Colours)
	}
	w.F("<path class=\"%s\" transform=\"translate(%.1f %.1f)\" d=\"%s\"><title>%s</title></path>\n", class, x, y,
		markShapes[i%len(markShapes)], tip)
}

// tip is what is shown of a point that is pointed at.
func (p *plot) tip(s *Series, at Point, from string) string {
	where := Place(p.panel, at.X)
	if p.dates {
		where = dateText(at.X)
	}
	return strings.TrimSpace(strings.TrimSpace(s.Name+" "+from) + ": " + Value(at.Y) + " at " + where)
}

// legend writes the names of the series, if there are several, and returns where it ends.
func (p *plot) legend(w *Writer, y float64) float64 {
	if list := p.panel.Series; len(list) == 1 && len(list[0].Paper) == 0 && list[0].Origin != Model {
		return y - legendRow // the title says it
	}
	x, hollow := chartLeft, false
	add := func(i int, class, name string) {
		if width := 28 + 6.3*float64(len([]rune(name))); x > chartLeft && x+width > chartWidth {
			x, y = chartLeft, y+legendRow
		}
		p.mark(w, i, x+4, y-4, class, name)
		w.F("<text x=\"%.0f\" y=\"%.0f\">%s</text>\n", x+13, y, name)
		x += 28 + 6.3*float64(len([]rune(name)))
	}
	for i, s := range p.panel.Series {
		name := s.Name
		if s.Origin == Model {
			name += " (computed)"
		}
		if len(s.Points) > 0 {
			add(i, "c", name)
		}
		hollow = hollow || len(s.Paper) > 0
	}
	if hollow {
		add(0, "hollow", "hollow: the paper's numbers")
	}
	return y + legendRow
}

// Label names an axis, with its unit.
func Label(a *Axis) string {
	if a.Unit == "" {
		return a.Name
	}
	return a.Name + ", " + a.Unit
}

// Place writes a place on the x axis: a name, a power of two, or a number.
func Place(p *Panel, x float64) string {
	if n := len(p.X.Names); n > 0 {
		return p.X.Names[min(max(int(x), 0), n-1)]
	}
	if e := math.Log2(x); p.X.Log == 2 && e == math.Trunc(e) {
		return "2" + superscript(int(e))
	}
	return Value(x)
}
