package expr

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Errors show values also when the batch is gone, whose memory may be no longer mapped.
func TestErrorOutlivesBatch(t *testing.T) {
	toInt := &Expr{Op: OpCast, Type: typeOf(Int64), Args: []*Expr{Column("s")}, At: -1}
	for _, c := range []struct {
		text string
		expr *Expr
	}{
		{"12x4", toInt},
		{"a text of more than twelve bytes", toInt},
		{"(a", Call("regexp_matches", Constant("a"), Column("s"))},
		{"(a pattern of more than twelve bytes", Call("regexp_replace", Constant("a"), Column("s"), Constant("b"))},
	} {
		data := []byte(c.text)
		offsets := arrow.Int32Traits.CastToBytes([]int32{0, int32(len(data))})
		buffers := []*memory.Buffer{nil, memory.NewBufferBytes(offsets), memory.NewBufferBytes(data)}
		column := array.NewStringData(array.NewData(arrow.BinaryTypes.String, 1, buffers, nil, 0, 0))
		schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
		p, err := Bind(t.Context(), schema, c.expr)
		if err != nil {
			t.Fatal(err)
		}
		e := p.NewEvaluator(memory.DefaultAllocator)
		_, _, err = e.Eval(t.Context(), array.NewRecordBatch(schema, []arrow.Array{column}, 1), 0)
		e.Release()
		clear(data)
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("the error is %v, which does not show %q", err, c.text)
		}
	}
}
