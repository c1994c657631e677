package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/mpga/mpga/internal/spawn"
)

// client is a client of its own connection.
type client struct{ *fsql.Client }

// messageBytesMax bounds the messages that clients take.
const messageBytesMax = 64 << 20

// connect connects a client.
func connect(address string) (client, error) {
	c, err := fsql.NewClient(address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageBytesMax)),
		grpc.WithInitialWindowSize(16<<20), grpc.WithInitialConnWindowSize(32<<20))
	return client{c}, err
}

// ask runs a statement and hands the batches of its result on.
func (c client) ask(ctx context.Context, text string, take func(arrow.RecordBatch)) error {
	info, err := c.Execute(ctx, text)
	if err != nil {
		return err
	}
	for _, e := range info.Endpoint {
		rows, err := c.DoGet(ctx, e.Ticket)
		if err != nil {
			return err
		}
		for rows.Next() {
			take(rows.RecordBatch())
		}
		err = rows.Err()
		rows.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// Latency is how long a statement takes again and again.
type Latency struct {
	Median, P99 time.Duration
	PerSecond   float64 // statements of one client
}

// Smallest measures SELECT 1, so many times.
func Smallest(ctx context.Context, address string, times int) (l Latency, err error) {
	c, err := connect(address)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var took []time.Duration
	began := time.Now()
	for range times {
		start, sum := time.Now(), int64(0)
		err := c.ask(ctx, "SELECT 1", func(b arrow.RecordBatch) { sum += int64(b.Column(0).(*array.Int32).Value(0)) })
		if err != nil {
			return l, err
		}
		if sum != 1 {
			return l, fmt.Errorf("SELECT 1 answers %d", sum)
		}
		took = append(took, time.Since(start))
	}
	l.PerSecond = float64(times) / time.Since(began).Seconds()
	slices.Sort(took)
	l.Median, l.P99 = took[times/2], took[times*99/100]
	return l, nil
}

// Flow is how fast rows go each way.
type Flow struct {
	Bytes    int64         // of the rows, as Arrow's arrays
	Put, Get time.Duration // to the server, and back
}

// Rows measures how fast a client puts rows of two columns of 8 bytes, and gets them back.
func Rows(ctx context.Context, address string, rows int64) (f Flow, err error) {
	c, err := connect(address)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	batches := pairs(rows)
	f.Bytes = 16 * rows
	start := time.Now()
	reader, err := array.NewRecordReader(pairSchema, batches)
	if err != nil {
		return f, err
	}
	n, err := c.ExecuteIngest(ctx, reader, &fsql.ExecuteIngestOpts{
		TableDefinitionOptions: &fsql.TableDefinitionOptions{
			IfNotExist: fsql.TableDefinitionOptionsTableNotExistOptionCreate,
			IfExists:   fsql.TableDefinitionOptionsTableExistsOptionFail,
		},
		Table: "load_rows", Temporary: true,
	})
	if err != nil {
		return f, err
	}
	f.Put = time.Since(start)
	start = time.Now()
	var sum, count int64
	err = c.ask(ctx, "SELECT k, v FROM load_rows", func(b arrow.RecordBatch) {
		count += b.NumRows()
		for _, k := range b.Column(0).(*array.Int64).Int64Values() {
			sum += k
		}
	})
	f.Get = time.Since(start)
	if want := rows * (rows - 1) / 2; err == nil && (n != rows || count != rows || sum != want) {
		err = fmt.Errorf("%d rows were put and %d came back, whose keys add up to %d: want %d and %d", n, count, sum, rows, want)
	}
	return f, err
}

var pairSchema = arrow.NewSchema([]arrow.Field{
	{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: arrow.PrimitiveTypes.Float64},
}, nil)

// pairs returns batches of the numbers from 0 to rows-1, and their halves.
func pairs(rows int64) (batches []arrow.RecordBatch) {
	const batchRows = 1 << 16
	for from := int64(0); from < rows; from += batchRows {
		b := array.NewRecordBuilder(memory.DefaultAllocator, pairSchema)
		keys, values := b.Field(0).(*array.Int64Builder), b.Field(1).(*array.Float64Builder)
		for n := from; n < min(from+batchRows, rows); n++ {
			keys.Append(n)
			values.Append(float64(n) / 2)
		}
		batches = append(batches, b.NewRecordBatch())
	}
	return batches
}

// Share is what one of many clients got.
type Share struct {
	Statements int
	Mean       time.Duration // of a statement
	Longest    time.Duration
}

// Check looks at an answer.
type Check interface {
	Take(arrow.RecordBatch) // each batch, in turn
	End() error             // what is wrong with the answer
}

// Crowd has many clients ask the same statement again and again for a time, each as soon as it has
// the answer to the last, and returns what each got. newCheck makes what looks at an answer.
func Crowd(ctx context.Context, address string, clients int, statement string, during time.Duration, newCheck func() Check) ([]Share, error) {
	shares := make([]Share, clients)
	end := time.Now().Add(during)
	var group spawn.Group
	var begin sync.WaitGroup
	begin.Add(clients)
	for i := range shares {
		group.Go(func() error {
			err := shares[i].ask(ctx, address, statement, end, &begin, newCheck)
			if err != nil {
				return fmt.Errorf("client %d: %w", i, err)
			}
			return nil
		})
	}
	return shares, group.Wait()
}

func (s *Share) ask(ctx context.Context, address, statement string, end time.Time, begin *sync.WaitGroup, newCheck func() Check) (err error) {
	c, err := connect(address)
	begin.Done()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	begin.Wait()
	var total time.Duration
	for s.Statements == 0 || time.Now().Before(end) {
		start := time.Now()
		check := newCheck()
		if err := c.ask(ctx, statement, check.Take); err != nil {
			return err
		}
		took := time.Since(start)
		if err := check.End(); err != nil {
			return err
		}
		s.Statements++
		total += took
		s.Longest = max(s.Longest, took)
	}
	s.Mean = total / time.Duration(s.Statements)
	return nil
}
