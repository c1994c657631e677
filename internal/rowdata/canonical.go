package rowdata

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// States that leave the process have a canonical form (W2): their folds and the layout of their
// keys follow from the query and the types of its columns, and not from statistics of a source.

// BindCanonical is Bind with canonical folds: every column is taken to have NULLs. Keys are packed
// as the statistics allow.
func BindCanonical(q query.Query, schema *arrow.Schema, stats []ColumnStats) (*Bound, error) {
	return newBinder(schema, stats, true).bind(q)
}

// Canonical returns the bound of the same query with canonical keys too. It has the columns of b,
// in the same order, as if they were all the columns of its source.
//
// Requires: b is of BindCanonical.
func (b *Bound) Canonical() (*Bound, error) {
	fields := make([]arrow.Field, len(b.Columns))
	for i := range b.Columns {
		c := &b.Columns[i]
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: c.Nullable}
	}
	return BindCanonical(b.Query, arrow.NewSchema(fields, nil), nil)
}

// PositionShift moves the positions in states, where rows of several sources are one input.
type PositionShift struct {
	layout RowLayout
	alone  []int      // offsets of states that are a position, of groups that have a row
	words  []int      // offsets of the positions in FoldBest states
	seen   []int      // by position in words: offset of the first word of its state, 0 before a row came
	lists  []stateRef // states with a position in each element
}

// NewPositionShift returns the shift of a query's states.
func NewPositionShift(b *Bound) *PositionShift {
	s := &PositionShift{layout: b.StateLayout()}
	for i := range b.Folds {
		f, at := &b.Folds[i], s.layout.Parts[i]
		word := 0 // of the input in an element, or behind the first word of a FoldBest
		for _, input := range f.Inputs {
			arg := &b.Args[b.Inputs[input].Arg]
			switch {
			case arg.Encoding != Position:
			case f.Kind == FoldMin:
				s.alone = append(s.alone, at)
			case f.Kind == FoldBest:
				s.words, s.seen = append(s.words, at+1+word), append(s.seen, at)
			default:
				s.lists = append(s.lists, stateRef{at, f})
			}
			word += arg.Words
		}
	}
	return s
}

// Apply adds to all positions of a page of states.
func (s *PositionShift) Apply(page *Page, by uint64) {
	if by == 0 || len(s.alone)+len(s.words)+len(s.lists) == 0 {
		return
	}
	for at := range page.Rows {
		row := page.Words[at*s.layout.Stride : (at+1)*s.layout.Stride]
		for _, word := range s.alone {
			row[word] += by
		}
		for i, word := range s.words {
			if row[s.seen[i]] != 0 {
				row[word] += by
			}
		}
		for _, l := range s.lists {
			elements := l.fold.Elements(row[l.offset : l.offset+l.fold.Words])
			// The position is the last word of an element: after the value in a list, after the
			// number of rows in a counted set.
			for e := l.fold.ElementWords - 1; e < len(elements); e += l.fold.ElementWords {
				elements[e] += by
			}
		}
	}
}
