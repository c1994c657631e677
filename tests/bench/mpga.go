package main

import (
	"context"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	_ "github.com/mpga/mpga/kernels/cuda"
	"github.com/mpga/mpga/tests/peer"
)

// mpgaContender asks an engine of its own, whose memory is warm after the first run.
type mpgaContender struct {
	eng   *engine.Engine
	open  opener
	query query.Query
}

// opener returns the source of a run. A file is opened each time: a query ends with an answer and
// starts with a name.
type opener func(context.Context) (scan.Source, error)

func newMPGA(open opener, q query.Query, threads int) (*mpgaContender, error) {
	eng, err := engine.Open(engine.Options{Threads: threads})
	if err != nil {
		return nil, err
	}
	return &mpgaContender{eng, open, q}, nil
}

func (m *mpgaContender) run(ctx context.Context, whole bool) (out peer.Outcome, err error) {
	src, err := m.open(ctx)
	if err != nil {
		return out, err
	}
	result, err := m.eng.Aggregate(ctx, src, m.query)
	if err != nil {
		return out, err
	}
	defer result.Release()
	out.Answer, err = peer.Read(result, whole)
	return out, err
}

func (m *mpgaContender) Close() error { return m.eng.Close() }
