package nested

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/internal/timeformat"
)

// Named is the type of values that SQL has and Arrow has not. Within a query a value is written as a string of bytes
// that are in the order of the values; results have its text.
type Named struct {
	arrow.ExtensionBase

	Kind  NamedKind
	Words []string // of Enum, in order; nil of others
}

// NamedKind says which type of SQL a Named is.
type NamedKind string

// The kinds, and what the bytes of a value are.
const (
	UUID   NamedKind = "UUID"                // 16 bytes
	Bit    NamedKind = "BIT"                 // 0 and 1, as text
	TimeTZ NamedKind = "TIME WITH TIME ZONE" // see TimeTZBytes
	Enum   NamedKind = "ENUM"                // the place among the words in two bytes
)

const namedExtension = "mpga.named"

// EnumWordsMax is how many words an ENUM has at most.
const EnumWordsMax = 1 << 16

// NewNamed returns the type of a kind, and, of Enum, of words.
func NewNamed(kind NamedKind, words ...string) *Named {
	words = append([]string(nil), words...) // nil of none, so that equal types are equal in depth
	return &Named{ExtensionBase: arrow.ExtensionBase{Storage: arrow.BinaryTypes.String}, Kind: kind, Words: words}
}

func init() {
	if err := arrow.RegisterExtensionType(NewNamed("")); err != nil {
		panic(err) // of a name that is taken
	}
}

// String returns the type as SQL has it.
func (t *Named) String() string {
	if t.Kind != Enum {
		return string(t.Kind)
	}
	quoted := make([]string, len(t.Words))
	for i, word := range t.Words {
		quoted[i] = "'" + strings.ReplaceAll(word, "'", "''") + "'"
	}
	return "ENUM(" + strings.Join(quoted, ", ") + ")"
}

// Fingerprint tells types apart.
func (t *Named) Fingerprint() string { return "named<" + t.String() + ">" }

// namedArray is what Arrow makes of a type: results have texts instead.
type namedArray struct{ array.ExtensionArrayBase }

// ArrayType implements arrow.ExtensionType.
func (*Named) ArrayType() reflect.Type { return reflect.TypeFor[namedArray]() }

// ExtensionName implements arrow.ExtensionType.
func (*Named) ExtensionName() string { return namedExtension }

// ExtensionEquals implements arrow.ExtensionType.
func (t *Named) ExtensionEquals(other arrow.ExtensionType) bool {
	o, ok := other.(*Named)
	return ok && o.Kind == t.Kind && slices.Equal(o.Words, t.Words)
}

// Serialize implements arrow.ExtensionType.
func (t *Named) Serialize() string {
	text, err := json.Marshal(append([]string{string(t.Kind)}, t.Words...))
	if err != nil {
		panic(err) // of strings
	}
	return string(text)
}

// Deserialize implements arrow.ExtensionType.
func (*Named) Deserialize(storage arrow.DataType, data string) (arrow.ExtensionType, error) {
	var words []string
	if err := json.Unmarshal([]byte(data), &words); err != nil || len(words) == 0 || storage.ID() != arrow.STRING {
		return nil, fmt.Errorf("the text of a type of %s: %.60q", namedExtension, data)
	}
	return NewNamed(NamedKind(words[0]), words[1:]...), nil
}

// Text returns a value as SQL casts it to a string. Bytes that are no value of the type are "".
func (t *Named) Text(value string) string {
	switch {
	case t.Kind == UUID && len(value) == 16:
		b := []byte(value)
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	case t.Kind == Bit:
		return value
	case t.Kind == TimeTZ && len(value) == timeTZBytes:
		micros, offset := TimeTZOf(value)
		return string(appendOffset(timeformat.AppendClock(nil, micros/1_000_000, micros%1_000_000, 6), offset))
	case t.Kind == Enum && len(value) == 2:
		if at := int(binary.BigEndian.Uint16([]byte(value))); at < len(t.Words) {
			return t.Words[at]
		}
	}
	return ""
}

// appendOffset writes an offset from UTC, in seconds, as +02, +05:30 or -00:00:15.
func appendOffset(b []byte, offset int32) []byte {
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	b = fmt.Appendf(append(b, sign), "%02d", offset/3600)
	if offset%3600 != 0 {
		b = fmt.Appendf(b, ":%02d", offset/60%60)
	}
	if offset%60 != 0 {
		b = fmt.Appendf(b, ":%02d", offset%60)
	}
	return b
}

// EnumBytes returns the value of a place among words.
func EnumBytes(at int) string { return string(binary.BigEndian.AppendUint16(nil, uint16(at))) }

// A time of a day with an offset is in the order of its moments, and of times of one moment the one comes first whose
// offset is greater.
const (
	timeTZBytes  = 12
	timeTZBias   = 1 << 62
	offsetBiasTZ = 1 << 30
)

// TimeTZBytes returns the value of a time of microseconds of a day, and of an offset from UTC in seconds.
func TimeTZBytes(micros int64, offset int32) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(micros-int64(offset)*1_000_000+timeTZBias))
	return string(binary.BigEndian.AppendUint32(b, uint32(offsetBiasTZ-offset)))
}

// TimeTZOf returns the time and the offset that TimeTZBytes was given. Requires: 12 bytes.
func TimeTZOf(value string) (micros int64, offset int32) {
	b := []byte(value)
	offset = offsetBiasTZ - int32(binary.BigEndian.Uint32(b[8:]))
	return int64(binary.BigEndian.Uint64(b)) - timeTZBias + int64(offset)*1_000_000, offset
}

// Plain returns a type of Canonical as results have it: strings in place of the values of Named.
func Plain(dt arrow.DataType) arrow.DataType {
	switch dt := dt.(type) {
	case *Named:
		return dt.Storage
	case *arrow.MapType:
		return arrow.MapOf(Plain(dt.KeyType()), Plain(dt.ItemType()))
	case *arrow.ListType:
		return arrow.ListOf(Plain(dt.Elem()))
	case *arrow.StructType:
		fields := slices.Clone(dt.Fields())
		for i := range fields {
			fields[i].Type = Plain(fields[i].Type)
		}
		return arrow.StructOf(fields...)
	}
	return dt
}
