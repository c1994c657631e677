package lake

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/parquet"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/vfs"
)

// eachBatch calls a function with batches of some columns of a Parquet file of metadata, by the names of its schema.
// A column that the file lacks is nil.
func eachBatch(
	ctx context.Context, fsys vfs.FS, path string, names []string, f func(columns []arrow.Array) error,
) error {
	mem := reserve.New(reserve.GoHeap, nil)
	file, err := parquet.Open(fsys, path, mem)
	if err != nil {
		return err
	}
	src, err := scan.NewTable([]decode.File{{Input: file}}, nil, scan.Whole{})
	if err != nil {
		return err
	}
	var columns, places []int
	for _, name := range names {
		if at := src.Schema().FieldIndices(name); len(at) > 0 {
			places, columns = append(places, len(columns)), append(columns, at[0])
		} else {
			places = append(places, -1)
		}
	}
	splits, err := src.Splits(ctx, columns)
	if err != nil {
		return err
	}
	for _, s := range splits {
		if err := eachOf(ctx, s, places, f); err != nil {
			return err
		}
	}
	return nil
}

func eachOf(ctx context.Context, s scan.Split, places []int, f func(columns []arrow.Array) error) error {
	r, err := s.Open(ctx, scan.OpenOptions{})
	if err != nil {
		return err
	}
	defer r.Release()
	for {
		batch, err := recordreader.Next(r)
		if batch == nil || err != nil {
			return err
		}
		plain, err := nested.Batch(memory.DefaultAllocator, nested.Schema(batch.Schema()), batch)
		if err != nil {
			return err
		}
		columns := make([]arrow.Array, len(places))
		for i, at := range places {
			if at >= 0 {
				columns[i] = plain.Column(at)
			}
		}
		err = f(columns)
		plain.Release()
		if err != nil {
			return err
		}
	}
}

// text returns a string of a column; ok is false of NULL.
func text(a arrow.Array, row int) (s string, ok bool) {
	if a == nil || a.IsNull(row) {
		return "", false
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return text(a.Dictionary(), a.GetValueIndex(row))
	case interface{ Value(int) string }:
		return a.Value(row), true
	}
	return "", false
}

// number returns an integer of a column; ok is false of NULL.
func number(a arrow.Array, row int) (n int64, ok bool) {
	if a == nil || a.IsNull(row) {
		return 0, false
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return number(a.Dictionary(), a.GetValueIndex(row))
	case *array.Int64:
		return a.Value(row), true
	case *array.Int32:
		return int64(a.Value(row)), true
	}
	return 0, false
}

// texts returns a map of strings of a column; NULL is a nil string. It is nil where the map is NULL.
func texts(a arrow.Array, row int) map[string]*string {
	m, ok := a.(*array.Map)
	if !ok || m.IsNull(row) {
		return nil
	}
	values := map[string]*string{}
	from, to := m.ValueOffsets(row)
	for i := int(from); i < int(to); i++ {
		key, _ := text(m.Keys(), i)
		values[key] = nil
		if v, ok := text(m.Items(), i); ok {
			values[key] = &v
		}
	}
	return values
}

// listed returns a list of strings of a column.
func listed(a arrow.Array, row int) (all []string) {
	l, ok := a.(*array.List)
	if !ok || l.IsNull(row) {
		return nil
	}
	from, to := l.ValueOffsets(row)
	for i := int(from); i < int(to); i++ {
		if s, ok := text(l.ListValues(), i); ok {
			all = append(all, s)
		}
	}
	return all
}
