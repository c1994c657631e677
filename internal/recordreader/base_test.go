package recordreader

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

var _ array.RecordReader = (*Base)(nil)

// Would catch a batch that leaks or is released early, a function that is called after its end, and
// an error taken for the end of the rows because it is io.EOF.
func TestBase(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil)
	for _, last := range []error{nil, io.EOF, errors.New("damaged"), fmt.Errorf("cut off: %w", io.EOF)} {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		calls, freed := 0, 0
		var b Base
		b.Init(schema, func() (arrow.RecordBatch, error) {
			calls++
			if calls > 3 {
				return nil, last
			}
			values := array.NewInt64Builder(mem)
			defer values.Release()
			values.Append(int64(calls))
			column := values.NewArray()
			defer column.Release()
			return array.NewRecordBatch(schema, []arrow.Array{column}, 1), nil
		}, func() { freed++ })
		b.Retain()
		for want := int64(1); b.Next(); want++ {
			if got := b.RecordBatch().Column(0).(*array.Int64).Value(0); got != want {
				t.Errorf("batch %d: %d", want, got)
			}
		}
		if b.Next() || calls != 4 || b.RecordBatch() != nil {
			t.Errorf("%v: %d calls", last, calls)
		}
		if got := b.Err(); got != last {
			t.Errorf("%v: error %v", last, got)
		}
		b.Release()
		if b.Release(); freed != 1 {
			t.Errorf("freed %d times", freed)
		}
		mem.AssertSize(t, 0)
	}
}
