//go:build cgo

package sql

import (
	"fmt"
	"strings"
	"testing"
)

// Would catch texts that PostgreSQL's scanner takes the square of their bytes for, when they are not kept from it, and
// statements that are planned more often than their text is long.
func TestCostlyTexts(t *testing.T) {
	chain := func(n int) string {
		ctes := []string{"a0 AS (SELECT 1 AS x)"}
		for i := 1; i < n; i++ {
			ctes = append(ctes, fmt.Sprintf("a%d AS (SELECT count(x) AS x FROM a%d)", i, i-1))
		}
		return fmt.Sprintf("WITH %s SELECT * FROM a%d", strings.Join(ctes, ", "), n-1)
	}
	list := func(n int, text string) string { return strings.Repeat(text+",", n-1) + text }
	for name, c := range map[string]struct{ text, want string }{
		"comments within comments": {strings.Repeat("/*", 60_000) + strings.Repeat("*/", 60_000) + " SELECT 1", ""},
		"comments left open":       {"SELECT 1 " + strings.Repeat("/*", 100_000), "unterminated /* comment"},
		"a comment in a string":    {"SELECT '/*' || '*/', \"/*\" FROM t", ""},
		"a comment in a comment":   {"SELECT 1 -- /*\n + 1", ""},
		"an operator":              {"SELECT 1 " + strings.Repeat("+", 64) + "1", "operator too long"},
		"an operator in a string":  {"SELECT '" + strings.Repeat("+", 64) + "'", ""},
		"operators":                {"SELECT 1" + strings.Repeat(" +", 64) + "1", ""},
		"names of WITH":            {chain(49), ""},
		"more names of WITH":       {chain(51), "statements nested more than 50 deep"},
		"items":                    {"SELECT " + list(ItemsMax, "1"), ""},
		"more items":               {"SELECT " + list(ItemsMax+1, "1"), "SELECT of 32769 elements, more than 32768"},
		"more keys":                {"SELECT 1 FROM t GROUP BY " + list(ItemsMax+1, "a"), "GROUP BY of 32769 elements"},
		"more orders":              {"SELECT 1 FROM t ORDER BY " + list(ItemsMax+1, "a"), "ORDER BY of 32769 elements"},
		"a roll-up":                {"SELECT 1 FROM t GROUP BY ROLLUP (" + list(64, "a") + ")", "ROLLUP of more than 63 columns"},
	} {
		_, err := Parse(c.text)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.300v, want %q", name, err, c.want)
		}
	}
}

// Would catch a comment that is blanked with what is none, or whose bytes move the bytes behind it.
func TestBlankComments(t *testing.T) {
	for text, want := range map[string]string{
		"a/* é\n /* b */ c */d": "a     \n             d",
		"'/*' /**/ \"*/\"":      "'/*'      \"*/\"",
		"$$/*$$ -- /* x":        "$$/*$$ -- /* x",
		"e'\\'/*' /* */":        "e'\\'/*'      ",
	} {
		got, err := blankComments(text)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}
