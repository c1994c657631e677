//go:build !amd64 || portable

package parquet

import "github.com/klauspost/compress/snappy"

// decodeSnappy writes what a block stands for to out, which has as many bytes.
func decodeSnappy(out, packed []byte) error {
	_, err := snappy.Decode(out, packed)
	return err
}
