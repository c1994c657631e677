//go:build cgo

package flightsql

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/mpga/mpga/app/server"
)

// packed returns a command as Flight SQL packs it.
func packed(t testing.TB, m proto.Message) []byte {
	t.Helper()
	of, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := proto.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// refused is codes of what a client has done wrong.
var refused = []codes.Code{codes.InvalidArgument, codes.NotFound, codes.Unimplemented}

// actionTypes are the actions that clients of Flight SQL know, and others.
var actionTypes = []string{
	flight.CancelFlightInfoActionType, flight.RenewFlightEndpointActionType, fsql.BeginSavepointActionType, fsql.BeginTransactionActionType,
	fsql.CancelQueryActionType, fsql.CreatePreparedStatementActionType, fsql.CreatePreparedSubstraitPlanActionType,
	fsql.ClosePreparedStatementActionType, fsql.EndTransactionActionType, fsql.EndSavepointActionType, flight.SetSessionOptionsActionType,
	flight.GetSessionOptionsActionType, "", "x", strings.Repeat("x", 1<<16),
}

// commands are commands of Flight SQL, well formed and not.
func commands(t testing.TB) map[string][]byte {
	good := packed(t, &pb.CommandStatementQuery{Query: "SELECT 1"})
	return map[string][]byte{
		"nothing":               nil,
		"zeros":                 make([]byte, 1000),
		"text":                  []byte("SELECT 1"),
		"the half of a command": good[:len(good)/2],
		"an unknown type":       packed(t, &pb.Location{Uri: "x"}),
		"an empty statement":    packed(t, &pb.CommandStatementQuery{}),
		"a statement of zeros":  packed(t, &pb.CommandStatementQuery{Query: strings.Repeat("\x00", 100)}),
		"a plan of Substrait":   packed(t, &pb.CommandStatementSubstraitPlan{}),
		"no handle":             packed(t, &pb.CommandPreparedStatementQuery{}),
		"an unknown handle":     packed(t, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: []byte("\xff\x00x")}),
		"an unknown ticket":     packed(t, &pb.TicketStatementQuery{StatementHandle: []byte("x")}),
		"an unknown update":     packed(t, &pb.CommandPreparedStatementUpdate{PreparedStatementHandle: []byte("x")}),
		"an update of a query":  packed(t, &pb.CommandStatementUpdate{Query: "SELECT 1"}),
		"a long handle":         packed(t, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: make([]byte, 1<<20)}),
	}
}

// Whatever bytes come as a command, a ticket or an action are answered by an error, and no call has
// an effect on the next.
func TestMalformed(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10})
	ctx := t.Context()
	c := h.dial(t).Client
	for name, cmd := range commands(t) {
		desc := &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: cmd}
		_, err := c.GetFlightInfo(ctx, desc)
		wantCode(t, name+", GetFlightInfo", err, refused...)
		_, err = c.GetSchema(ctx, desc)
		wantCode(t, name+", GetSchema", err, refused...)
		_, err = c.PollFlightInfo(ctx, desc)
		wantCode(t, name+", PollFlightInfo", err, refused...)
		get, err := c.DoGet(ctx, &flight.Ticket{Ticket: cmd})
		if err == nil {
			_, err = get.Recv()
		}
		wantCode(t, name+", DoGet", err, refused...)
		put, err := c.DoPut(ctx)
		if err == nil {
			_ = put.Send(&flight.FlightData{FlightDescriptor: desc, DataHeader: cmd, DataBody: cmd, AppMetadata: cmd})
			_ = put.CloseSend()
			_, err = put.Recv()
		}
		wantCode(t, name+", DoPut", err, refused...)
		for _, action := range actionTypes {
			do, err := c.DoAction(ctx, &flight.Action{Type: action, Body: cmd})
			if err == nil {
				_, err = do.Recv()
			}
			if action != flight.GetSessionOptionsActionType && action != flight.SetSessionOptionsActionType && len(cmd) > 0 {
				wantCode(t, name+", action "+action[:min(len(action), 30)], err, refused...)
			}
		}
	}
	for _, desc := range []*flight.FlightDescriptor{nil, {}, {Type: flight.DescriptorPATH, Path: []string{"etc", "passwd"}}, {Type: 77}} {
		_, err := c.GetFlightInfo(ctx, desc)
		wantCode(t, "a descriptor", err, refused...)
	}
	exchange, err := c.DoExchange(ctx)
	if err == nil {
		_, err = exchange.Recv()
	}
	wantCode(t, "DoExchange", err, refused...)
	list, err := c.ListFlights(ctx, &flight.Criteria{Expression: []byte{1, 2, 3}})
	if err == nil {
		_, err = list.Recv()
	}
	wantCode(t, "ListFlights", err, codes.Unimplemented)
	h.lives(t)
}

// Long and deep statements are refused, and do not take long.
func TestLongStatements(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10})
	c := h.dial(t)
	for name, text := range map[string]string{
		"1 MB":             "SELECT '" + strings.Repeat("x", 1<<20) + "'",
		"10 MB":            "SELECT 1" + strings.Repeat("+1", 5<<20),
		"parentheses":      "SELECT " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000),
		"NOT":              "SELECT " + strings.Repeat("NOT ", 60_000) + "true",
		"derived tables":   strings.Repeat("SELECT * FROM (", 10_000) + "SELECT 1" + strings.Repeat(") x", 10_000),
		"columns":          "SELECT 1" + strings.Repeat(",1", 20_000),
		"parameters":       "SELECT ?" + strings.Repeat(",?", 20_000),
		"a high parameter": "SELECT $2147483647",
		"a higher one":     "SELECT $99999999999999999999",
	} {
		began := time.Now()
		_, err := c.Execute(t.Context(), text)
		if err != nil {
			wantCode(t, name, err, codes.InvalidArgument, codes.ResourceExhausted)
			if n := len(err.Error()); n > 20_000 {
				t.Errorf("%s: the error has %d bytes", name, n)
			}
		} else if name != "columns" && name != "NOT" {
			t.Errorf("%s: there was no error", name)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: took %s", name, took)
		}
		h.lives(t)
	}
}

// A ticket is worth nothing to another session while its own uses it, whoever has seen it; and a
// statement that was closed, to nobody. R1.
func TestTicketsOfOthers(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10})
	ctx := t.Context()
	mine, other := h.dial(t), h.dial(t)
	info, err := mine.Execute(ctx, "SELECT count(*) FROM t")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rowsOfInfo(ctx, other, info); err == nil {
		t.Error("another session has the rows")
	} else {
		wantCode(t, "another's ticket", err, codes.NotFound)
	}
	if got, err := rowsOfInfo(ctx, mine, info); err != nil || got != "10" {
		t.Errorf("the session itself: %q, %v", got, err)
	}
	prepared, err := mine.Prepare(ctx, "SELECT count(*) FROM t")
	if err != nil {
		t.Fatal(err)
	}
	stolen := packed(t, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: prepared.Handle()})
	_, err = other.Client.GetFlightInfo(ctx, &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: stolen})
	wantCode(t, "another's prepared statement", err, codes.NotFound)
	if err := prepared.Close(ctx); err != nil {
		t.Error(err)
	}
	_, err = mine.Client.GetFlightInfo(ctx, &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: stolen})
	wantCode(t, "a statement that was closed", err, codes.NotFound)
	if _, err := mine.CancelFlightInfo(ctx, &flight.CancelFlightInfoRequest{Info: info}); err != nil {
		t.Errorf("cancelling what has ended: %v", err)
	}
	_, err = other.CancelFlightInfo(ctx, &flight.CancelFlightInfoRequest{Info: info})
	wantCode(t, "cancelling another's", err, codes.NotFound)
	if _, err := mine.CloseSession(ctx, &flight.CloseSessionRequest{}); err != nil {
		t.Error(err)
	}
	_, err = rowsOfInfo(ctx, mine, info)
	wantCode(t, "after the session's end", err, codes.NotFound)
	h.lives(t)
}

// Without a token that the server knows no call says anything, but the one that asks for life.
func TestTokens(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10, tokens: "anna 0123456789abcdef0123\nbert 0123456789abcdef0124"})
	c := h.dial(t)
	with := func(header string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "authorization", header)
	}
	for _, ctx := range []context.Context{
		t.Context(), with("Bearer x"), with(""), with("Bearer "), with("Basic !"), with("Basic eDp4"),
		with("Negotiate 0123456789abcdef0123"),
	} {
		_, err := c.Execute(ctx, "SELECT 1")
		wantCode(t, "Execute", err, codes.Unauthenticated)
		_, err = c.GetCatalogs(ctx)
		wantCode(t, "GetCatalogs", err, codes.Unauthenticated)
		_, err = c.GetSqlInfo(ctx, nil)
		wantCode(t, "GetSqlInfo", err, codes.Unauthenticated)
		get, err := c.Client.DoGet(ctx, &flight.Ticket{Ticket: packed(t, &pb.CommandGetTableTypes{})})
		if err == nil {
			_, err = get.Recv()
		}
		wantCode(t, "DoGet", err, codes.Unauthenticated)
		list, err := c.Client.ListActions(ctx, &flight.Empty{})
		if err == nil {
			_, err = list.Recv()
		}
		wantCode(t, "ListActions", err, codes.Unauthenticated)
	}
	ctx := with("Bearer 0123456789abcdef0123")
	if got, err := ask(ctx, c, "SELECT 1"); err != nil || got != "1" {
		t.Errorf("with a token: %q, %v", got, err)
	}
	info, err := c.Execute(ctx, "SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = rowsOfInfo(with("Bearer 0123456789abcdef0124"), c, info)
	wantCode(t, "another client on the same connection", err, codes.NotFound)
	for user, password := range map[string]string{"anna": "0123456789abcdef0123", "any": "0123456789abcdef0123"} {
		ctx, err := c.Client.AuthenticateBasicToken(t.Context(), user, password)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ask(ctx, c, "SELECT 1"); err != nil || got != "1" {
			t.Errorf("with a password: %q, %v", got, err)
		}
	}
	_, err = c.Client.AuthenticateBasicToken(t.Context(), "anna", "wrong")
	wantCode(t, "a wrong password", err, codes.Unauthenticated)
}

// A message beyond the limit is refused before it is read, so that clients do not take the memory of
// all together.
func TestLargeMessages(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10})
	c := h.dial(t, grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(1<<30)))
	message := &flight.FlightData{FlightDescriptor: &flight.FlightDescriptor{Cmd: ingestCommand(t, "x")}, DataBody: make([]byte, 64<<20)}
	wantCode(t, "64 MiB of 512", put(t.Context(), c.Client, []*flight.FlightData{message}), codes.ResourceExhausted)
	h.lives(t)
}

// Headers beyond all measure end the call, and nothing else.
func TestHeaderFlood(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10})
	c := h.dial(t)
	for _, values := range [][]string{{strings.Repeat("x", 1<<20)}, make([]string, 10_000)} {
		ctx := metadata.NewOutgoingContext(t.Context(), metadata.MD{"cookie": values})
		if _, err := ask(ctx, c, "SELECT 1"); err == nil {
			t.Error("there was no error")
		}
		h.lives(t)
	}
	for _, cookie := range []string{"mpga_session=x", "mpga_session=", ";;;", "mpga_session=\"", strings.Repeat("a=b; ", 5000)} {
		if got, err := ask(metadata.AppendToOutgoingContext(t.Context(), "cookie", cookie), c, "SELECT 1"); err != nil || got != "1" {
			t.Errorf("%.20s: %q, %v", cookie, got, err)
		}
	}
}

// A client that takes no rows is told so in the end, and keeps nobody from theirs meanwhile. It must
// not take what came for all. R3.
func TestStalledClient(t *testing.T) {
	h := newHost(t, hostOptions{limits: server.Limits{Queries: 1, StallTime: 300 * time.Millisecond}})
	slow := h.dial(t, grpc.WithInitialWindowSize(1<<16), grpc.WithInitialConnWindowSize(1<<16))
	info, err := slow.Execute(t.Context(), "SELECT n, s FROM t")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := slow.Client.DoGet(t.Context(), info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rows.Recv(); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(t.Context(), h.dial(t), "SELECT count(*) FROM t"); err != nil || got != "1000000" {
		t.Errorf("another client: %q, %v", got, err)
	}
	h.rests(t)
	time.Sleep(lingerMax + 600*time.Millisecond)
	for err == nil {
		_, err = rows.Recv()
	}
	wantCode(t, "the rest", err, codes.DeadlineExceeded)
	h.lives(t)
}

// A client that takes the last rows late has all of them.
func TestSlowClient(t *testing.T) {
	h := newHost(t, hostOptions{rows: 300_000})
	slow := h.dial(t, grpc.WithInitialWindowSize(1<<16), grpc.WithInitialConnWindowSize(1<<16))
	info, err := slow.Execute(t.Context(), "SELECT n FROM t")
	if err != nil {
		t.Fatal(err)
	}
	r, err := slow.DoGet(t.Context(), info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	n, late := int64(0), sync.OnceFunc(func() { time.Sleep(lingerMax + 500*time.Millisecond) })
	for r.Next() {
		if n += r.RecordBatch().NumRows(); n > 10_000 { // the server has sent all that there is room for
			late()
		}
	}
	if r.Err() != nil || n != 300_000 {
		t.Errorf("%d rows, %v", n, r.Err())
	}
	h.lives(t)
}

// A client that opens a stream of rows and sends nothing is left, and so is one that stops in the
// middle. R5.
func TestSilentClient(t *testing.T) {
	h := newHost(t, hostOptions{rows: 10, limits: server.Limits{StallTime: 300 * time.Millisecond}})
	c := h.dial(t)
	silent, err := c.Client.DoPut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = silent.Recv()
	wantCode(t, "without a message", err, codes.DeadlineExceeded)
	began, err := c.Client.DoPut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	messages := ingestMessages(t, "half")
	for _, m := range messages[:len(messages)-1] {
		if err := began.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	_, err = began.Recv()
	wantCode(t, "in the middle", err, codes.DeadlineExceeded)
	_, err = ask(t.Context(), c, "SELECT count(*) FROM half")
	wantCode(t, "the half of a table", err, codes.InvalidArgument)
	h.lives(t)
}

// Clients that go in the middle of everything leave nothing: places, memory and sessions come back. R6.
func TestKilledClients(t *testing.T) {
	h := newHost(t, hostOptions{rows: 200_000, limits: server.Limits{Queries: 2, SessionIdle: 200 * time.Millisecond}})
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			c, err := fsql.NewClient(h.address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Error(err)
				return
			}
			info, err := c.Execute(t.Context(), "SELECT n, count(*), list(s) FROM t GROUP BY n")
			if err != nil {
				t.Error(err)
			} else if rows, err := c.Client.DoGet(t.Context(), info.Endpoint[0].Ticket); err == nil && i%2 == 0 {
				_, _ = rows.Recv()
			}
			put, err := c.Client.DoPut(t.Context())
			if err != nil {
				t.Error(err)
			} else if messages := ingestMessages(t, "left"); i%3 > 0 {
				for _, m := range messages[:len(messages)-1] {
					_ = put.Send(m)
				}
			}
			time.Sleep(time.Duration(i) * 5 * time.Millisecond)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	h.lives(t)
	until := time.Now().Add(10 * time.Second)
	for ; h.core.Counts().Sessions > 0 || h.core.Memory().Temporary > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("left: %+v, %+v", h.core.Counts(), h.core.Memory())
		}
	}
}

// The end of a server is an error for whoever reads or sends, and not the end of what they read.
func TestServerEnds(t *testing.T) {
	h := newHost(t, hostOptions{rows: 300_000})
	c := h.dial(t, grpc.WithInitialWindowSize(1<<16), grpc.WithInitialConnWindowSize(1<<16))
	info, err := c.Execute(t.Context(), "SELECT n, s FROM t")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.Client.DoGet(t.Context(), info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rows.Recv(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = h.core.Close() }()
	for err == nil {
		_, err = rows.Recv()
	}
	if errors.Is(err, io.EOF) {
		t.Error("the client takes a part of the rows for all of them")
	}
	_, err = c.Execute(t.Context(), "SELECT 1")
	wantCode(t, "a statement afterwards", err, codes.Unavailable)
}
