package logical

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
)

// Would catch a lookup of a name whose work grows with the columns of the table: a statement of thousands of
// columns with the table's name before each took ten seconds to plan.
func TestWideScope(t *testing.T) {
	const columns = 10_000
	fields := make([]arrow.Field, columns)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprint("c", i), Type: arrow.PrimitiveTypes.Int64}
	}
	rel := new(binder).tableScope(scan.Batches(arrow.NewSchema(fields, nil), nil), "wide")
	rel.qualify(0, []string{"t"})
	for _, e := range []*expr.Expr{
		{Op: expr.OpColumn, Name: "t.c9999", Path: []string{"t", "c9999"}, Qualified: true},
		{Op: expr.OpColumn, Name: "c9999"},
	} {
		allocations := testing.AllocsPerRun(10, func() {
			if i, err := rel.find(e); i != columns-1 || err != nil {
				t.Fatal(i, err)
			}
		})
		if allocations > 20 {
			t.Errorf("%s: %v allocations", e.Name, allocations)
		}
	}
}
