package server

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
)

// valuesMax bounds how many rows of values the parameters of a statement are given at a time: each
// row is a run.
const valuesMax = 10_000

// valueBytesMax bounds the bytes of these rows, which are kept with the statement.
const valueBytesMax = 16 << 20

// BindStream gives the parameters of the statement the values of the rows of an Arrow IPC stream.
func (st *Statement) BindStream(ctx context.Context, stream io.Reader) error {
	eng := st.session.server.opt.Engine
	src, err := dataset.Open(ctx, []string{"-"}, dataset.Options{
		Format: dataset.FormatArrowStream, Stdin: stream, Budget: eng.Budget(),
	})
	if err != nil {
		return fmt.Errorf("values of parameters: %w", err)
	}
	var values [][]plan.Parameter
	bytes := int64(0)
	err = readAll(ctx, eng, src, func(batch arrow.RecordBatch) error {
		if int(batch.NumCols()) != len(st.Parameters) {
			return fmt.Errorf("%w: parameters of the statement: %d; values that are given: %d",
				engine.ErrQuery, len(st.Parameters), batch.NumCols())
		}
		if int64(len(values))+batch.NumRows() > valuesMax {
			return fmt.Errorf("%w: more than %d rows of values", ErrBusy, valuesMax)
		}
		if bytes += rowdata.BatchBytes(batch); bytes > valueBytesMax {
			return fmt.Errorf("%w: values of more than %d B", ErrBusy, valueBytesMax)
		}
		for row := range int(batch.NumRows()) {
			values = append(values, plan.ParametersOf(batch, row))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("values of parameters: %w", err)
	}
	return st.Bind(ctx, values)
}

// readAll hands all batches of a source on, in their order.
func readAll(ctx context.Context, eng *engine.Engine, src scan.Source, take func(arrow.RecordBatch) error) error {
	opt := scan.OpenOptions{Allocator: eng.Allocator(), Budget: eng.Budget()}
	batches := scan.InOrder(ctx, src.Schema(), opt, scan.Once(src))
	defer batches.Release()
	return recordreader.Each(ctx, batches, take)
}
