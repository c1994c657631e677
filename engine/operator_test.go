package engine_test

import (
	"testing"

	"github.com/mpga/mpga/engine"
)

// Would catch a branch that is drawn as another's, and a property that looks as if it were an input's.
func TestOperatorDrawing(t *testing.T) {
	left := &engine.Operator{Name: "filter", Of: "(a > 1)", Inputs: []*engine.Operator{{Name: "scan", Of: "a", Properties: []string{"of 3 files"}}}}
	right := &engine.Operator{Name: "values", Properties: []string{"1 row"}}
	root := &engine.Operator{Name: "join", Of: "a = b", Inputs: []*engine.Operator{left, right}}
	root.Property("build: %d rows", 7)
	const want = `join: a = b
│ build: 7 rows
├─ filter: (a > 1)
│  └─ scan: a
│       of 3 files
└─ values
     1 row
`
	if got := root.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
