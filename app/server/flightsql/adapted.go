package flightsql

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/sink/adapt"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
)

// adaptedRun is a run whose batches become messages of types that the client knows.
type adaptedRun struct {
	*server.Run
	adapter adapt.Adapter
	schema  *arrow.Schema // of the messages
}

// clientAdapter changes columns to types that the driver of a call's client knows. JDBC's driver
// shows 255 of an unsigned byte as -1.
func clientAdapter(ctx context.Context) adapt.Adapter {
	md, _ := metadata.FromIncomingContext(ctx)
	java := slices.ContainsFunc(md.Get("user-agent"), func(agent string) bool {
		return strings.Contains(agent, "grpc-java")
	})
	return adapt.Adapter{Clients: true, Signed: java, Allocator: memory.DefaultAllocator}
}

// clientSchema returns the columns of a result as the client of a call gets them.
func clientSchema(ctx context.Context, of *arrow.Schema) (*arrow.Schema, error) {
	adapter := clientAdapter(ctx)
	schema, err := adapter.Schema(of)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", engine.ErrQuery, err)
	}
	fields := slices.Clone(schema.Fields())
	for i := range fields {
		if d, ok := fields[i].Type.(arrow.DecimalType); ok { // JDBC does not look at the type
			of := fsql.NewColumnMetadataBuilder().Precision(d.GetPrecision()).Scale(d.GetScale())
			fields[i].Metadata = of.Metadata()
		}
	}
	return arrow.NewSchema(fields, nil), nil
}

func newAdaptedRun(ctx context.Context, run *server.Run) (*adaptedRun, error) {
	schema, err := clientSchema(ctx, run.Schema())
	return &adaptedRun{run, clientAdapter(ctx), schema}, err
}

// send sends the batches of the run.
func (o *adaptedRun) send(stream grpc.ServerStream) error {
	w := newRowWriter(stream, o.schema)
	for o.Next() {
		batch, err := o.adapter.Batch(o.schema, o.RecordBatch())
		if err != nil {
			return err
		}
		err = split(batch, w.write)
		batch.Release()
		if err != nil {
			return cmp.Or(o.Err(), err) // the stream of a run that the server has ended has ended, too
		}
	}
	if err := o.Err(); err != nil {
		return err
	}
	return w.end()
}

// messageBytesMax is how many bytes of rows are in a message, but for a single row that has more:
// clients take 4 MiB by default.
const messageBytesMax = 2 << 20

// split hands on the rows of a batch in parts that each fit a message.
func split(batch arrow.RecordBatch, hand func(part arrow.RecordBatch) error) error {
	rows, bytes := batch.NumRows(), rowdata.BatchBytes(batch)
	if rows <= 1 || bytes <= messageBytesMax {
		return hand(batch)
	}
	step := max(rows*messageBytesMax/bytes, 1)
	if step > rows/2 { // or rows of very different sizes would be split one by one
		step = (rows + 1) / 2
	}
	for from := int64(0); from < rows; from += step {
		part := recordreader.Slice(batch, from, min(from+step, rows))
		err := split(part, hand)
		part.Release()
		if err != nil {
			return err
		}
	}
	return nil
}
