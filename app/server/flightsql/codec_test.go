package flightsql

import (
	"bytes"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// sent is a stream that keeps what is sent, and gives it back.
type sent struct {
	grpc.ServerStream
	messages [][]byte
}

func (s *sent) SendMsg(m any) error {
	data, err := newCodec().Marshal(m)
	if err != nil {
		return err
	}
	s.messages = append(s.messages, data.Materialize())
	data.Free()
	return nil
}

func (s *sent) RecvMsg(m any) error {
	if len(s.messages) == 0 {
		return io.EOF
	}
	data := s.messages[0]
	s.messages = s.messages[1:]
	half := len(data) / 2 // as frames cut messages
	return newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(data[:half]), mem.SliceBuffer(data[half:])}, m)
}

// batchOf returns rows with NULLs and strings, whose memory is checked.
func batchOf(t *testing.T, rows int) arrow.RecordBatch {
	checked := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { checked.AssertSize(t, 0) })
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(checked, schema)
	defer b.Release()
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%3 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append("row")
		}
	}
	return b.NewRecordBatch()
}

// TestRows sends rows and takes them: the generated code must read what the codec writes, the codec
// what the generated code writes, and every batch must be given back.
func TestRows(t *testing.T) {
	for _, rows := range []int{0, 1, 1000, 100_000} {
		batch := batchOf(t, rows)
		ours := &sent{}
		w := newRowWriter(ours, batch.Schema())
		if err := w.write(batch); err != nil {
			t.Fatal(err)
		}
		if err := w.end(); err != nil {
			t.Fatal(err)
		}
		theirs := &sent{}
		for _, m := range ours.messages {
			var data flight.FlightData
			if err := proto.Unmarshal(m, &data); err != nil {
				t.Fatal(err)
			}
			again, err := proto.Marshal(&data)
			if err != nil {
				t.Fatal(err)
			}
			theirs.messages = append(theirs.messages, again)
		}
		r, err := ipc.NewReader(&putStream{from: theirs})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Next() {
			t.Fatalf("%d rows: no batch: %v", rows, r.Err())
		}
		if !array.RecordEqual(batch, r.RecordBatch()) {
			t.Errorf("%d rows have changed", rows)
		}
		r.Release()
		batch.Release()
	}
}

// TestMalformed reads messages that are cut, and ones whose lengths lie: an error, and no panic.
func TestMalformedRows(t *testing.T) {
	whole, err := proto.Marshal(&flight.FlightData{
		FlightDescriptor: &flight.FlightDescriptor{Cmd: []byte("command")}, DataHeader: []byte("header"), AppMetadata: []byte("more"),
		DataBody: bytes.Repeat([]byte("body"), 10),
	})
	if err != nil {
		t.Fatal(err)
	}
	read := func(data []byte) error {
		in := &incoming{}
		err := newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, in)
		if in.body != nil {
			_, _ = io.ReadAll(in.body)
		}
		return err
	}
	if err := read(whole); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for n := range whole {
		if read(whole[:n]) != nil {
			failed++
		}
	}
	if failed < len(whole)*3/4 { // between two fields a message may end
		t.Errorf("%d of %d cut messages are errors", failed, len(whole))
	}
	for i := range whole {
		for _, b := range []byte{0, 0x7F, 0xFF} {
			changed := bytes.Clone(whole)
			changed[i] = b
			_ = read(changed) // must not panic
		}
	}
	if err := read(append(bytes.Clone(whole), 0x0A, 0)); err == nil {
		t.Error("a body that is not the last field is taken")
	}
}
