package tests

import (
	"context"
	"flag"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/tests/peer"
)

var pythonFlag = flag.String("duckdb-python", "", "a Python whose DuckDB 2 answers, in place of the linked DuckDB")

// startPeer starts the Python that -duckdb-python names, for the time of the test. It is nil without the flag.
func startPeer(t testing.TB) *peer.Process {
	t.Helper()
	if *pythonFlag == "" {
		return nil
	}
	p, err := peer.Start(context.Background(), *pythonFlag, 1) // the test's own context ends before Cleanup
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	version, err := p.Version(peer.DuckDB)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("DuckDB %s", version)
	if err := p.Run(peer.DuckDB, duckDBSettings...); err != nil {
		t.Fatal(err)
	}
	return p
}

// askPython asks DuckDB of a Python. Cells are as sqlTables.theirs has them.
func askPython(p *peer.Process, text string) (table [][]any, err error) {
	_, err = p.Ask(peer.Request{Engine: peer.DuckDB, Query: text}, func(r array.RecordReader) error {
		table = cellsOf(r)
		return r.Err()
	})
	return table, err
}

// Would catch a NULL that is taken for the one text that a column has beside NULLs, as the
// statistics of Parquet name the smallest and the largest text alone. DuckDB 2.0.0 does so with this
// file (SEMANTICS.md), and is right without its optimizer.
func TestSQLNullsOfOneText(t *testing.T) {
	s := openSQL(t)
	file, err := filepath.Abs("testdata/one-text.parquet")
	if err != nil {
		t.Fatal(err)
	}
	s.addFile(t, "n", file)
	for text, want := range map[string][][]any{
		"SELECT count(*) AS c FROM n WHERE s IS NULL":               {{"3"}},
		"SELECT s, count(*) AS c FROM n WHERE s IS NULL GROUP BY s": {{nil, "3"}},
		"SELECT count(*) AS c FROM n WHERE NOT (s IS NOT NULL)":     {{"3"}},
		"SELECT count(*) AS c FROM n WHERE s IS NOT NULL":           {{"2"}},
	} {
		if err := s.compare(text, want); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
		theirs, err := s.theirs(text)
		if err != nil {
			t.Fatal(err)
		}
		mistake, err := s.holdTo(text, theirs)
		if err != nil {
			t.Errorf("%s\n%v", text, err)
		}
		if mistake != nil {
			t.Logf("%s\na mistake of DuckDB's optimizer: %v", text, mistake)
		}
	}
}
