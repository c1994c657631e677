package parquet

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// pageLocation is where a data page is.
type pageLocation struct {
	offset int64 // of its header, in the file
	bytes  int64 // header included
	row    int64 // index in the row group of its first row
}

// indexBytesMax bounds an index, which has some tens of bytes for each page.
const indexBytesMax = 16 << 20

// readIndex reads an offset index or a column index.
func readIndex(file io.ReaderAt, at indexLocation) ([]byte, error) {
	if at.bytes <= 0 || at.bytes > indexBytesMax || at.offset < 0 {
		return nil, errors.New("no index")
	}
	raw := make([]byte, at.bytes)
	if n, err := file.ReadAt(raw, at.offset); n < len(raw) {
		return nil, fmt.Errorf("an index of %d B at offset %d: %w", at.bytes, at.offset, err)
	}
	return raw, nil
}

// readLocations returns where the data pages of a chunk are, in order, and how many bytes were read
// for it; an error where the chunk has no offset index, or contradicts it.
func readLocations(file io.ReaderAt, chunk *columnChunk, rows int64) (pages []pageLocation, asked int64, err error) {
	err = decode.Guard(func() error {
		raw, err := readIndex(file, chunk.offsetIndex)
		if err != nil {
			return err
		}
		asked = int64(len(raw))
		start := chunk.start()
		at, row := start, int64(0)
		for i, l := range metadata.NewOffsetIndex(raw, nil, nil).GetPageLocations() {
			page := pageLocation{offset: l.Offset, bytes: int64(l.CompressedPageSize), row: l.FirstRowIndex}
			first := i == 0 && page.row == 0
			if page.offset < at || page.bytes <= 0 || !first && page.row <= row || page.row >= rows {
				return fmt.Errorf("%w: page %d of an offset index: %d B at offset %d from row %d",
					decode.ErrCorrupt, i, page.bytes, page.offset, page.row)
			}
			at, row = page.offset+page.bytes, page.row
			pages = append(pages, page)
		}
		if len(pages) == 0 || at > start+chunk.bytes {
			return fmt.Errorf("%w: an offset index with %d pages that end at offset %d",
				decode.ErrCorrupt, len(pages), at)
		}
		return nil
	})
	return pages, asked, err
}

// readPageBounds returns what the column index of a chunk says of each of its pages, and how many
// bytes were read for it.
func readPageBounds(
	file io.ReaderAt, chunk *columnChunk, stored *storedColumn, pages []pageLocation, rows int64,
) (of []predicate.Bounds, asked int64, err error) {
	err = decode.Guard(func() error {
		if stored.leaf.ColumnOrder() != parquet.ColumnOrders.TypeDefinedOrder || !stored.ordered() {
			return errors.New("values in another order")
		}
		raw, err := readIndex(file, chunk.columnIndex)
		if err != nil {
			return err
		}
		asked = int64(len(raw))
		index := metadata.NewColumnIndex(stored.leaf, raw, nil, nil)
		allNull, low, high := index.GetNullPages(), index.GetMinValues(), index.GetMaxValues()
		if len(allNull) != len(pages) || len(low) != len(pages) || len(high) != len(pages) {
			return fmt.Errorf("%w: a column index of %d pages, where the offset index has %d",
				decode.ErrCorrupt, len(allNull), len(pages))
		}
		of = make([]predicate.Bounds, len(pages))
		nulls := index.GetNullCounts()
		for i := range of {
			b := &of[i]
			b.AllNulls = allNull[i]
			b.NoNulls = stored.leaf.MaxDefinitionLevel() == 0
			if len(nulls) == len(pages) {
				b.NoNulls = b.NoNulls || nulls[i] == 0 && !b.AllNulls
				b.AllNulls = b.AllNulls && nulls[i] == pageRows(pages, i, rows)
			}
			if !allNull[i] {
				b.Low, b.High = stored.value(low[i]), stored.value(high[i])
				b.Exact = stored.family != predicate.BytesFamily
				b.Check()
			}
		}
		return nil
	})
	return of, asked, err
}

// pageRows returns how many rows page i has. rows is how many rows the row group has.
func pageRows(pages []pageLocation, i int, rows int64) int64 {
	if i+1 < len(pages) {
		rows = pages[i+1].row
	}
	return rows - pages[i].row
}
