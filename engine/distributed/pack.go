package distributed

import (
	"context"

	"github.com/mpga/mpga/engine/internal/workdir"
)

// openPacks opens partitions of the packs of attempts.
func (t *Tasks) openPacks(ctx context.Context, attempts []manifest, of Range) (*workdir.Packs, error) {
	list := make([]workdir.Pack, len(attempts))
	for i := range attempts {
		m := &attempts[i]
		list[i] = workdir.Pack{Name: m.name() + packSuffix, Run: m.run(), Bytes: m.Bytes, Blobs: m.Blobs}
	}
	return t.work.OpenPacks(ctx, t.Engine.CreateTemp, list, of.First, of.Last)
}
