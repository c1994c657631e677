//go:build !amd64 || portable

package parquet

import "github.com/klauspost/compress/snappy"

// decodeSnappy decodes a block to out, which has as many bytes as the block gives.
func decodeSnappy(out, packed []byte) error {
	_, err := snappy.Decode(out, packed)
	return err
}
