package parquet

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

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/internal/spawn"
)

const (
	// askedGroups is how many row groups are asked about with one opened file, at least.
	askedGroups = 16

	// fruitlessMax is how many of these row groups are asked about the pages of a column while all
	// are asked in vain: where values lie in no order, pages have the bounds of their row group,
	// and the page index is most of what there is to read.
	fruitlessMax = 4

	// bloomValuesMax is how many constants are looked up in a Bloom filter, by a read each.
	bloomValuesMax = 16
)

// Prune implements decode.Grouped, by the statistics of the footer.
func (p *File) Prune(c *predicate.Conjunction) []decode.GroupPlan {
	groups := p.allUndeleted()
	for i := range groups {
		if groups[i].Pruned {
			continue
		}
		excluded := p.excludes(i, c.Terms)
		for _, alternatives := range c.AnyOf {
			possible := func(terms []predicate.Term) bool { return !p.excludes(i, terms) }
			excluded = excluded || !slices.ContainsFunc(alternatives, possible)
		}
		if excluded {
			groups[i] = decode.GroupPlan{Pruned: true, Reason: decode.PrunedByStatistics}
		}
	}
	return groups
}

// excludes says whether, by the statistics of a row group, no row makes all terms TRUE.
func (p *File) excludes(group int, terms []predicate.Term) bool {
	return slices.ContainsFunc(terms, func(t predicate.Term) bool {
		b := p.BoundsOf(group, t.Column)
		return t.Excludes(&b)
	})
}

// Ask implements decode.Grouped, by Bloom filters, dictionaries and page indexes. What is corrupt
// or cannot be read prunes nothing: reading the rows fails then, if they are needed. S6.
func (p *File) Ask(ctx context.Context, c *predicate.Conjunction, groups []decode.GroupPlan, workers *spawn.Group) {
	var some []int
	for i := range groups {
		if !groups[i].Pruned && p.groups[i].rows > 0 && p.mayAnswerAny(i, c) {
			some = append(some, i)
		}
	}
	share := max(askedGroups, len(some)/decode.Askers)
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
				a := asker{file: f, of: p, group: i, rows: p.groups[i].rows, plan: groups[i], fruitless: fruitless}
				a.ask(c.Terms)
				for _, alternatives := range c.AnyOf {
					a.askAny(alternatives)
				}
				groups[i] = a.plan
			}
			_ = f.Close() // only read from
			return ctx.Err()
		})
	}
}

// mayAnswerAny says whether a row group may be pruned by more than statistics.
func (p *File) mayAnswerAny(group int, c *predicate.Conjunction) bool {
	if p.mayAnswer(group, c.Terms) {
		return true
	}
	sure := func(terms []predicate.Term) bool { return !p.mayAnswer(group, terms) && !p.excludes(group, terms) }
	return slices.ContainsFunc(c.AnyOf, func(alternatives [][]predicate.Term) bool {
		return !slices.ContainsFunc(alternatives, sure)
	})
}

// mayAnswer says whether a row group has more than statistics on the column of one of the terms.
func (p *File) mayAnswer(group int, terms []predicate.Term) bool {
	for i := range terms {
		t := &terms[i]
		if p.leaves[t.Column] < 0 {
			continue
		}
		chunk := p.chunk(group, t.Column)
		if chunk.columnIndex.bytes > 0 ||
			t.Compares() && (chunk.bloom > 0 || dictionaryBytes(chunk) > 0 && !p.settles(group, t)) {
			return true
		}
	}
	return false
}

// chunk returns what the footer says of a column of a row group.
// Requires: the column is not nested.
func (p *File) chunk(group, c int) *columnChunk { return &p.groups[group].chunks[p.leaves[c]] }

// settles says whether no dictionary can exclude a term that the statistics of a row group do not
// exclude: where they say that some value may be below a constant, the smallest value is, or nearly
// so.
func (p *File) settles(group int, t *predicate.Term) bool {
	if !t.Orders() {
		return false
	}
	b := p.BoundsOf(group, t.Column)
	return b.Low != nil && b.High != nil
}

// asker asks about one row group.
type asker struct {
	file  io.ReaderAt
	of    *File
	group int
	rows  int64            // of the group
	plan  decode.GroupPlan // by the answers so far

	fruitless map[int]int // by column: how many row groups had no page that was excluded
}

// ask prunes the row group, or narrows the row ranges, by what is known of the terms' columns:
// first by what costs least to read.
func (a *asker) ask(terms []predicate.Term) {
	for _, by := range []struct {
		reason decode.PruneReason
		asks   func(terms []predicate.Term, at int, stored *storedColumn, chunk *columnChunk) (excluded bool, err error)
	}{
		{decode.PrunedByBloomFilter, a.bloomExcludes},
		{decode.PrunedByDictionary, a.dictionaryExcludes},
		{decode.PrunedByPageIndex, a.pagesExclude},
	} {
		for i, t := range terms {
			stored := a.of.storedColumn(t.Column)
			if !stored.compared {
				continue
			}
			var excluded bool
			err := decode.Guard(func() (err error) {
				excluded, err = by.asks(terms, i, &stored, a.of.chunk(a.group, t.Column))
				return err
			})
			if err == nil && excluded {
				a.plan = decode.GroupPlan{Pruned: true, Reason: by.reason, Asked: a.plan.Asked}
				return
			}
		}
	}
}

// askAny asks about alternatives: a row is needed if one of the alternatives needs it.
func (a *asker) askAny(alternatives [][]predicate.Term) {
	if a.plan.Pruned {
		return
	}
	var ranges []decode.RowRange
	reason := decode.PrunedByStatistics
	for _, terms := range alternatives {
		if a.of.excludes(a.group, terms) {
			continue
		}
		one := *a
		one.plan = decode.GroupPlan{}
		one.ask(terms)
		a.plan.Asked += one.plan.Asked
		switch {
		case one.plan.Pruned:
			reason = one.plan.Reason
			continue
		case one.plan.Ranges == nil:
			return
		}
		ranges = unionRanges(ranges, one.plan.Ranges)
	}
	if len(ranges) > 0 && a.plan.Ranges != nil {
		ranges = decode.Intersect(a.plan.Ranges, ranges)
		reason = decode.PrunedByPageIndex
	}
	if len(ranges) == 0 {
		a.plan = decode.GroupPlan{Pruned: true, Reason: reason, Asked: a.plan.Asked}
		return
	}
	a.plan.Ranges = ranges
}

// unionRanges returns the rows that are in either of two lists, each in order.
func unionRanges(a, b []decode.RowRange) []decode.RowRange {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y decode.RowRange) int { return cmp.Compare(x.From, y.From) })
	var union []decode.RowRange
	for _, r := range all {
		if last := len(union) - 1; last >= 0 && r.From <= union[last].To {
			union[last].To = max(union[last].To, r.To)
			continue
		}
		union = append(union, r)
	}
	return union
}

// bloomExcludes says whether none of the at-th term's constants is in the chunk, by its Bloom
// filter.
func (a *asker) bloomExcludes(terms []predicate.Term, at int, stored *storedColumn, chunk *columnChunk) (bool, error) {
	t := &terms[at]
	if t.Is != predicate.Equal || chunk.bloom <= 0 || len(t.Values) > bloomValuesMax {
		return false, nil
	}
	filter, err := openBloom(a.file, chunk)
	if err != nil {
		return false, err
	}
	defer func() { a.plan.Asked += filter.asked }()
	for i := range t.Values {
		plain, ok := stored.plain(&t.Values[i])
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

// dictionaryExcludes says whether the at-th term is TRUE for none of the chunk's values, which are
// all in its dictionary.
func (a *asker) dictionaryExcludes(
	terms []predicate.Term, at int, stored *storedColumn, chunk *columnChunk,
) (bool, error) {
	t, size := &terms[at], dictionaryBytes(chunk)
	if !t.Compares() || size == 0 || a.of.settles(a.group, t) || !a.of.readsFlat(t.Column, chunk) {
		return false, nil
	}
	start, mem := chunk.start(), reserve.New(memory.DefaultAllocator, nil)
	pages := newChunkPages(a.file, start, start+size, chunk.codec, chunk.unpacked, int(size), mem)
	defer pages.close()
	a.plan.Asked += size
	dictionary, err := pages.next()
	if err != nil {
		return false, err
	}
	if dictionary.kind != pageDictionary {
		return false, fmt.Errorf("%w: a page of kind %d in place of a dictionary", decode.ErrCorrupt, dictionary.kind)
	}
	suits := false
	err = stored.entries(dictionary, func(entry []byte) bool {
		v := stored.value(entry)
		suits = v == nil || t.Admits(v)
		return !suits
	})
	return !suits, err
}

// entries calls a function with the plain values of a dictionary page, until it returns false.
func (s *storedColumn) entries(p page, each func(plain []byte) bool) error {
	if t := s.leaf.PhysicalType(); t == parquet.Types.Boolean {
		return fmt.Errorf("a dictionary of %s", t)
	}
	data := p.data
	for range p.values {
		size := uint64(s.plainBytes())
		if size == 0 {
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

// pagesExclude narrows the row ranges to the pages of the at-th term's column for which all terms
// on the column may be TRUE, and says whether no row is left. It does so once for a column.
func (a *asker) pagesExclude(terms []predicate.Term, at int, stored *storedColumn, chunk *columnChunk) (bool, error) {
	c := terms[at].Column
	ofColumn := func(t predicate.Term) bool { return t.Column == c }
	if a.fruitless[c] >= fruitlessMax || slices.ContainsFunc(terms[:at], ofColumn) {
		return false, nil
	}
	if chunk.columnIndex.bytes == 0 {
		return false, errors.New("no column index")
	}
	pages, asked, err := readLocations(a.file, chunk, a.rows)
	a.plan.Asked += asked
	if err != nil {
		return false, err
	}
	of, asked, err := readPageBounds(a.file, chunk, stored, pages, a.rows)
	a.plan.Asked += asked
	if err != nil {
		return false, err
	}
	var left []decode.RowRange
	for i := range pages {
		from := pages[i].row
		to := from + pageRows(pages, i, a.rows)
		switch n := len(left); {
		case slices.ContainsFunc(terms, func(t predicate.Term) bool { return ofColumn(t) && t.Excludes(&of[i]) }):
			a.plan.Pages++
		case n > 0 && left[n-1].To == from:
			left[n-1].To = to
		default:
			left = append(left, decode.RowRange{From: from, To: to})
		}
	}
	if decode.CountRows(left) == a.rows {
		a.fruitless[c]++
		return false, nil
	}
	if a.plan.Ranges != nil {
		left = decode.Intersect(a.plan.Ranges, left)
	}
	a.plan.Ranges = left
	return len(left) == 0, nil
}
