package parquet

import (
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// pageIndex takes the place, the least and the greatest value of each page of a chunk. Readers that
// want few rows find their pages by the page index.
type pageIndex struct {
	of     *metadata.PageIndexBuilder
	column int
}

// indexBytesMax is the longest value in a page index. A chunk with a longer value has no values in
// the index.
const indexBytesMax = 256

// add adds the pages of a chunk. The first page begins at an offset of the file.
func (x pageIndex) add(pages []page, offset int64) error {
	places, err := x.of.GetOffsetIndexBuilder(x.column)
	if err != nil {
		return err
	}
	values, err := x.of.GetColumnIndexBuilder(x.column)
	if err != nil {
		return err
	}
	row := int64(0)
	for i := range pages {
		p := &pages[i]
		if err := places.AddPage(offset, row, int32(p.to-p.from)); err != nil {
			return err
		}
		if err := values.AddPage(&p.stats); err != nil {
			return err
		}
		offset += int64(p.to - p.from)
		row += p.rows
	}
	if err := places.Finish(0); err != nil {
		return err
	}
	return values.Finish()
}

// writeIndex writes the page index behind the last row group.
func (e *flatFile) writeIndex() error {
	var at metadata.PageIndexLocation
	e.index.Finish()
	if err := e.index.WriteTo(e.to, &at); err != nil {
		return err
	}
	return e.meta.SetPageIndexLocation(at)
}
