package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	reference "github.com/klauspost/compress/snappy"

	"github.com/mpga/mpga/internal/snappy"
	"github.com/mpga/mpga/kernels"
)

// Plain is a kind of bytes that are compressed.
type Plain struct {
	Name string
	draw func(rng *rand.Rand, b []byte) []byte // appends some bytes
}

// Plains are the kinds that are measured.
var Plains = []Plain{
	{"int64 below 1e6", func(rng *rand.Rand, b []byte) []byte {
		return binary.LittleEndian.AppendUint64(b, rng.Uint64N(1e6))
	}},
	{"doubles of cents", func(rng *rand.Rand, b []byte) []byte {
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(rng.IntN(1e7))/100))
	}},
	{"random bytes", func(rng *rand.Rand, b []byte) []byte {
		return binary.LittleEndian.AppendUint64(b, rng.Uint64())
	}},
	{"addresses of pages", func(rng *rand.Rand, b []byte) []byte {
		return fmt.Appendf(b, "http://example-%d.org/catalogue/item?id=%d&page=%d",
			rng.IntN(50), rng.IntN(1e6), rng.IntN(20))
	}},
}

// DecompressResult is what the decompression of some blocks took.
type DecompressResult struct {
	Blocks      int64
	Plain       int64   // bytes, in blocks of one size
	Ratio       float64 // of these to the compressed bytes
	Nanos       int64   // on the device, median
	ThreadNanos int64   // of one thread of the CPU, for all of the bytes
}

// drawnBytes are drawn of a kind of bytes; more bytes are these again.
const drawnBytes = 32 << 20

// Decompress times the decompression of about so many bytes, in blocks of the snappy format of
// blockBytes, after a run whose bytes it checks.
func (r *Runner) Decompress(p Plain, total, blockBytes int64) (res DecompressResult, err error) {
	plain := make([]byte, 0, drawnBytes+blockBytes)
	rng := rand.New(rand.NewPCG(5, 1))
	for int64(len(plain)) < max(drawnBytes, blockBytes) {
		plain = p.draw(rng, plain)
	}
	blocks := make([][]byte, max(drawnBytes/blockBytes, 1))
	for i := range blocks {
		blocks[i] = snappy.Encode(nil, plain[int64(i)*blockBytes:][:blockBytes])
	}
	var packed, list []byte
	chunks := int64(0)
	for res.Plain < total {
		block := blocks[res.Blocks%int64(len(blocks))]
		_, head := binary.Uvarint(block)
		list = kernels.AppendListed(list, kernels.Block{
			From: uint64(len(packed)), Bytes: uint32(len(block) - head),
			To: uint64(res.Plain), Size: uint32(blockBytes), FirstChunk: uint32(chunks),
		})
		packed = append(packed, block[head:]...)
		res.Plain += blockBytes
		res.Blocks++
		chunks += kernels.BlockChunks(blockBytes)
	}
	if res.ThreadNanos, err = decompressOnCPU(blocks, res.Blocks, blockBytes); err != nil {
		return res, err
	}
	res.Ratio = float64(res.Plain) / float64(len(packed))

	before := len(r.buffers)
	defer func() { err = errors.Join(err, r.freeFrom(before)) }()
	b := &kernels.Blocks{PackedBytes: int64(len(packed)), PlainBytes: res.Plain, Count: res.Blocks, Chunks: chunks}
	if b.Packed, err = r.put(append(packed, make([]byte, kernels.PackedPad)...)); err != nil {
		return res, err
	}
	if b.List, err = r.put(list); err != nil {
		return res, err
	}
	if b.Plain, err = r.alloc(res.Plain); err != nil {
		return res, err
	}
	if b.Status, err = r.alloc(4 * res.Blocks); err != nil {
		return res, err
	}
	if b.Scratch, err = r.alloc(b.ScratchBytes()); err != nil {
		return res, err
	}
	if res.Nanos, err = r.median(func() error { return r.stream.DecompressSnappy(b) }); err != nil {
		return res, err
	}
	return res, r.checkBytes(b.Plain, b.PlainBytes, plain[:int64(len(blocks))*blockBytes])
}

// decompressOnCPU returns what a thread takes for so many of some blocks, the least of three times.
func decompressOnCPU(blocks [][]byte, count, blockBytes int64) (int64, error) {
	out := make([]byte, blockBytes)
	var took []time.Duration
	for range 3 {
		start := time.Now()
		for _, block := range blocks {
			if _, err := reference.Decode(out, block); err != nil {
				return 0, err
			}
		}
		took = append(took, time.Since(start))
	}
	return int64(slices.Min(took)) * count / int64(len(blocks)), nil
}
