package window

import (
	"context"
	"fmt"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/gather"
)

// places makes a column of the places of rows.
type places struct {
	opt  *Options
	call *Call
}

func (p *places) release() {}

// column implements maker.
func (p *places) column(_ context.Context, b *rows) (arrow.Array, error) {
	if p.call.Func == PercentRank || p.call.Func == CumeDist {
		made := array.NewFloat64Builder(p.opt.Allocator)
		defer made.Release()
		made.Reserve(b.rows)
		for row := range b.rows {
			made.UnsafeAppend(p.share(b, row))
		}
		return made.NewArray(), nil
	}
	made := array.NewInt64Builder(p.opt.Allocator)
	defer made.Release()
	made.Reserve(b.rows)
	if p.call.Func == Ntile {
		return p.ntile(b, made)
	}
	for row := range b.rows {
		made.UnsafeAppend(int64(p.number(b, row)))
	}
	return made.NewArray(), nil
}

// number returns a row's number, from 1 on.
func (p *places) number(b *rows, row int) int {
	first, _ := b.partition(row)
	rows, peers := 0, 0 // in blocks before
	if b.partitionOf[row] == 0 {
		rows, peers = b.rowsBefore, b.peersDone
	}
	switch p.call.Func {
	case RowNumber:
		return rows + row - first + 1
	case Rank:
		peer, _ := b.peers(row)
		return rows + peer - first + 1
	}
	return peers + int(b.peersOf[row]-b.peersOf[first]) + 1 // DenseRank
}

// share returns a row's place from 0 to 1.
func (p *places) share(b *rows, row int) float64 {
	first, last := b.partition(row)
	peer, behind := b.peers(row)
	if p.call.Func == CumeDist {
		return float64(behind-first) / float64(last-first)
	}
	return float64(peer-first) / float64(max(last-first-1, 1))
}

// ntile deals the rows of each partition to parts; the first ones have a row more.
func (p *places) ntile(b *rows, made *array.Int64Builder) (arrow.Array, error) {
	parts, err := b.column(p.call.Args[0])
	if err != nil {
		return nil, err
	}
	of := parts.(*array.Int64)
	for row := range b.rows {
		if of.IsNull(row) {
			made.AppendNull()
			continue
		}
		n := of.Value(row)
		if n <= 0 {
			return nil, fmt.Errorf("%w: ntile(%d): want a number above 0", query.ErrQuery, n)
		}
		first, last := b.partition(row)
		at, rows := int64(row-first), int64(last-first)
		size, larger := rows/n, rows%n
		if many := larger * (size + 1); at < many {
			made.Append(at/(size+1) + 1)
		} else {
			made.Append(larger + (at-many)/size + 1)
		}
	}
	return made.NewArray(), nil
}

// values makes a column of values of other rows.
type values struct {
	opt  *Options
	call *Call
}

func (v *values) release() {}

// column implements maker.
func (v *values) column(_ context.Context, b *rows) (arrow.Array, error) {
	of, err := b.column(v.call.Args[0])
	if err != nil {
		return nil, err
	}
	from := []arrow.Array{of, array.MakeArrayOfNull(memory.DefaultAllocator, of.DataType(), 1)}
	defer from[1].Release()
	none := gather.Row{Batch: 1}
	var kept []int // rows with a value, where NULLs are ignored
	if v.call.Window.IgnoreNulls {
		for row := range b.rows {
			if of.IsValid(row) {
				kept = append(kept, row)
			}
		}
	}
	chosen := make([]gather.Row, b.rows)
	found := func(row, at int) {
		if chosen[row] = none; at >= 0 {
			chosen[row] = gather.Row{Row: uint32(at)}
		}
	}
	if v.call.Func == Lag || v.call.Func == Lead {
		if len(v.call.Args) > 2 {
			other, err := b.column(v.call.Args[2])
			if err != nil {
				return nil, err
			}
			from = append(from, other)
		}
		err = v.shift(b, kept, func(row, at int) {
			if found(row, at); at < 0 && len(from) > 2 {
				chosen[row] = gather.Row{Batch: 2, Row: uint32(row)}
			}
		})
	} else {
		err = v.framed(b, kept, found)
	}
	if err != nil {
		return nil, err
	}
	return gather.Column(v.opt.Allocator, from, chosen)
}

// shift finds for each row the row at a distance; -1 of none.
func (v *values) shift(b *rows, kept []int, found func(row, at int)) error {
	var distances *array.Int64
	if len(v.call.Args) > 1 {
		column, err := b.column(v.call.Args[1])
		if err != nil {
			return err
		}
		distances = column.(*array.Int64)
	}
	for row := range b.rows {
		n := int64(1)
		if distances != nil {
			if distances.IsNull(row) {
				found(row, -1)
				continue
			}
			n = distances.Value(row)
		}
		if n = max(min(n, int64(b.rows)), -int64(b.rows)); v.call.Func == Lag {
			n = -n
		}
		first, last := b.partition(row)
		at := row + int(n)
		if v.call.Window.IgnoreNulls && n != 0 {
			at = -1
			i := sort.SearchInts(kept, row) // the first at the row or behind it
			if n > 0 && i < len(kept) && kept[i] == row {
				i++
			}
			if i += int(n); n > 0 {
				i--
			}
			if i >= 0 && i < len(kept) {
				at = kept[i]
			}
		}
		if at < first || at >= last {
			at = -1
		}
		found(row, at)
	}
	return nil
}

// framed finds for each row a row of its frame; -1 of none.
func (v *values) framed(b *rows, kept []int, found func(row, at int)) error {
	f, err := framesOf(b, v.call)
	if err != nil {
		return err
	}
	var numbers *array.Int64
	if v.call.Func == NthValue {
		column, err := b.column(v.call.Args[1])
		if err != nil {
			return err
		}
		numbers = column.(*array.Int64)
	}
	for row := range b.rows {
		n, at := int64(1), -1
		if numbers != nil {
			if n = numbers.Value(row); numbers.IsNull(row) || n <= 0 {
				found(row, -1)
				continue
			}
		}
		f.parts(row, func(from, to int) {
			first, rows := from, to-from
			if v.call.Window.IgnoreNulls {
				first = sort.SearchInts(kept, from)
				rows = sort.SearchInts(kept, to) - first
			}
			place := func(i int) int {
				if v.call.Window.IgnoreNulls {
					return kept[i]
				}
				return i
			}
			switch {
			case rows == 0:
			case v.call.Func == LastValue:
				at = place(first + rows - 1)
			case at < 0 && n <= int64(rows):
				at = place(first + int(n) - 1)
			case at < 0:
				n -= int64(rows)
			}
		})
		found(row, at)
	}
	return nil
}
