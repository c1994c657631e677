package page

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/lab/papers"
)

// WriteValues writes all points of a report as CSV, a row for each: paper, figure, panel, series, kind,
// x, y, unit of y, and the paper's value. A field without a value is empty.
func WriteValues(to io.Writer, r *papers.Report) error {
	w := csv.NewWriter(to)
	rows := [][]string{{"paper", "figure", "panel", "series", "kind", "x", "y", "unit", "paper_value"}}
	for _, result := range r.Results {
		for i := range result.Panels {
			p := &result.Panels[i]
			for _, s := range p.Series {
				rows = append(rows, values(result, p, s)...)
			}
		}
	}
	return w.WriteAll(rows)
}

// values returns the rows of a series.
func values(r *papers.Result, p *chart.Panel, s *chart.Series) (rows [][]string) {
	exact := func(ok bool, v float64) string {
		if !ok {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	for _, x := range p.Xs() {
		y, measured := s.At(x)
		paper, given := s.PaperAt(x)
		if !measured && !given {
			continue
		}
		at := exact(true, x)
		if len(p.X.Names) > 0 {
			at = chart.Place(p, x)
		}
		rows = append(rows, []string{r.Paper, r.Name, p.Title, s.Name, string(s.Origin), at, exact(measured, y),
			p.Y.Unit, exact(given, paper)})
	}
	return rows
}

// WriteMarkdown writes a report as Markdown, the verdicts first.
func WriteMarkdown(to io.Writer, r *papers.Report) error {
	var w strings.Builder
	fmt.Fprintf(&w, "# The papers' figures, measured by mpga\n\n%s.\n\n%s\n\n", machineLine(r), counts(r))
	for _, warning := range warnings(r) {
		fmt.Fprintf(&w, "**%s**\n\n", warning)
	}
	w.WriteString("| figure | claim | paper | here | here / paper | verdict |\n|---|---|---|---|---|---|\n")
	for _, row := range verdictRows(r) {
		markdownRow(&w, row)
	}
	for _, result := range r.Results {
		markdownFigure(&w, result)
	}
	_, err := io.WriteString(to, w.String())
	return err
}

// cell writes a text so that it stays in a cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(oneLine(text), "|", "\\|") }

// oneLine joins the lines of a text: an error that joins others has a line for each.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), "\n", "; ")
}

// verdictRows returns the verdicts, as text: figure, claim, paper, ours, ratio, and status with its reason.
func verdictRows(r *papers.Report) (rows [][]string) {
	for _, result := range r.Results {
		figure := shortName(result)
		for _, v := range result.Verdicts {
			status := string(v.Status)
			if v.Why != "" {
				status += ": " + oneLine(v.Why)
			}
			rows = append(rows, []string{figure, v.Claim, v.Paper, v.Ours, ratioText(v.Ratio), status})
		}
		if result.Error != "" {
			rows = append(rows, []string{figure, "", "", "", "", "error: " + oneLine(result.Error)})
		}
	}
	return rows
}

func markdownFigure(w *strings.Builder, r *papers.Result) {
	fmt.Fprintf(w, "\n## %s\n\n%s\n\n", heading(r), r.Claim)
	if r.Error != "" {
		fmt.Fprintf(w, "**error: %s**\n\n", oneLine(r.Error))
	}
	if chart.HasPoints(r.Panels) {
		fmt.Fprintf(w, "![%s](%s.svg)\n\n", r.Title, r.ID())
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "- %s\n", oneLine(note))
	}
	fmt.Fprintf(w, "- %s of the paper's rows; measured in %s s\n", scaled(r.Scale), chart.Value(r.Seconds))
	for i := range r.Panels {
		head, rows := panelValues(&r.Panels[i])
		fmt.Fprintf(w, "\n%s (%s):\n\n", r.Panels[i].Title, chart.Label(&r.Panels[i].Y))
		markdownRow(w, head)
		fmt.Fprintf(w, "|%s\n", strings.Repeat("---|", len(head)))
		for _, row := range rows {
			markdownRow(w, row)
		}
	}
}

// markdownRow writes a row of a table.
func markdownRow(w *strings.Builder, cells []string) {
	for _, text := range cells {
		fmt.Fprintf(w, "| %s ", cell(text))
	}
	w.WriteString("|\n")
}

// WriteFigure writes a figure for a terminal: its claim, its values and its notes.
func WriteFigure(to io.Writer, r *papers.Result) error {
	fmt.Fprintf(to, "\n%s\n%s\n", heading(r), r.Claim)
	for i := range r.Panels {
		head, rows := panelValues(&r.Panels[i])
		fmt.Fprintf(to, "%s (%s)\n", r.Panels[i].Title, chart.Label(&r.Panels[i].Y))
		if err := writeTable(to, head, rows); err != nil {
			return err
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintf(to, "- %s\n", note)
	}
	if r.Error != "" {
		fmt.Fprintf(to, "error: %s\n", r.Error)
	}
	return nil
}

// WriteVerdicts writes the verdicts for a terminal, with how many of each kind there are. Claims about times are left
// out where no GPU was measured.
func WriteVerdicts(to io.Writer, r *papers.Report) error {
	fmt.Fprintf(to, "\n%s\n", machineLine(r))
	rows := slices.DeleteFunc(verdictRows(r), func(row []string) bool {
		return row[len(row)-1] == string(papers.Unmeasured)
	})
	if err := writeTable(to, []string{"figure", "claim", "paper", "here", "ratio", "verdict"}, rows); err != nil {
		return err
	}
	for _, warning := range warnings(r) {
		fmt.Fprintln(to, warning)
	}
	_, err := fmt.Fprintln(to, counts(r))
	return err
}

func writeTable(to io.Writer, head []string, rows [][]string) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		fmt.Fprintf(t, "  %s\n", strings.Join(row, "\t"))
	}
	return t.Flush()
}
