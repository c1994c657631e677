package scan

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// storedColumn says how a column's values are stored, and so how values in statistics, indexes and
// dictionaries are to be taken: as plain values of the column's physical type.
type storedColumn struct {
	leaf     *schema.Column
	typ      arrow.DataType
	family   family
	days     bool // dates stored as days, delivered as milliseconds
	compared bool // whether values can be compared at all
}

// storedColumn returns how a column is stored that is not nested.
func (p *parquetFile) storedColumn(c int) (s storedColumn) {
	s.leaf, s.typ = p.meta.Schema.Column(p.leaves[c]), p.fields.Field(c).Type
	if !isFlat(s.leaf) {
		return s
	}
	s.family, _, _ = familyOf(s.typ)
	s.days = s.typ.ID() == arrow.DATE64 && s.leaf.PhysicalType() == parquet.Types.Int32
	switch s.leaf.PhysicalType() {
	case parquet.Types.Boolean:
		s.compared = s.family == boolFamily
	case parquet.Types.Int32, parquet.Types.Int64:
		s.compared = s.family == numberFamily || s.family >= momentFamily && s.family <= durationFamily
	case parquet.Types.Float, parquet.Types.Double:
		s.compared = s.family == floatFamily
	case parquet.Types.ByteArray, parquet.Types.FixedLenByteArray:
		s.compared = s.family == bytesFamily || arrow.IsDecimal(s.typ.ID())
	}
	return s
}

// ordered says whether the order by which a file's writer took smallest and largest values is the
// order of their values. A number in bytes of any length may have been cut as if it were text.
func (s *storedColumn) ordered() bool {
	if s.leaf.PhysicalType() == parquet.Types.ByteArray && s.family != bytesFamily {
		return false
	}
	want := schema.SortSIGNED
	if s.family == bytesFamily || arrow.IsUnsignedInteger(s.typ.ID()) {
		want = schema.SortUNSIGNED
	}
	return s.leaf.SortOrder() == want
}

// trustedOld says whether the old statistics of a column, taken before the format had orders, are right.
func (s *storedColumn) trustedOld() bool {
	switch s.leaf.PhysicalType() {
	case parquet.Types.ByteArray, parquet.Types.FixedLenByteArray:
		return false
	}
	return s.leaf.SortOrder() == schema.SortSIGNED
}

// value takes a plain value. It returns nil for one that is not to be compared: NaN, or of a wrong length.
func (s *storedColumn) value(raw []byte) *value {
	v := value{family: s.family}
	switch s.leaf.PhysicalType() {
	case parquet.Types.Boolean:
		if len(raw) != 1 || raw[0] > 1 {
			return nil
		}
		v.integer = int64(raw[0])
	case parquet.Types.Int32:
		if len(raw) != 4 {
			return nil
		}
		n := binary.LittleEndian.Uint32(raw)
		v.integer = int64(int32(n))
		if arrow.IsUnsignedInteger(s.typ.ID()) {
			v.integer = int64(n)
		}
	case parquet.Types.Int64:
		if len(raw) != 8 {
			return nil
		}
		n := binary.LittleEndian.Uint64(raw)
		v.integer = int64(n)
		if v.integer < 0 && s.typ.ID() == arrow.UINT64 {
			v.wide = new(big.Int).SetUint64(n)
		}
	case parquet.Types.Float:
		if len(raw) != 4 {
			return nil
		}
		v.float = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	case parquet.Types.Double:
		if len(raw) != 8 {
			return nil
		}
		v.float = math.Float64frombits(binary.LittleEndian.Uint64(raw))
	default:
		if s.leaf.PhysicalType() == parquet.Types.FixedLenByteArray && len(raw) != s.leaf.TypeLength() {
			return nil
		}
		if s.family == bytesFamily {
			v.bytes = raw
		} else if v = bigValue(s.family, wholeNumber(raw)); len(raw) == 0 {
			return nil
		}
	}
	if s.days {
		v.integer *= dayMillis
	}
	if v.isNaN() {
		return nil
	}
	return &v
}

const dayMillis = 24 * 3600 * 1000

// wholeNumber reads a number in two's complement, its highest byte first.
func wholeNumber(raw []byte) *big.Int {
	n := new(big.Int).SetBytes(raw)
	if len(raw) > 0 && raw[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
	}
	return n
}

// groupBounds returns what the statistics of a row group say of a column. Of one that is nested, that is nothing.
func (p *parquetFile) groupBounds(group, c int) bounds {
	if p.leaves[c] < 0 {
		return bounds{}
	}
	stored := p.storedColumn(c)
	return p.boundsOf(&stored, &p.groups[group], p.chunk(group, c))
}

// boundsOf returns what the statistics of a chunk say of it.
func (p *parquetFile) boundsOf(stored *storedColumn, group *rowGroup, chunk *columnChunk) (b bounds) {
	b.noNulls = stored.leaf.MaxDefinitionLevel() == 0
	stats := p.trusted(stored.leaf, chunk)
	if stats == nil {
		return b
	}
	b.noNulls = b.noNulls || stats.nulls == 0
	b.allNulls = stats.nulls == group.rows
	switch typed := stored.leaf.ColumnOrder() == parquet.ColumnOrders.TypeDefinedOrder; {
	case !stored.compared:
	case typed && stored.ordered() && stats.min != nil && stats.max != nil:
		b.low, b.high = stored.value(stats.min), stored.value(stats.max)
		said := stats.minExact != 0 && stats.maxExact != 0
		b.exact = said && stats.minExact == compactTrue && stats.maxExact == compactTrue || !said && stored.family != bytesFamily
	case stored.trustedOld() && stats.oldMin != nil && stats.oldMax != nil:
		b.low, b.high = stored.value(stats.oldMin), stored.value(stats.oldMax)
	}
	b.check()
	return b
}

// A dictionary page is read to see that no value suits if it is of dictionaryBytesFew, or of a quarter of
// its chunk and dictionaryBytesMax at most: a larger one has most values, and costs what it may save.
const (
	dictionaryBytesFew = 4 << 10
	dictionaryBytesMax = 1 << 20
)

// dictionaryBytes returns how many bytes of a chunk are its dictionary page: 0 where that is too large, or
// where it is not known that it holds every value of the chunk.
func dictionaryBytes(chunk *columnChunk) int64 {
	if !chunk.listed || !chunk.allDictionary() {
		return 0
	}
	size := chunk.dataStart - chunk.start()
	if size > max(dictionaryBytesFew, min(dictionaryBytesMax, chunk.bytes/4)) {
		return 0
	}
	return max(size, 0)
}
