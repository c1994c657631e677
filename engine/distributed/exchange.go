package distributed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
)

// Where rows change tasks, a task that makes some of them has the plan that all others have: it opens all files of all
// inputs, whose statistics decide about the order of joins, and reads its part alone. R3.

// setExchange notes the rows that change tasks.
func (p *Plan) setExchange(made *planner, division *plan.Division) (err error) {
	if division.Sides == nil {
		return nil
	}
	p.Exchange = &Exchange{BroadcastBytes: made.broadcastBytes(), Rows: division.IsRows()}
	p.Exchange.Sides, err = sentOf(division, func(of scan.Source) int {
		return slices.IndexFunc(made.tables, func(t *planned) bool { return t.source == of })
	})
	return err
}

// sentOf describes the sides of a division. input returns the number of a table.
func sentOf(division *plan.Division, input func(scan.Source) int) (list []Sent, err error) {
	for _, side := range division.Sides {
		s := Sent{What: side.Text}
		for _, stem := range side.Stems {
			s.Inputs = append(s.Inputs, input(stem.Table))
		}
		for _, c := range side.Keys {
			s.Keys = append(s.Keys, side.Schema.Field(c).Name)
		}
		if s.Schema, err = dataset.EncodeSchema(side.Schema); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// divided is the statement, planned over all of its inputs.
type divided struct {
	*plan.Division
	inputs []scan.Source
	close  func()
}

// divide plans the statement over all of its inputs, and divides it as the plan does.
func (t *Tasks) divide(ctx context.Context) (_ *divided, err error) {
	made := &divided{inputs: make([]scan.Source, len(t.Plan.Inputs))}
	q, err := t.prepare(ctx, func(input int) (_ scan.Source, err error) {
		of := &t.Plan.Inputs[input]
		made.inputs[input], err = t.openFiles(ctx, of, of.Files)
		return made.inputs[input], err
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			q.Close()
		}
	}()
	made.close = q.Close
	input := func(of scan.Source) int { return slices.Index(made.inputs, of) }
	made.Division, err = q.Divide(func(of scan.Source) int64 {
		if i := input(of); i >= 0 {
			return t.Plan.Inputs[i].bytes()
		}
		return -1
	}, t.Plan.Exchange.BroadcastBytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	sides, err := sentOf(made.Division, input)
	if err != nil {
		return nil, err
	}
	want, _ := json.Marshal(t.Plan.Exchange.Sides)
	if got, _ := json.Marshal(sides); !bytes.Equal(want, got) {
		return nil, fmt.Errorf("%w: its tasks send the rows %s to others, and a task would send %s", ErrPlan, want, got)
	}
	return made, nil
}

// writeSent writes the rows of a split, by the hash of their keys.
func (t *Tasks) writeSent(ctx context.Context, split int, opt partial.Options) (engine.Stats, error) {
	d, err := t.divide(ctx)
	if err != nil {
		return engine.Stats{}, err
	}
	defer d.close()
	s := &t.Plan.Splits[split]
	side := d.Sides[t.Plan.Exchange.sideOf(s.Input)]
	part := plan.Part{Table: d.inputs[s.Input], First: true}
	for i := range t.Plan.Splits[:split] {
		part.First = part.First && t.Plan.Exchange.sideOf(t.Plan.Splits[i].Input) != t.Plan.Exchange.sideOf(s.Input)
	}
	for _, stem := range side.Stems {
		if stem.Table != part.Table {
			part.Others = append(part.Others, stem.Table)
		}
	}
	from, to := uint64(0), uint64(0)
	if !s.None {
		from, to = s.within(scan.FileStarts(part.Table))
	}
	part.Of = func(rows scan.Source) scan.Source { return scan.Part(rows, from, to) }
	return d.Scatter(ctx, side, part, opt)
}

// within returns the positions of a split in the table of all files, [from, to).
func (s *Split) within(starts []uint64) (from, to uint64) {
	from, to = starts[s.First]+s.From, math.MaxUint64
	switch {
	case s.To > 0:
		to = starts[s.Last] + s.To
	case s.Last+1 < len(starts):
		to = starts[s.Last+1]
	}
	return from, to
}

// writeJoined writes the states of the rows of a node's partitions.
func (t *Tasks) writeJoined(
	ctx context.Context, s *seal, node int, opt partial.Options,
) (stats engine.Stats, err error) {
	of := ranges(t.Plan.Exchange.Partitions, t.Plan.Combines)[node]
	p, err := t.openPacks(ctx, s.Attempts, of)
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	d, err := t.divide(ctx)
	if err != nil {
		return stats, err
	}
	defer d.close()
	g := d.GroupingOf(ctx, t.sent(p))
	defer g.Close()
	if err := t.checkQuery(g.Query); err != nil {
		return stats, err
	}
	return g.Partial(ctx, opt)
}

// writeRows writes the rows that the rows of partitions come to, to the directory of the attempt. It returns the
// bytes of the blobs.
func (t *Tasks) writeRows(ctx context.Context, m *manifest, p *workdir.Packs, _ Range) (read int64, err error) {
	d, err := t.divide(ctx)
	if err != nil {
		return 0, err
	}
	defer d.close()
	rows, err := d.RowsOf(ctx, t.sent(p))
	if err != nil {
		return 0, err
	}
	if err := t.writePart(ctx, m, d.Finished(), rows); err != nil {
		return 0, err
	}
	for _, blobs := range p.Sources {
		for _, b := range blobs {
			read += b.(*workdir.Packed).Bytes
		}
	}
	m.Rows = m.Groups
	return read, nil
}

// sent returns the rows of some partitions, by side.
func (t *Tasks) sent(p *workdir.Packs) [][]partial.RowBlob {
	list := make([][]partial.RowBlob, len(t.Plan.Exchange.Sides))
	for i, blobs := range p.Sources {
		side := t.Plan.Exchange.sideOf(t.Plan.Splits[i].Input)
		for _, of := range blobs {
			b := of.(*workdir.Packed)
			list[side] = append(list[side], partial.RowBlob{
				Blob: b, Run: p.Runs[i], Partition: b.Number, Partitions: t.Plan.Exchange.Partitions, Bytes: b.Bytes,
			})
		}
	}
	return list
}
