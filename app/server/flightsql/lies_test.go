//go:build cgo

package flightsql

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mpga/mpga/app/server"
)

// ingestMessages returns the messages of a client that sends a table of two batches, with a column
// of each layout that messages describe: plain, of variable length, with a dictionary, and of bits. The
// kinds of the messages are: schema, dictionary, batch, batch.
func ingestMessages(t testing.TB, table string, options ...ipc.Option) []*flight.FlightData {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, bytes.NewReader([]byte(
		`[{"n": 1, "s": "one", "d": "x", "b": true}, {"n": null, "s": "", "d": "y", "b": null}, {"n": 3, "s": "three", "d": "x", "b": false}]`)))
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	return messagesOf(t, ingestCommand(t, table), schema, []arrow.RecordBatch{batch, batch}, options...)
}

// ingestCommand returns the command that makes a table in place of another.
func ingestCommand(t testing.TB, table string) []byte {
	return packed(t, &pb.CommandStatementIngest{Table: table, TableDefinitionOptions: &pb.CommandStatementIngest_TableDefinitionOptions{
		IfNotExist: pb.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_CREATE,
		IfExists:   pb.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_REPLACE,
	}})
}

// recorded is a stream that keeps messages.
type recorded struct{ list []*flight.FlightData }

func (r *recorded) Send(m *flight.FlightData) error {
	r.list = append(r.list, proto.Clone(m).(*flight.FlightData))
	return nil
}

func messagesOf(t testing.TB, cmd []byte, schema *arrow.Schema, batches []arrow.RecordBatch, options ...ipc.Option) []*flight.FlightData {
	t.Helper()
	var r recorded
	w := flight.NewRecordWriter(&r, append(options, ipc.WithSchema(schema))...)
	w.SetFlightDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: cmd})
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return r.list
}

// put sends messages and returns the error that ends the call.
func put(ctx context.Context, c flight.Client, messages []*flight.FlightData) error {
	stream, err := c.DoPut(ctx)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if err := stream.Send(m); err != nil {
			break // Recv has the error
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	_, err = stream.Recv()
	return err
}

// A stream whose messages are missing, doubled, in another order or cut makes no table; one that says what
// it has does. R5.
func TestOrderOfMessages(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10})
	c := h.dial(t)
	m := ingestMessages(t, "x")
	if len(m) != 4 {
		t.Fatalf("%d messages", len(m))
	}
	command := &flight.FlightData{FlightDescriptor: m[0].FlightDescriptor}
	plain := func(i int) *flight.FlightData {
		return &flight.FlightData{DataHeader: m[i].DataHeader, DataBody: m[i].DataBody}
	}
	cut := plain(3)
	cut.DataBody = cut.DataBody[:len(cut.DataBody)/2]
	headless := plain(3)
	headless.DataHeader = headless.DataHeader[:len(headless.DataHeader)/2]
	for _, test := range []struct {
		name     string
		messages []*flight.FlightData
		rows     string // of the table; "" where an error is wanted
	}{
		{"as it was", m, "6"},
		{"the command first", []*flight.FlightData{command, plain(0), plain(1), plain(2), plain(3)}, "6"},
		{"metadata of an application between", []*flight.FlightData{m[0], {AppMetadata: []byte("x")}, m[1], m[2], {AppMetadata: []byte("x")}}, "3"},
		{"the schema alone", m[:1], "0"},
		{"the command alone", []*flight.FlightData{command}, ""},
		{"no schema", []*flight.FlightData{command, plain(1), plain(2)}, ""},
		{"a batch before the schema", []*flight.FlightData{command, plain(2), plain(0), plain(1)}, ""},
		{"two schemas", []*flight.FlightData{m[0], plain(0), m[1], m[2]}, ""},
		{"no dictionary", []*flight.FlightData{m[0], m[2]}, ""},
		{"a dictionary too late", []*flight.FlightData{m[0], m[2], m[1]}, ""},
		{"a body that is cut", []*flight.FlightData{m[0], m[1], m[2], cut}, ""},
		{"a header that is cut", []*flight.FlightData{m[0], m[1], m[2], headless}, ""},
		{"no body", []*flight.FlightData{m[0], m[1], {DataHeader: m[2].DataHeader}}, ""},
		{"bytes for a header", []*flight.FlightData{m[0], {DataHeader: bytes.Repeat([]byte{0xff}, 1000), DataBody: []byte{1}}}, ""},
	} {
		if _, err := c.ExecuteUpdate(t.Context(), "DROP TABLE IF EXISTS x"); err != nil {
			t.Fatal(err)
		}
		err := put(t.Context(), c.Client, test.messages)
		got, readErr := ask(t.Context(), c, "SELECT count(*) FROM x")
		switch {
		case test.rows != "" && (err != nil || readErr != nil || got != test.rows):
			t.Errorf("%s: %q, %v, %v", test.name, got, err, readErr)
		case test.rows == "":
			wantCode(t, test.name, err, codes.InvalidArgument)
			wantCode(t, test.name+", the table", readErr, codes.InvalidArgument)
		}
	}
	h.lives(t)
	if left := h.core.Memory().Temporary; left > 1<<20 {
		t.Errorf("%d bytes of tables are left", left)
	}
}

// Every number in the headers of messages may be a lie: about lengths, offsets, counts, types and
// places of tables. The table is refused, or can be read; and nothing else happens.
func TestLies(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10})
	c := h.dial(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	lies := 0
	try := func(messages []*flight.FlightData, what string) {
		if lies++; !testing.Short() || lies%8 == 0 {
			tryLie(t, ctx, c, messages, what)
		}
	}
	for kind, options := range map[string][]ipc.Option{"plain": nil, "lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()}} {
		good := ingestMessages(t, "x", options...)
		if err := put(ctx, c.Client, good); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		for i, m := range good[:3] {
			for _, part := range [][]byte{m.DataHeader, m.DataBody} {
				for at := range part {
					for _, change := range []byte{1, 0x80, 0xff} {
						part[at] ^= change
						try(good, fmt.Sprintf("%s: message %d, byte %d ^ %d", kind, i, at, change))
						part[at] ^= change
					}
				}
			}
			for at := 0; at+8 <= len(m.DataHeader); at += 8 {
				for _, value := range []uint64{0, 1 << 20, 1 << 32, 1 << 62, 1<<64 - 1} {
					old := binary.LittleEndian.Uint64(m.DataHeader[at:])
					binary.LittleEndian.PutUint64(m.DataHeader[at:], value)
					try(good, fmt.Sprintf("%s: message %d, %d at byte %d", kind, i, value, at))
					binary.LittleEndian.PutUint64(m.DataHeader[at:], old)
				}
			}
		}
	}
	t.Logf("%d lies", lies)
	h.lives(t)
}

// tryLie sends messages with a lie, and reads the table if there is one.
func tryLie(t *testing.T, ctx context.Context, c *fsql.Client, messages []*flight.FlightData, what string) {
	t.Helper()
	if err := put(ctx, c.Client, messages); err != nil {
		wantCode(t, what, err, codes.InvalidArgument, codes.ResourceExhausted)
		return
	}
	if _, err := ask(ctx, c, "SELECT * FROM x"); err != nil {
		wantCode(t, what+", read", err, codes.InvalidArgument, codes.ResourceExhausted, codes.Unknown)
	}
}

// Rows for parameters lie, too.
func TestLiesAboutParameters(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10})
	c := h.dial(t)
	st, err := c.Prepare(t.Context(), "SELECT count(*) FROM t WHERE n > ? AND s <> ?")
	if err != nil {
		t.Fatal(err)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "1", Type: arrow.PrimitiveTypes.Int64}, {Name: "2", Type: arrow.BinaryTypes.String}}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, bytes.NewReader([]byte(`[{"1": 5, "2": "text 7"}]`)))
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	cmd := packed(t, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: st.Handle()})
	good := messagesOf(t, cmd, schema, []arrow.RecordBatch{batch})
	for i := range good {
		for at := 0; at < len(good[i].DataHeader); at += 3 {
			messages := slices.Clone(good)
			messages[i] = proto.Clone(good[i]).(*flight.FlightData)
			messages[i].DataHeader[at] ^= byte(at*31 + 1)
			if err := put(t.Context(), c.Client, messages); err != nil {
				wantCode(t, fmt.Sprintf("message %d, byte %d", i, at), err, codes.InvalidArgument, codes.ResourceExhausted)
			}
		}
	}
	for _, wrong := range [][]*flight.FlightData{good[:1], {good[0], good[1], good[0]}, messagesOf(t, cmd, schema, nil)} {
		if len(wrong) > 0 {
			wantCode(t, "values", put(t.Context(), c.Client, wrong), codes.InvalidArgument)
		}
	}
	if err := put(t.Context(), c.Client, good); err != nil {
		t.Fatal(err)
	}
	info, err := c.Client.GetFlightInfo(t.Context(), &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: cmd})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := rowsOfInfo(t.Context(), c, info); err != nil || got != "3" {
		t.Errorf("after lies: %q, %v", got, err)
	}
	h.lives(t)
}

// Any bytes of a client are answered, and the server goes on. Fuzz with -fuzzminimizetime=1x: what a
// server covers differs from run to run, so that little is gained by making inputs smaller.
func FuzzMessages(f *testing.F) {
	for _, m := range ingestMessages(f, "x") {
		f.Add(m.GetFlightDescriptor().GetCmd(), m.DataHeader, m.DataBody, m.AppMetadata, byte(0))
	}
	for _, cmd := range commands(f) {
		f.Add(cmd, cmd, cmd, cmd, byte(3))
	}
	h := newHost(f, hostOptions{rows: 10, limits: server.Limits{StallTime: time.Minute}})
	c := h.dial(f)
	good := ingestMessages(f, "x")
	f.Fuzz(func(t *testing.T, cmd, header, body, app []byte, which byte) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		desc := &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: cmd}
		var errs []error
		_, err := c.Client.GetFlightInfo(ctx, desc)
		errs = append(errs, err)
		if get, err := c.Client.DoGet(ctx, &flight.Ticket{Ticket: cmd}); err == nil {
			for err == nil {
				_, err = get.Recv()
			}
			errs = append(errs, err)
		}
		if do, err := c.Client.DoAction(ctx, &flight.Action{Type: actionTypes[int(which)%len(actionTypes)], Body: cmd}); err == nil {
			_, err = do.Recv()
			errs = append(errs, err)
		}
		any := &flight.FlightData{FlightDescriptor: desc, DataHeader: header, DataBody: body, AppMetadata: app}
		errs = append(errs, put(ctx, c.Client, []*flight.FlightData{any}))
		lying := slices.Clone(good)
		lying[int(which)%len(lying)] = &flight.FlightData{FlightDescriptor: good[0].FlightDescriptor, DataHeader: header, DataBody: body}
		errs = append(errs, put(ctx, c.Client, lying))
		for _, err := range errs {
			if code := status.Code(err); code == codes.Internal || code == codes.Unavailable || code == codes.DeadlineExceeded {
				t.Error(err)
			}
		}
		if got, err := ask(ctx, c, "SELECT 1"); err != nil || got != "1" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	})
}
