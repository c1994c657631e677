package lake

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// avroType is a type of Avro's schemas (specification 1.12).
type avroType struct {
	kind   string // of a record, array, map, union, fixed, enum, or a primitive type's name
	fields []avroField
	parts  []*avroType // the types of a union; of the elements of an array, or of the values of a map, the one
	size   int         // of fixed, in bytes
}

type avroField struct {
	name string
	id   int // Iceberg's number; 0 of none
	of   *avroType
}

// avroFile is a container file.
type avroFile struct {
	meta   map[string][]byte
	schema *avroType
}

const (
	avroMagic      = "Obj\x01"
	avroSync       = 16        // bytes
	avroBlockMax   = 256 << 20 // bytes of a block, unpacked. L2
	avroItemsMax   = 1 << 24   // of an array or map
	avroStringsMax = 1 << 28   // bytes
)

// readAvro calls a function with the records of a container file. A record is a map from the names of its fields to
// nil, bool, int64, float64, []byte (also of strings), []any, map[string]any.
func readAvro(content []byte, each func(f *avroFile, record map[string]any) error) error {
	rest, ok := bytes.CutPrefix(content, []byte(avroMagic))
	if !ok {
		return fmt.Errorf("%w: it is no file of Avro", errDamaged)
	}
	r := newAvroReader(rest)
	f := &avroFile{meta: map[string][]byte{}}
	head, _ := r.value(&avroType{kind: "map", parts: []*avroType{{kind: "bytes"}}}, 0).(map[string]any)
	for key, value := range head {
		f.meta[key], _ = value.([]byte)
	}
	sync := r.take(avroSync)
	if r.err != nil {
		return r.err
	}
	var err error
	if f.schema, err = parseAvroSchema(f.meta["avro.schema"]); err != nil {
		return err
	}
	for len(r.data) > 0 {
		records, size := r.long(), r.long()
		if r.err == nil && (records < 0 || size < 0 || size > int64(len(r.data))) {
			return fmt.Errorf("%w: a block of %d records and %d B", errDamaged, records, size)
		}
		packed := r.take(int(size))
		if end := r.take(avroSync); r.err == nil && !bytes.Equal(end, sync) {
			return fmt.Errorf("%w: a block does not end as the file says", errDamaged)
		}
		if r.err != nil {
			return r.err
		}
		block, err := unpackAvro(string(f.meta["avro.codec"]), packed)
		if err != nil {
			return err
		}
		if err := f.records(block, records, each); err != nil {
			return err
		}
	}
	return nil
}

// records calls a function with the records of a block.
func (f *avroFile) records(block []byte, n int64, each func(f *avroFile, record map[string]any) error) error {
	r := newAvroReader(block)
	for range n {
		record, ok := r.value(f.schema, 0).(map[string]any)
		switch {
		case r.err != nil:
			return r.err
		case !ok:
			return fmt.Errorf("%w: the values are no records", errDamaged)
		}
		if err := each(f, record); err != nil {
			return err
		}
	}
	return nil
}

// unpackAvro unpacks a block.
func unpackAvro(codec string, packed []byte) ([]byte, error) {
	var block []byte
	var err error
	switch codec {
	case "", "null":
		return packed, nil
	case "deflate":
		block, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), avroBlockMax))
	case "snappy": // with a CRC-32 behind it
		packed = packed[:max(0, len(packed)-4)]
		var n int
		if n, err = snappy.DecodedLen(packed); err == nil && n > avroBlockMax {
			err = fmt.Errorf("a block of %d B", n)
		}
		if err == nil {
			block, err = snappy.Decode(nil, packed)
		}
	case "zstandard":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(avroBlockMax)); err == nil {
			block, err = d.DecodeAll(packed, nil)
			d.Close()
		}
	default:
		return nil, fmt.Errorf("not supported: Avro that is compressed by %q", codec)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return block, nil
}

// parseAvroSchema reads a schema.
func parseAvroSchema(text []byte) (*avroType, error) {
	p := &avroParser{named: map[string]*avroType{}}
	t, err := p.parse(text, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: the schema of Avro: %w", errDamaged, err)
	}
	return t, nil
}

// avroParser knows the types that have been named so far.
type avroParser struct{ named map[string]*avroType }

func (p *avroParser) parse(text json.RawMessage, depth int) (*avroType, error) {
	if depth > depthMax {
		return nil, fmt.Errorf("more than %d types within each other", depthMax)
	}
	var name string
	if json.Unmarshal(text, &name) == nil {
		switch name {
		case "null", "boolean", "int", "long", "float", "double", "bytes", "string":
			return &avroType{kind: name}, nil
		}
		if t := p.named[name]; t != nil {
			return t, nil
		}
		return nil, fmt.Errorf("the type %q is not known", name)
	}
	var union []json.RawMessage
	if json.Unmarshal(text, &union) == nil {
		t := &avroType{kind: "union"}
		return t, p.add(t, depth, union...)
	}
	var of struct {
		Type   json.RawMessage
		Name   string
		Items  json.RawMessage
		Values json.RawMessage
		Size   int
		Fields []struct {
			Name string
			Type json.RawMessage
			ID   int `json:"field-id"`
		}
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return nil, err
	}
	if json.Unmarshal(of.Type, &name) != nil { // {"type": {...}}
		return p.parse(of.Type, depth+1)
	}
	t := &avroType{kind: name, size: of.Size}
	switch name {
	case "record":
		p.named[of.Name] = t
		for _, f := range of.Fields {
			part, err := p.parse(f.Type, depth+1)
			if err != nil {
				return nil, err
			}
			t.fields = append(t.fields, avroField{f.Name, f.ID, part})
		}
		return t, nil
	case "array":
		return t, p.add(t, depth, of.Items)
	case "map":
		return t, p.add(t, depth, of.Values)
	case "fixed":
		if t.size < 0 {
			return nil, fmt.Errorf("a fixed of %d B", t.size)
		}
		p.named[of.Name] = t
		return t, nil
	case "enum":
		p.named[of.Name] = t
		return t, nil
	}
	return p.parse(of.Type, depth+1)
}

func (p *avroParser) add(t *avroType, depth int, parts ...json.RawMessage) error {
	for _, text := range parts {
		part, err := p.parse(text, depth+1)
		if err != nil {
			return err
		}
		t.parts = append(t.parts, part)
	}
	return nil
}

// avroReader reads values.
type avroReader struct {
	data   []byte
	values int64 // read so far
	most   int64 // values: NULLs and empty records take no bytes, and may be any number. L2
	err    error
}

// newAvroReader returns a reader of bytes, which have at most valuesPerByte values each.
func newAvroReader(data []byte) *avroReader {
	const valuesPerByte, least = 8, 1024 // an optional value takes a byte at least, and is two values
	return &avroReader{data: data, most: valuesPerByte*int64(len(data)) + least}
}

var errAvroEnd = errors.New("it ends too early")

func (r *avroReader) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	r.data = nil
}

func (r *avroReader) take(n int) []byte {
	if n < 0 || n > len(r.data) {
		r.fail(errAvroEnd)
		return nil
	}
	part := r.data[:n:n]
	r.data = r.data[n:]
	return part
}

func (r *avroReader) long() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.fail(errAvroEnd)
		return 0
	}
	r.data = r.data[n:]
	return v
}

// value reads a value of a type.
func (r *avroReader) value(t *avroType, depth int) any {
	if depth > depthMax {
		r.fail(fmt.Errorf("more than %d values within each other", depthMax))
	}
	if r.values++; r.values > r.most {
		r.fail(fmt.Errorf("more than %d values", r.most))
	}
	if r.err != nil {
		return nil
	}
	switch t.kind {
	case "null":
		return nil
	case "boolean":
		b := r.take(1)
		return len(b) > 0 && b[0] != 0
	case "int", "long", "enum":
		return r.long()
	case "float":
		if b := r.take(4); b != nil {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	case "double":
		if b := r.take(8); b != nil {
			return math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
	case "bytes", "string":
		n := r.long()
		if n < 0 || n > avroStringsMax {
			r.fail(fmt.Errorf("a string of %d B", n))
		}
		return r.take(int(n))
	case "fixed":
		return r.take(t.size)
	case "union":
		at := r.long()
		if at < 0 || at >= int64(len(t.parts)) {
			r.fail(fmt.Errorf("type %d of a union of %d", at, len(t.parts)))
			return nil
		}
		return r.value(t.parts[at], depth+1)
	case "record":
		record := make(map[string]any, len(t.fields))
		for _, f := range t.fields {
			record[f.name] = r.value(f.of, depth+1)
		}
		return record
	case "array":
		items := []any{}
		r.blocks(func() { items = append(items, r.value(t.parts[0], depth+1)) })
		return items
	case "map":
		values := map[string]any{}
		r.blocks(func() {
			key, _ := r.value(&avroType{kind: "string"}, depth+1).([]byte)
			values[string(key)] = r.value(t.parts[0], depth+1)
		})
		return values
	default:
		r.fail(fmt.Errorf("the type %q", t.kind))
	}
	return nil
}

// blocks calls a function for each item of an array or a map.
func (r *avroReader) blocks(item func()) {
	for all := int64(0); r.err == nil; {
		n := r.long()
		if n == 0 {
			return
		}
		if n < 0 {
			n = -n
			r.long() // bytes of the block
		}
		if all += n; n < 0 || all > avroItemsMax {
			r.fail(fmt.Errorf("an array of %d items", all))
		}
		for ; n > 0 && r.err == nil; n-- {
			item()
		}
	}
}
