package complete

import (
	"context"
	"strings"
	"testing"
)

// catalog has a table, and files with columns.
type catalog struct{}

func (catalog) Tables() []string { return []string{"flights", "My Table"} }

func (catalog) Columns(_ context.Context, of Source) []Field {
	switch of {
	case Source{Name: "flights"}:
		return []Field{{"origin", "VARCHAR"}, {"delay", "BIGINT"}, {"order", "BIGINT"}, {"Über", "DATE"}}
	case Source{Name: "in.csv", File: true}:
		return []Field{{"city", "VARCHAR"}}
	}
	return nil
}

func (catalog) Files(_ context.Context, prefix string) []string {
	var list []string
	for _, name := range []string{"in.csv", "inner/", "it's.csv"} {
		if strings.HasPrefix(name, prefix) {
			list = append(list, name)
		}
	}
	return list
}

// | is the cursor. What is wanted is the text with the first candidate in its place, and candidates
// that must or must not be there, the latter behind a minus sign.
func TestAt(t *testing.T) {
	for _, c := range []struct{ text, want, also string }{
		{"|", "COPY", "DESCRIBE SELECT SUMMARIZE WITH -WHERE"},
		{"dr|", "drop table", "drop view -create"},
		{"CREATE TABLE x AS |", "CREATE TABLE x AS FROM", "SELECT WITH -WHERE"},
		{"sel|", "select", ""},
		{"SELECT or| FROM flights", `SELECT "order" FROM flights`, "origin or ord("},
		{"SELECT orig| FROM flights", "SELECT origin FROM flights", ""},
		{"SELECT \"or| FROM flights", `SELECT "order" FROM flights`, `origin"`},
		{"SELECT ci| FROM 'in.csv'", "SELECT city FROM 'in.csv'", ""},
		{"SELECT ci| FROM read_csv('in.csv', delim = ';')", "SELECT city FROM read_csv('in.csv', delim = ';')", ""},
		{"SELECT del|", "SELECT delay", ""},
		{"select approx_c|", "select approx_count_distinct(", ""},
		{"select date_tr| from x", "select date_trunc( from x", ""},
		{"SELECT * FROM fl|", "SELECT * FROM flights", "-floor("},
		{"SELECT * FROM |", `SELECT * FROM "My Table"`, "flights read_csv( -WHERE"},
		{"WITH q AS (SELECT 1) SELECT * FROM q|", "WITH q AS (SELECT 1) SELECT * FROM q", ""},
		{"SELECT * FROM 'in|", "SELECT * FROM 'in.csv'", "inner/"},
		{"SELECT * FROM 'in|'", "SELECT * FROM 'in.csv'", ""},
		{"SELECT * FROM 'it|", "SELECT * FROM 'it''s.csv'", ""},
		{"SELECT * FROM read_csv(['in.csv', 'in|", "SELECT * FROM read_csv(['in.csv', 'in.csv'", ""},
		{"DESCRIBE 'in.|", "DESCRIBE 'in.csv'", ""},
		{"summarize |", `summarize "My Table"`, "flights SELECT FROM"},
		{"SELECT city FROM 'in.csv' WHERE city = 'in|", "", ""},
		{"SELECT 'a' |", `SELECT 'a' "order"`, "FROM"},
		{"SELECT 'a'|", "", ""},
		{"SELECT 12|", "", ""},
		{"SELECT 1 -- fr|", "", ""},
		{"SELECT delay::big|", "SELECT delay::bigint", "-bit_and("},
		{"SELECT TRY_CAST(max(delay) AS DOU|", "SELECT TRY_CAST(max(delay) AS DOUBLE", ""},
		{"SELECT delay AS d|", "", ""},
		{"SELECT f.del| FROM flights f", "SELECT f.delay FROM flights f", "-delete"},
		{"SELECT city FROM 'in.csv'; SELECT | FROM flights", `SELECT city FROM 'in.csv'; SELECT "order" FROM flights`, "-city"},
		{"SELECT delay FROM flights ORDER BY delay DESC l|", "SELECT delay FROM flights ORDER BY delay DESC last(", "limit -flights"},
	} {
		text, cursor := strings.Replace(c.text, "|", "", 1), strings.IndexByte(c.text, '|')
		got := At(t.Context(), text, cursor, catalog{})
		all := " "
		for _, candidate := range got.List {
			all += candidate.Text + " "
		}
		applied := ""
		if len(got.List) > 0 {
			applied = text[:got.Start] + got.List[0].Text + text[got.End:]
		}
		if applied != c.want {
			t.Errorf("%s: got %q, want %q, of%s", c.text, applied, c.want, all)
		}
		for _, word := range strings.Fields(c.also) {
			if name, without := strings.CutPrefix(word, "-"); without == strings.Contains(all, " "+name+" ") {
				t.Errorf("%s: %s, of%s", c.text, word, all)
			}
		}
	}
}

// Every prefix of a statement can be completed, wherever it ends.
func TestAtAnywhere(t *testing.T) {
	text := "WITH q AS (SELECT a, 'b''c' FROM read_csv(['in.csv'], x = 1)) SELECT \"a\"\"\", $$x$$, /* c */ b::INT FROM q -- d\nWHERE é = 1; DESC"
	for cursor := range len(text) + 1 {
		for _, whole := range []string{text, text[:cursor]} {
			got := At(t.Context(), whole, cursor, catalog{})
			if got.Start < 0 || got.Start > got.End || got.End != cursor {
				t.Errorf("%q at %d: from %d to %d", whole, cursor, got.Start, got.End)
			}
		}
	}
}
