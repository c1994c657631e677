package parquet

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/rowset"
)

// boolValues decodes truth values: bits in a page, or runs of bits.
type boolValues struct {
	mem  memory.Allocator
	rows int  // of the batch
	bits runs // of the current page
	out  *memory.Buffer
}

func (v *boolValues) dictionary(int, []byte) error {
	return fmt.Errorf("a dictionary page of %s", parquet.Types.Boolean)
}

func (v *boolValues) page(encoding parquet.Encoding, data []byte) error {
	switch encoding {
	case parquet.Encodings.Plain:
		v.bits = runs{width: 1, packed: data, left: 8 * len(data)}
	case parquet.Encodings.RLE:
		if len(data) == 0 { // right only where all rows are NULL; otherwise read fails
			v.bits = newRuns(nil, 1)
			return nil
		}
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
			return fmt.Errorf("a page with runs of bits in %d B", len(data))
		}
		v.bits = newRuns(data[4:4+binary.LittleEndian.Uint32(data)], 1)
	default:
		return errEncoding(encoding)
	}
	return nil
}

func (v *boolValues) begin(rows int, _ *rowset.Set) {
	v.rows = rows
	v.out = memory.NewResizableBuffer(v.mem)
	v.out.Resize((rows + 7) / 8)
}

func (v *boolValues) read(from, rows, values int, validity []byte) error {
	out := v.out.Bytes()
	if _, err := v.bits.bits(out, from, values); err != nil {
		return fmt.Errorf("bits of a page: %w", err)
	}
	for row := rows - 1; row >= values && values > 0; row-- { // as spread does, bit by bit
		bitutil.SetBitTo(out, from+row, bitutil.BitIsSet(out, from+values-1))
		if bitutil.BitIsSet(validity, from+row) {
			values--
		}
	}
	return nil
}

func (v *boolValues) finish(validity *memory.Buffer, nulls int) arrow.Array {
	defer releaseBuffers(&v.out)
	return delivery.NewArray(arrow.FixedWidthTypes.Boolean, v.rows, nulls, validity, v.out)
}

func (v *boolValues) close() { releaseBuffers(&v.out) }
