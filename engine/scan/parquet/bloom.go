package parquet

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// bloomFilter is a split-block Bloom filter in a file. A value is looked up by reading the only
// block that can have it: arrow-go reads the whole filter, which may be larger than the column.
type bloomFilter struct {
	file   io.ReaderAt
	at     int64  // offset of the first block
	blocks uint64 // of bloomBlockBytes each
	asked  int64  // bytes read so far
}

const (
	bloomBlockBytes = 32

	// bloomHeaderBytes is more than a header takes: a number, and three unions of an empty
	// structure.
	bloomHeaderBytes = 64

	bloomBytesMax = 128 << 20 // the limit of the format's implementations
)

// bloomSalts are the odd numbers by which the format hashes a value to a bit of each word of a
// block.
var bloomSalts = [bloomBlockBytes / 4]uint32{
	0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
}

var bloomHash = metadata.NewBloomFilter(bloomBlockBytes, bloomBlockBytes, memory.DefaultAllocator).Hasher()

// Field numbers of BloomFilterHeader in parquet.thrift. In each of its unions, 1 is the only
// choice.
const fieldBloomBytes, fieldBloomAlgorithm, fieldBloomHash, fieldBloomCompression = 1, 2, 3, 4

// openBloom reads the header of a chunk's Bloom filter.
func openBloom(file io.ReaderAt, chunk *columnChunk) (*bloomFilter, error) {
	offset := chunk.bloom
	if offset <= 0 {
		return nil, errors.New("no Bloom filter")
	}
	raw := make([]byte, bloomHeaderBytes)
	n, err := file.ReadAt(raw, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	r := compactReader{data: raw[:n]}
	var fields compactFields
	known := 0
	r.structure(&fields, func(int) {
		r.structure(&compactFields{}, func(choice int) {
			r.structure(&compactFields{}, nil)
			if choice == 1 {
				known++
			}
		})
	})
	size := fields[fieldBloomBytes]
	if r.err != nil || known != fieldBloomCompression-fieldBloomBytes ||
		size < bloomBlockBytes || size > bloomBytesMax || size%bloomBlockBytes != 0 {
		return nil, fmt.Errorf("%w: the header of a Bloom filter of %d B", decode.ErrCorrupt, size)
	}
	if said := chunk.bloomBytes; said != 0 && said != int64(r.at)+size {
		return nil, fmt.Errorf("%w: a Bloom filter of %d B, which the footer says has %d B", decode.ErrCorrupt,
			int64(r.at)+size, said)
	}
	blocks := uint64(size / bloomBlockBytes)
	return &bloomFilter{file: file, at: offset + int64(r.at), blocks: blocks, asked: bloomHeaderBytes}, nil
}

// mayHold says whether the filter may hold a plain value.
func (b *bloomFilter) mayHold(plain []byte) (bool, error) {
	hash := bloomHash.Sum64(plain)
	var block [bloomBlockBytes]byte
	at := int64(hash >> 32 * b.blocks >> 32 * bloomBlockBytes)
	if n, err := b.file.ReadAt(block[:], b.at+at); n < len(block) {
		return true, fmt.Errorf("a Bloom filter at offset %d: %w", b.at, err)
	}
	b.asked += bloomBlockBytes
	for i, salt := range bloomSalts {
		if binary.LittleEndian.Uint32(block[4*i:])>>(uint32(hash)*salt>>27)&1 == 0 {
			return false, nil
		}
	}
	return true, nil
}

// plain returns the plain values as which a column may store a value; ok is false where they are
// not known.
func (s *storedColumn) plain(v *predicate.Value) (plain [][]byte, ok bool) {
	if v.Wide != nil && s.family != predicate.BytesFamily || s.days {
		return nil, false
	}
	switch s.leaf.PhysicalType() {
	case parquet.Types.Int32:
		if v.Integer != int64(int32(v.Integer)) && v.Integer != int64(uint32(v.Integer)) {
			return nil, false
		}
		return [][]byte{binary.LittleEndian.AppendUint32(nil, uint32(v.Integer))}, true
	case parquet.Types.Int64:
		return [][]byte{binary.LittleEndian.AppendUint64(nil, uint64(v.Integer))}, true
	case parquet.Types.Float:
		narrow := float32(v.Float)
		if narrow == 0 {
			return [][]byte{{0, 0, 0, 0}, {0, 0, 0, 0x80}}, v.Float == 0
		}
		return [][]byte{binary.LittleEndian.AppendUint32(nil, math.Float32bits(narrow))}, float64(narrow) == v.Float
	case parquet.Types.Double:
		if v.Float == 0 {
			return [][]byte{{7: 0}, {7: 0x80}}, true
		}
		return [][]byte{binary.LittleEndian.AppendUint64(nil, math.Float64bits(v.Float))}, true
	case parquet.Types.ByteArray, parquet.Types.FixedLenByteArray:
		if isUUID(s.leaf) {
			uuid, ok := plainUUID(v.Bytes)
			return [][]byte{uuid}, ok
		}
		width := cmp.Or(s.plainBytes(), len(v.Bytes))
		return [][]byte{v.Bytes}, s.family == predicate.BytesFamily && len(v.Bytes) == width
	}
	return nil, false
}
