package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// compactReader reads structures of Thrift's compact protocol. After an error it reads zeros.
type compactReader struct {
	data []byte
	at   int   // of data, where the next value begins
	err  error // the first
}

// compactFields are the integers and truth values of a structure, by field number.
type compactFields [9]int64

// The types of fields.
const (
	compactStop   = 0
	compactTrue   = 1
	compactFalse  = 2
	compactByte   = 3
	compactInt64  = 6 // 4 and 5 are shorter integers, written alike
	compactDouble = 7
	compactBinary = 8
	compactList   = 9
	compactSet    = 10 // written as a list
	compactMap    = 11
	compactStruct = 12
)

// compactDepthMax is more levels than values that are skipped have.
const compactDepthMax = 16

// structure reads a structure's fields. inner reads the structures among them, and is nil to skip
// them.
func (r *compactReader) structure(fields *compactFields, inner func(id int)) {
	for id, typ := r.field(0); typ != compactStop; id, typ = r.field(id) {
		known := id >= 0 && id < len(fields)
		switch {
		case known && typ > compactByte && typ <= compactInt64:
			fields[id] = r.integer()
		case known && (typ == compactTrue || typ == compactFalse):
			fields[id] = int64(compactFalse - typ)
		case typ == compactStruct && inner != nil:
			inner(id)
		default:
			r.skip(typ, 0)
		}
	}
}

// field reads the number and type that stand before the value of a structure's next field, given
// the number of the field before. The type is compactStop behind the last field, and after an
// error.
func (r *compactReader) field(before int) (id, typ int) {
	header := int(r.byte())
	typ = header & 15
	switch delta := header >> 4; {
	case typ == compactStop:
	case delta != 0:
		id = before + delta
	default:
		id = int(r.integer())
	}
	if r.err != nil {
		return 0, compactStop
	}
	return id, typ
}

// list reads the length and type that stand before the elements of a list. Each element takes a
// byte at least.
func (r *compactReader) list() (n, typ int) {
	header := int(r.byte())
	long := uint64(header >> 4)
	if long == 15 {
		long = r.uvarint()
	}
	if r.err == nil && long > uint64(len(r.data)-r.at) {
		r.err = io.ErrUnexpectedEOF
	}
	if r.err != nil {
		return 0, compactStop
	}
	return int(long), header & 15
}

// number reads the value of a field that must be an integer.
func (r *compactReader) number(typ int) int64 {
	if typ <= compactByte || typ > compactInt64 {
		r.fail(fmt.Errorf("a field of type %d in place of an integer", typ))
		return 0
	}
	return r.integer()
}

// truth reads the value of a field that must be compactTrue or compactFalse.
func (r *compactReader) truth(typ int) int {
	if typ != compactTrue && typ != compactFalse {
		r.fail(fmt.Errorf("a field of type %d in place of a truth value", typ))
	}
	return typ
}

// binary reads the value of a field that must be bytes. It returns a part of data, which is not nil
// unless there is an error.
func (r *compactReader) binary(typ int) []byte {
	if typ != compactBinary {
		r.fail(fmt.Errorf("a field of type %d in place of bytes", typ))
		return nil
	}
	n := r.uvarint()
	from := r.at
	r.bytes(n)
	if r.err != nil {
		return nil
	}
	return r.data[from:r.at:r.at]
}

// structs reads the value of a field that must be a list of structures. It calls each to read a
// structure of the n in the list.
func (r *compactReader) structs(typ int, each func(n int)) {
	n, element := 0, 0
	if typ == compactList {
		n, element = r.list()
	}
	if typ != compactList || n > 0 && element != compactStruct {
		r.fail(fmt.Errorf("a field of type %d, with elements of type %d, in place of a list of structures",
			typ, element))
	}
	for i := 0; i < n && r.err == nil; i++ {
		each(n)
	}
}

// skip passes over a value.
func (r *compactReader) skip(typ, depth int) {
	if depth > compactDepthMax {
		r.fail(errors.New("a structure that nests too deeply"))
	}
	if r.err != nil {
		return
	}
	switch typ {
	case compactTrue, compactFalse:
	case compactByte:
		r.byte()
	case compactByte + 1, compactByte + 2, compactInt64:
		r.uvarint()
	case compactDouble:
		r.bytes(8)
	case compactBinary:
		r.bytes(r.uvarint())
	case compactList, compactSet:
		n, element := r.list()
		for i := 0; i < n && r.err == nil; i++ {
			r.skipElement(element, depth+1)
		}
	case compactMap:
		n, types := r.uvarint(), 0
		if n > 0 {
			types = int(r.byte())
		}
		for i := uint64(0); i < n && r.err == nil; i++ {
			r.skipElement(types>>4, depth+1)
			r.skipElement(types&15, depth+1)
		}
	case compactStruct:
		for id, typ := r.field(0); typ != compactStop; id, typ = r.field(id) {
			r.skip(typ, depth+1)
		}
	default:
		r.fail(fmt.Errorf("a field of type %d", typ))
	}
}

// skipElement passes over a value in a list, where a truth value takes a byte.
func (r *compactReader) skipElement(typ, depth int) {
	if typ == compactTrue || typ == compactFalse {
		typ = compactByte
	}
	r.skip(typ, depth)
}

func (r *compactReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *compactReader) bytes(n uint64) {
	if r.err == nil && n > uint64(len(r.data)-r.at) {
		r.err = io.ErrUnexpectedEOF
	}
	if r.err == nil {
		r.at += int(n)
	}
}

func (r *compactReader) byte() byte {
	r.bytes(1)
	if r.err != nil {
		return 0
	}
	return r.data[r.at-1]
}

func (r *compactReader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.data[r.at:])
	switch {
	case n == 0:
		r.err = io.ErrUnexpectedEOF
	case n < 0:
		r.err = errors.New("a number of more than 64 bits")
	default:
		r.at += n
	}
	return v
}

// integer reads a number whose sign is its lowest bit.
func (r *compactReader) integer() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}
