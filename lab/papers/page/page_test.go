package page_test

import (
	"bytes"
	"encoding/csv"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/app/chart/charttest"
	"github.com/mpga/mpga/lab/papers"
	"github.com/mpga/mpga/lab/papers/page"
)

// pageOf is a report that charttest takes.
type pageOf struct{ *papers.Report }

// Write writes the report as a page.
func (p pageOf) Write(to io.Writer) error { return page.Write(to, p.Report) }

// sample is a report with all that a figure may have.
func sample(t *testing.T) *papers.Report {
	t.Helper()
	figures, err := papers.Select([]string{"004"}, []string{"table1", "figure8", "coprocessing42"})
	if err != nil {
		t.Fatal(err)
	}
	r := &papers.Report{
		Machine: papers.Machine{Device: "a <GPU> & more", CUDA: "13.0", IsGPU: true, Processors: 16, Bandwidth: 3e12,
			Link: 5e10},
		Scale: .5, Repeats: 7, Began: time.Unix(1e9, 0), Left: []string{"ega-merge"},
	}
	lines := chart.Panel{
		Title: "Probes < all", X: chart.Axis{Name: "load factor"},
		Y: chart.Axis{Name: "probes", Unit: "a|row", Log: 10},
		Series: []*chart.Series{
			{Name: papers.SPEGA, Origin: chart.Measured, Points: []chart.Point{{X: .91, Y: 1.5}, {X: .99, Y: 1.57}},
				Paper: papers.Table1SPEGA},
			{Name: papers.LPHGA, Origin: chart.Model, Points: []chart.Point{{X: .99, Y: 50}},
				Paper: papers.Table1LPHGA},
		},
	}
	zero := chart.Panel{Title: "Zero", X: chart.Axis{Name: "groups", Log: 2},
		Y:      chart.Axis{Name: "difference", Unit: "ms", Log: 10},
		Series: []*chart.Series{{Name: "one & only", Points: []chart.Point{{X: 4, Y: -1}, {X: 64, Y: 0}}}}}
	bars := chart.Panel{Title: "Bytes", X: chart.Axis{Name: "way", Names: []string{papers.Feedback, papers.Split}},
		Y:      chart.Axis{Name: "bytes", Unit: "MiB"},
		Series: []*chart.Series{{Name: "two", Points: []chart.Point{{X: 0, Y: 50}, {X: 1, Y: 100}}}}}
	r.Results = []*papers.Result{
		{Figure: figures[0], Scale: .5, Panels: []chart.Panel{lines, zero, {Title: "empty"}},
			Notes: []string{"a <note>"}},
		{Figure: figures[2], Scale: .5, Panels: []chart.Panel{bars}},
		{Figure: figures[1], Scale: .5, Panels: []chart.Panel{{Title: "nothing"}},
			Error: "out of <memory>\nand | more\n", Notes: []string{"two\nlines"}},
	}
	for _, result := range r.Results {
		result.Judge(&r.Machine)
	}
	return r
}

// Would catch a page that no browser reads, text that becomes markup, a figure without its chart, its values or its
// verdicts, and a page that hides that it is not complete.
func TestPapersPage(t *testing.T) {
	got := charttest.Parse(t, pageOf{sample(t)})
	for _, want := range []string{
		"a <GPU> & more, CUDA 13.0", "Probes < all", "a <note>", "out of <memory>", "one & only", "holds", "differs",
		"not measured here", "50.0% fewer",
		"LPHGA (computed)", "hollow: the paper's numbers", "SP-EGA paper: 2.13 at 0.99", "2⁶",
		"not measured yet: 1", "53.56",
	} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("no %q", want)
		}
	}
	if e := got.Elements; e["script"] != 0 || e["link"] != 0 || e["img"] != 0 || e["svg"] != 2 || e["section"] != 3 ||
		e["polyline"] != 3 || e["details"] != 3 {
		t.Errorf("elements: %v", e)
	}
}

// drawing is a chart that charttest takes.
type drawing struct{ *papers.Result }

// Write writes the panels of a figure as a picture.
func (d drawing) Write(to io.Writer) error { return chart.Write(to, d.Title, d.Panels) }

// Would catch a picture that is no XML, or that has a place that is no number.
func TestChart(t *testing.T) {
	for _, r := range sample(t).Results[:2] {
		got := charttest.Parse(t, drawing{r})
		var b bytes.Buffer
		if err := (drawing{r}).Write(&b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(),
			"Inf") || got.Elements["style"] != 1 || got.Elements["title"] == 0 {
			t.Errorf("%s: %v\n%s", r.ID(), got.Elements, b.String())
		}
	}
}

// Would catch a column or a point that is left out, and values that are rounded.
func TestValues(t *testing.T) {
	var b bytes.Buffer
	if err := page.WriteValues(&b, sample(t)); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{
		{"paper", "figure", "panel", "series", "kind", "x", "y", "unit", "paper_value"},
		{"004", "table1", "Probes < all", "SP-EGA", "measured", "0.99", "1.57", "a|row", "2.13"},
		{"004", "table1", "Probes < all", "LPHGA", "model", "0.91", "", "a|row", "5.64"},
		{"004", "table1", "Zero", "one & only", "", "64", "0", "ms", ""},
		{"004", "coprocessing42", "Bytes", "two", "", "split again", "100", "MiB", ""},
	} {
		if !slices.ContainsFunc(rows, func(row []string) bool { return slices.Equal(row, want) }) {
			t.Errorf("no row %q in %q", want, rows)
		}
	}
	if len(rows) != 1+9+9+2+2 {
		t.Errorf("%d rows", len(rows))
	}
}

// Would catch a table of Markdown whose rows have other columns than its head.
func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := page.WriteMarkdown(&b, sample(t)); err != nil {
		t.Fatal(err)
	}
	columns := 0
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if columns != 0 && n != columns {
			t.Errorf("%d columns, not %d: %s", n, columns, line)
		}
		columns = n
	}
	if !strings.Contains(b.String(), "![Probes a row by load factor](ega-table1.svg)") {
		t.Error("no picture")
	}
	for _, want := range []string{
		"\n**error: out of <memory>; and | more**\n", "| error: out of <memory>; and \\| more |\n",
		"the measurement ended with an error: out of <memory>; and \\| more |\n", "\n- two; lines\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in %s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "ega-figure8.svg") {
		t.Error("a link to a picture that is not written")
	}
}

// Would catch an error of two lines that breaks the table of a terminal.
func TestVerdictLines(t *testing.T) {
	var b bytes.Buffer
	if err := page.WriteVerdicts(&b, sample(t)); err != nil {
		t.Fatal(err)
	}
	if strings.Count(b.String(), "out of <memory>; and | more\n") != 2 {
		t.Errorf("%s", b.String())
	}
}

// Would catch a picture without a chart, a file that is left behind, and a file that only its owner may read.
func TestFiles(t *testing.T) {
	dir, r := t.TempDir(), sample(t)
	all := r.Results
	for n := range all {
		r.Results = all[:n+1]
		if err := page.WriteFiles(dir, r); err != nil {
			t.Fatal(err)
		}
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	like, err := os.Stat(plain)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
		if info, err := entry.Info(); err != nil || info.Size() == 0 || info.Mode() != like.Mode() {
			t.Errorf("%s: %v, %v", entry.Name(), info, err)
		}
	}
	want := []string{"ega-coprocessing42.svg", "ega-table1.svg", "figures.csv", "index.html", "report.json",
		"report.md"}
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

// Would catch a report that fails, and takes a file of the report before with it.
func TestFilesStayOnFailure(t *testing.T) {
	dir, r := t.TempDir(), sample(t)
	if err := page.WriteFiles(dir, r); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	r.Scale = math.NaN() // JSON has none
	if err := page.WriteFiles(dir, r); err == nil {
		t.Error("no error")
	}
	after, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("%v: %d bytes, then %d", err, len(before), len(after))
	}
	if hidden, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(hidden) > 0 {
		t.Errorf("%v: %q", err, hidden)
	}
}
