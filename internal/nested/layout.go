package nested

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// The marks before a value, and behind the elements of a list.
const (
	End  = 0 // of a list
	Some = 1 // a value follows
	None = 2 // NULL
)

// Form is how values of a type are written.
type Form uint8

// The forms.
const (
	Fixed  Form = iota // whole numbers and truth values of Width bytes; 0 of NULL alone
	Float              // Width bytes, in the order of floats
	Text               // up to a zero that is no part of the string
	Struct             // Parts in turn
	List               // elements of Parts[0], also the entries of a map, which are structs
)

// Layout says where the parts of a string of a type are.
type Layout struct {
	Form   Form
	Width  int  // bytes of a value as Arrow has it, of Fixed and Float
	Signed bool // of Fixed
	Parts  []*Layout
}

// LayoutOf returns the layout of a type of Canonical.
func LayoutOf(dt arrow.DataType) *Layout {
	switch dt := dt.(type) {
	case *arrow.NullType:
		return &Layout{Form: Fixed}
	case *arrow.BooleanType:
		return &Layout{Form: Fixed, Width: 1}
	case *arrow.Float32Type, *arrow.Float64Type:
		return &Layout{Form: Float, Width: dt.(arrow.FixedWidthDataType).Bytes()}
	case *arrow.Decimal128Type:
		if dt.Precision <= 18 {
			return &Layout{Form: Fixed, Width: 8, Signed: true}
		}
		return &Layout{Form: Fixed, Width: 16, Signed: true}
	case *arrow.StringType, *arrow.BinaryType, *Named:
		return &Layout{Form: Text}
	case *arrow.MonthDayNanoIntervalType:
		return &Layout{Form: Fixed, Width: intervalBytes}
	case *arrow.MapType:
		entry := &Layout{Form: Struct, Parts: []*Layout{LayoutOf(dt.KeyType()), LayoutOf(dt.ItemType())}}
		return &Layout{Form: List, Parts: []*Layout{entry}}
	case *arrow.ListType:
		return &Layout{Form: List, Parts: []*Layout{LayoutOf(dt.Elem())}}
	case *arrow.StructType:
		l := &Layout{Form: Struct}
		for _, f := range dt.Fields() {
			l.Parts = append(l.Parts, LayoutOf(f.Type))
		}
		return l
	}
	signed := !arrow.IsUnsignedInteger(dt.ID())
	return &Layout{Form: Fixed, Width: dt.(arrow.FixedWidthDataType).Bytes(), Signed: signed}
}

// Size returns how many bytes the value takes that s begins with.
func (l *Layout) Size(s string) int {
	switch l.Form {
	case Text:
		return textSize(s)
	case Struct:
		size := 0
		for _, part := range l.Parts {
			mark := s[size]
			if size++; mark == Some {
				size += part.Size(s[size:])
			}
		}
		return size
	case List:
		size, of := 0, l.Parts[0]
		for {
			mark := s[size]
			switch size++; mark {
			case End:
				return size
			case Some:
				size += of.Size(s[size:])
			}
		}
	}
	if l.Form == Fixed && l.Width > 1 && l.Width <= 8 {
		return numberSize(s[0])
	}
	return l.Width
}

func textSize(s string) int {
	for size := 0; ; {
		size += strings.IndexByte(s[size:], 0) + 1
		if size == len(s) || s[size] != 0xFF {
			return size
		}
		size++
	}
}

// Part returns a field of a struct, or the first element of what is left of a list, and what is behind it.
func (l *Layout) Part(s string) (value string, mark byte, rest string) {
	mark, s = s[0], s[1:]
	if mark != Some {
		return "", mark, s
	}
	size := l.Size(s)
	return s[:size], mark, s[size:]
}

// Field returns a field of a struct.
func (l *Layout) Field(s string, i int) (value string, ok bool) {
	for _, before := range l.Parts[:i] {
		if s[0] == Some {
			s = s[1+before.Size(s[1:]):]
		} else {
			s = s[1:]
		}
	}
	value, mark, _ := l.Parts[i].Part(s)
	return value, mark == Some
}

// Element is an element of a list, as it is written in it.
type Element struct {
	Value string
	Null  bool
}

// Elements appends the elements of a list.
func (l *Layout) Elements(to []Element, s string) []Element {
	of := l.Parts[0]
	for {
		value, mark, rest := of.Part(s)
		if mark == End {
			return to
		}
		to = append(to, Element{Value: value, Null: mark == None})
		s = rest
	}
}

// Len returns how many elements a list has.
func (l *Layout) Len(s string) (n int64) {
	of := l.Parts[0]
	for s[0] != End {
		if s[0] == Some {
			s = s[1+of.Size(s[1:]):]
		} else {
			s = s[1:]
		}
		n++
	}
	return n
}

// Append writes an element or a field.
func Append(dst []byte, e Element) []byte {
	if e.Null {
		return append(dst, None)
	}
	return append(append(dst, Some), e.Value...)
}

// The first byte of a whole number of 16 to 64 bits says how many bytes follow: the bytes that the number needs. It is
// above of numbers from 0 on, and below of negative ones.
const (
	above = 0x80
	below = 0x7F
)

// AppendInt writes a whole number.
func (l *Layout) AppendInt(dst []byte, v int64) []byte {
	if l.Width > 1 {
		return AppendNumber(dst, v)
	}
	if l.Signed {
		v ^= 1 << 7
	}
	return append(dst, byte(v))
}

// AppendNumber writes a whole number of a type of 16 to 64 bits that has a sign.
func AppendNumber(dst []byte, v int64) []byte {
	if v >= 0 {
		return appendUnsigned(dst, uint64(v))
	}
	n := (bits.Len64(^uint64(v)) + 7) / 8
	dst = binary.BigEndian.AppendUint64(append(dst, byte(below-n)), uint64(v)<<(64-8*n))
	return dst[:len(dst)-8+n]
}

func appendUnsigned(dst []byte, v uint64) []byte {
	n := (bits.Len64(v) + 7) / 8
	dst = binary.BigEndian.AppendUint64(append(dst, byte(above+n)), v<<(64-8*n))
	return dst[:len(dst)-8+n]
}

// numberSize returns how many bytes a whole number takes of which the first byte is given.
func numberSize(first byte) int {
	if first >= above {
		return 1 + int(first-above)
	}
	return 1 + int(below-first)
}

// Int returns the whole number that s is.
func (l *Layout) Int(s string) int64 {
	if l.Width > 1 {
		v := uint64(0)
		if s[0] < above {
			v = math.MaxUint64
		}
		for _, b := range []byte(s[1:numberSize(s[0])]) {
			v = v<<8 | uint64(b)
		}
		return int64(v)
	}
	if l.Signed {
		return int64(int8(s[0] ^ 1<<7))
	}
	return int64(s[0])
}

// AppendWide writes a number of 128 bits, or an unsigned one of 64.
func (l *Layout) AppendWide(dst []byte, v decimal128.Num) []byte {
	if l.Width == 8 {
		return appendUnsigned(dst, v.LowBits())
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.HighBits())^1<<63)
	return binary.BigEndian.AppendUint64(dst, v.LowBits())
}

// Wide returns the number that AppendWide has written.
func (l *Layout) Wide(s string) decimal128.Num {
	if l.Width == 8 {
		return decimal128.FromU64(uint64(l.Int(s)))
	}
	return decimal128.New(int64(binary.BigEndian.Uint64([]byte(s[:8]))^1<<63), binary.BigEndian.Uint64([]byte(s[8:16])))
}

// AppendFloat writes a float.
func (l *Layout) AppendFloat(dst []byte, v float64) []byte {
	v += 0 // -0 is 0
	if l.Width == 4 {
		b := ordered(math.Float32bits(float32(v)), 1<<31)
		if v != v {
			b = math.MaxUint32
		}
		return binary.BigEndian.AppendUint32(dst, b)
	}
	b := ordered(math.Float64bits(v), 1<<63)
	if v != v {
		b = math.MaxUint64
	}
	return binary.BigEndian.AppendUint64(dst, b)
}

// ordered returns the bits of a float in the order of floats. sign is the bit of the sign.
func ordered[T uint32 | uint64](bits, sign T) T {
	if bits&sign != 0 {
		return ^bits
	}
	return bits | sign
}

// Float returns the float that s is.
func (l *Layout) Float(s string) float64 {
	if l.Width == 4 {
		b := binary.BigEndian.Uint32([]byte(s[:4]))
		if b>>31 != 0 {
			b &^= 1 << 31
		} else {
			b = ^b
		}
		return float64(math.Float32frombits(b))
	}
	b := binary.BigEndian.Uint64([]byte(s[:8]))
	if b>>63 != 0 {
		b &^= 1 << 63
	} else {
		b = ^b
	}
	return math.Float64frombits(b)
}

// AppendText writes a string.
func AppendText(dst []byte, s string) []byte {
	for {
		zero := strings.IndexByte(s, 0)
		if zero < 0 {
			return append(append(dst, s...), 0)
		}
		dst = append(append(dst, s[:zero+1]...), 0xFF)
		s = s[zero+1:]
	}
}

// TextOf returns the string that s is; where it has zeros it is a copy.
func TextOf(s string) string {
	if s = s[:len(s)-1]; strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(s, "\x00\xFF", "\x00")
}
