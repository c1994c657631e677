//go:build cgo

package sql

import (
	"errors"
	"testing"
)

// The verbs stand in front of a table, of files or of a SELECT, and are no verbs elsewhere.
func TestVerbs(t *testing.T) {
	for _, c := range []struct {
		text string
		verb Verb
		want string
	}{
		{"DESCRIBE t", Describe, "select * from t"},
		{"desc 'it''s.csv';", Describe, "select * from file it's.csv"},
		{"describe table t", Describe, "select * from t"},
		{"Summarize from t where a > 1", Summarize, "select * from t where (a > 1)"},
		{"summarize read_csv('x.csv', delim = ';')", Summarize, "select * from read_csv(x.csv) delim=';'"},
		{"summarize /* all */ 'x.csv'", Summarize, "select * from file x.csv"},
		{"describe (select 1 as a)", Describe, "select 1 as a"},
		{"summarize with q as (select a from t) select a from q", Summarize, "select a from (select a from t) as q"},
		{"explain select a from 'x.csv'", Explain, "select a from file x.csv"},
		{"explain  /* */ Analyze select a from 'x.csv'", ExplainAnalyze, "select a from file x.csv"},
	} {
		got, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		about := got.From.(*About)
		if about.Verb != c.verb || shown(about.Query) != c.want {
			t.Errorf("%s: got %s of\n%s\nwant %s of\n%s", c.text, about.Verb, shown(about.Query), c.verb, c.want)
		}
		if about, verb := got.Explained(); (about != nil) != (verb != "") || verb != "" && verb != c.verb {
			t.Errorf("%s: Explained is %v, %s", c.text, about, verb)
		}
	}
	if s, err := Parse("select describe, summarize from explain_t"); err != nil || s.Leaves()[0] != s.From {
		t.Errorf("columns named as verbs are: %v, %v", s, err)
	}
}

// A verb without a table, or before a table that is not SQL, is an error at its place.
func TestVerbErrors(t *testing.T) {
	for _, c := range []struct{ text, place string }{
		{"describe", ""},
		{"summarize ;", ";"},
		{"explain t", "t"},
		{"explain describe t", "describe t"},
		{"explain analyze t", "t"},
		{"explain analyze analyze select 1", "analyze select 1"},
		{"summarize t where where", "where"},
		{"describe 'a.csv' 'b.csv'", "'b.csv'"},
	} {
		_, err := Parse(c.text)
		var at *Error
		if !errors.As(err, &at) || at.Text[at.Offset:] != c.place {
			t.Errorf("%s: got %v, want an error at %q", c.text, err, c.place)
		}
	}
}
