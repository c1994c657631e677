package delivery

import (
	"encoding/hex"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	UUIDBytes     = 16 // of a UUID in a file
	UUIDTextBytes = 36 // of a UUID as a text

	uuidName = "arrow.uuid" // of the extension type
)

// UUIDText is a UUID as people write it, in lower case: 12345678-9abc-def0-1234-56789abcdef0. UUIDs are delivered as
// these strings, whose order is that of the bytes in the file.
type UUIDText = [UUIDTextBytes]byte

// WriteUUIDs writes UUIDs, of UUIDBytes each, as texts.
func WriteUUIDs(out []UUIDText, plain []byte) {
	for i := range out {
		to, from := &out[i], plain[UUIDBytes*i:UUIDBytes*(i+1)]
		hex.Encode(to[:8], from[:4])
		hex.Encode(to[9:13], from[4:6])
		hex.Encode(to[14:18], from[6:8])
		hex.Encode(to[19:23], from[8:10])
		hex.Encode(to[24:], from[10:])
		to[8], to[13], to[18], to[23] = '-', '-', '-', '-'
	}
}

// UUIDStrings returns the array of strings of texts, which are the bytes of a buffer. It takes the caller's
// reference to neither buffer.
func UUIDStrings(mem memory.Allocator, texts *memory.Buffer, validity *memory.Buffer, nulls int) arrow.Array {
	rows := texts.Len() / UUIDTextBytes
	offsets := NewBuffer(mem, 4*(rows+1))
	defer offsets.Release()
	ends := View[int32](offsets.Bytes())
	for i := range ends[:rows+1] {
		ends[i] = int32(UUIDTextBytes * i)
	}
	return NewArray(arrow.BinaryTypes.String, rows, nulls, validity, offsets, texts)
}

// storageOf returns the values of an array of an extension type, of Type.
func storageOf(mem memory.Allocator, a array.ExtensionArray) (arrow.Array, error) {
	storage, isFixed := a.Storage().(*array.FixedSizeBinary)
	if a.ExtensionType().ExtensionName() != uuidName {
		a.Storage().Retain()
		return a.Storage(), nil
	}
	if !isFixed || storage.DataType().(*arrow.FixedSizeBinaryType).ByteWidth != UUIDBytes {
		return nil, fmt.Errorf("UUIDs of type %s", a.Storage().DataType())
	}
	b := array.NewStringBuilder(mem)
	defer b.Release()
	b.Reserve(a.Len())
	b.ReserveData(a.Len() * UUIDTextBytes)
	var text [1]UUIDText
	for row := range a.Len() {
		if storage.IsNull(row) {
			b.AppendNull()
			continue
		}
		WriteUUIDs(text[:], storage.Value(row))
		b.BinaryBuilder.Append(text[0][:])
	}
	return b.NewArray(), nil
}
