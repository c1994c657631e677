package tests

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/app/temporary"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	mpgasql "github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/testknobs"
)

// A random statement's rows, kept as a table and read again, are the rows that the statement has behind FROM, and so are
// a view's: in memory and in files. Would catch types, names, NULLs and rows that are lost on the way.
func TestTablesRandom(t *testing.T) {
	seed := *seedFlag
	s := openSQL(t)
	s.add(t, "t", mixedTable)
	s.addGroups(t, "u", "SELECT t.* REPLACE (id + 3000 * k AS id) FROM t, range(4) r(k) ORDER BY dt, id", 2048)
	s.addLayouts(t)
	kept, queries := 0, min(*sqlQueriesFlag, 150)
	if testing.Short() {
		queries = min(queries, 60)
	}
	for i := range queries {
		g := &sqlGenerator{rand.New(rand.NewPCG(seed, uint64(i)))}
		text := g.statement()
		want, err := s.ours("SELECT * FROM (" + text + ") AS derived")
		if err != nil {
			continue
		}
		kept++
		for _, memory := range []int64{1 << 30, 1} {
			if err := s.checkKept(text, memory, want); err != nil {
				t.Fatalf("%s\nwith %d B for tables: %v\nagain: -seed=%d, statement %d", text, memory, err, seed, i)
			}
		}
	}
	if kept < 20 {
		t.Errorf("%d statements have rows: the generator makes too many errors", kept)
	}
}

// checkKept makes a table and a view of a statement, and compares their rows with the wanted ones.
func (s *sqlTables) checkKept(text string, memory int64, want [][]any) (err error) {
	eng, err := engine.Open(testknobs.With(engine.Options{Threads: 2, Device: *sqlDeviceFlag}, testknobs.Engine{BlockRows: 100}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	store := temporary.NewStore(temporary.Options{Engine: eng, Dir: s.dir, MemoryBytes: memory})
	defer func() { err = errors.Join(err, store.Close()) }()
	tables := store.NewTables(nil)
	defer func() {
		err = errors.Join(err, tables.Close())
		if store.MemoryBytes() != 0 || store.DiskBytes() != 0 {
			err = errors.Join(err, errors.New("bytes of tables are left"))
		}
	}()
	ctx := context.Background()
	names := plan.Options{Tables: s.tables}
	for _, head := range []string{"CREATE TABLE kept AS ", "CREATE VIEW seen AS "} {
		create, err := mpgasql.ParseCreate(ctx, head+text)
		if err != nil {
			return err
		}
		run := func(q *plan.Query) (*plan.Result, error) { return q.Run(ctx) }
		if _, _, err := tables.Run(ctx, create, names, run); err != nil {
			return err
		}
	}
	for _, name := range []string{"kept", "seen"} {
		names, release := tables.Names(names)
		got, err := askWith(eng, "SELECT * FROM "+name, names)
		if err == nil {
			err = sameCells(want, got, false)
		}
		if err = errors.Join(err, release()); err != nil {
			return err
		}
	}
	return nil
}

// askWith returns the rows of a statement.
func askWith(eng *engine.Engine, text string, names plan.Options) ([][]any, error) {
	statement, err := mpgasql.Parse(text)
	if err != nil {
		return nil, err
	}
	query, err := plan.Prepare(context.Background(), eng, statement, names)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	result, err := query.Run(context.Background())
	if err != nil {
		return nil, err
	}
	defer result.Release()
	rows := cellsOf(result)
	return rows, result.Err()
}
