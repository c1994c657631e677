package kernels

import (
	"fmt"
	"math"
)

// codesLayout is the scratch of KernelSortedCodes: a table of the keys with a status of its own, the keys by code, the
// codes of rows and of groups, and the scratch of a sort of codes.
type codesLayout struct {
	scratchLayout
	table, status, numbered, dictionary, codes, groups, sort int64
	sorted                                                   sortedLayout
}

func layoutSortedCodes(shape *Shape, plan Plan, rows int64) codesLayout {
	var l codesLayout
	coded := shape.coded()
	l.table = l.take((&Shape{KeyBytes: shape.KeyBytes, Folds: codeFold}).TableBytes(plan.Slots))
	l.status, l.numbered = l.take(groupsStatusBytes), l.take(groupsStatusBytes)
	l.dictionary = l.take((plan.Slots + 1) * int64(shape.KeyBytes))
	l.codes, l.groups = l.take(4*rows), l.take(4*rows)
	l.sorted = layoutSorted(&coded, rows, movedBytes(shape))
	l.sort = l.take(l.sorted.bytes)
	return l
}

// codeFold has as many words as a code takes in a table.
var codeFold = []Fold{{Op: Count, Column: -1, Other: -1}}

// coded returns the shape of rows with codes in place of keys.
func (s *Shape) coded() Shape { return Shape{KeyBytes: 4, Columns: s.Columns, Folds: s.Folds} }

// aggregateSortedCodes: keys come to a table, whose slots get codes; each row looks for its code; codes are sorted with
// the columns; and groups get keys for codes. Rows that found no slot make the answer void.
func (o *operation) aggregateSortedCodes(shape *Shape, plan Plan, at uint64) {
	rows, given := int64(o.param.rows.count), o.param
	if rows > math.MaxUint32 {
		o.err = fmt.Errorf("%d rows: %w", rows, errTooManyRows)
		return
	}
	l := layoutSortedCodes(shape, plan, rows)
	keys := Shape{KeyBytes: shape.KeyBytes}
	o.param.shape = makeShapeParam(&keys)
	o.param.shape.stateWords = 1 // a code, which no fold changes
	o.startStatus(at + uint64(l.status))
	o.useTable(plan.Slots, at+uint64(l.table))
	o.resetTable()
	o.codeKeys(&keys, &l, at, plan.Slots, rows)

	coded := shape.coded()
	p := &sortLaunch{rows: given.rows, groups: given.groups}
	p.rows.keys, p.groups.keys = at+uint64(l.codes), at+uint64(l.groups)
	o.sortAndReduce(&coded, columnRuns(&coded, &given.rows.valid), p, &l.sorted, at+uint64(l.sort))

	o.param.groups, o.param.out.keys = given.groups, at+uint64(l.groups)
	o.run("code_keys_groups", o.blocksFor(min(rows, int64(given.groups.capacity))), launchThreads, 0)
}

// codeKeys adds the launches that bring keys to the table that is set, and give codes to its slots and to rows.
func (o *operation) codeKeys(keys *Shape, l *codesLayout, at uint64, slots, rows int64) {
	looks, suffix := o.looksFor(keys, rows), keySuffix(keys)
	codes := at + uint64(l.codes)
	o.fill(codes, 4*rows, 0)
	o.run("code_keys_insert"+suffix, looks.blocks, lookThreads, 0)
	numbered := at + uint64(l.numbered)
	o.fill(numbered, groupsStatusBytes, 0)
	o.param.groups = groupsParam{capacity: uint64(slots) + 1, status: numbered}
	o.param.in.keys = at + uint64(l.dictionary)
	o.param.slotBegin, o.param.slotEnd = 0, uint64(slots)+1
	o.run("code_keys_slots", o.blocksFor(slots+1), launchThreads, 0)
	o.param.out.keys = codes
	o.run("code_keys_rows"+suffix, looks.blocks, lookThreads, 0)
}
