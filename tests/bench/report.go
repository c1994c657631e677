package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mpga/mpga/tests/peer"
)

// report is everything that was measured.
type report struct {
	Header   header   `json:"header"`
	Results  []result `json:"results"`
	ByGroups []point  `json:"by_groups,omitempty"`
	ByRows   []point  `json:"by_rows,omitempty"`

	engines []string // that have a column
}

// result is a row of the table.
type result struct {
	Case    string       `json:"case"`
	Wanted  float64      `json:"wanted,omitempty"` // ratio, at least
	Ratio   float64      `json:"ratio,omitempty"`  // DuckDB's time / mpga's
	Groups  int64        `json:"groups,omitempty"`
	Limit   int64        `json:"limit_bytes,omitempty"` // of memory
	Samples peer.Samples `json:"samples,omitempty"`
	Error   string       `json:"error,omitempty"`
}

// missed says what a result falls short of, or "".
func (r *result) missed() string {
	switch {
	case r.Error != "":
		return "failed"
	case r.Ratio < r.Wanted:
		return "too slow"
	case r.Limit > 0 && float64(r.Samples.Peak(mpga)) > limitSlack*float64(r.Limit):
		return "too large"
	}
	return ""
}

// geometricMean returns the row of a mean over results that are there already.
func (r *report) geometricMean(m mean) result {
	row := result{Case: m.name(), Wanted: m.wanted}
	logs, n := 0.0, 0
	for _, one := range r.Results {
		if !strings.HasPrefix(one.Case, m.prefix) {
			continue
		}
		if one.Error != "" {
			row.Error = "a part of it failed"
			return row
		}
		logs += math.Log(one.Ratio)
		n++
	}
	row.Ratio = math.Exp(logs / float64(n))
	return row
}

// title returns the names of the columns.
func (r *report) title() []string {
	cells := []string{"case"}
	for _, e := range r.engines {
		cells = append(cells, e+" ms")
	}
	return append(cells, "ratio", "wanted", "")
}

// cells returns a row's text.
func (r *report) cells(one *result) []string {
	cells := []string{one.Case}
	for _, e := range r.engines {
		cells = append(cells, orNothing("%.1f", one.Samples.Millis(e, r.Header.CPUTime)))
	}
	return append(cells, orNothing("%.2f", one.Ratio), orNothing("%.1f", one.Wanted), one.missed())
}

// orNothing formats a number, but not 0.
func orNothing(format string, x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf(format, x)
}

// nameWidth is the width of the text table's first column, in characters.
const nameWidth = 48

// textRow writes cells in columns, so that a row can be printed as soon as it is measured.
func textRow(cells []string) string {
	var b strings.Builder
	b.WriteString(cells[0] + strings.Repeat(" ", max(nameWidth-utf8.RuneCountInString(cells[0]), 1)))
	for _, c := range cells[1 : len(cells)-1] {
		fmt.Fprintf(&b, "%14s", c)
	}
	return strings.TrimRight(b.String()+"  "+cells[len(cells)-1], " ") + "\n"
}

// markdown writes a table row.
func markdownRow(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// writeMarkdown writes all of the report.
func (r *report) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	for _, line := range r.Header.lines() {
		b.WriteString(line + "  \n")
	}
	if len(r.Results) > 0 {
		title := r.title()
		b.WriteString("\n" + markdownRow(title) + "|---" + strings.Repeat("|--:", len(title)-2) + "|---|\n")
		for i := range r.Results {
			b.WriteString(markdownRow(r.cells(&r.Results[i])))
		}
	}
	for _, line := range r.notes() {
		b.WriteString("\n" + line + "\n")
	}
	for _, c := range r.curves() {
		title := c.title()
		b.WriteString("\n" + markdownRow(title) + strings.Repeat("|--:", len(title)) + "|\n")
		for _, p := range c.points {
			b.WriteString(markdownRow(c.cells(p)))
		}
		b.WriteString("\n" + c.verdict() + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// notes are what the table has no column for.
func (r *report) notes() []string {
	var notes []string
	for _, one := range r.Results {
		if peak := one.Samples.Peak(mpga); peak > 0 {
			notes = append(notes, fmt.Sprintf("%s: largest resident sets %s, wanted at most %.2f of the limit", one.Case, r.peaks(&one), limitSlack))
		}
		if one.Error != "" {
			notes = append(notes, fmt.Sprintf("%s: %s", one.Case, one.Error))
		}
	}
	return notes
}

func (r *report) peaks(one *result) string {
	var texts []string
	for _, e := range r.engines {
		if peak := one.Samples.Peak(e); peak > 0 {
			texts = append(texts, fmt.Sprintf("%s %.0f MiB", e, float64(peak)/(1<<20)))
		}
	}
	return strings.Join(texts, ", ")
}

// writeJSON writes all samples.
func (r *report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// failed says whether any case has no result.
func (r *report) failed() bool {
	return slices.ContainsFunc(r.Results, func(one result) bool { return one.Error != "" })
}
