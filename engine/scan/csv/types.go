package csv

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/internal/nested"
)

// typesByName are the names of Arrow's types and of SQL's.
var typesByName = map[string]arrow.DataType{
	"bool": arrow.FixedWidthTypes.Boolean, "boolean": arrow.FixedWidthTypes.Boolean,
	"int8": arrow.PrimitiveTypes.Int8, "tinyint": arrow.PrimitiveTypes.Int8,
	"int16": arrow.PrimitiveTypes.Int16, "smallint": arrow.PrimitiveTypes.Int16,
	"int32": arrow.PrimitiveTypes.Int32, "int": arrow.PrimitiveTypes.Int32, "integer": arrow.PrimitiveTypes.Int32,
	"int64": arrow.PrimitiveTypes.Int64, "bigint": arrow.PrimitiveTypes.Int64,
	"uint8": arrow.PrimitiveTypes.Uint8, "utinyint": arrow.PrimitiveTypes.Uint8,
	"uint16": arrow.PrimitiveTypes.Uint16, "usmallint": arrow.PrimitiveTypes.Uint16,
	"uint32": arrow.PrimitiveTypes.Uint32, "uinteger": arrow.PrimitiveTypes.Uint32,
	"uint64": arrow.PrimitiveTypes.Uint64, "ubigint": arrow.PrimitiveTypes.Uint64,
	"float32": arrow.PrimitiveTypes.Float32, "float": arrow.PrimitiveTypes.Float32,
	"real":    arrow.PrimitiveTypes.Float32,
	"float64": arrow.PrimitiveTypes.Float64, "double": arrow.PrimitiveTypes.Float64,
	"hugeint": &arrow.Decimal128Type{Precision: fields.HugeDigits},
	"string":  arrow.BinaryTypes.String, "utf8": arrow.BinaryTypes.String,
	"text": arrow.BinaryTypes.String, "varchar": arrow.BinaryTypes.String,
	"binary": arrow.BinaryTypes.Binary, "blob": arrow.BinaryTypes.Binary,
	"date": arrow.FixedWidthTypes.Date32, "time": arrow.FixedWidthTypes.Time64us,
	"timestamp":   &arrow.TimestampType{Unit: arrow.Microsecond},
	"timestamptz": &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
}

// ParseType reads the name of a type, in any case: decimals are decimal(precision, scale), and the nested types of JSON
// t[], struct(name t, "other name" t) and map(t, t).
func ParseType(name string) (arrow.DataType, error) {
	p := typeParser{rest: name}
	t, err := p.typ()
	if err != nil {
		return nil, err
	}
	if p.blank(); p.rest != "" {
		return nil, fmt.Errorf("type %q: nothing can stand behind it, as %q does", name, p.rest)
	}
	if arrow.IsNested(t.ID()) {
		return nested.NewType(t), nil
	}
	return t, nil
}

// typeParser reads types. rest is what it has not read.
type typeParser struct {
	rest  string
	depth int
}

// typesDepthMax is how deep types may be within each other.
const typesDepthMax = 64

func (p *typeParser) blank() { p.rest = strings.TrimLeft(p.rest, " \t\n") }

// next reads a character, behind blanks, and says whether it is there.
func (p *typeParser) next(c string) (ok bool) {
	p.blank()
	p.rest, ok = strings.CutPrefix(p.rest, c)
	return ok
}

// want is next of a character that must be there.
func (p *typeParser) want(c string) error {
	if !p.next(c) {
		return fmt.Errorf("want %s in a type before %q", c, p.rest)
	}
	return nil
}

// word reads a name, in double quotes or not.
func (p *typeParser) word() (word string, err error) {
	p.blank()
	if !strings.HasPrefix(p.rest, `"`) {
		end := strings.IndexAny(p.rest+" ", " \t\n\"(),[]")
		word, p.rest = p.rest[:end], p.rest[end:]
		return word, nil
	}
	for at := 1; ; at++ {
		end := strings.IndexByte(p.rest[at:], '"')
		if end < 0 {
			return "", fmt.Errorf("the quote before %q is not closed", p.rest[1:])
		}
		if at += end; !strings.HasPrefix(p.rest[at+1:], `"`) {
			word, p.rest = strings.ReplaceAll(p.rest[1:at], `""`, `"`), p.rest[at+1:]
			return word, nil
		}
		at++
	}
}

func (p *typeParser) typ() (t arrow.DataType, err error) {
	if p.depth++; p.depth > typesDepthMax {
		return nil, fmt.Errorf("types within each other, more than %d deep", typesDepthMax)
	}
	defer func() { p.depth-- }()
	written, err := p.word()
	if err != nil {
		return nil, err
	}
	name := strings.ToLower(written)
	known, ok := typesByName[name]
	switch {
	case ok:
		t = known
	case name == "struct":
		t, err = p.structType()
	case name == "map":
		t, err = p.mapType()
	case name == "decimal":
		t, err = p.decimal()
	default:
		return nil, fmt.Errorf("unknown type %q: want bool, int8 to int64, uint8 to uint64, float, double, hugeint, "+
			"string, binary, date, time, timestamp, decimal(p, s), t[], struct(name t), map(t, t)", written)
	}
	for err == nil && p.next("[") {
		t, err = arrow.ListOf(t), p.want("]")
	}
	return t, err
}

func (p *typeParser) structType() (arrow.DataType, error) {
	var all []arrow.Field
	for begin := "("; p.next(begin); begin = "," {
		name, err := p.word()
		if err != nil {
			return nil, err
		}
		for _, f := range all {
			if strings.EqualFold(f.Name, name) {
				return nil, fmt.Errorf("two members of a struct are named %q", name)
			}
		}
		t, err := p.typ()
		if err != nil {
			return nil, err
		}
		all = append(all, arrow.Field{Name: name, Type: t, Nullable: true})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("want the members of a struct, as in struct(name int), before %q", p.rest)
	}
	return arrow.StructOf(all...), p.want(")")
}

func (p *typeParser) mapType() (arrow.DataType, error) {
	if err := p.want("("); err != nil {
		return nil, err
	}
	key, err := p.typ()
	if err == nil {
		err = p.want(",")
	}
	if err != nil {
		return nil, err
	}
	item, err := p.typ()
	if err != nil {
		return nil, err
	}
	return arrow.MapOf(key, item), p.want(")")
}

// decimal reads precision and scale.
func (p *typeParser) decimal() (arrow.DataType, error) {
	var numbers [2]int64
	for i, before := range []string{"(", ","} {
		err := p.want(before)
		if err != nil {
			return nil, err
		}
		word, err := p.word()
		if err != nil {
			return nil, err
		}
		if numbers[i], err = strconv.ParseInt(word, 10, 32); err != nil {
			return nil, fmt.Errorf("a decimal is decimal(precision, scale), with two whole numbers: %w", err)
		}
	}
	precision, scale := numbers[0], numbers[1]
	if precision < 1 || precision > fields.HugeDigits || scale < 0 || scale > precision {
		return nil, fmt.Errorf("decimal(%d, %d): the precision must be in [1, %d], the scale in [0, precision]",
			precision, scale, fields.HugeDigits)
	}
	return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}, p.want(")")
}
