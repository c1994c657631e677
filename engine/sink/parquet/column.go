package parquet

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/mpga/mpga/engine/sink/adapt"
	"github.com/mpga/mpga/internal/rowdata"
)

// newChunkEncoder returns the encoder of a column of the adapted schema.
func newChunkEncoder(ctx context.Context, f arrow.Field, column *schema.Column, a *adapt.Adapter,
	props *parquet.WriterProperties, page PageSize, codec pageCodec,
) chunkEncoder {
	if form, ok := wordFormOf(f.Type, column); ok {
		return newWordColumn(ctx, form, f.Type, column, a, props, page, codec)
	}
	return &libraryColumn{adapter: a, to: f.Type, nullable: f.Nullable, props: props}
}

// blockRowsMax rows are encoded at a time, in the first-level cache.
const blockRowsMax = 1 << 11

// wordColumn encodes a column whose values are words. A chunk begins with a dictionary. The
// dictionary is given up where the first values of the chunk tell that it will grow past its limit,
// or later, when it does: from there on pages are plain. Q3.
type wordColumn struct {
	ctx      context.Context // ends the encoding of the file
	form     wordForm
	to       arrow.DataType // type of the column in the adapted schema
	nullable bool           // pages begin with definition levels
	adapter  *adapt.Adapter // of the file
	codec    pageCodec      // nil for pages that are not compressed
	level    int            // of the codec
	entries  int            // most entries of a dictionary
	page     PageSize

	// The open chunk, from begin to finish.
	chunk         *metadata.ColumnChunkMetaDataBuilder
	index         pageIndex
	coded         bool       // the open page is of codes; false once the dictionary is given up
	values, nulls int64      // rows and NULLs of the ended pages
	bounds        bounds     // of the ended pages
	dict          dictionary // the values that codes stand for
	pages         []page     // ended pages, places in out
	codedPages    int        // ended pages of codes
	out           []byte     // headers and bodies of the ended pages

	// The open page.
	rows, rowNulls int
	valid          []byte   // a bit for each row, 1 where the row is not NULL
	codes          []uint32 // codes of the values that are not NULL; empty in a plain page
	plain          []byte   // plain values that are not NULL, behind levelBytesMax bytes for levels
	pageBounds     bounds   // of the plain values; endPage adds the bounds of the codes

	// Buffers.
	words       []uint64    // of a block
	indexes     []uint64    // of a block, into the dictionary of a batch
	translation translation // of the last batch's dictionary
	used        []bool      // for each code: the open page has it
	distinct    []uint64    // words of the values whose codes are used
}

func newWordColumn(ctx context.Context, form wordForm, to arrow.DataType, column *schema.Column, a *adapt.Adapter,
	props *parquet.WriterProperties, page PageSize, codec pageCodec,
) *wordColumn {
	return &wordColumn{ctx: ctx, form: form, to: to, nullable: column.MaxDefinitionLevel() > 0, adapter: a,
		level:   props.CompressionLevelFor(column.Path()),
		entries: int(min(props.MaxRowGroupLength()/4+1, entriesMax)),
		page:    page,
		codec:   codec,
		plain:   make([]byte, levelBytesMax)}
}

func (c *wordColumn) begin(chunk *metadata.ColumnChunkMetaDataBuilder, index pageIndex) error {
	c.chunk, c.index = chunk, index
	c.coded = true
	c.values, c.nulls, c.codedPages = 0, 0, 0
	c.bounds.reset(c.form.kind)
	c.pageBounds.reset(c.form.kind)
	c.dict.reset(c.form.kind, c.entries)
	c.translation.values = nil
	c.pages, c.out = c.pages[:0], c.out[:0]
	return nil
}

func (c *wordColumn) add(arr arrow.Array) error {
	if d, ok := arr.(*array.Dictionary); ok && c.form.reads(d.Dictionary()) && d.Dictionary().NullN() == 0 {
		return c.addIndexes(d)
	}
	if !c.form.reads(arr) {
		adapted, err := c.adapter.Array(arr, c.to)
		if err != nil {
			return err
		}
		defer adapted.Release()
		arr = adapted
	}
	return c.eachBlock(arr, func(from, n int, nulls bool) error {
		c.words = rowdata.Grow(c.words, n*c.form.words)
		words := c.words
		readWords(words, c.form.words, arr, from)
		if nulls {
			words = keepValid(words, c.form.words, arr, from, n)
		}
		return c.put(words)
	})
}

// addIndexes is add for a column that comes with a dictionary. Each entry of the dictionary is
// looked up once.
func (c *wordColumn) addIndexes(arr *array.Dictionary) error {
	c.translation.turnTo(arr.Dictionary(), &c.form)
	return c.eachBlock(arr, func(from, n int, nulls bool) error {
		c.indexes = rowdata.Grow(c.indexes, n)
		indexes := c.indexes
		readWords(indexes, 1, arr.Indices(), from)
		if nulls {
			indexes = keepValid(indexes, 1, arr, from, n)
		}
		if len(indexes) > 0 && slices.Max(indexes) >= uint64(len(c.translation.codes)) {
			return fmt.Errorf("index %d into a dictionary of %d values", slices.Max(indexes), len(c.translation.codes))
		}
		return c.putIndexes(indexes)
	})
}

// eachBlock calls put with stretches of an array, and ends each page that a stretch has filled.
func (c *wordColumn) eachBlock(arr arrow.Array, put func(from, n int, nulls bool) error) error {
	block := c.blockRows(arr)
	bitmap, offset := arr.NullBitmapBytes(), arr.Data().Offset()
	if arr.NullN() == 0 {
		bitmap = nil
	}
	for from := 0; from < arr.Len(); {
		n := min(block, arr.Len()-from, c.page.Rows-c.rows)
		if bytes := (c.rows + n + 7) / 8; c.nullable && bytes > len(c.valid) {
			c.valid = append(c.valid, make([]byte, bytes-len(c.valid))...)
		}
		nulls := 0
		if bitmap != nil {
			nulls = n - bitutil.CountSetBits(bitmap, offset+from, n)
		}
		switch {
		case nulls > 0 && !c.nullable:
			return fmt.Errorf("%d NULLs where the schema allows none", nulls)
		case bitmap != nil && c.nullable:
			bitutil.CopyBitmap(bitmap, offset+from, n, c.valid, c.rows)
		case c.nullable:
			bitutil.SetBitsTo(c.valid, int64(c.rows), int64(n), true)
		}
		if err := put(from, n, nulls > 0); err != nil {
			return err
		}
		from += n
		c.rows += n
		c.rowNulls += nulls
		if c.rows == c.page.Rows || len(c.plain) >= c.page.Bytes {
			if err := c.endPage(); err != nil {
				return err
			}
		}
	}
	return nil
}

// blockRows is how many of an array's values are encoded at a time, so that pages of long strings
// end in time.
func (c *wordColumn) blockRows(arr arrow.Array) int {
	if d, ok := arr.(*array.Dictionary); ok {
		arr = d.Dictionary()
	}
	bytes := 0
	for _, b := range arr.Data().Buffers() {
		if b != nil {
			bytes += b.Len()
		}
	}
	return min(blockRowsMax, max(1, c.page.Bytes/(bytes/max(arr.Len(), 1)+1)))
}

// keepValid moves the words of rows that are not NULL together.
func keepValid(words []uint64, width int, arr arrow.Array, from, n int) []uint64 {
	bitmap, offset := arr.NullBitmapBytes(), arr.Data().Offset()+from
	kept := 0
	for i := range n {
		if bitutil.BitIsSet(bitmap, offset+i) {
			copy(words[kept:kept+width], words[i*width:(i+1)*width])
			kept += width
		}
	}
	return words[:kept]
}

// put adds values to the open page.
func (c *wordColumn) put(words []uint64) error {
	if c.coded {
		n, all := len(c.codes), len(words)/c.form.words
		c.codes = slices.Grow(c.codes, all)[:n+all]
		done := c.dict.encode(words, c.codes[n:])
		if done == all {
			if n < sampleRows && n+all >= sampleRows && !c.pays() {
				c.giveUp()
			}
			return nil
		}
		c.codes = c.codes[:n+done]
		c.giveUp()
		words = words[done*c.form.words:]
	}
	c.plain = c.form.plain(c.plain, words)
	c.pageBounds.add(words)
	return nil
}

// boundCodes widens the page's bounds to the values of its codes, each once.
func (c *wordColumn) boundCodes() {
	c.used = rowdata.Grow(c.used, c.dict.len())
	clear(c.used)
	for _, code := range c.codes {
		c.used[code] = true
	}
	c.distinct = c.distinct[:0]
	for code, used := range c.used {
		if used {
			c.distinct = append(c.distinct, c.dict.value(uint32(code))...)
		}
	}
	c.pageBounds.add(c.distinct)
}

// putIndexes is put for entries of the batch's dictionary.
func (c *wordColumn) putIndexes(indexes []uint64) error {
	t, width := &c.translation, c.form.words
	for i, index := range indexes {
		if !c.coded {
			c.words = rowdata.Grow(c.words, len(indexes[i:])*width)
			for j, index := range indexes[i:] {
				copy(c.words[j*width:(j+1)*width], t.words[int(index)*width:])
			}
			return c.put(c.words)
		}
		code := t.codes[index]
		if code == 0 {
			var found [1]uint32
			if c.dict.encode(t.words[int(index)*width:(int(index)+1)*width], found[:]) == 0 {
				c.giveUp()
				return c.putIndexes(indexes[i:])
			}
			code = found[0] + 1
			t.codes[index] = code
		}
		c.codes = append(c.codes, code-1)
	}
	return nil
}

// pays says whether the dictionary can be expected to stay below its limit, by the first values of
// a chunk: among n values drawn from d equally frequent ones, about n*n / 2d repeat an earlier
// value.
func (c *wordColumn) pays() bool {
	n := len(c.codes)
	return c.codedPages > 0 || n*n/(2*max(n-c.dict.len(), 1)) <= c.entries
}

// giveUp turns the open page, and all later pages of the chunk, to plain values.
func (c *wordColumn) giveUp() {
	c.coded = false
	for _, code := range c.codes {
		c.plain = c.form.plain(c.plain, c.dict.value(code))
	}
	c.boundCodes()
	c.codes = c.codes[:0]
}
