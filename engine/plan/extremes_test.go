//go:build cgo

package plan_test

import (
	"fmt"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
)

// toldSource says of its columns what a file's statistics would.
type toldSource struct {
	countedSource
	tight bool
}

func (s *toldSource) Stats() scan.Stats {
	stats := s.Source.Stats()
	stats.Columns = []scan.ColumnStats{{HasRange: true, Max: 199, Tight: s.tight}, {HasRange: true, Max: 6, Tight: s.tight}}
	return stats
}

// Would catch a least or greatest value that is read though the statistics tell it, and one that is
// taken of them though rows are left out, or though they are no more than bounds.
func TestExtremes(t *testing.T) {
	eng, err := engine.Open(engine.Options{Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	for _, c := range []struct {
		text  string
		loose bool
		want  string
		told  bool
	}{
		{text: "SELECT max(a), min(b), max(a) - min(a) FROM t", want: "[199] [0] [199]", told: true},
		{text: "SELECT min(a) FROM t HAVING min(a) > 5", want: "", told: true},
		{text: "SELECT max(a) FROM t", loose: true, want: "[199]"},
		{text: "SELECT max(a) FROM t WHERE b = 1", want: "[197]"},
		{text: "SELECT max(a), count(*) FROM t", want: "[199] [200]"},
		{text: "SELECT max(a + 1) FROM t", want: "[200]"},
		{text: "SELECT max(a) FROM t GROUP BY b ORDER BY 1 LIMIT 1", want: "[193]"},
	} {
		src := &toldSource{countedSource: countedSource{Source: keyedTable(100)}, tight: !c.loose}
		q, r := open(t, eng, src, c.text)
		got := ""
		for r.Next() {
			for i, column := range r.RecordBatch().Columns() {
				if i > 0 {
					got += " "
				}
				got += fmt.Sprint(column)
			}
		}
		if r.Err() != nil || got != c.want {
			t.Errorf("%s: %s, want %s; %v", c.text, got, c.want, r.Err())
		}
		if told := src.opened.Load() == 0; told != c.told {
			t.Errorf("%s: %d splits opened", c.text, src.opened.Load())
		}
		r.Release()
		q.Close()
	}
}
