package main

import (
	"context"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	mpgasql "github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/tests/peer"
)

// mpga asks one engine, whose memory is warm after the first run.
type mpga struct{ engine *engine.Engine }

func openMPGA(o *options) (*mpga, error) {
	e, err := engine.Open(engine.Options{Threads: o.threads, Device: "cpu"})
	return &mpga{e}, err
}

func (m *mpga) Close() error { return m.engine.Close() }

// prepare reads and plans a statement over a file, which is opened each time.
func (m *mpga) prepare(ctx context.Context, q query, path string) (*plan.Query, error) {
	s, err := mpgasql.Parse(q.text)
	if err != nil {
		return nil, err
	}
	return plan.Prepare(ctx, m.engine, s, plan.Options{Tables: map[string]plan.Table{q.table.name: {Files: []string{path}}}})
}

// ask runs a statement once, and reads its result to its end.
func (m *mpga) ask(ctx context.Context, q query, path string, whole bool) (peer.Answer, engine.Stats, error) {
	prepared, err := m.prepare(ctx, q, path)
	if err != nil {
		return peer.Answer{}, engine.Stats{}, err
	}
	defer prepared.Close()
	result, err := prepared.Run(ctx)
	if err != nil {
		return peer.Answer{}, engine.Stats{}, err
	}
	defer result.Release()
	a, err := peer.Read(result, whole)
	return a, result.Stats(), err
}
