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
	Warning string     // what the times do not say; "" of nothing
	Notes   []string
}

// Write writes the comparison as a page, with URLs without secrets.
func (c *Comparison) Write(to io.Writer) error {
	w := &writer{}
	Begin(&w.Writer, "How a query is answered", redact.Text(c.Query))
	if c.Warning != "" {
		w.F("<p class=\"error\">%s</p>\n", redact.Text(c.Warning))
	}
	w.F("<h2>Time</h2>\n<table>")
	for i, row := range c.Rows {
		w.bar(row[0], row[1]+" s", c.Seconds[i]/slices.Max(c.Seconds))
	}
	w.F("</table>\n<h2>What each did</h2>\n<table><tr>")
	for _, name := range c.Columns {
		w.F("<td>%s</td>", name)
	}
	w.F("</tr>\n")
	for _, row := range c.Rows {
		w.F("<tr>")
		for _, cell := range row {
			w.F("<td>%s</td>", cell)
		}
		w.F("</tr>\n")
	}
	w.F("</table>\n")
	for _, note := range c.Notes {
		w.F("<p>%s</p>\n", redact.Text(note))
	}
	w.F("</body>\n</html>\n")
	_, err := w.WriteTo(to)
	return err
}
