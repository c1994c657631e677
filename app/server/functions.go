package server

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
)

// Function is a function that statements may call.
type Function struct {
	Name      string `json:"name"`
	Usage     string `json:"usage"` // how a call is written
	Help      string `json:"help"`  // what a call gives
	Aggregate bool   `json:"aggregate"`
}

// Functions returns the functions that statements may call, by their names. Those with a syntax of their own, such as
// operators, are left out.
func Functions() []Function {
	var list []Function
	for _, f := range expr.Functions() {
		if strings.HasPrefix(f.Usage, f.Name+"(") {
			list = append(list, Function{Name: f.Name, Usage: f.Usage, Help: f.Help})
		}
	}
	for _, name := range query.FuncNames() {
		list = append(list, Function{Name: name, Usage: name + "(…)", Help: "an aggregate", Aggregate: true})
	}
	slices.SortFunc(list, func(a, b Function) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(list, func(a, b Function) bool { return a.Name == b.Name })
}
