package parquet

import (
	"encoding/binary"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// decodeLZ4 decompresses a page of the codec LZ4, which the format has given up, since it never said what is framed
// how: as Hadoop does it, in blocks behind their sizes, decompressed and compressed, of four bytes each; or, as early
// versions of parquet-cpp wrote it, as one block alone. out must be as long as the page.
func decodeLZ4(out, packed []byte) error {
	if decodeHadoopLZ4(out, packed) {
		return nil
	}
	n, err := lz4.UncompressBlock(packed, out)
	if err != nil {
		return err
	}
	if n != len(out) {
		return fmt.Errorf("%d B, where %d are said to be", n, len(out))
	}
	return nil
}

// decodeHadoopLZ4 reports whether the bytes are blocks of Hadoop's that have as many bytes as out.
func decodeHadoopLZ4(out, packed []byte) bool {
	const sizes = 8
	for len(out) > 0 {
		if len(packed) < sizes {
			return false
		}
		plain, size := binary.BigEndian.Uint32(packed), binary.BigEndian.Uint32(packed[sizes/2:])
		packed = packed[sizes:]
		if uint64(plain) > uint64(len(out)) || uint64(size) > uint64(len(packed)) {
			return false
		}
		n, err := lz4.UncompressBlock(packed[:size], out[:plain])
		if err != nil || n != int(plain) || n == 0 {
			return false
		}
		out, packed = out[plain:], packed[size:]
	}
	return len(packed) == 0
}
