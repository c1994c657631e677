package lake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/parquet"
	"github.com/mpga/mpga/internal/vfs"
)

// equality are deleted rows of a data file that files name by the values of some columns. The rows are looked up when
// the data file is opened, so that all that reads it knows rows that are deleted by their numbers alone.
type equality struct {
	data    string
	columns []int // numbers
	files   []string
}

// naming gives the columns their numbers as names.
func (e *equality) naming(fields []arrow.Field) ([]arrow.Field, error) {
	if !slices.ContainsFunc(fields, hasID) {
		return nil, errors.New("not supported: deletes by values of a file whose columns have no numbers")
	}
	out := slices.Clone(fields)
	for i, f := range fields {
		if id, ok := fieldID(f); ok && slices.Contains(e.columns, id) {
			out[i].Name = strconv.Itoa(id)
		} else {
			out[i].Name = passedOver + f.Name
		}
	}
	return out, nil
}

// String implements deletes.
func (e *equality) String() string { return fmt.Sprint(e.columns, e.files) }

// rows implements deletes.
func (e *equality) rows(ctx context.Context, fsys vfs.FS, to []int64, limit int64) ([]int64, error) {
	var inputs []decode.File
	for i, path := range append([]string{e.data}, e.files...) {
		file, err := parquet.OpenNamed(fsys, path, reserve.New(reserve.GoHeap, nil), e.naming)
		if err != nil {
			return nil, Expired(err, "a file of deletes")
		}
		for _, id := range e.columns {
			if i > 0 && !file.Schema().HasField(strconv.Itoa(id)) {
				return nil, fmt.Errorf("not supported: %s deletes by column %d, which is no column of it", path, id)
			}
		}
		inputs = append(inputs, decode.File{Input: file})
	}
	src, err := scan.NewTable(inputs, nil, scan.Whole{UnionByName: true}) // so that both have the types of both
	if err != nil {
		return nil, err
	}
	var columns, places []int
	for i, id := range e.columns {
		places, columns = append(places, i), append(columns, src.Schema().FieldIndices(strconv.Itoa(id))[0])
	}
	splits, err := src.Splits(ctx, columns)
	if err != nil {
		return nil, err
	}
	isData := func(s scan.Split) bool { return s.Position() < uint64(limit) }
	deleted := map[string]bool{}
	for _, s := range splits {
		if isData(s) {
			continue
		}
		if err := eachOf(ctx, s, places, func(c []arrow.Array) error {
			for row := range rowsOf(c) {
				deleted[keyOf(c, row)] = true
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	for _, s := range splits {
		if !isData(s) {
			continue
		}
		at := int64(s.Position())
		if err := eachOf(ctx, s, places, func(c []arrow.Array) error {
			n := rowsOf(c)
			for row := range n {
				if deleted[keyOf(c, row)] {
					to = append(to, at+int64(row))
				}
			}
			at += int64(n)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// keyOf returns a text that is the same for the same values. NULL is equal to NULL.
func keyOf(columns []arrow.Array, row int) string {
	key := ""
	for _, c := range columns {
		if text, ok := cellText(c, row); ok {
			key += strconv.Itoa(len(text)) + ":" + text
		} else {
			key += "-"
		}
	}
	return key
}

// cellText returns a value as text; ok is false of NULL.
func cellText(a arrow.Array, row int) (text string, ok bool) {
	if a.IsNull(row) {
		return "", false
	}
	if coded, ok := a.(*array.Dictionary); ok {
		return cellText(coded.Dictionary(), coded.GetValueIndex(row))
	}
	return a.ValueStr(row), true
}
