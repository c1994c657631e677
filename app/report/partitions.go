package report

import (
	"slices"

	"github.com/dustin/go-humanize"
)

const (
	pictureWidth  = 1000
	pictureHeight = 160
)

func counted[N int | int64](n N) string { return humanize.Comma(int64(n)) }

// partitions draws the rows of partitions before the merge, and of the sets after it, by the same
// measure.
func (w *writer) partitions(sizes, sets []int64) {
	if len(sizes) == 0 {
		return
	}
	most := max(slices.Max(append(slices.Clone(sizes), sets...)), 1)
	w.F("<h2>Partitions</h2>\n")
	w.histogram("partitions as rows were scattered", sizes, most)
	w.histogram("sets of partitions after the merge", sets, most)
}

// histogram draws a bar for each of some numbers of rows, the largest first; most has the full
// height.
func (w *writer) histogram(what string, sizes []int64, most int64) {
	title := counted(len(sizes)) + " " + what
	w.F("<h3>%s, %d rows at full height</h3>\n", title, most)
	w.F("<svg viewBox=\"0 0 1000 %d\" role=\"img\"><title>%s</title>", pictureHeight, title)
	w.F("<line x1=\"0\" x2=\"1000\" y1=\"%[1]d\" y2=\"%[1]d\"/>\n", pictureHeight)
	sorted := slices.Sorted(slices.Values(sizes))
	slices.Reverse(sorted)
	width := float64(pictureWidth) / float64(max(len(sorted), 1))
	for i, n := range sorted {
		height := pictureHeight * float64(n) / float64(most)
		w.F("<rect class=\"bar\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>%s rows</title></rect>\n",
			float64(i)*width, pictureHeight-height, max(width*0.9, 0.4), height, counted(n))
	}
	w.F("</svg>\n")
}

// loads draws the load factor of tables after each of the first feedback rounds.
func (w *writer) loads(loads []float64, rounds int64) {
	if len(loads) == 0 {
		return
	}
	w.F("<h2>Load factor by feedback round</h2>\n<h3>the first %d of %d rounds, from 0 to 1</h3>\n", len(loads), rounds)
	w.F("<svg viewBox=\"0 0 1000 %d\" role=\"img\">", pictureHeight)
	w.F("<title>Load factor of tables after each feedback load</title>")
	w.F("<line x1=\"0\" x2=\"1000\" y1=\"0\" y2=\"0\"/>")
	w.F("<line x1=\"0\" x2=\"1000\" y1=\"%[1]d\" y2=\"%[1]d\"/>\n", pictureHeight)
	w.F("<polyline class=\"curve\" points=\"")
	var circles writer
	for i, load := range loads {
		x, y := (float64(i)+0.5)*pictureWidth/float64(len(loads)), pictureHeight*(1-load)
		w.F("%.1f,%.1f ", x, y)
		circles.F("<circle class=\"bar\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\">", x, y)
		circles.F("<title>round %d: %.3f</title></circle>\n", i+1, load)
	}
	w.F("\"/>\n")
	_, _ = circles.WriteTo(w)
	w.F("</svg>\n")
}
