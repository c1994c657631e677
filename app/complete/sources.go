package complete

import (
	"context"
	"slices"
	"strings"

	"github.com/mpga/mpga/internal/sqlscan"
)

// tables offers the catalog's tables and the tables that WITH names.
func (p *place) tables(catalog Catalog) []Candidate {
	var list []Candidate
	for _, name := range append(catalog.Tables(), p.withNames()...) {
		list = append(list, Candidate{Text: Quote(name), Kind: Table})
	}
	return list
}

// withNames are the names that WITH gives to statements: word AS (.
func (p *place) withNames() []string {
	var names []string
	if len(p.tokens) == 0 || !p.tokens[0].Is(p.text, "with") {
		return nil
	}
	for i := 1; i+2 < len(p.tokens); i++ {
		if p.tokens[i+1].Is(p.text, "as") && p.tokens[i+2].Text(p.text) == "(" &&
			(p.tokens[i-1].Is(p.text, "with") || p.tokens[i-1].Text(p.text) == ",") {
			names = append(names, p.tokens[i].Value(p.text))
		}
	}
	return names
}

// tablesMax bounds the tables whose columns are offered where the statement names none yet.
const tablesMax = 20

// columns offers the columns of all that the statement reads, or of all tables while FROM is not yet
// written.
func (p *place) columns(ctx context.Context, catalog Catalog) []Candidate {
	sources := p.sources()
	if len(sources) == 0 {
		tables := catalog.Tables()
		for _, name := range tables[:min(len(tables), tablesMax)] {
			sources = append(sources, Source{Name: name})
		}
	}
	var list []Candidate
	for _, source := range sources {
		for _, f := range catalog.Columns(ctx, source) {
			list = append(list, Candidate{Text: Quote(f.Name), Kind: Column, Detail: f.Type})
		}
	}
	return list
}

// sources are the tables and files that the statement names, on both sides of the place.
func (p *place) sources() []Source {
	var list []Source
	for i, t := range p.tokens {
		if t.Kind != sqlscan.Word || !slices.Contains(tableWords, strings.ToUpper(t.Text(p.text))) || i+1 >= len(p.tokens) {
			continue
		}
		next := p.tokens[i+1]
		if next.Kind == sqlscan.Word && isReader(next.Text(p.text)) {
			next = p.firstString(i + 2)
		}
		switch {
		case next.Open:
		case next.Kind == sqlscan.String:
			list = append(list, Source{Name: next.Value(p.text), File: true})
		case next.Kind == sqlscan.Word, next.Kind == sqlscan.Name:
			list = append(list, Source{Name: next.Value(p.text)})
		}
	}
	slices.SortFunc(list, func(a, b Source) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(list)
}

// firstString returns the first string from a token on, which a call of a reader begins with.
func (p *place) firstString(from int) sqlscan.Token {
	for _, t := range p.tokens[min(from, len(p.tokens)):] {
		if t.Kind == sqlscan.String {
			return t
		}
		if text := t.Text(p.text); text != "(" && text != "[" {
			break
		}
	}
	return sqlscan.Token{}
}

// Quote returns a name as SQL writes it: in quotes unless it is a plain word that is no keyword.
func Quote(name string) string {
	plain := func(r rune) bool {
		return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	odd := strings.ContainsFunc(name, func(r rune) bool { return !plain(r) })
	if name == "" || name[0] >= '0' && name[0] <= '9' || odd || slices.Contains(reservedWords, strings.ToUpper(name)) {
		return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	return name
}
