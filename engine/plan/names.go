package plan

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// names are the names of columns that are taken, in lower case: the columns of a node are told apart by
// their names.
type names map[string]bool

// namesOf returns the names of columns.
func namesOf(schema *arrow.Schema) names {
	taken := names{}
	for _, f := range schema.Fields() {
		taken[strings.ToLower(f.Name)] = true
	}
	return taken
}

// apart gives columns of the same name numbers, as DuckDB does: a, a_1, a_2.
func apart(list []string) []string {
	taken := map[string]bool{}
	numbers := map[string]int{} // of the last column of a name
	made := make([]string, len(list))
	for i, own := range list {
		name := own
		for taken[name] {
			numbers[own]++
			name = fmt.Sprintf("%s_%d", own, numbers[own])
		}
		taken[name] = true
		made[i] = name
	}
	return made
}

// unique takes a name for a column, with a number behind it where another column has the name.
func (n names) unique(name string) string {
	own := name
	for i := 2; n[strings.ToLower(own)]; i++ {
		own = fmt.Sprintf("%s#%d", name, i)
	}
	n[strings.ToLower(own)] = true
	return own
}
