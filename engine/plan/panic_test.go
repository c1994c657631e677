//go:build cgo

package plan_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/testknobs"
)

// panicStatements are statements of all kinds, over keyedTable.
var panicStatements = []string{
	"SELECT a, b, count(*), sum(a) FROM t GROUP BY CUBE (a, b)",
	"SELECT b, sum(DISTINCT a), count(*) FROM t GROUP BY b HAVING sum(a) > 10 ORDER BY b DESC LIMIT 5",
	"SELECT a + b AS s, a FROM t WHERE a % 3 = 1 ORDER BY s, a",
	"SELECT a * 2 AS s FROM t WHERE b < 5",
	"SELECT count(*), sum(n) FROM (SELECT a % 100 AS k, count(*) AS n FROM (SELECT a, b FROM t WHERE b > 1 ORDER BY b LIMIT 700) GROUP BY k) WHERE n > 1",
}

// prepared returns a statement over a source, t.
func prepared(ctx context.Context, eng *engine.Engine, src scan.Source, text string) (*plan.Query, error) {
	s, err := sql.Parse(text)
	if err != nil {
		return nil, err
	}
	return plan.Prepare(ctx, eng, s, plan.Options{Tables: map[string]plan.Table{"t": {Source: src}}})
}

// answered returns the rows of a statement, in no order.
func answered(ctx context.Context, eng *engine.Engine, src scan.Source, text string) (rows []string, err error) {
	q, err := prepared(ctx, eng, src, text)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	result, err := q.Run(ctx)
	if err != nil {
		return nil, err
	}
	defer result.Release()
	for result.Next() {
		batch := result.RecordBatch()
		for i := range int(batch.NumRows()) {
			var cells []string
			for _, c := range batch.Columns() {
				cells = append(cells, c.ValueStr(i))
			}
			rows = append(rows, strings.Join(cells, ","))
		}
	}
	slices.Sort(rows)
	return rows, result.Err()
}

// Would catch a panic in any part of a statement that is not its error, names another query, looks
// like an answer, or is waited for in vain.
func TestPanics(t *testing.T) {
	defer spawn.SetFault(nil)
	src := keyedTable(1500)
	most := int64(24)
	if testing.Short() {
		most = 9
	}
	for _, device := range []string{"cpu", "host:64MiB"} {
		for _, text := range panicStatements {
			var steps atomic.Int64
			spawn.SetFault(func() { steps.Add(1) })
			want, err := panicAnswer(t, device, src, text, false)
			spawn.SetFault(nil)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			for n := int64(1); n <= steps.Load(); n += 1 + (steps.Load()-1)/most {
				var left atomic.Int64
				left.Store(n)
				spawn.SetFault(func() {
					if left.Add(-1) == 0 {
						panic(fmt.Sprint("boom at step ", n))
					}
				})
				got, err := panicAnswer(t, device, src, text, true)
				fired := left.Load() <= 0
				var bug *spawn.PanicError
				switch {
				case fired && (!errors.As(err, &bug) || !strings.Contains(fmt.Sprint(bug.Value), "boom")):
					t.Errorf("%s, %s, step %d of %d: %d rows, %v", device, text, n, steps.Load(), len(got), err)
				case fired && bug.Query != text && device == "cpu": // that of opening or closing a device is of none
					t.Errorf("%s, %s, step %d of %d: the error is of query %q", device, text, n, steps.Load(), bug.Query)
				case !fired && (err != nil || !slices.Equal(got, want)):
					t.Errorf("%s, %s, step %d of %d, without a panic: %d rows, %v", device, text, n, steps.Load(), len(got), err)
				}
			}
		}
	}
}

// panicAnswer answers a statement on an engine of its own, and checks that nothing is left. Where a
// panic may come, the engine answers the statement once more, without one.
func panicAnswer(t *testing.T, deviceName string, src scan.Source, text string, again bool) ([]string, error) {
	t.Helper()
	dir := t.TempDir()
	knobs := testknobs.Engine{MemoryBytes: 64 << 20, ResultRows: 300, Device: testknobs.Device{TileRows: 900}}
	eng, err := engine.Open(testknobs.With(engine.Options{Threads: 2, Device: deviceName, MemoryLimit: 1 << 30, TempDir: dir}, knobs))
	if err != nil {
		return nil, err // devices are opened, too
	}
	got, err := answered(t.Context(), eng, src, text)
	spawn.SetFault(nil)
	if again {
		if _, err := answered(t.Context(), eng, src, text); err != nil {
			t.Errorf("%s: the next query: %v", text, err)
		}
	}
	closed := eng.Close()
	if files, readErr := os.ReadDir(dir); readErr != nil || len(files) > 0 {
		t.Errorf("%s: %v, %v are left", text, files, readErr)
	}
	if err == nil {
		err = closed
	}
	return got, err
}
