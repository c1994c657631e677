package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/testknobs"
)

// halves is a row map that makes two batches of each, and no batch of none.
type halves struct {
	users, maps *atomic.Int64 // of this map; that live
	rows        arrow.RecordBatch
	from        int64
	fail        error
}

func (h *halves) Begin(_ context.Context, batch arrow.RecordBatch) error {
	if h.users.Add(1) != 1 {
		return errors.New("two goroutines use one map")
	}
	if h.fail != nil {
		h.users.Add(-1)
		return h.fail
	}
	h.rows, h.from = batch, 0
	return nil
}

func (h *halves) Next(context.Context) (arrow.RecordBatch, error) {
	n := h.rows.NumRows()
	if h.from == n {
		h.users.Add(-1)
		return nil, nil
	}
	from := h.from
	h.from = n
	if from == 0 && n > 1 {
		h.from = n / 2
	}
	return h.rows.NewSlice(from, h.from), nil
}

func (h *halves) Release() { h.maps.Add(-1) }

// Would catch rows that are lost or doubled between groups and what is made of them, a map that two threads use, maps
// that are not released, also where one fails.
func TestGroupsMapped(t *testing.T) {
	seed := newSeed(t)
	queries := 60
	if testing.Short() {
		queries = invariants.Fewer(15, 6)
	}
	for i := range queries {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		schema, batches := grouptest.RandomTable(rng, grouptest.RandomRows(rng))
		q := grouptest.RandomQuery(rng, schema)
		want, err := grouptest.Oracle(schema, batches, q)
		if err != nil {
			continue
		}
		var fail error
		if rng.IntN(4) == 0 {
			fail = errors.New("boom")
		}
		opt := engine.Options{Threads: 1 + rng.IntN(4)}
		knobs := testknobs.Engine{ResultRows: []int{0, 3, 1000}[rng.IntN(3)], RadixBits: rng.IntN(5)}
		if rng.IntN(2) == 0 {
			opt.Device, knobs.Device = randomDevice(rng)
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			eng := openChecked(t, testknobs.With(opt, knobs))
			var maps atomic.Int64
			src := scan.Batches(schema, batches)
			bound, err := rowdata.Bind(q, schema, src.Stats().Columns)
			if err != nil {
				t.Fatal(err)
			}
			result, err := eng.Statement(t.Context()).Groups(t.Context(), src, q, engine.GroupsOptions{Schema: bound.Schema, NewMap: func() engine.RowMap {
				maps.Add(1)
				return &halves{users: new(atomic.Int64), maps: &maps, fail: fail}
			}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := grouptest.ReadAll(result, len(q.Keys))
			switch {
			case fail != nil && len(want.Cells) > 0:
				if !errors.Is(err, fail) {
					t.Errorf("error %v, want %v", err, fail)
				}
			case err != nil:
				t.Error(err)
			default:
				if err := grouptest.Equal(want, got); err != nil {
					t.Errorf("%v: %v", q, err)
				}
			}
			if err := eng.Close(); err != nil || maps.Load() != 0 {
				t.Errorf("%d maps are not released, error %v", maps.Load(), err)
			}
		})
	}
}
