package kernels

// Of params_decompress.h.
const (
	chunksThreads     = 512
	decompressThreads = 64
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
		launchWith(o, "decompress_snappy", int(ceilDiv(32*b.Chunks, decompressThreads)), decompressThreads, 0, param)
	}
	return o.end("decompression of %d blocks", b.Count)
}
