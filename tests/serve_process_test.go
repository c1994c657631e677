package tests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// dialServer connects a client that takes little at a time.
func dialServer(t *testing.T, s *served) *flightsql.Client {
	t.Helper()
	c, err := flightsql.NewClient(s.address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(1<<16), grpc.WithInitialConnWindowSize(1<<16))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// begin begins to read the rows of a statement.
func begin(t *testing.T, c *flightsql.Client, text string) flight.FlightService_DoGetClient {
	t.Helper()
	info, err := c.Execute(t.Context(), text)
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
	return rows
}

// finish reads the rest of the rows, and returns how many messages there were.
func finish(rows flight.FlightService_DoGetClient) (messages int, err error) {
	for ; err == nil; messages++ {
		_, err = rows.Recv()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return messages, err
}

const allFlights = "SELECT *, upper(origin) || destination AS route, delay * 2 AS twice FROM flights"

// A client whose server is killed has an error, not a part of the rows; what the server has left of
// temporary files goes when the next one starts.
func TestServeKilled(t *testing.T) {
	temp := t.TempDir()
	s := startServer(t, "--temp-dir", temp, "--table-memory", "1KiB")
	c := dialServer(t, s)
	sendTable(t, c, "mine")
	if left, err := os.ReadDir(temp); err != nil || len(left) == 0 {
		t.Fatalf("the table is not in a file: %v, %v", left, err)
	}
	rows := begin(t, c, allFlights)
	if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.log
	<-s.ended
	s.cmd = nil
	if n, err := finish(rows); status.Code(err) != codes.Unavailable {
		t.Errorf("after %d messages: %v", n, err)
	}
	next := startServer(t, "--temp-dir", temp, "--table-memory", "1KiB")
	sendTable(t, dialServer(t, next), "other")
	next.end(t)
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

// sendTable makes a temporary table of the rows of a query.
func sendTable(t *testing.T, c *flightsql.Client, name string) {
	t.Helper()
	info, err := c.Execute(t.Context(), "SELECT origin, delay FROM flights LIMIT 1000")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.DoGet(t.Context(), info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	n, err := c.ExecuteIngest(t.Context(), rows, &flightsql.ExecuteIngestOpts{Table: name, TableDefinitionOptions: &flightsql.TableDefinitionOptions{
		IfNotExist: flightsql.TableDefinitionOptionsTableNotExistOptionCreate, IfExists: flightsql.TableDefinitionOptionsTableExistsOptionFail,
	}})
	if err != nil || n != 1000 {
		t.Fatalf("%d rows, %v", n, err)
	}
}

// A server that is asked to end lets statements that run go on, refuses further ones, and ends by
// itself; after --drain-timeout it ends all the same, and clients have errors.
func TestServeDrains(t *testing.T) {
	for _, patient := range []bool{true, false} {
		t.Run(fmt.Sprint(patient), func(t *testing.T) {
			s := startServer(t, "--drain-timeout", map[bool]string{true: "1m", false: "200ms"}[patient])
			c := dialServer(t, s)
			rows := begin(t, c, allFlights)
			if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for { // until the signal has come
				_, err := c.Execute(ctx, "SELECT 1")
				if status.Code(err) == codes.Unavailable {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if !patient {
				time.Sleep(time.Second)
			}
			n, err := finish(rows)
			if patient && (err != nil || n < 10) || !patient && err == nil {
				t.Errorf("%d messages, %v", n, err)
			}
			log := <-s.log
			if err := <-s.ended; err != nil {
				t.Errorf("the server: %v\n%s", err, log)
			}
			s.cmd = nil
			if !strings.Contains(log, "the server is ending") {
				t.Error(log)
			}
		})
	}
}
