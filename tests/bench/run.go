package main

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/tests/peer"
)

// bench runs cases.
type bench struct {
	rows    int64
	threads int
	times   int    // measured runs of each engine
	dir     string // of data files
	command string // path of the command mpga
	python  string // that has the other engines
	peers   *peer.Process
	others  []string // engines beside DuckDB that are measured

	current *rows // of the last case; nil for none
}

// rows are the rows of an input, as mpga and DuckDB have them.
type rows struct {
	input input
	set   *rowSet // nil for a file
	file  string
	drop  string // takes them away from DuckDB
}

// run measures a case beside all engines.
func (b *bench) run(ctx context.Context, c benchCase) (peer.Samples, peer.Answer, error) {
	measure := b.runHere
	if c.limit > 0 {
		measure = b.runLimited
	}
	measured, a, err := measure(ctx, c)
	if err != nil || c.limit > 0 {
		return measured, a, err
	}
	return measured, a, b.measureOthers(ctx, c, a, measured)
}

// runHere measures a case by mpga in this process and DuckDB in turns.
func (b *bench) runHere(ctx context.Context, c benchCase) (peer.Samples, peer.Answer, error) {
	r, err := b.open(ctx, c.input)
	if err != nil {
		return nil, peer.Answer{}, err
	}
	ours, err := newMPGA(r.opener(c.known), c.query, b.threads)
	if err != nil {
		return nil, peer.Answer{}, err
	}
	contenders := []peer.Contender{peer.Timed(mpga, ours.run), b.peers.Contender(peer.DuckDB, c.sql)}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(b.threads)) // the garbage collector gets no more either
	measured, a, err := peer.Measure(ctx, contenders, b.times, peer.Answer.Equal)
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
	file, err := in.path(ctx, b.dir)
	if err != nil {
		return nil, err
	}
	setup, drop, err := duckDBStatements(ctx, in, file)
	if err != nil {
		return nil, err
	}
	r := &rows{input: in, file: file, drop: drop}
	if in.kind == inMemory {
		if r.set, err = in.table.make(ctx); err != nil {
			return nil, err
		}
	}
	if err := b.peers.Run(peer.DuckDB, setup); err != nil {
		return nil, err
	}
	b.current = r
	return r, nil
}

// path returns the path of an input's file; a table in memory has a Parquet file, too, of which the
// other engines load it.
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
	err := b.peers.Run(peer.DuckDB, r.drop)
	debug.FreeOSMemory()
	return err
}
