package parquet

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/mpga/mpga/engine/sink/sinktest"
)

// Would catch pages that a reader does not find by the page index, bounds that leave out a value of
// a page, and pages of NULLs, NaN and long values in it.
func TestParquetPageIndex(t *testing.T) {
	types := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float32,
		arrow.PrimitiveTypes.Uint32, &arrow.Decimal128Type{Precision: 30, Scale: 2}, arrow.FixedWidthTypes.Timestamp_us, arrow.FixedWidthTypes.Boolean}
	schema := sinktest.SchemaOf(types)
	r := rand.New(rand.NewPCG(8, 9))
	var batches []arrow.RecordBatch
	count := 9
	if testing.Short() {
		count = 3
	}
	for range count {
		batches = append(batches, sinktest.RandomBatch(t, schema, 20_000, r))
	}
	for _, rows := range []int64{100_000, 1000} {
		path := writeAll(t, Options{RowGroupRows: rows}, schema, batches...)
		sinktest.CompareTables(t, array.NewTableFromRecords(schema, batches), sinktest.ReadTable(t, path))
		checkPageIndex(t, path, len(types)-1)
	}
}

// Would catch an index of values of some pages only.
func TestParquetPageIndexOf(t *testing.T) {
	schema := sinktest.SchemaOf([]arrow.DataType{arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Int64})
	texts, floats, ints := array.NewStringBuilder(memory.DefaultAllocator), array.NewFloat64Builder(memory.DefaultAllocator), array.NewInt64Builder(memory.DefaultAllocator)
	const rows = 3 * PageRowsMax
	for i := range rows {
		switch page := i / PageRowsMax; {
		case page == 1:
			texts.AppendNull()
			floats.Append(math.NaN())
			ints.AppendNull()
		default:
			texts.Append(strings.Repeat("x", 1+i%2*page*200))
			floats.Append(float64(i))
			ints.Append(int64(i))
		}
	}
	batch := array.NewRecordBatch(schema, []arrow.Array{texts.NewArray(), floats.NewArray(), ints.NewArray()}, rows)
	path := writeAll(t, Options{}, schema, batch)
	f, err := file.OpenParquetFile(path, false)
	sinktest.Check(t, err)
	defer f.Close()
	index, err := f.GetPageIndexReader().RowGroup(0)
	sinktest.Check(t, err)
	for column, want := range []bool{false, false, true} {
		values, err := index.GetColumnIndex(column)
		sinktest.Check(t, err)
		if (values != nil) != want {
			t.Errorf("column %d has values in the index: %v", column, values != nil)
		}
	}
	values, err := index.GetColumnIndex(2)
	sinktest.Check(t, err)
	if got := fmt.Sprint(values.GetNullPages(), values.GetNullCounts(), values.GetBoundaryOrder()); got != fmt.Sprint([]bool{false, true, false}, []int64{0, PageRowsMax, 0}, metadata.Ascending) {
		t.Errorf("the index says %s", got)
	}
}

// checkPageIndex reads every page at the place that the index has for it, and compares its values
// with the index.
func checkPageIndex(t *testing.T, path string, indexed int) {
	t.Helper()
	content, err := os.ReadFile(path)
	sinktest.Check(t, err)
	f, err := file.NewParquetReader(bytes.NewReader(content))
	sinktest.Check(t, err)
	defer f.Close()
	for g := range f.NumRowGroups() {
		index, err := f.GetPageIndexReader().RowGroup(g)
		sinktest.Check(t, err)
		for c := range indexed {
			places, err := index.GetOffsetIndex(c)
			sinktest.Check(t, err)
			chunk, err := f.MetaData().RowGroup(g).ColumnChunk(c)
			sinktest.Check(t, err)
			at, end := chunk.DataPageOffset(), chunk.DataPageOffset()
			if chunk.HasDictionaryPage() {
				end = chunk.DictionaryPageOffset()
			}
			end += chunk.TotalCompressedSize()
			row := int64(0)
			pages, err := f.RowGroup(g).GetColumnPageReader(c)
			sinktest.Check(t, err)
			for i := 0; pages.Next(); {
				page, ok := pages.Page().(file.DataPage)
				if !ok {
					continue
				}
				place := places.GetPageLocations()[i]
				if place.Offset != at || place.FirstRowIndex != row {
					t.Fatalf("row group %d, column %d: page %d is at %d, row %d; the index says %d, row %d", g, c, i, at, row, place.Offset, place.FirstRowIndex)
				}
				at += int64(place.CompressedPageSize)
				row += int64(page.NumValues())
				i++
			}
			sinktest.Check(t, pages.Err())
			if at != end {
				t.Errorf("row group %d, column %d: the pages of the index end at %d, the chunk at %d", g, c, at, end)
			}
			checkPageBounds(t, f, index, g, c)
		}
	}
}

// checkPageBounds compares integers with the bounds of their pages.
func checkPageBounds(t *testing.T, f *file.Reader, index *metadata.RowGroupPageIndexReader, g, c int) {
	t.Helper()
	if f.MetaData().Schema.Column(c).PhysicalType() != parquet.Types.Int64 {
		return
	}
	values, err := index.GetColumnIndex(c)
	sinktest.Check(t, err)
	places, err := index.GetOffsetIndex(c)
	sinktest.Check(t, err)
	column, err := f.RowGroup(g).Column(c)
	sinktest.Check(t, err)
	reader := column.(*file.Int64ColumnChunkReader)
	bounds := values.(*metadata.TypedColumnIndex[int64])
	for i := range places.GetPageLocations() {
		rows := f.RowGroup(g).NumRows() - places.GetPageLocations()[i].FirstRowIndex
		if i+1 < len(places.GetPageLocations()) {
			rows = places.GetPageLocations()[i+1].FirstRowIndex - places.GetPageLocations()[i].FirstRowIndex
		}
		levels, ints := make([]int16, rows), make([]int64, rows)
		_, n, err := reader.ReadBatch(rows, ints, levels, nil)
		sinktest.Check(t, err)
		if n == 0 {
			continue
		}
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		for _, v := range ints[:n] {
			low, high = min(low, v), max(high, v)
		}
		if got := [2]int64{bounds.MinValues()[i], bounds.MaxValues()[i]}; got != [2]int64{low, high} {
			t.Errorf("row group %d, column %d, page %d: bounds %v, want %d to %d", g, c, i, got, low, high)
		}
	}
}
