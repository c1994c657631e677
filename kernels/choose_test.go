package kernels

import "testing"

var h100 = Properties{ComputeCapability: 90, Multiprocessors: 132, SharedBytesMax: 232448}

// Would catch a plan whose tables do not hold what it was made for.
func TestChoose(t *testing.T) {
	u32 := Shape{KeyBytes: 4, Columns: []ColumnType{Uint32}, Folds: []Fold{{Op: Sum64, Column: 0, Other: -1}}}
	wide := allFolds(64)
	const rows = 1e8
	for _, c := range []struct {
		shape  *Shape
		groups int64
		want   Kernel
	}{
		{&u32, 1, KernelShared},
		{&u32, 1e4, KernelShared},
		{&u32, 15_000, KernelShared},
		{&u32, 2e4, KernelShared},
		{&u32, 1e5, KernelScattered},
		{&u32, 1e8, KernelScattered},
		{&u32, 0, KernelScattered},
		{&wide, 100, KernelShared},
		{&wide, 1e4, KernelScattered},
	} {
		p := Choose(c.shape, Estimate{Rows: rows, Groups: c.groups}, h100)
		if p.Kernel != c.want || p.Reason == "" {
			t.Errorf("%d groups, keys of %d B: %+v, want %s", c.groups, c.shape.KeyBytes, p, c.want)
		}
		groups := c.groups
		if groups == 0 {
			groups = rows
		}
		inBlocks := int64(0)
		if p.Kernel == KernelScattered {
			inBlocks = sharedSlotsMax(c.shape, programFor(c.shape, &noBitmaps), h100) << p.RadixBits
		}
		if p.Slots+inBlocks < groups {
			t.Errorf("%d groups: %d slots in device memory, %d in blocks", groups, p.Slots, inBlocks)
		}
	}
}

// Would catch a block that asks for more shared memory than it may have.
func TestBlockTablesFit(t *testing.T) {
	for _, shared := range []int{64 << 10, 99 << 10, 163 << 10, 227 << 10} {
		device := Properties{Multiprocessors: 10, SharedBytesMax: shared}
		for _, keyBytes := range []int{4, 8, 16, 64} {
			shape := allFolds(keyBytes)
			p := programFor(&shape, &noBitmaps)
			for _, blocks := range []int{1, 2, 4} {
				for _, wanted := range []int64{1, 100, 1e6} {
					limit := blockSharedBytes(device, blocks)
					b := makeBlockTable(&shape, p, wanted, limit, 0, copiesBitsMax)
					if b.sharedBytes > shared || b.slots > 4 && b.sharedBytes > limit || b.slots%4 != 0 {
						t.Errorf("%d B of shared memory, %d blocks, keys of %d B: %+v", shared, blocks, keyBytes, b)
					}
				}
			}
		}
	}
}
