package sqlscan

import (
	"strings"
	"testing"
)

func shown(text string) string {
	var parts []string
	for _, t := range Scan(text) {
		part := string("?WNS#C+"[t.Kind]) + t.Text(text)
		if t.Open {
			part += "…"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

func TestScan(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"select a,B from 't.csv';": "Wselect Wa +, WB Wfrom S't.csv' +;",
		"'it''s' \"a\"\"b\"":       `S'it''s' N"a""b"`,
		"'open":                    "S'open…",
		"\"open":                   "N\"open…",
		"'a'''":                    "S'a'''",
		"E'a\\'b' e'\\\\'":         `SE'a\'b' Se'\\'`,
		"x'41' b'1' n'a' xx'1'":    "Sx'41' Sb'1' Sn'a' Wxx S'1'",
		"-- a;b\nc":                "C-- a;b Wc",
		"-- a":                     "C-- a…",
		"/* a /* b */ ; */ c":      "C/* a /* b */ ; */ Wc",
		"/* a /* b */":             "C/* a /* b */…",
		"$$ ; $$ $x$ $$ $x$":       "S$$ ; $$ S$x$ $$ $x$",
		"$x$ a":                    "S$x$ a…",
		"$1 $ a$b":                 "+$ #1 +$ Wa$b",
		"1.5e3+größe":              "#1.5e3 ++ Wgröße",
		"a::int":                   "Wa +: +: Wint",
	} {
		if got := shown(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestStatementEnd(t *testing.T) {
	for text, want := range map[string]int{
		"select 1": -1, "select 1; select 2": 9, "select ';' -- ;\n;": 17, "select 'a;": -1, "/* ; */": -1, ";": 1,
	} {
		if got := StatementEnd(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]bool{"": true, " ;\n-- a": true, "/* b */": true, "a": false, "';'": false} {
		if got := Empty(text); got != want {
			t.Errorf("%q is empty: %t", text, got)
		}
	}
}

func TestValue(t *testing.T) {
	for text, want := range map[string]string{
		`'it''s'`: "it's", `"a""b"`: `a"b`, `'open`: "open", `"open`: "open", `word`: "word", `$$a$$`: "$$a$$", `E'x'`: "x", `'`: "",
	} {
		if got := Scan(text)[0].Value(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// Whatever is typed, tokens are in order, do not overlap, and leave out nothing but white space.
func FuzzScan(f *testing.F) {
	for _, text := range []string{"select 'a", "$a$b", "/*/**/", "E'\\", "\xff'\"", "a\u00a0b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, token := range Scan(text) {
			if token.Start < at || token.End <= token.Start || token.End > len(text) || strings.TrimSpace(text[at:token.Start]) != "" {
				t.Fatalf("%q: token %v behind %d", text, token, at)
			}
			_ = token.Value(text)
			at = token.End
		}
		if strings.TrimSpace(text[at:]) != "" {
			t.Fatalf("%q: %q is no token", text, text[at:])
		}
	})
}
