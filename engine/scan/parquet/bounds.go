package parquet

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// storedColumn says how a column stores its values. Statistics, indexes and dictionaries have plain
// values of the column's physical type.
type storedColumn struct {
	leaf     *schema.Column
	typ      arrow.DataType // that is delivered
	family   predicate.Family
	days     bool // dates are stored as days, and delivered as milliseconds
	compared bool // stored values can be compared with the values of filters
}

// storedColumn returns how a column is stored; of a nested column, that it cannot be compared.
func (p *File) storedColumn(c int) (s storedColumn) {
	if p.leaves[c] < 0 {
		return s
	}
	s.leaf, s.typ = p.meta.Schema.Column(p.leaves[c]), p.flat.Schema.Field(c).Type
	if !isFlat(s.leaf) {
		return s
	}
	s.family, _, _ = predicate.FamilyOf(s.typ)
	s.days = s.typ.ID() == arrow.DATE64 && s.leaf.PhysicalType() == parquet.Types.Int32
	switch s.leaf.PhysicalType() {
	case parquet.Types.Boolean:
		s.compared = s.family == predicate.BoolFamily
	case parquet.Types.Int32, parquet.Types.Int64:
		s.compared = s.family == predicate.NumberFamily ||
			s.family >= predicate.MomentFamily && s.family <= predicate.DurationFamily
	case parquet.Types.Float, parquet.Types.Double:
		s.compared = s.family == predicate.FloatFamily
	case parquet.Types.ByteArray, parquet.Types.FixedLenByteArray:
		s.compared = s.family == predicate.BytesFamily || arrow.IsDecimal(s.typ.ID())
	}
	return s
}

// ordered says whether a writer finds the smallest and the largest value by the order of the
// values. A number in bytes of any length may have been cut as if it were text.
func (s *storedColumn) ordered() bool {
	if s.leaf.PhysicalType() == parquet.Types.ByteArray && s.family != predicate.BytesFamily {
		return false
	}
	want := schema.SortSIGNED
	if s.family == predicate.BytesFamily || arrow.IsUnsignedInteger(s.typ.ID()) {
		want = schema.SortUNSIGNED
	}
	return s.leaf.SortOrder() == want
}

// trustedOld says whether statistics from before the format had orders are right.
func (s *storedColumn) trustedOld() bool {
	switch s.leaf.PhysicalType() {
	case parquet.Types.ByteArray, parquet.Types.FixedLenByteArray:
		return false
	}
	return s.leaf.SortOrder() == schema.SortSIGNED
}

// plainBytes returns how many bytes each plain value takes; 0 where a length stands before each.
func (s *storedColumn) plainBytes() int {
	switch t := s.leaf.PhysicalType(); t {
	case parquet.Types.ByteArray:
		return 0
	case parquet.Types.FixedLenByteArray:
		return s.leaf.TypeLength()
	default:
		return t.ByteSize()
	}
}

// value decodes a plain value. It returns nil where that cannot be compared: NaN, or bytes of a
// wrong length.
func (s *storedColumn) value(raw []byte) *predicate.Value {
	v := predicate.Value{Family: s.family}
	if width := s.plainBytes(); len(raw) != width && width != 0 {
		return nil
	}
	switch s.leaf.PhysicalType() {
	case parquet.Types.Boolean:
		if raw[0] > 1 {
			return nil
		}
		v.Integer = int64(raw[0])
	case parquet.Types.Int32:
		n := binary.LittleEndian.Uint32(raw)
		v.Integer = int64(int32(n))
		if arrow.IsUnsignedInteger(s.typ.ID()) {
			v.Integer = int64(n)
		}
	case parquet.Types.Int64:
		n := binary.LittleEndian.Uint64(raw)
		v.Integer = int64(n)
		if v.Integer < 0 && s.typ.ID() == arrow.UINT64 {
			v.Wide = new(big.Int).SetUint64(n)
		}
	case parquet.Types.Float:
		v.Float = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	case parquet.Types.Double:
		v.Float = math.Float64frombits(binary.LittleEndian.Uint64(raw))
	default:
		if isUUID(s.leaf) {
			v.Bytes = textOfUUID(raw)
		} else if s.family == predicate.BytesFamily {
			v.Bytes = raw
		} else if v = predicate.BigValue(s.family, wholeNumber(raw)); len(raw) == 0 {
			return nil
		}
	}
	if s.days {
		v.Integer *= dayMillis
	}
	if v.IsNaN() {
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

// BoundsOf implements decode.Grouped, by the statistics of the footer: nothing is known of a nested column.
func (p *File) BoundsOf(group, c int) predicate.Bounds {
	if p.leaves[c] < 0 {
		return predicate.Bounds{}
	}
	stored := p.storedColumn(c)
	return p.boundsOf(&stored, &p.groups[group], p.chunk(group, c))
}

// boundsOf returns what the statistics of a chunk say of its values.
func (p *File) boundsOf(stored *storedColumn, group *rowGroup, chunk *columnChunk) (b predicate.Bounds) {
	b.NoNulls = stored.leaf.MaxDefinitionLevel() == 0
	stats := p.trusted(stored.leaf, chunk)
	if stats == nil {
		return b
	}
	b.NoNulls = b.NoNulls || stats.nulls == 0
	b.AllNulls = stats.nulls == group.rows
	switch typed := stored.leaf.ColumnOrder() == parquet.ColumnOrders.TypeDefinedOrder; {
	case !stored.compared:
	case typed && stored.ordered() && stats.min != nil && stats.max != nil:
		b.Low, b.High = stored.value(stats.min), stored.value(stats.max)
		said := stats.minExact != 0 && stats.maxExact != 0
		b.Exact = stats.minExact == compactTrue && stats.maxExact == compactTrue ||
			!said && stored.family != predicate.BytesFamily
	case stored.trustedOld() && stats.oldMin != nil && stats.oldMax != nil:
		b.Low, b.High = stored.value(stats.oldMin), stored.value(stats.oldMax)
	}
	b.Check()
	return b
}

// A dictionary page is read to see that no value passes a filter if the page has at most
// dictionaryBytesFew, or at most a quarter of its chunk and dictionaryBytesMax: a larger page has
// most of the values, and costs what it may save.
const (
	dictionaryBytesFew = 4 << 10
	dictionaryBytesMax = 1 << 20
)

// dictionaryBytes returns how many bytes of a chunk are its dictionary page: 0 where the page is
// too large, or may not hold every value of the chunk.
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
