package device

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/stream"
)

// Query is what devices know of a query.
type Query struct {
	*aggregator.Query
	Devices *Devices
	Splits  []scan.Split    // of the input
	CPU     *aggregator.CPU // takes the rows and groups that devices give back

	// Read returns how many rows of the input have been read, and which part of the input these are; -1 where that is
	// not known.
	Read func() (rows int64, part float64)

	Allocator memory.Allocator // of batches that devices decode

	// Passed counts rows that have passed the condition of splits whose rows are not known before.
	Passed func(rows int64)

	// Forecast looks at a sample of the input.
	Forecast func(ctx context.Context) (Size, error)

	// Strings looks at a sample of a column of Bound.Columns: Groups are its values that differ.
	Strings func(ctx context.Context, column int) (Size, error)
}

// span shows the work of a stream of a device, and its copies as work of the copy engines, which
// copy for all streams.
func (q *Query) span(device, index int, lane stream.Lane, name string, begin, end time.Time) {
	group := fmt.Sprintf("device %d", device)
	row := fmt.Sprintf("stream %d", index)
	switch lane {
	case stream.LaneCopyIn:
		q.Trace.Row(group, "copy engine in", 0).Add(row, begin, end)
	case stream.LaneCopyOut:
		q.Trace.Row(group, "copy engine out", 1).Add(row, begin, end)
	}
	q.Trace.Row(group, row, 2+index).Add(name, begin, end)
}

// streamTrace returns span; nil without a trace.
func (q *Query) streamTrace() func(device, stream int, lane stream.Lane, name string, begin, end time.Time) {
	if q.Trace == nil {
		return nil
	}
	return q.span
}
