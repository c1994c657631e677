package report

import (
	"io"
	"slices"

	"github.com/mpga/mpga/internal/redact"
)

// Comparison is what several ways to answer one query took, the fastest first.
type Comparison struct {
	Query   string
	Columns []string   // names; the first is of the way
	Rows    [][]string // by way and column
	Seconds []float64  // by way
	Notes   []string
}

// Write writes the comparison as a page, with URLs without secrets.
func (c *Comparison) Write(to io.Writer) error {
	w := &writer{}
	w.begin("How a query is answered", redact.Text(c.Query))
	w.f("<h2>Time</h2>\n<table>")
	for i, row := range c.Rows {
		w.bar(row[0], row[1]+" s", c.Seconds[i]/slices.Max(c.Seconds))
	}
	w.f("</table>\n<h2>What each did</h2>\n<table><tr>")
	for _, name := range c.Columns {
		w.f("<td>%s</td>", name)
	}
	w.f("</tr>\n")
	for _, row := range c.Rows {
		w.f("<tr>")
		for _, cell := range row {
			w.f("<td>%s</td>", cell)
		}
		w.f("</tr>\n")
	}
	w.f("</table>\n")
	for _, note := range c.Notes {
		w.f("<p>%s</p>\n", redact.Text(note))
	}
	w.f("</body>\n</html>\n")
	_, err := w.WriteTo(to)
	return err
}
