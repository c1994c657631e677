package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mpga/mpga/internal/papers"
)

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
)

// chartColours are the colours of series, of text, of dim text, of lines and of the ground, in a light and in a dark
// picture. The page's style has the same colours; they are values here, since few programs but browsers know a
// style's variables.
var chartColours = [2][colours + 4]string{
	{"#3c78b4", "#c8752c", "#3f8f5f", "#8a5ab0", "#b54848", "#5c93a3", "#8c7b2c", "#7a7f8a", "#1b1e23", "#666677",
		"#d5d8de", "#ffffff"},
	{"#6ba4dc", "#e39a5a", "#69b98a", "#b48ad6", "#dd7c7c", "#86bccb", "#bfae5e", "#a3a8b3", "#e4e6ea", "#9aa0ab",
		"#343943", "#15171b"},
}

// chartStyle writes the style of a picture of its own.
func (w *writer) chartStyle() {
	w.f("<style>\nsvg { font: 11px system-ui, sans-serif; } .line { fill: none; stroke-width: 1.8; } .hollow { " +
		"stroke-width: 1.8; }\n")
	for dark, c := range chartColours {
		if dark == 1 {
			w.f("@media (prefers-color-scheme: dark) {\n")
		}
		for i, colour := range c[:colours] {
			w.f(".c%d { fill: %s; } .s%d { stroke: %s; }\n", i, colour, i, colour)
		}
		w.f("text { fill: %s; } .dim { fill: %s; } line { stroke: %s; } .ground, .hollow { fill: %s; }\n", c[colours],
			c[colours+1], c[colours+2], c[colours+3])
	}
	w.f("}\n</style>\n<rect class=\"ground\" width=\"100%%\" height=\"100%%\"/>\n")
}

// WriteChart writes the charts of a figure as one SVG picture of its own.
func WriteChart(to io.Writer, r *papers.Result) error {
	w := &writer{}
	w.chart(r, true)
	_, err := w.WriteTo(to)
	return err
}

// hasChart reports whether a figure has a chart: whether one of its panels has points.
func hasChart(r *papers.Result) bool {
	return slices.ContainsFunc(r.Panels, func(panel papers.Panel) bool {
		p := plot{panel: &panel}
		return p.measure()
	})
}

// chart draws the panels of a figure, one below the other; a picture of its own has a style.
func (w *writer) chart(r *papers.Result, alone bool) {
	var body writer
	y := 0.0
	for i := range r.Panels {
		p := plot{panel: &r.Panels[i], top: y + chartTop}
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
	w.f("<title>%s</title>\n", r.Title)
	if alone {
		w.chartStyle()
	}
	_, _ = body.WriteTo(w)
	w.f("</svg>\n")
}

// plot is the chart of one panel.
type plot struct {
	panel *papers.Panel
	top   float64
	x, y  scale
}

// scale maps values to a picture.
type scale struct {
	low, high  float64 // values
	begin, end float64 // places
	log        int     // base; 0 is linear
}

func (s *scale) at(value float64) float64 {
	low, high := s.low, s.high
	if s.log > 0 {
		value, low, high = math.Log(value), math.Log(low), math.Log(high)
	}
	return s.begin + (value-low)/(high-low)*(s.end-s.begin)
}

// measure finds the scales. It returns false where there is nothing to draw.
func (p *plot) measure() bool {
	var xs, ys []float64
	for _, s := range p.panel.Series {
		for _, at := range slices.Concat(s.Points, s.Paper) {
			xs, ys = append(xs, at.X), append(ys, at.Y)
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

// widen makes room around the values; of a linear scale of values, from 0 on.
func (s *scale) widen(fromZero bool) {
	switch {
	case s.log > 0:
		s.low, s.high = s.low/1.15, s.high*1.15
	case fromZero:
		s.low, s.high = min(s.low*1.05, 0), max(s.high*1.05, 0)
	}
	if s.low == s.high {
		s.high++
	}
}

// ticks returns round values of a scale, not much more than most of them.
func (s *scale) ticks(most int) (list []float64) {
	if s.log > 0 {
		if list = s.powers(most); len(list) > 2 {
			return list
		}
	}
	if s.log > 0 && s.high/s.low > float64(most) {
		return s.parts()
	}
	unit := math.Pow(10, math.Floor(math.Log10((s.high-s.low)/float64(most))))
	step := unit
	for _, times := range []float64{2, 5, 10} {
		if (s.high-s.low)/step > float64(most) {
			step = unit * times
		}
	}
	for v := math.Ceil(s.low/step) * step; v <= s.high+step/1e6; v += step {
		list = append(list, math.Round(v/step)*step)
	}
	return list
}

// powers returns powers of the base.
func (s *scale) powers(most int) (list []float64) {
	base := float64(s.log)
	low, high := math.Ceil(math.Log(s.low)/math.Log(base)-1e-9), math.Floor(math.Log(s.high)/math.Log(base)+1e-9)
	step := max(1, math.Ceil((high-low+1)/float64(most)))
	for e := low; e <= high; e += step {
		list = append(list, math.Pow(base, e))
	}
	return list
}

// parts returns 1, 2 and 5 times powers of ten.
func (s *scale) parts() (list []float64) {
	for e := math.Floor(math.Log10(s.low)); e <= math.Log10(s.high); e++ {
		for _, times := range []float64{1, 2, 5} {
			if v := times * math.Pow(10, e); v >= s.low && v <= s.high {
				list = append(list, v)
			}
		}
	}
	return list
}

// draw draws the panel with its legend, and returns where it ends.
func (p *plot) draw(w *writer) float64 {
	bottom := p.top + chartHeight
	w.f("<text x=\"%.0f\" y=\"%.0f\" font-weight=\"bold\">%s</text>\n", chartLeft, p.top-12, p.panel.Title)
	for _, v := range p.y.ticks(8) {
		y := p.y.at(v)
		w.f("<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"dim\" x=\"%.0f\" y=\"%.1f\" dy=\"4\" "+
			"text-anchor=\"end\">%s</text>\n",
			chartLeft, chartWidth-chartRight, y, y, chartLeft-6, y, tick(v, p.y.log))
	}
	w.f("<text class=\"dim\" transform=\"translate(14 %.0f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
		p.top+chartHeight/2, label(&p.panel.Y))
	if len(p.panel.X.Names) > 0 {
		bottom += p.names(w)
		p.bars(w)
	} else {
		p.xTicks(w)
		p.lines(w)
	}
	return p.legend(w, bottom+chartBottom)
}

func (p *plot) xTicks(w *writer) {
	bottom := p.top + chartHeight
	for _, v := range p.x.ticks(12) {
		x := p.x.at(v)
		w.f("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\"/><text class=\"dim\" x=\"%.1f\" y=\"%.0f\" "+
			"text-anchor=\"middle\">%s</text>\n",
			x, x, bottom, bottom+5, x, bottom+18, tick(v, p.x.log))
	}
	w.f("<text class=\"dim\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n",
		(chartLeft+chartWidth-chartRight)/2, bottom+35, label(&p.panel.X))
}

// names writes the names of a axis without numbers, and returns the height that they take.
func (p *plot) names(w *writer) float64 {
	bottom, longest := p.top+chartHeight, 0
	for i, name := range p.panel.X.Names {
		runes := []rune(name)
		if len(runes) > barsNameMax {
			name = string(runes[:barsNameMax-1]) + "…"
		}
		longest = max(longest, min(len(runes), barsNameMax))
		w.f("<text class=\"dim\" transform=\"translate(%.1f %.0f) rotate(-28)\" text-anchor=\"end\">%s</text>\n",
			p.x.at(float64(i))+4, bottom+14, name)
	}
	return 2.8 * float64(longest)
}

// bars draws bars side by side for each name.
func (p *plot) bars(w *writer) {
	count := float64(len(p.panel.Series))
	width := .8 * (p.x.at(1) - p.x.at(0)) / count
	base := p.y.begin
	if p.y.log == 0 {
		base = p.y.at(0)
	}
	for i, s := range p.panel.Series {
		for _, at := range s.Points {
			x, y := p.x.at(at.X)+(float64(i)-count/2)*width, p.y.at(at.Y)
			w.f("<rect class=\"c%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s</title></rect>\n",
				i%colours, x, min(y, base), width*.92, math.Abs(y-base), p.tip(s, at, ""))
		}
		for _, at := range s.Paper {
			p.mark(w, i, p.x.at(at.X)+(float64(i)-count/2+.5)*width, p.y.at(at.Y), "hollow", p.tip(s, at, "paper"))
		}
	}
}

func (p *plot) lines(w *writer) {
	for i, s := range p.panel.Series {
		dash := ""
		if s.Kind != papers.Measured {
			dash = "5 4"
		}
		w.f("<polyline class=\"line s%d\" stroke-dasharray=\"%s\" points=\"", i%colours, dash)
		for _, at := range s.Points {
			w.f("%.1f,%.1f ", p.x.at(at.X), p.y.at(at.Y))
		}
		w.f("\"/>\n")
		for _, at := range s.Points {
			p.mark(w, i, p.x.at(at.X), p.y.at(at.Y), "c", p.tip(s, at, ""))
		}
		for _, at := range s.Paper {
			p.mark(w, i, p.x.at(at.X), p.y.at(at.Y), "hollow", p.tip(s, at, "paper"))
		}
	}
}

// markShapes are the forms of marks, in turn, for eyes that do not tell the colours apart.
var markShapes = []string{"M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z", "M-3.2 -3.2h6.4v6.4h-6.4z",
	"M0 -4.2l4 7.2h-8z", "M0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z", "M0 4.2l4 -7.2h-8z"}

// mark draws a mark of the i-th series: full ("c"), or hollow for a number of the paper.
func (p *plot) mark(w *writer, i int, x, y float64, class, tip string) {
	if class == "c" {
		class += strconv.Itoa(i % colours)
	} else {
		class += " s" + strconv.Itoa(i%colours)
	}
	w.f("<path class=\"%s\" transform=\"translate(%.1f %.1f)\" d=\"%s\"><title>%s</title></path>\n", class, x, y,
		markShapes[i%len(markShapes)], tip)
}

// tip is what is shown of a point that is pointed at.
func (p *plot) tip(s *papers.Series, at papers.Point, from string) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s: %s at %s", s.Name, from, Value(at.Y), place(p.panel, at.X)))
}

// legend writes the names of the series, if there are several, and returns where it ends.
func (p *plot) legend(w *writer, y float64) float64 {
	if list := p.panel.Series; len(list) == 1 && len(list[0].Paper) == 0 && list[0].Kind != papers.Model {
		return y - legendRow // the title says it
	}
	x, hollow := chartLeft, false
	add := func(i int, class, name string) {
		if width := 28 + 6.3*float64(len([]rune(name))); x > chartLeft && x+width > chartWidth {
			x, y = chartLeft, y+legendRow
		}
		p.mark(w, i, x+4, y-4, class, name)
		w.f("<text x=\"%.0f\" y=\"%.0f\">%s</text>\n", x+13, y, name)
		x += 28 + 6.3*float64(len([]rune(name)))
	}
	for i, s := range p.panel.Series {
		name := s.Name
		if s.Kind == papers.Model {
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

func label(a *papers.Axis) string {
	if a.Unit == "" {
		return a.Name
	}
	return a.Name + ", " + a.Unit
}

// tick writes the value of a tick: a power, or a number.
func tick(v float64, log int) string {
	if log == 2 || log == 10 && (v >= 1e4 || v < 1e-2) {
		if e := math.Log(v) / math.Log(float64(log)); math.Abs(e-math.Round(e)) < 1e-6 {
			return strconv.Itoa(log) + superscript(int(math.Round(e)))
		}
	}
	return Value(v)
}

func superscript(n int) string {
	var text strings.Builder
	for _, digit := range strconv.Itoa(n) {
		if digit == '-' {
			text.WriteRune('⁻')
			continue
		}
		text.WriteRune([]rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[digit-'0'])
	}
	return text.String()
}

// Value writes a measured value with four digits.
func Value(v float64) string {
	if v != 0 && (math.Abs(v) >= 1e7 || math.Abs(v) < 1e-3) {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	digits := 0
	if v != 0 {
		digits = max(0, 3-int(math.Floor(math.Log10(math.Abs(v)))))
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// place writes a place on the x axis: a name, a power of two, or a number.
func place(p *papers.Panel, x float64) string {
	if n := len(p.X.Names); n > 0 {
		return p.X.Names[min(max(int(x), 0), n-1)]
	}
	if e := math.Log2(x); p.X.Log == 2 && e == math.Trunc(e) {
		return "2" + superscript(int(e))
	}
	return Value(x)
}
