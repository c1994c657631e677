package tests

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
)

var (
	seedFlag  = flag.Uint64("seed", 1, "of the random queries")
	firstFlag = flag.Int("first", 0, "the number of the first random query")
	countFlag = flag.Int("queries", 0, "how many random queries to ask; 0 is 300, and 100 with -short")
)

// zstdBytes is what the reader of a compressed text may take: windows of 8 MiB, and what comes out
// of them.
const zstdBytes = 32 << 20

// countOf returns how many random queries are asked.
func countOf() int {
	switch {
	case *countFlag > 0:
		return *countFlag
	case testing.Short():
		return 60
	}
	return 200
}

// Random queries on random data, from memory and from files: DuckDB, the Go-map oracle and the
// engine agree, and no option of the engine changes its answer. A failure tells how to ask its
// query alone.
func TestRandomAgainstDuckDB(t *testing.T) {
	db := openDuckDB(t)
	fmt.Printf("again: go test -run '^%s$' -seed=%d -first=%d -queries=%d\n", t.Name(), *seedFlag, *firstFlag, countOf())
	ways := inputs()
	for i := *firstFlag; i < *firstFlag+countOf(); i++ {
		rng := rand.New(rand.NewPCG(*seedFlag, uint64(i)))
		way := ways[rng.IntN(len(ways))]
		t.Run(fmt.Sprintf("%d %s", i, way.name), func(t *testing.T) {
			schema, batches := way.table(rng)
			q := db.Answerable(grouptest.RandomQuery(rng, schema))
			if len(q.Keys)+len(q.Aggregates) == 0 {
				return
			}
			want, wantErr := grouptest.Oracle(schema, batches, q)
			compareDuckDB(t, db, schema, batches, q, want, wantErr)
			src := way.open(t, rng, t.TempDir(), schema, batches)
			compareEngine(t, "by default", engine.Options{Threads: 2}, src, q, want, wantErr)
			compareEngine(t, "on a device of the host", engine.Options{Threads: 2, Device: "host:64MiB"}, src, q, want, wantErr)
			opt, knobs := randomOptions(rng)
			if knobs.MemoryBytes > 0 && (way.name == "csv" || way.name == "json") {
				knobs.MemoryBytes += zstdBytes
			}
			text := fmt.Sprintf("%d threads, %+v", opt.Threads, knobs)
			compareEngine(t, text, testknobs.With(opt, knobs), src, q, want, wantErr)
			if t.Failed() {
				t.Logf("the query: %v\nagain: go test -run TestRandomAgainstDuckDB -seed=%d -first=%d -queries=1", q, *seedFlag, i)
			}
		})
		if t.Failed() && testing.Short() {
			return
		}
	}
}
