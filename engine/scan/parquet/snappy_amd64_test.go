//go:build !portable

package parquet

func init() {
	for _, v := range []struct {
		name string
		has  bool
		wide bool
	}{{"AVX2", hasSnappyAssembly, false}, {"AVX-512", hasSnappyAssembly && hasSnappyWide, true}} {
		if v.has {
			snappyDecoders = append(snappyDecoders, snappyDecoder{v.name, func(out, packed []byte) error {
				return decodeSnappyGeneric(out, snappyBody(packed), func(out, packed []byte, to, from int) (int, int) {
					return snappyElementsOf(out, packed, to, from, v.wide)
				})
			}})
		}
	}
}
