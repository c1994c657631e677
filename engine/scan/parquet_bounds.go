package scan

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// storedColumn says how a column's values are stored, and so how values in statistics, indexes and
// dictionaries are to be taken: as plain values of the column's physical type.
type storedColumn struct {
	leaf   *schema.Column
	typ    arrow.DataType
	family family
	days   bool // dates stored as days, delivered as milliseconds
}

// storedColumn returns how a column is stored; ok is false where its values are not to be compared.
func (p *parquetFile) storedColumn(c int) (s storedColumn, ok bool) {
	if p.leaves[c] < 0 {
		return s, false
	}
	s.leaf, s.typ = p.meta.Schema.Column(p.leaves[c]), p.fields.Field(c).Type
	if !isFlat(s.leaf) {
		return s, false
	}
	s.family, _, _ = familyOf(s.typ)
	s.days = s.typ.ID() == arrow.DATE64 && s.leaf.PhysicalType() == parquet.Types.Int32
	switch s.leaf.PhysicalType() {
	case parquet.Types.Boolean:
		ok = s.family == boolFamily
	case parquet.Types.Int32, parquet.Types.Int64:
		ok = s.family == numberFamily || s.family >= momentFamily && s.family <= durationFamily
	case parquet.Types.Float, parquet.Types.Double:
		ok = s.family == floatFamily
	case parquet.Types.ByteArray, parquet.Types.FixedLenByteArray:
		ok = s.family == bytesFamily || arrow.IsDecimal(s.typ.ID())
	}
	return s, ok
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

// groupBounds returns what the statistics of a row group say of a column.
func (p *parquetFile) groupBounds(group, c int) (b bounds, err error) {
	err = guard(func() error {
		stored, ok := p.storedColumn(c)
		if !ok {
			return errors.New("a column whose values are not compared")
		}
		b.noNulls = stored.leaf.MaxDefinitionLevel() == 0
		rows := p.meta.RowGroup(group)
		chunk, err := rows.ColumnChunk(p.leaves[c])
		if err != nil {
			return err
		}
		trusted, err := chunk.Statistics() // nil where the writer is known to be wrong
		if err != nil || trusted == nil {
			return err
		}
		raw := p.meta.RowGroups[group].Columns[p.leaves[c]].MetaData.Statistics
		if raw == nil { // encrypted
			return nil
		}
		if raw.NullCount != nil {
			b.noNulls = b.noNulls || *raw.NullCount == 0
			b.allNulls = *raw.NullCount == rows.NumRows()
		}
		switch typed := stored.leaf.ColumnOrder() == parquet.ColumnOrders.TypeDefinedOrder; {
		case typed && stored.ordered() && raw.MinValue != nil && raw.MaxValue != nil:
			b.low, b.high = stored.value(raw.MinValue), stored.value(raw.MaxValue)
			said := raw.IsMinValueExact != nil && raw.IsMaxValueExact != nil
			b.exact = said && *raw.IsMinValueExact && *raw.IsMaxValueExact || !said && stored.family != bytesFamily
		case stored.trustedOld() && raw.Min != nil && raw.Max != nil:
			b.low, b.high = stored.value(raw.Min), stored.value(raw.Max)
		}
		b.check()
		return nil
	})
	if err != nil {
		return bounds{}, err
	}
	return b, nil
}

// A dictionary page is read to see that no value suits if it is of dictionaryBytesFew, or of a quarter of
// its chunk and dictionaryBytesMax at most: a larger one has most values, and costs what it may save.
const (
	dictionaryBytesFew = 4 << 10
	dictionaryBytesMax = 1 << 20
)

// dictionaryBytes returns how many bytes of a chunk are its dictionary page: 0 where that is too large, or
// where it is not known that it holds every value of the chunk.
func dictionaryBytes(chunk *metadata.ColumnChunkMetaData) int64 {
	if !chunk.HasDictionaryPage() || !allDictionary(chunk) {
		return 0
	}
	size := chunk.DataPageOffset() - chunkStart(chunk)
	if size > max(dictionaryBytesFew, min(dictionaryBytesMax, chunk.TotalCompressedSize()/4)) {
		return 0
	}
	return max(size, 0)
}
