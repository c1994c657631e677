package partial

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/internal/finalize"
	"github.com/mpga/mpga/internal/rowdata"
)

// Regroup says which of the groups that are merged stay, and by which of their keys these are grouped anew. All folds
// merge, so that the aggregates of the coarser groups are exact.
type Regroup struct {
	Keys []int // numbers of keys of the query, ascending; none is one group

	// Keep says of each row of a batch, which is a group's keys, whether the group stays. Several goroutines may call it
	// at once; it does not keep the batch. The default, nil, keeps all.
	Keep func(ctx context.Context, keys arrow.RecordBatch) ([]bool, error)
}

// Bind returns the bound of the coarser groups, by the bound of the groups.
func (g *Regroup) Bind(b *rowdata.Bound) (*rowdata.Bound, error) {
	q := b.Query
	q.Keys = nil
	for _, k := range g.Keys {
		q.Keys = append(q.Keys, b.Query.Keys[k])
	}
	fields := make([]arrow.Field, len(b.Columns))
	for i := range b.Columns {
		c := &b.Columns[i]
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: true}
	}
	to, err := rowdata.BindCanonical(q, arrow.NewSchema(fields, nil), nil)
	if err == nil && !slices.Equal(layoutOf(to).Folds, layoutOf(b).Folds) {
		err = fmt.Errorf("%w: groups by fewer keys have other states", ErrMismatch)
	}
	return to, err
}

// keeper leaves groups of a tile out.
type keeper struct {
	by   func(context.Context, arrow.RecordBatch) ([]bool, error) // nil keeps all
	stay []bool                                                   // by group of the tile; nil of all
	bufs [][]uint64                                               // keys, then states by fold; scratch
}

// choose asks which groups from to to stay.
func (k *keeper) choose(ctx context.Context, keys *finalize.Finalizer, g *cpuagg.Groups, from, to int) error {
	if k.by == nil {
		return nil
	}
	batch, err := keys.Keys(g, from, to)
	if err != nil {
		return err
	}
	defer batch.Release()
	if k.stay, err = k.by(ctx, batch); err == nil && len(k.stay) != to-from {
		err = fmt.Errorf("%d groups are chosen of %d", len(k.stay), to-from)
	}
	return err
}

// leaves says whether a group of the tile is left out.
func (k *keeper) leaves(group int) bool { return k.stay != nil && !k.stay[group] }

// count returns how many of n groups stay.
func (k *keeper) count(n int) (stay int) {
	for i := range n {
		if !k.leaves(i) {
			stay++
		}
	}
	return stay
}

// kept returns the words of the groups that stay, until the next tile: of the states of a fold, or of the keys, whose
// number is -1.
func (k *keeper) kept(words []uint64, width, fold int) []uint64 {
	if k.stay == nil {
		return words
	}
	for len(k.bufs) <= fold+1 {
		k.bufs = append(k.bufs, nil)
	}
	buf := k.bufs[fold+1][:0]
	for i, stays := range k.stay {
		if stays {
			buf = append(buf, words[i*width:(i+1)*width]...)
		}
	}
	k.bufs[fold+1] = buf
	return buf
}
