package logical

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// sampleBits are the bits of a row's hash that a share is compared with: a double holds them.
const sampleBits = 53

// sample leaves a sample of the rows of a scope. Each row has a hash of its place and of the seed: a share of the rows
// are those with the smallest values that a hash may have, a number of rows those with the smallest of all.
func (b *binder) sample(ctx context.Context, of *sql.Sample, r *scope) error {
	seed := of.Seed
	if !of.Seeded {
		seed = rand.Int64()
	}
	number := &expr.Expr{Op: expr.OpWindow, Name: "row_number", Value: expr.Window{}, At: of.At}
	w := &windows{b: b, ctx: ctx, node: r.node, made: map[string]*expr.Expr{}}
	numbered, err := w.exprs([]*expr.Expr{number})
	if err != nil {
		return err
	}
	hash := expr.Call("hash", numbered[0], expr.Constant(seed))
	columns := r.node.Columns()
	var n Node
	if of.IsShare && of.Method != sql.ReservoirSample {
		bits := expr.Cast(expr.Call(">>", hash, expr.Constant(int64(64-sampleBits))), expr.Type{ID: expr.Int64})
		most := expr.Constant(int64(of.Share / 100 * (1 << sampleBits)))
		n = &Filter{In: w.node, Condition: expr.Call("<", bits, most)}
	} else {
		key := Column{ID: b.ids.New(), Name: "hash"}
		wide, err := NewProject(ctx, w.node, append(slices.Clone(columns), key), append(exprsOf(columns), hash))
		if err != nil {
			return err
		}
		n = &Limit{
			In: &Sort{wide, []Key{{Column: key.ID}}}, Limited: !of.IsShare, Limit: of.Rows,
			IsShare: of.IsShare, Share: of.Share,
		}
	}
	r.node, err = NewProject(ctx, n, columns, exprsOf(columns))
	return err
}
