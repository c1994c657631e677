package scan

import (
	"encoding/json"
	"strings"
	"testing"
)

// Plans show the line; statistics are read back from JSON by programs.
func TestPruning(t *testing.T) {
	p := Pruning{Files: 3, RowGroups: 40, Rows: 100_000, BytesAsked: 2048}
	p.By[PrunedByFolder] = Pruned{Files: 1, Rows: 50_000}
	p.By[PrunedByBloomFilter] = Pruned{RowGroups: 12, Rows: 30_000}
	p.By[PrunedByPageIndex] = Pruned{Pages: 1, Rows: 5_000}
	const want = "15,000 of 100,000 rows to read, leaves out 1 file by folders, 12 row groups by Bloom filters, 1 page by page indexes, for which 2.0 KiB were read"
	if got := p.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	unknown := Pruning{Rows: -1}
	if got := unknown.String(); got != "nothing is left out before it is read" || unknown.Left() != -1 {
		t.Errorf("%s, %d rows left", got, unknown.Left())
	}
	text, err := json.Marshal(p)
	if err != nil || !strings.Contains(string(text), `"bloom_filters":{"files":0,"row_groups":12,"pages":0,"rows":30000}`) {
		t.Errorf("%s, %v", text, err)
	}
	var back Pruning
	if err := json.Unmarshal(text, &back); err != nil || back != p {
		t.Errorf("%+v, %v", back, err)
	}
}
