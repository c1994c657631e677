//go:build cgo

package sql

import (
	"slices"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/internal/sqlscan"
)

// Would catch a shell that ends a statement where PostgreSQL sees none end: both scanners find strings,
// names in quotes, comments and semicolons at the same places.
func TestScannersAgree(t *testing.T) {
	for _, text := range []string{
		"select 1; select 2;", "select 'a;b' ; select 'it''s;' ;", `select "a;""b" ; x`, "select 1 -- a; b\n; x", "/* a /* ; */ ; */ select ; 1",
		"select $$ ; ' $$ ; $x$ ; $$ $x$ ;", `select E'a\';' ; e'\\' ;`, "select x'41;' ; B'1;' ; N'a;'", "select größe ; 'größe;'",
		"select a$b ; $1 ;", "select 'a'\n'b;' ;", "select 1.5e3;select .5;", "select a::int;", "select U&'a;' ; U&\"b;\" ;",
	} {
		scanned, err := pg.Scan(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var want, got []int
		for _, token := range scanned.GetTokens() {
			switch c := text[token.End-1]; {
			case token.Token == pg.Token_SQL_COMMENT, token.Token == pg.Token_C_COMMENT, c == '\'', c == '"', c == ';':
				want = append(want, int(token.End))
			}
		}
		for _, token := range sqlscan.Scan(text) {
			switch c := text[token.End-1]; {
			case token.Kind == sqlscan.Comment, c == '\'', c == '"', c == ';':
				got = append(got, token.End)
			}
		}
		if text == "select 'a'\n'b;' ;" { // one string of two parts, to PostgreSQL
			got = slices.Delete(got, 0, 1)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: tokens end at %v, PostgreSQL's at %v", text, got, want)
		}
	}
}
