package flightsql

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// codec is gRPC's codec of protocol buffers, and rows beside it: Flight's messages of rows, FlightData,
// are read and written where their bytes lie. The generated code copies each row twice in between.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if out, ok := v.(*outgoing); ok {
		return out.buffers, nil
	}
	return c.CodecV2.Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if in, ok := v.(*incoming); ok {
		return in.read(data)
	}
	return c.CodecV2.Unmarshal(data, v)
}

// outgoing is a FlightData to send. Its buffers are gRPC's when it is sent.
type outgoing struct{ buffers mem.BufferSlice }

// incoming is a FlightData that has come.
type incoming struct {
	descriptor []byte      // a FlightDescriptor; empty but in the first message
	header     []byte      // the metadata of an Arrow message
	body       *mem.Reader // of the Arrow message; nil if there is none. It must be closed.
}

// bodyBytes returns how many bytes the body has that have not been read.
func (in *incoming) bodyBytes() int {
	if in.body == nil {
		return 0
	}
	return in.body.Remaining()
}

// close gives the body back.
func (in *incoming) close() {
	if in.body != nil {
		_ = in.body.Close() // which returns no error
		in.body = nil
	}
}

// The numbers of FlightData's fields.
const (
	fieldDescriptor = 1
	fieldHeader     = 2
	fieldBody       = 1000
)

// read finds the fields of a message. The body is its last field, as all writers of FlightData have it,
// and is left where it lies.
func (in *incoming) read(data mem.BufferSlice) (err error) {
	r := data.Reader()
	defer func() {
		if in.body == nil {
			_ = r.Close() // which returns no error
		}
	}()
	for r.Remaining() > 0 {
		tag, err := binary.ReadUvarint(r)
		if err != nil {
			return malformed(err)
		}
		number, kind := protowire.DecodeTag(tag)
		switch kind {
		case protowire.VarintType:
			_, err = binary.ReadUvarint(r)
		case protowire.Fixed32Type:
			_, err = r.Discard(4)
		case protowire.Fixed64Type:
			_, err = r.Discard(8)
		case protowire.BytesType:
			err = in.readField(r, number)
		default:
			err = fmt.Errorf("a field of kind %d", kind)
		}
		if err != nil {
			return malformed(err)
		}
		if in.body != nil {
			return nil
		}
	}
	return nil
}

// readField reads the bytes of a field.
func (in *incoming) readField(r *mem.Reader, number protowire.Number) error {
	n, err := binary.ReadUvarint(r)
	switch {
	case err != nil:
		return err
	case n > uint64(r.Remaining()):
		return io.ErrUnexpectedEOF
	}
	switch number {
	case fieldDescriptor:
		in.descriptor, err = readBytes(r, n)
	case fieldHeader:
		in.header, err = readBytes(r, n)
	case fieldBody:
		if n != uint64(r.Remaining()) {
			return errors.New("the body is not the last field")
		}
		in.body = r
	default:
		_, err = r.Discard(int(n))
	}
	return err
}

func readBytes(r io.Reader, n uint64) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// malformed is the error of a message that is no FlightData.
func malformed(err error) error { return fmt.Errorf("a message of rows is malformed: %w", err) }
