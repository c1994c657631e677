package gen

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mpga/mpga/engine/query"
)

// hitsTexts is what hitsText has counted in a column.
type hitsTexts struct {
	rows, empty, bytes, latin int
	distinct                  map[string]int
}

// hitsText counts the texts of a column, and those with a part.
func hitsText(t *testing.T, table *Table, name, part string) (n hitsTexts) {
	t.Helper()
	n.distinct = map[string]int{}
	values(t, table, columnOf(t, table, name), func(v any) {
		s := v.(string)
		n.rows++
		n.bytes += len(s)
		n.distinct[s]++
		if s == "" {
			n.empty++
		}
		if strings.Contains(s, part) {
			n.latin++
		}
		if !utf8.ValidString(s) {
			t.Fatalf("%s: %q is no text", name, s)
		}
	})
	return n
}

func columnOf(t *testing.T, table *Table, name string) int {
	t.Helper()
	c, err := query.FindColumn(table.Schema(), name)
	check(t, err)
	return c
}

// Catches a table that has lost what its texts are measured for: a page of strings of which half
// occur once, a dictionary of 30,000 strings to a row group of 500,000 rows, letters of two bytes,
// columns that are mostly empty.
func TestHitsTexts(t *testing.T) {
	const rows = 500_000
	table := hitsTable(t, rows)
	if n := table.Schema().NumFields(); n != 105 {
		t.Errorf("%d columns", n)
	}
	within := func(what string, got, low, high float64) {
		t.Helper()
		if got < low || got > high {
			t.Errorf("%s: %v, want %v to %v", what, got, low, high)
		}
	}
	url := hitsText(t, table, "URL", "google")
	within("bytes of a URL", float64(url.bytes)/rows, 40, 50)
	within("distinct URLs", float64(len(url.distinct))/rows, 0.5, 0.9)
	within("URLs with google", float64(url.latin)/rows, 0.005, 0.03)
	title := hitsText(t, table, "Title", "Google")
	within("bytes of a title", float64(title.bytes)/rows, 38, 52)
	within("titles", float64(len(title.distinct)), 25_000, 30_000)
	within("titles with Google", float64(title.latin)/rows, 0.003, 0.03)
	referer := hitsText(t, table, "Referer", "://www.")
	within("bytes of a referrer", float64(referer.bytes)/rows, 25, 35)
	within("empty referrers", float64(referer.empty)/rows, 0.3, 0.37)
	phrase := hitsText(t, table, "SearchPhrase", "ка")
	within("empty phrases", float64(phrase.empty)/rows, 0.86, 0.89)
	within("phrases", float64(len(phrase.distinct)), 10_000, 60_000)
	model := hitsText(t, table, "MobilePhoneModel", "Mo")
	within("models", float64(len(model.distinct)), 100, 161)
}

// Catches columns that do not agree with each other, and questions that ask for what no row has.
func TestHitsNumbers(t *testing.T) {
	const rows = 100_000
	table := hitsTable(t, rows)
	numbers := func(name string) (list []int64) {
		values(t, table, columnOf(t, table, name), func(v any) { list = append(list, v.(int64)) })
		return list
	}
	days, times := numbers("EventDate"), numbers("EventTime")
	for i := range days {
		if times[i]/(daySecs*1e6) != days[i] || days[i] < july2013 || days[i] >= july2013+31 {
			t.Fatalf("row %d: day %d, time %d", i, days[i], times[i])
		}
	}
	users := map[int64]int{}
	for _, u := range numbers("UserID") {
		users[u]++
	}
	if users[435090932899640449] < 10 || len(users) > rows/hitsPerUser || len(users) < rows/hitsPerUser/2 {
		t.Errorf("%d users, of whom one has %d rows", len(users), users[435090932899640449])
	}
	for name, value := range map[string]int64{"CounterID": 62, "RefererHash": 3594120000172545465, "URLHash": 2868770270353813622,
		"TraficSourceID": -1, "IsLink": 1, "IsDownload": 1, "DontCountHits": 0, "IsRefresh": 0} {
		n := 0
		for _, v := range numbers(name) {
			if v == value {
				n++
			}
		}
		if n < rows/200 {
			t.Errorf("%s is %d in %d rows", name, value, n)
		}
	}
}
