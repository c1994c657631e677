package device

import (
	"cmp"
	"context"
	"slices"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/aggregator"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/threads"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/stream"
)

// decoder lets devices decode the pages of files: readers read them into encoded tiles.
//
//	split -> pages, as they lie in the file -> encoded tile -> device -> its rows
//	     \-> batches <- splits of tiles that a device could not decode
type decoder struct {
	devices *coprocessor
	columns []int // by column of the query: of stream.Decoding.Columns

	// Of filler.mu:
	open    *openEncoded
	sent    map[*stream.Tile][]scan.Split // the splits of a tile when it was last submitted
	refused []scan.Split
}

// openEncoded is an encoded tile that is being filled.
type openEncoded struct {
	*stream.Tile
	splits  []scan.Split
	pending int // splits that are being read
	full    bool
}

// decoding returns how devices decode pages of the query's columns, and for each column of the query
// which of them it is; nil where devices cannot make all of the layout's rows so.
func (l *Layout) decoding() (d *stream.Decoding, columns []int) {
	if l.parts != nil || len(l.bound.Keys.Fields) > kernels.KeyPartsMax {
		return nil, nil
	}
	d, columns = &stream.Decoding{}, make([]int, len(l.bound.Columns))
	for i := range columns {
		columns[i] = -1
	}
	add := func(column, into, width int) {
		columns[column] = len(d.Columns)
		d.Columns = append(d.Columns, stream.EncodedColumn{Width: width, Column: into, Nullable: l.bound.Columns[column].Nullable})
	}
	for i := range l.columns {
		c := &l.columns[i]
		if c.double || c.words > 0 || c.arg < 0 || columns[c.column] >= 0 {
			return nil, nil
		}
		add(c.column, i, l.shape.Columns[i].Bytes())
	}
	for k, column := range l.bound.KeyColumns {
		f := &l.bound.Keys.Fields[k]
		if f.Interned || f.Kind != rowdata.Int64 && f.Kind != rowdata.Uint64 || l.bound.Coded && l.bound.Counted[k] {
			return nil, nil
		}
		part := kernels.KeyPart{
			Type: columnTypeOf(&l.bound.Columns[column]), Word: f.Word, Shift: int(f.Shift), Base: f.Base, Range: f.Span,
			NullWord: f.NullWord, NullBit: f.NullBit,
		}
		if code, ok := f.NullCode(); ok {
			part.NullCode = code
		}
		if columns[column] < 0 {
			add(column, -1, part.Type.Bytes())
		}
		d.Keys = append(d.Keys, stream.EncodedKey{KeyPart: part, Column: columns[column]})
	}
	if slices.Contains(columns, -1) {
		return nil, nil
	}
	return d, columns
}

// pagedAs reports whether all columns of a split have pages as devices are to decode them, and how
// many bytes of memory they take.
func (d *decoder) pagedAs(split scan.Split, of *stream.Decoding) (paged scan.PagedSplit, columns []scan.PagedColumn, ok bool) {
	if paged, ok = split.(scan.PagedSplit); !ok {
		return nil, nil, false
	}
	columns, ok = paged.PagedColumns()
	if !ok || len(columns) != len(d.columns) {
		return nil, nil, false
	}
	for i, c := range columns {
		if c.Width != of.Columns[d.columns[i]].Width {
			return nil, nil, false
		}
	}
	return paged, columns, true
}

// useDecoder lets the devices of a run decode files, where the query and the first of its splits suit
// them.
func (c *coprocessor) useDecoder(opt *stream.Options) {
	of, columns := c.layout.decoding()
	if of == nil || len(c.query.Splits) == 0 || c.query.Devices.knobs.NoDecode {
		return
	}
	d := &decoder{devices: c, columns: columns, sent: map[*stream.Tile][]scan.Split{}}
	if _, _, ok := d.pagedAs(c.query.Splits[0], of); !ok {
		return
	}
	for _, s := range c.query.Splits {
		of.GroupRows = max(of.GroupRows, s.Rows())
	}
	of.Refuse = d.refuse
	c.decoder, opt.Decode = d, of
}

// TakeSplit takes all rows of a split as they lie in its file. It returns false, and has taken none,
// where they are to be read as batches.
func (a *Aggregator) TakeSplit(ctx context.Context, r *aggregator.Rows, split scan.Split) (bool, error) {
	if o := a.opening; o != nil && !o.settled.Load() || a.devices == nil || a.devices.decoder == nil {
		return false, nil
	}
	return a.devices.decoder.take(ctx, r, split)
}

// Refused waits until devices have decoded what TakeSplit has taken, and returns the splits that are
// to be read after all: devices could not decode their pages.
func (a *Aggregator) Refused() ([]scan.Split, error) {
	if a.devices == nil || a.devices.decoder == nil {
		return nil, nil
	}
	return a.devices.decoder.await()
}

func (d *decoder) take(ctx context.Context, r *aggregator.Rows, split scan.Split) (taken bool, err error) {
	of := d.devices.run.Decoding()
	if of == nil {
		return false, nil
	}
	paged, columns, ok := d.pagedAs(split, of)
	if !ok {
		return false, nil
	}
	bytes := int64(0)
	for _, c := range columns {
		bytes += alignMemory(c.Bytes)
	}
	o, at, memory, err := d.reserve(ctx, r.Thread, split.Rows(), bytes)
	if o == nil || err != nil {
		return false, err
	}
	r.Thread.Does(threads.WorkFill)
	pages := make([]stream.EncodedPages, len(columns))
	ok, err = d.read(ctx, paged, columns, at, memory, pages)
	taken, full := d.commit(o, split, ok && err == nil, pages)
	if submitErr := d.submit(ctx, r.Thread, full); err == nil {
		err = submitErr
	}
	return taken, err
}

// submit submits a tile, if there is one, which may take long where the device does.
func (d *decoder) submit(ctx context.Context, th *threads.Thread, t *stream.Tile) error {
	if t == nil {
		return nil
	}
	th.Give()
	return cmp.Or(d.devices.run.SubmitEncoded(t), th.Take(ctx))
}

// memoryAlignment is the alignment of columns and of decompressed pages in an encoded tile.
const memoryAlignment = 16

func alignMemory(n int64) int64 { return (n + memoryAlignment - 1) &^ (memoryAlignment - 1) }

// read reads the pages of all columns to memory that begins at a place in a tile. ok is false where
// the split is to be read as batches.
func (d *decoder) read(ctx context.Context, split scan.PagedSplit, columns []scan.PagedColumn, at int64, memory []byte, into []stream.EncodedPages) (ok bool, err error) {
	reader, err := split.OpenPages()
	if err != nil {
		return false, nil //nolint:nilerr // reading it as batches tells the error
	}
	defer func() { err = cmp.Or(err, reader.Close()) }()
	from := int64(0)
	for i, c := range columns {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		pages, ok := reader.Read(i, memory[from:from+c.Bytes:from+c.Bytes])
		if !ok {
			return false, nil
		}
		into[d.columns[i]] = encodedPages(&pages, at+from)
		from += alignMemory(c.Bytes)
	}
	return true, nil
}

// encodedPages returns the pages of a column as package stream has them. The memory of the column begins
// at a place in a tile.
func encodedPages(p *scan.Pages, at int64) (out stream.EncodedPages) {
	place := func(b scan.PageBytes) (from uint64, unpacked bool) {
		if !b.Snappy {
			return uint64(at + b.At), false
		}
		from = uint64(out.Plain)
		out.Blocks = append(out.Blocks, kernels.Block{
			From: uint64(at + b.At), To: from, Bytes: uint32(b.Bytes), Size: uint32(b.Size),
		})
		out.Plain += alignMemory(int64(b.Size))
		return from, true
	}
	var dictionary kernels.Page
	unpackedDictionary := false
	if p.Entries > 0 {
		dictionary.Entries = uint32(p.Entries)
		dictionary.Dictionary, unpackedDictionary = place(p.Dictionary)
	}
	row := 0
	for _, page := range p.Data {
		e := stream.EncodedPage{}
		if page.Coded {
			e.Page, e.UnpackedDictionary = dictionary, unpackedDictionary
		}
		e.From, e.Unpacked = place(page.PageBytes)
		e.Bytes, e.To, e.Rows = uint32(page.Size), uint64(row), uint32(page.Rows)
		row += page.Rows
		e.Levels, e.LevelBytes = kernels.PageLevels(page.Levels), uint32(page.LevelBytes)
		out.Pages = append(out.Pages, e)
	}
	return out
}

// reserve returns memory of the open tile, or of another, for so many rows; nil where all tiles are
// under way, or a tile has no room for the rows.
func (d *decoder) reserve(ctx context.Context, th *threads.Thread, rows, bytes int64) (o *openEncoded, at int64, memory []byte, err error) {
	f := &d.devices.filler
	f.mu.Lock()
	if d.open != nil {
		at, memory = d.open.Encoded.Reserve(rows, bytes)
	}
	var full *stream.Tile
	if memory == nil {
		var t *stream.Tile
		if t, err = d.devices.run.TryTile(); err == nil && t != nil {
			if at, memory = t.Encode().Reserve(rows, bytes); memory != nil {
				full = d.close()
				d.open = &openEncoded{Tile: t}
			} else {
				err = d.devices.run.Submit(t) // it is empty, and free again
			}
		}
	}
	if o = d.open; memory == nil {
		o = nil
	} else {
		o.pending++
	}
	f.mu.Unlock()
	if err == nil {
		err = d.submit(ctx, th, full)
	}
	return o, at, memory, err
}

// close returns the open tile to be submitted, if there is one; but where splits are being read for it,
// whoever reads the last of them submits it. Requires: filler.mu is held.
func (d *decoder) close() *stream.Tile {
	o := d.open
	d.open = nil
	if o == nil {
		return nil
	}
	o.full = true
	return d.toSubmit(o)
}

// toSubmit returns a tile that is full, once no split is being read for it; nil before. Requires:
// filler.mu is held.
func (d *decoder) toSubmit(o *openEncoded) *stream.Tile {
	if !o.full || o.pending > 0 {
		return nil
	}
	d.sent[o.Tile] = o.splits
	return o.Tile
}

// commit adds a split that was read to a tile, and returns the tile if it is to be submitted.
func (d *decoder) commit(o *openEncoded, split scan.Split, ok bool, pages []stream.EncodedPages) (taken bool, full *stream.Tile) {
	f := &d.devices.filler
	f.mu.Lock()
	defer f.mu.Unlock()
	if taken = ok && o.Encoded.Add(split.Rows(), pages); taken {
		o.splits = append(o.splits, split)
	} else {
		o.Encoded.Drop(split.Rows())
	}
	o.pending--
	return taken, d.toSubmit(o)
}

// refuse notes the splits of a tile that a device could not decode.
func (d *decoder) refuse(_ context.Context, t *stream.Tile) error {
	f := &d.devices.filler
	f.mu.Lock()
	defer f.mu.Unlock()
	d.refused = append(d.refused, d.sent[t]...)
	return nil
}

// await submits the open tile, waits until all tiles are decoded, and returns the splits that were
// refused. Requires: no reader is left.
func (d *decoder) await() ([]scan.Split, error) {
	f := &d.devices.filler
	f.mu.Lock()
	t := d.close()
	f.mu.Unlock()
	if t != nil {
		if err := d.devices.run.SubmitEncoded(t); err != nil {
			return nil, err
		}
	}
	if err := d.devices.run.AwaitDecoded(); err != nil {
		return nil, err
	}
	refused := d.refused
	d.refused = nil
	return refused, nil
}
