package logical

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Names are the names of columns that are taken, in lower case: aggregations, and batches that are read
// by name, need names that are apart.
type Names map[string]bool

// NamesOf returns the names of columns.
func NamesOf(schema *arrow.Schema) Names {
	taken := Names{}
	for _, f := range schema.Fields() {
		taken[strings.ToLower(f.Name)] = true
	}
	return taken
}

// Unique takes a name for a column, with a number behind it where another column has the name.
func (n Names) Unique(name string) string {
	own := name
	for i := 2; n[strings.ToLower(own)]; i++ {
		own = fmt.Sprintf("%s#%d", name, i)
	}
	n[strings.ToLower(own)] = true
	return own
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
