package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/tests/peer"
)

// bench runs cases.
type bench struct {
	rows    int64
	threads int
	times   int    // measured runs of each engine
	dir     string // of data files
	command string // path of the command mpga
	peers   *peers // nil for none

	current *rows // of the last case; nil for none
}

// rows are the rows of an input, as both engines have them.
type rows struct {
	input input
	set   *rowSet // nil for a file
	file  string  // "" for rows in memory
	db    *peer.DuckDB
}

// run measures a case, and the peers at it.
func (b *bench) run(ctx context.Context, c benchCase) (peer.Samples, peer.Answer, error) {
	measure := b.runHere
	if c.limit > 0 {
		measure = b.runLimited
	}
	measured, a, err := measure(ctx, c)
	if err != nil || b.peers == nil || c.limit > 0 {
		return measured, a, err
	}
	return measured, a, b.peers.measure(ctx, b, c, a, measured)
}

// runHere measures a case in this process.
func (b *bench) runHere(ctx context.Context, c benchCase) (peer.Samples, peer.Answer, error) {
	r, err := b.open(ctx, c.input)
	if err != nil {
		return nil, peer.Answer{}, err
	}
	open := r.opener(c.known)
	kinds, err := resultKinds(ctx, open, c.query)
	if err != nil {
		return nil, peer.Answer{}, err
	}
	ours, err := newMPGA(open, c.query, b.threads)
	if err != nil {
		return nil, peer.Answer{}, err
	}
	theirs := r.db.Contender(peer.SumUpQuery(c.sql, kinds))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(b.threads)) // the garbage collector gets no more either
	measured, a, err := peer.Measure(ctx, []peer.Contender{{Engine: mpga, Run: ours.run}, theirs}, b.times)
	if err := errors.Join(err, ours.Close()); err != nil {
		return nil, peer.Answer{}, err
	}
	debug.FreeOSMemory() // the next case starts in a fresh state
	return measured, a, nil
}

// open returns the rows of an input, of which one is held at a time.
func (b *bench) open(ctx context.Context, in input) (*rows, error) {
	if b.current != nil && b.current.input == in {
		return b.current, nil
	}
	if err := b.Close(); err != nil {
		return nil, err
	}
	r := &rows{input: in}
	var err error
	if r.db, err = peer.OpenDuckDB(ctx, b.threads, b.dir); err != nil {
		return nil, err
	}
	b.current = r
	if in.kind == inMemory {
		if r.set, err = in.table.make(ctx); err != nil {
			return nil, err
		}
		return r, load(ctx, r.db, r.set)
	}
	if r.file, err = in.path(ctx, b.dir); err != nil {
		return nil, err
	}
	view, err := viewOf(ctx, r.file, in.kind)
	if err != nil {
		return nil, err
	}
	return r, r.db.Exec(ctx, view)
}

// resultKinds returns the kinds of the columns of a query's result.
func resultKinds(ctx context.Context, open opener, q query.Query) ([]peer.Kind, error) {
	src, err := open(ctx)
	if err != nil {
		return nil, err
	}
	bound, err := rowdata.Bind(q, src.Schema(), src.Stats().Columns)
	if err != nil {
		return nil, err
	}
	return peer.Kinds(bound.Schema), nil
}

// path returns the path of an input's file; a table in memory has a Parquet file, too, which the
// peers read.
func (in input) path(ctx context.Context, dir string) (string, error) {
	switch in.kind {
	case h2oParquet, h2oCSV:
		return h2oFile(ctx, dir, in.table.rows, in.kind)
	case inMemory:
		return in.table.parquetFile(ctx, dir, snappy)
	}
	return in.table.parquetFile(ctx, dir, in.kind)
}

// opener returns how mpga reads the rows.
func (r *rows) opener(known bool) opener {
	if r.set == nil {
		return fileOpener(r.file)
	}
	src := r.set.source(known)
	return func(context.Context) (scan.Source, error) { return src, nil }
}

func fileOpener(file string) opener {
	return func(ctx context.Context) (scan.Source, error) {
		return dataset.Open(ctx, []string{file}, dataset.Options{})
	}
}

// Close drops the rows of the last case.
func (b *bench) Close() error {
	if b.current == nil {
		return nil
	}
	r := b.current
	b.current = nil
	if r.set != nil {
		r.set.release()
	}
	err := r.db.Close()
	debug.FreeOSMemory()
	if err != nil {
		return fmt.Errorf("duckdb: %w", err)
	}
	return nil
}
