package scan

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// learned is a row group beside a filter that learns while rows are read: row groups whose bounds promise most are
// read first, and a row group is passed over where no row of it passes any more.
type learned struct {
	filter LearningFilter
	typ    arrow.DataType   // of the column of the filter's term
	bounds predicate.Bounds // of the column in the row group
}

// learned returns a row group of a file beside the table's filter; nil where the filter learns nothing, or nothing of
// a column that the file has as the table has it.
func (f *filteredTable) learned(file, group int) *learned {
	in := &f.table.files[file]
	for _, filter := range filtersOf(f.test.rows.Filter) {
		of, ok := filter.(LearningFilter)
		if !ok {
			continue
		}
		t, ok := of.Learned()
		if !ok || t.Column == f.rowNumber() || t.Column >= f.fileColumns || in.lacks(t.Column) || in.differs {
			continue
		}
		bounds := in.Input.(decode.Grouped).BoundsOf(group, in.columns[t.Column])
		return &learned{of, f.test.schema.Field(t.Column).Type, bounds}
	}
	return nil
}

// ended returns decode.GroupFilter.Ended.
func (l *learned) ended() func() bool {
	if l == nil {
		return nil
	}
	return func() bool {
		t, _ := l.filter.Learned()
		term, ok := predicate.Bind(t.Column, ops[t.Op].is, t.Values, l.typ)
		return ok && len(t.Values) > 0 && term.Excludes(&l.bounds)
	}
}

// promise compares row groups: the one is less that has the better bound.
// Requires: both have bounds.
func (l *learned) promise(o *learned) int {
	t, _ := l.filter.Learned()
	a, b, sign := l.bounds.Low, o.bounds.Low, 1
	if ops[t.Op].is&predicate.Greater != 0 {
		a, b, sign = l.bounds.High, o.bounds.High, -1
	}
	return sign * a.Compare(b)
}

// byPromise puts splits first whose row groups promise most, where each has bounds.
func byPromise(splits []Split, of []*learned) {
	for _, l := range of {
		if l == nil || l.bounds.Low == nil || l.bounds.High == nil {
			return
		}
	}
	order := numbersTo(len(splits))
	slices.SortStableFunc(order, func(i, j int) int { return of[i].promise(of[j]) })
	all := slices.Clone(splits)
	for i, from := range order {
		splits[i] = all[from]
	}
}
