package kernels

import "fmt"

// Of params_decompress.h.
const (
	chunksThreads     = 512
	decompressThreads = 256
)

// decompressLaunch is DecompressLaunch.
type decompressLaunch struct {
	packed      uint64
	packedBytes uint64
	plain       uint64
	plainBytes  uint64
	blocks      uint64
	count       uint64
	chunks      uint64
	numChunks   uint64
	status      uint64
}

func (q operators) DecompressSnappy(b *Blocks) error {
	if b.Count == 0 {
		return nil
	}
	o := &operation{queue: q.queue}
	param := &decompressLaunch{
		packed:      o.address(b.Packed, b.PackedBytes+PackedPad),
		packedBytes: uint64(b.PackedBytes),
		plain:       o.address(b.Plain, b.PlainBytes),
		plainBytes:  uint64(b.PlainBytes),
		blocks:      o.address(b.List, b.Count*BlockBytes),
		count:       uint64(b.Count),
		chunks:      o.address(b.Scratch, b.ScratchBytes()),
		numChunks:   uint64(b.Chunks),
		status:      o.address(b.Status, 4*b.Count),
	}
	if b.Chunks > 0 {
		o.fill(param.chunks, b.ScratchBytes(), 0xFF) // chunks of no block
	}
	launchWith(o, "snappy_chunks", int(b.Count), chunksThreads, 0, param)
	if b.Chunks > 0 {
		lanes := lanesFor(b.Chunks, q.queue.deviceProperties().Multiprocessors)
		kernel, grid := fmt.Sprintf("decompress_snappy_%d", lanes), int(ceilDiv(b.Chunks*lanes, decompressThreads))
		launchWith(o, kernel, grid, decompressThreads, 0, param)
	}
	return o.end("decompression of %d blocks", b.Count)
}

// lanesFor returns how many lanes decompress a chunk. Few lanes waste less where elements are short,
// which they are; more lanes decompress a chunk sooner, which counts where there are few. On an H200,
// of 64 KiB of integers: 8, 16 and 32 lanes take 0.87, 1.25 and 1.45 us a chunk where there are
// many, and 11.5, 8.5 and 5.8 ms where there are 2,048.
func lanesFor(chunks int64, sms int) int64 {
	switch perSM := chunks / int64(max(sms, 1)); {
	case perSM < 44:
		return 32
	case perSM < 70:
		return 16
	}
	return 8
}
