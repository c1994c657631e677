package scan

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/internal/spawn"
)

const (
	// askedGroups is how many row groups one opened file is asked about, at least.
	askedGroups = 16

	// fruitlessMax is how many row groups of these are asked about the pages of a column when all were in vain: where
	// values lie in no order, pages are as wide as their row group, and their index is most of what there is to read.
	fruitlessMax = 4

	// bloomValuesMax is how many constants are looked up in a Bloom filter, a read each.
	bloomValuesMax = 16
)

// prune says what of each row group is needed for rows of which all terms may be TRUE. The terms are
// about columns of the file.
func (p *parquetFile) prune(c *conjunction) []groupPlan {
	groups := make([]groupPlan, len(p.groups))
	for i := range groups {
		excluded := p.excludes(i, c.terms)
		for _, alternatives := range c.anyOf {
			excluded = excluded || !slices.ContainsFunc(alternatives, func(terms []boundTerm) bool { return !p.excludes(i, terms) })
		}
		if excluded {
			groups[i] = groupPlan{pruned: true, reason: PrunedByStatistics}
		}
	}
	return groups
}

// excludes says whether the statistics of a row group exclude that all terms are TRUE for some row.
func (p *parquetFile) excludes(group int, terms []boundTerm) bool {
	return slices.ContainsFunc(terms, func(t boundTerm) bool {
		b := p.groupBounds(group, t.column)
		return t.excludes(&b)
	})
}

// ask reads what a file knows beside its footer of the row groups that are left, to prune more of them.
// What is corrupt or cannot be read prunes nothing: reading the rows tells of it, if they are needed.
func (p *parquetFile) ask(ctx context.Context, c *conjunction, groups []groupPlan, workers *spawn.Group) {
	var some []int
	for i := range groups {
		if !groups[i].pruned && p.groups[i].rows > 0 && p.mayAnswerAny(i, c) {
			some = append(some, i)
		}
	}
	share := max(askedGroups, len(some)/askers)
	for len(some) > 0 {
		batch := some[:min(share, len(some))]
		some = some[len(batch):]
		workers.Go(func() error {
			f, err := p.fsys.Open(p.path)
			if err != nil {
				return ctx.Err()
			}
			fruitless := map[int]int{}
			for _, i := range batch {
				if ctx.Err() != nil {
					break
				}
				a := asker{file: f, of: p, group: i, rows: p.groups[i].rows, fruitless: fruitless}
				a.ask(c.terms)
				for _, alternatives := range c.anyOf {
					a.askAny(alternatives)
				}
				groups[i] = a.plan
			}
			_ = f.Close() // only read from
			return ctx.Err()
		})
	}
}

// mayAnswerAny says whether more can be learned of a conjunction.
func (p *parquetFile) mayAnswerAny(group int, c *conjunction) bool {
	if p.mayAnswer(group, c.terms) {
		return true
	}
	return slices.ContainsFunc(c.anyOf, func(alternatives [][]boundTerm) bool {
		return !slices.ContainsFunc(alternatives, func(terms []boundTerm) bool { return !p.mayAnswer(group, terms) && !p.excludes(group, terms) })
	})
}

// mayAnswer says whether a row group has more than statistics on a column of a term.
func (p *parquetFile) mayAnswer(group int, terms []boundTerm) bool {
	for i := range terms {
		t := &terms[i]
		if p.leaves[t.column] < 0 {
			continue
		}
		chunk := p.chunk(group, t.column)
		if chunk.columnIndex.bytes > 0 || t.compares() && (chunk.bloom > 0 || dictionaryBytes(chunk) > 0 && !p.settles(group, t)) {
			return true
		}
	}
	return false
}

// chunk returns what is known of a column of a row group. Requires: the column is not nested.
func (p *parquetFile) chunk(group, c int) *columnChunk { return &p.groups[group].chunks[p.leaves[c]] }

// settles says whether the statistics of a row group are all that there is to know of a term: where they do not
// exclude that a value is below another, the smallest value is, or nearly so.
func (p *parquetFile) settles(group int, t *boundTerm) bool {
	switch t.op {
	case OpLess, OpLessOrEqual, OpGreater, OpGreaterOrEqual:
		b := p.groupBounds(group, t.column)
		return b.low != nil && b.high != nil
	}
	return false
}

// asker asks about one row group.
type asker struct {
	file  io.ReaderAt
	of    *parquetFile
	group int
	rows  int64
	plan  groupPlan

	fruitless map[int]int // by column: row groups of whose pages none was excluded
}

func (a *asker) ask(terms []boundTerm) {
	for _, by := range []struct {
		reason   PruneReason
		excludes func(*boundTerm, *storedColumn, *columnChunk) (bool, error)
	}{
		{PrunedByBloomFilter, a.bloomExcludes},
		{PrunedByDictionary, a.dictionaryExcludes},
	} {
		for i := range terms {
			t := &terms[i]
			if a.of.leaves[t.column] < 0 {
				continue
			}
			stored := a.of.storedColumn(t.column)
			if !stored.compared {
				continue
			}
			var excluded bool
			err := guard(func() (err error) {
				excluded, err = by.excludes(t, &stored, a.of.chunk(a.group, t.column))
				return err
			})
			if err == nil && excluded {
				a.plan = groupPlan{pruned: true, reason: by.reason, asked: a.plan.asked}
				return
			}
		}
	}
	a.askPages(terms)
}

// askPages narrows the row ranges by the page indexes of the terms' columns, each of which is read once.
func (a *asker) askPages(terms []boundTerm) {
	for i := range terms {
		c := terms[i].column
		ofColumn := func(t boundTerm) bool { return t.column == c }
		if a.of.leaves[c] < 0 || a.fruitless[c] >= fruitlessMax || slices.ContainsFunc(terms[:i], ofColumn) {
			continue
		}
		stored := a.of.storedColumn(c)
		if !stored.compared {
			continue
		}
		own := slices.DeleteFunc(slices.Clone(terms[i:]), func(t boundTerm) bool { return !ofColumn(t) })
		var excluded bool
		err := guard(func() (err error) {
			excluded, err = a.pagesExclude(own, &stored, a.of.chunk(a.group, c))
			return err
		})
		if err == nil && excluded {
			a.plan = groupPlan{pruned: true, reason: PrunedByPageIndex, asked: a.plan.asked}
			return
		}
	}
}

// askAny asks about alternatives: rows are needed that one of them needs.
func (a *asker) askAny(alternatives [][]boundTerm) {
	if a.plan.pruned {
		return
	}
	var ranges []rowRange
	reason := PrunedByStatistics
	for _, terms := range alternatives {
		if a.of.excludes(a.group, terms) {
			continue
		}
		one := asker{file: a.file, of: a.of, group: a.group, rows: a.rows, fruitless: a.fruitless}
		one.ask(terms)
		a.plan.asked += one.plan.asked
		switch {
		case one.plan.pruned:
			reason = one.plan.reason
			continue
		case one.plan.ranges == nil:
			return
		}
		ranges = unionRanges(ranges, one.plan.ranges)
	}
	if len(ranges) > 0 && a.plan.ranges != nil {
		ranges = intersect(a.plan.ranges, ranges)
		reason = PrunedByPageIndex
	}
	if len(ranges) == 0 {
		a.plan = groupPlan{pruned: true, reason: reason, asked: a.plan.asked}
		return
	}
	a.plan.ranges = ranges
}

// unionRanges returns the rows that are in either of two lists, each in order.
func unionRanges(a, b []rowRange) []rowRange {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y rowRange) int { return cmp.Compare(x.from, y.from) })
	var union []rowRange
	for _, r := range all {
		if last := len(union) - 1; last >= 0 && r.from <= union[last].to {
			union[last].to = max(union[last].to, r.to)
			continue
		}
		union = append(union, r)
	}
	return union
}

// bloomExcludes says whether none of a term's constants is in the chunk, by its Bloom filter.
func (a *asker) bloomExcludes(t *boundTerm, stored *storedColumn, chunk *columnChunk) (bool, error) {
	if t.op != OpEqual && t.op != OpIn || chunk.bloom <= 0 || len(t.values) > bloomValuesMax {
		return false, nil
	}
	filter, err := openBloom(a.file, chunk)
	if err != nil {
		return false, err
	}
	defer func() { a.plan.asked += filter.asked }()
	for i := range t.values {
		plain, ok := stored.plain(&t.values[i])
		if !ok {
			return false, nil
		}
		for _, p := range plain {
			if may, err := filter.mayHold(p); may || err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// dictionaryExcludes says whether a term is TRUE for none of the chunk's values, which are all in its
// dictionary.
func (a *asker) dictionaryExcludes(t *boundTerm, stored *storedColumn, chunk *columnChunk) (bool, error) {
	size := dictionaryBytes(chunk)
	if !t.compares() || size == 0 || a.of.settles(a.group, t) || !a.of.readsFlat(t.column, chunk) {
		return false, nil
	}
	start := chunk.start()
	pages := newChunkPages(a.file, start, start+size, chunk.codec, chunk.unpacked, int(size), newReserving(memory.DefaultAllocator, nil))
	defer pages.close()
	a.plan.asked += size
	dictionary, err := pages.next()
	if err != nil {
		return false, err
	}
	if dictionary.kind != pageDictionary {
		return false, fmt.Errorf("%w: a page of kind %d in place of a dictionary", ErrCorrupt, dictionary.kind)
	}
	suits := false
	err = stored.entries(dictionary, func(entry []byte) bool {
		v := stored.value(entry)
		suits = v == nil || t.admits(v)
		return !suits
	})
	return !suits, err
}

// entries calls a function with the plain values of a dictionary page, until it returns false.
func (s *storedColumn) entries(p page, each func(plain []byte) bool) error {
	width := 0
	switch s.leaf.PhysicalType() {
	case parquet.Types.Int32, parquet.Types.Float:
		width = 4
	case parquet.Types.Int64, parquet.Types.Double:
		width = 8
	case parquet.Types.FixedLenByteArray:
		width = s.leaf.TypeLength()
	case parquet.Types.ByteArray:
	default:
		return fmt.Errorf("a dictionary of %s", s.leaf.PhysicalType())
	}
	data := p.data
	for range p.values {
		size := uint64(width)
		if width == 0 {
			if len(data) < 4 {
				return io.ErrUnexpectedEOF
			}
			size = uint64(binary.LittleEndian.Uint32(data))
			data = data[4:]
		}
		if size > uint64(len(data)) {
			return io.ErrUnexpectedEOF
		}
		if !each(data[:size]) {
			return nil
		}
		data = data[size:]
	}
	return nil
}

// pagesExclude narrows the row ranges to pages of a column for which all terms on it may be TRUE, and says whether none is left.
func (a *asker) pagesExclude(terms []boundTerm, stored *storedColumn, chunk *columnChunk) (bool, error) {
	if chunk.columnIndex.bytes == 0 {
		return false, errors.New("no column index")
	}
	pages, asked, err := readLocations(a.file, chunk, a.rows)
	a.plan.asked += asked
	if err != nil {
		return false, err
	}
	of, asked, err := readPageBounds(a.file, chunk, stored, pages, a.rows)
	a.plan.asked += asked
	if err != nil {
		return false, err
	}
	var left []rowRange
	for i := range pages {
		from := pages[i].row
		to := from + pageRows(pages, i, a.rows)
		switch n := len(left); {
		case slices.ContainsFunc(terms, func(t boundTerm) bool { return t.excludes(&of[i]) }):
			a.plan.pages++
		case n > 0 && left[n-1].to == from:
			left[n-1].to = to
		default:
			left = append(left, rowRange{from: from, to: to})
		}
	}
	if countRows(left) == a.rows {
		a.fruitless[terms[0].column]++
		return false, nil
	}
	if a.plan.ranges != nil {
		left = intersect(a.plan.ranges, left)
	}
	a.plan.ranges = left
	return len(left) == 0, nil
}
