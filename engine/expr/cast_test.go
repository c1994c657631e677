package expr

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// The error of a cast shows its value also when the batch is gone, whose memory may be no longer mapped.
func TestCastErrorOutlivesBatch(t *testing.T) {
	for _, text := range []string{"12x4", "a text of more than twelve bytes"} {
		data := []byte(text)
		offsets := arrow.Int32Traits.CastToBytes([]int32{0, int32(len(data))})
		buffers := []*memory.Buffer{nil, memory.NewBufferBytes(offsets), memory.NewBufferBytes(data)}
		column := array.NewStringData(array.NewData(arrow.BinaryTypes.String, 1, buffers, nil, 0, 0))
		schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
		p, err := Bind(schema, &Expr{Op: OpCast, Type: typeOf(Int64), Args: []*Expr{Column("s")}, At: -1})
		if err != nil {
			t.Fatal(err)
		}
		e := p.NewEvaluator(memory.DefaultAllocator)
		_, err = e.Eval(t.Context(), array.NewRecordBatch(schema, []arrow.Array{column}, 1))
		e.Release()
		clear(data)
		if err == nil || !strings.Contains(err.Error(), `"`+text+`"`) {
			t.Errorf("the error is %v, which does not show %q", err, text)
		}
	}
}
