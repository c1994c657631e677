package complete

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/mpga/mpga/internal/sqlscan"
)

// Kind says what a candidate is.
type Kind string

// The kinds of candidates.
const (
	Column    Kind = "column"
	Table     Kind = "table"
	File      Kind = "file"
	Function  Kind = "function"
	Aggregate Kind = "aggregate"
	Type      Kind = "type"
	Keyword   Kind = "keyword"
)

// Candidate is a text that may stand at the place.
type Candidate struct {
	Text   string `json:"text"`
	Kind   Kind   `json:"kind"`
	Detail string `json:"detail"` // the type of a column, or what a function gives; else ""
}

// Candidates may take the place of the text from Start to End, in bytes; End is the cursor.
type Candidates struct {
	Start int         `json:"start"`
	End   int         `json:"end"`
	List  []Candidate `json:"list"`
}

// Source is what a statement reads: a table, or the files of a pattern.
type Source struct {
	Name string // of the table, or the pattern
	File bool
}

// Field is a column of a source.
type Field struct{ Name, Type string }

// Catalog knows what statements may read.
type Catalog interface {
	// Tables lists the names of tables.
	Tables() []string

	// Columns lists the columns of a source, none if it cannot be read.
	Columns(ctx context.Context, of Source) []Field

	// Files lists files and folders whose names begin with a prefix; names of folders end in a slash.
	Files(ctx context.Context, prefix string) []string
}

// At returns what may stand at the cursor, a byte of the text, the likeliest first.
func At(ctx context.Context, text string, cursor int, catalog Catalog) Candidates {
	cursor = min(max(cursor, 0), len(text))
	p := placeOf(text, cursor)
	c := Candidates{Start: p.start, End: cursor, List: p.candidates(ctx, catalog)}
	return c
}

// tableWords are the words behind which a table stands.
var tableWords = []string{"FROM", "DESCRIBE", "DESC", "SUMMARIZE", "TABLE", "VIEW"}

// behindTable says whether a table may stand at the place.
func (p *place) behindTable() bool {
	word := p.back(1)
	if !slices.Contains(tableWords, word) {
		return false
	}
	return word != "DESC" || p.before == 1 // else it is an order
}

func (p *place) candidates(ctx context.Context, catalog Catalog) []Candidate {
	switch {
	case p.inside == sqlscan.Comment, p.behind:
		return nil
	case p.inside == sqlscan.String:
		return p.files(ctx, catalog)
	case p.inside == sqlscan.Name:
		return p.names(ctx, catalog)
	case p.wantsType():
		return p.among(typeNames())
	case p.back(1) == ".":
		return p.among(p.columns(ctx, catalog))
	case p.back(1) == "AS" && slices.Contains([]string{"TABLE", "VIEW", "EXISTS"}, p.back(3)): // of CREATE
		return p.among(words([]string{"FROM", "SELECT", "VALUES", "WITH"}))
	case p.back(1) == "AS":
		return nil // a name of the writer's own
	case p.before == 0:
		return p.among(words(statementWords))
	case p.behindTable():
		return slices.Concat(p.among(p.tables(catalog)), p.among(readers()), p.among(words(p.queryWords())))
	}
	list := p.among(p.columns(ctx, catalog))
	if p.prefix != "" {
		list = append(list, p.among(functions())...)
	}
	return append(list, p.among(words(clauseWords))...)
}

// queryWords are the words that may stand where a table may.
func (p *place) queryWords() []string {
	if p.back(1) == "FROM" {
		return nil
	}
	return []string{"FROM", "SELECT", "WITH"}
}

// wantsType says whether a type stands at the place: behind ::, or behind AS in a cast.
func (p *place) wantsType() bool {
	if p.back(1) == ":" && p.back(2) == ":" {
		return true
	}
	if p.back(1) != "AS" {
		return false
	}
	depth := 0
	for n := 2; n <= p.before; n++ {
		switch p.back(n) {
		case ")":
			depth++
		case "(":
			if depth == 0 {
				return p.back(n+1) == "CAST" || p.back(n+1) == "TRY_CAST"
			}
			depth--
		}
	}
	return false
}

// files offers files where a string names some: behind FROM, or within a call of a reader.
func (p *place) files(ctx context.Context, catalog Catalog) []Candidate {
	call := p.back(1) == "(" || p.back(1) == "[" || p.back(1) == ","
	if !p.behindTable() && !(call && p.inReader()) {
		return nil
	}
	var list []Candidate
	for _, name := range catalog.Files(ctx, p.prefix) {
		text := strings.ReplaceAll(name, "'", "''")
		if !strings.HasSuffix(name, "/") && !strings.HasPrefix(p.text[min(p.start+len(p.prefix), len(p.text)):], "'") {
			text += "'"
		}
		list = append(list, Candidate{Text: text, Kind: File})
	}
	return list
}

// inReader says whether the place is among the arguments of read_csv or another reader.
func (p *place) inReader() bool {
	for n := 1; n <= p.before; n++ {
		if p.back(n) == "(" {
			return isReader(p.back(n + 1))
		}
	}
	return false
}

// names offers what a name in quotes may be.
func (p *place) names(ctx context.Context, catalog Catalog) []Candidate {
	list := p.columns(ctx, catalog)
	if p.behindTable() {
		list = p.tables(catalog)
	}
	for i := range list {
		name := strings.TrimSuffix(strings.TrimPrefix(list[i].Text, `"`), `"`)
		list[i].Text = name + `"`
	}
	return p.among(list)
}

// among returns the candidates that begin as what is typed, in any case, in order.
func (p *place) among(list []Candidate) []Candidate {
	prefix := strings.ToLower(p.prefix)
	lower := p.prefix != "" && p.prefix == prefix
	var found []Candidate
	for _, c := range list {
		plain := strings.TrimPrefix(c.Text, `"`)
		if !strings.HasPrefix(strings.ToLower(plain), prefix) && !strings.HasPrefix(strings.ToLower(c.Text), prefix) {
			continue
		}
		if c.Kind == Keyword && lower || c.Kind == Type && lower {
			c.Text = strings.ToLower(c.Text)
		}
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b Candidate) int { return cmp.Compare(a.Text, b.Text) })
	return slices.CompactFunc(found, func(a, b Candidate) bool { return a.Text == b.Text })
}
