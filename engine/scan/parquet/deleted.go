package parquet

import (
	"errors"
	"fmt"

	"github.com/mpga/mpga/engine/scan/internal/decode"
)

// errDeleted is why a device decodes no pages of a row group.
var errDeleted = errors.New("rows of the row group are deleted")

// Delete leaves out rows, counted from 0 in the file, which ascend.
//
// Requires: nothing has been asked of the file.
func (p *File) Delete(rows []int64) error {
	if len(rows) == 0 {
		return nil
	}
	if last := rows[len(rows)-1]; rows[0] < 0 || last >= p.rows {
		return fmt.Errorf("%w: row %d is deleted, of a file of %d rows", decode.ErrCorrupt, max(last, -rows[0]), p.rows)
	}
	p.kept = make([][]decode.RowRange, len(p.groups))
	first := int64(0)
	for i := range p.groups {
		n, from := p.groups[i].rows, int64(0)
		for ; len(rows) > 0 && rows[0] < first+n; rows = rows[1:] {
			if row := rows[0] - first; row > from {
				p.kept[i] = append(p.kept[i], decode.RowRange{From: from, To: row})
			}
			from = max(from, rows[0]-first+1) // a row may be named twice
		}
		if from < n {
			p.kept[i] = append(p.kept[i], decode.RowRange{From: from, To: n})
		}
		first += n
	}
	return nil
}

// KeptRows implements decode.Grouped.
func (p *File) KeptRows(group int) int64 {
	if p.kept == nil {
		return p.groups[group].rows
	}
	return decode.CountRows(p.kept[group])
}

// undeleted returns the plan of a row group without its deleted rows.
func (p *File) undeleted(group int) decode.GroupPlan {
	switch p.KeptRows(group) {
	case p.groups[group].rows:
		return decode.GroupPlan{}
	case 0:
		return decode.GroupPlan{Pruned: true, Reason: decode.PrunedByStatistics}
	}
	return decode.GroupPlan{Ranges: p.kept[group]}
}

// allUndeleted returns the plans of all row groups.
func (p *File) allUndeleted() []decode.GroupPlan {
	plans := make([]decode.GroupPlan, len(p.groups))
	for i := range plans {
		plans[i] = p.undeleted(i)
	}
	return plans
}
