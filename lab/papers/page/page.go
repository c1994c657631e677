// Package page writes a report on the figures of papers: as a page of HTML, as Markdown, as values, and for a terminal.
package page

import (
	"fmt"
	"io"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/app/report"
	"github.com/mpga/mpga/lab/papers"
)

// writer writes a page.
type writer struct{ chart.Writer }

// Write writes a report on the papers' figures as a page, the verdicts first.
func Write(to io.Writer, r *papers.Report) error {
	w := &writer{}
	report.Begin(&w.Writer, "The papers' figures, measured by mpga", machineLine(r))
	w.F("<p>%s</p>\n", counts(r))
	w.F("<p>The same as text: <a href=\"report.md\">report.md</a>. All values: <a href=\"figures.csv\">figures.csv</a>, " +
		"<a href=\"report.json\">report.json</a>.</p>\n")
	for _, warning := range warnings(r) {
		w.F("<p class=\"error\">%s</p>\n", warning)
	}
	w.verdictTable(r.Results)
	number := ""
	for _, result := range r.Results {
		if result.Paper != number {
			number = result.Paper
			w.paper(papers.PaperOf(number))
		}
		w.figure(result)
	}
	w.F("</body>\n</html>\n")
	_, err := w.WriteTo(to)
	return err
}

// machineLine says in a line where a report was measured.
func machineLine(r *papers.Report) string {
	m := &r.Machine
	device := m.Device
	if m.CUDA != "" {
		device += ", CUDA " + m.CUDA
	}
	if m.Bandwidth > 0 {
		device += fmt.Sprintf(", %s GB/s of memory, %s GB/s over the link", chart.Value(m.Bandwidth/1e9), chart.Value(m.Link/1e9))
	}
	return fmt.Sprintf("%s; %d processors; %s of the papers' rows; median of %d; %s", device, m.Processors,
		scaled(r.Scale), r.Repeats, r.Began.Format("2006-01-02 15:04"))
}

func scaled(scale float64) string {
	if scale == 1 {
		return "all"
	}
	return chart.Value(scale)
}

// warnings say what a reader must know of a whole report.
func warnings(r *papers.Report) (list []string) {
	if !r.Machine.IsGPU {
		list = append(list, "There is no GPU here: a GPU's double on the CPU did the work. Times are not a GPU's and "+
			"decide nothing; counts (probes, load factors, partitions, rounds, bytes) do.")
	}
	if len(r.Left) > 0 {
		list = append(list, fmt.Sprintf("The report is not complete. Figures that are not measured yet: %d.", len(r.Left)))
	}
	return list
}

// counts says how many verdicts there are of each kind.
func counts(r *papers.Report) string {
	n := map[papers.Status]int{}
	for _, result := range r.Results {
		for _, v := range result.Verdicts {
			n[v.Status]++
		}
	}
	return fmt.Sprintf("%d figures and tables. Of the papers' claims, and of some about mpga beside them, %d hold, %d differ, "+
		"and %d are not measured here. Each verdict is computed from the points that the figures show.",
		len(r.Results), n[papers.Holds], n[papers.Differs], n[papers.Unmeasured])
}

// statusClasses are the classes of the page's style.
var statusClasses = map[papers.Status]string{papers.Holds: "holds", papers.Differs: "differs",
	papers.Unmeasured: "unmeasured"}

func (w *writer) verdictTable(results []*papers.Result) {
	w.F("<h2 id=\"verdicts\">Verdicts</h2>\n<table " +
		"class=\"data\"><tr><th>figure</th><th>claim</th><th>paper</th><th>here</th><th>here / " +
		"paper</th><th>verdict</th></tr>\n")
	for _, r := range results {
		for _, v := range r.Verdicts {
			w.F("<tr class=\"%s\"><td><a href=\"#%s\">%s</a></td>", statusClasses[v.Status]+"-row", r.ID(), shortName(r))
			w.verdict(&v)
		}
		if r.Error != "" {
			w.F("<tr><td><a href=\"#%s\">%s</a></td><td colspan=\"5\" class=\"error\">%s</td></tr>\n", r.ID(), shortName(r), r.Error)
		}
	}
	w.F("</table>\n")
}

func shortName(r *papers.Result) string { return papers.PaperOf(r.Paper).Name + " " + r.Name }

// verdict writes the cells of a verdict, and ends their row.
func (w *writer) verdict(v *papers.Verdict) {
	w.F("<td>%s</td><td>%s</td><td>%s</td><td>%s</td><td><b class=\"%s\">%s</b>", v.Claim, v.Paper, v.Ours,
		ratioText(v.Ratio), statusClasses[v.Status], v.Status)
	if v.Why != "" {
		w.F("<br/><small>%s</small>", v.Why)
	}
	w.F("</td></tr>\n")
}

// ratioText writes a ratio; "" for none.
func ratioText(ratio float64) string {
	if ratio == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", ratio)
}

func (w *writer) paper(p *papers.Paper) {
	w.F("<h2>%s</h2>\n<p>%s. Measured there on: %s.</p>\n", p.Title, p.Authors, p.Machine)
}

// figure writes a figure: claim, chart, verdicts, table, notes.
func (w *writer) figure(r *papers.Result) {
	w.F("<section id=\"%s\">\n<h3 class=\"figure\">%s</h3>\n", r.ID(), heading(r))
	w.F("<p>%s</p>\n", r.Claim)
	if r.Error != "" {
		w.F("<p class=\"error\">%s</p>\n", r.Error)
	}
	w.Draw(r.Title, r.Panels, false)
	if len(r.Verdicts) > 0 {
		w.F("<table class=\"data\"><tr><th>claim</th><th>paper</th><th>here</th><th>here / " +
			"paper</th><th>verdict</th></tr>\n")
		for _, v := range r.Verdicts {
			w.F("<tr>")
			w.verdict(&v)
		}
		w.F("</table>\n")
	}
	w.F("<ul>\n")
	for _, note := range r.Notes {
		w.F("<li>%s</li>\n", note)
	}
	w.F("<li>%s of the paper's rows; measured in %s s</li>\n</ul>\n", scaled(r.Scale), chart.Value(r.Seconds))
	for i := range r.Panels {
		w.panelTable(&r.Panels[i])
	}
	w.F("</section>\n")
}

// heading names a figure by paper, section and title.
func heading(r *papers.Result) string {
	return fmt.Sprintf("%s %s: %s (section %s)", papers.PaperOf(r.Paper).Name, r.Name, r.Title, r.Section)
}

// panelTable writes the points of a panel, the paper's beside ours.
func (w *writer) panelTable(p *chart.Panel) {
	head, rows := panelValues(p)
	if len(rows) == 0 {
		return
	}
	w.F("<details><summary>%s: all values</summary>\n<table class=\"data numbers\"><tr>", p.Title)
	for _, name := range head {
		w.F("<th>%s</th>", name)
	}
	w.F("</tr>\n")
	for _, row := range rows {
		w.F("<tr>")
		for _, cell := range row {
			w.F("<td>%s</td>", cell)
		}
		w.F("</tr>\n")
	}
	w.F("</table></details>\n")
}

// panelValues returns the points of a panel as a table: a row for each x, and a column for each series, with
// another one behind it where the paper gives numbers.
func panelValues(p *chart.Panel) (head []string, rows [][]string) {
	head = []string{chart.Label(&p.X)}
	for _, s := range p.Series {
		head = append(head, s.Name)
		if len(s.Paper) > 0 {
			head = append(head, s.Name+", paper", "here / paper")
		}
	}
	for _, x := range p.Xs() {
		row := []string{chart.Place(p, x)}
		for _, s := range p.Series {
			y, measured := s.At(x)
			row = append(row, optional(measured, y))
			if len(s.Paper) > 0 {
				paper, given := s.PaperAt(x)
				ratio := ""
				if given && measured {
					ratio = ratioText(y / paper)
				}
				row = append(row, optional(given, paper), ratio)
			}
		}
		rows = append(rows, row)
	}
	return head, rows
}

func optional(ok bool, v float64) string {
	if !ok {
		return ""
	}
	return chart.Value(v)
}
