package device

import (
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/internal/rowdata"
)

// planFetched sets what numbers the strings of a key that come from the build side of a join, and returns how many
// these are at most: each gets a number before the first tile is decoded. It returns 0 of other keys.
func (d *decoder) planFetched(column int, numbers *encode.Interner) (strings int64) {
	if d.program == nil {
		return 0
	}
	n := &d.program.Nodes[d.program.Columns[column]]
	if n.Op != rowcode.Fetch || !d.program.Lookups[n.Low].IsText(int(n.High)) {
		return 0
	}
	for i, of := range d.of.Code.Fetched {
		if !of.Words && of.Column == int(n.High) && d.of.Code.Lookups[of.Lookup] == d.program.Lookups[n.Low] {
			d.fetched[i] = numbers
		}
	}
	from := d.program.Lookups[n.Low]
	if strings = from.Rows(); strings*stringsRatio > d.rows { // many rows may have the names of few categories
		strings = distinctStrings(from, int(n.High), d.rows/stringsRatio)
	}
	return strings
}

// distinctStrings returns how many strings a column of a lookup has that differ, or, where they are more than a number
// of them, any larger number.
func distinctStrings(of rowcode.Lookup, column int, most int64) int64 {
	seen := map[string]struct{}{}
	const step = 16 << 10 // rows
	for first := int64(0); first < of.Rows() && int64(len(seen)) <= most; first += step {
		err := of.Strings(column, first, int(min(step, of.Rows()-first)), func(_ int, s []byte) {
			if _, known := seen[string(s)]; !known {
				seen[string(s)] = struct{}{}
			}
		})
		if err != nil {
			return of.Rows()
		}
	}
	return int64(len(seen))
}

// joins reports whether devices make the pairs of a join.
func (d *decoder) joins() bool { return d.of.Code != nil && len(d.of.Code.Lookups) > 0 }

// numberFetched is stream.Decoding.NumberFetched. Strings that nobody needs are any number.
func (d *decoder) numberFetched(fetched int, strings [][]byte, numbers []uint32) error {
	in := d.fetched[fetched]
	if in == nil {
		return nil
	}
	values, codes := make([]rowdata.Bytes2, len(strings)), make([]uint64, len(strings))
	for i, s := range strings {
		values[i] = rowdata.ToBytes2(s)
	}
	if err := in.Numbers(codes, values, 0); err != nil {
		return err
	}
	for i, code := range codes {
		numbers[i] = uint32(code)
	}
	return nil
}
