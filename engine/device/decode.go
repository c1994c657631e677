package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowcode"
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
	of      *stream.Decoding
	program *rowcode.Program        // of the splits: scan.Paged.Program
	count   func(asked, kept int64) // of the splits: scan.Paged.Filtered
	columns []int                   // by column of the splits' pages: of of.Columns, or -1
	wanted  []*stream.EncodedColumn // by column of the splits' pages: what columns says; nil for -1
	strings []stringsColumn         // by column of of.Columns
	fetched []*encode.Interner      // by of.Code.Fetched; nil of columns that are no keys with strings
	feeding atomic.Int64            // readers that read pages to tiles, or wait for one
	feeders atomic.Int64            // as many may wait: others decode by the CPU where no tile is free
	reads   atomic.Int64            // nanoseconds that reading the pages of a split takes, on average
	full    atomic.Bool             // devices decode no more: the CPU reads what is left
	missed  atomic.Int64            // splits in a row that were read in vain
	again   atomic.Int64            // calls of number with strings most of which had numbers

	sampling   sync.Once     // of stringsColumn.expected, once many strings are new
	sampled    chan struct{} // closed when the sample is there, or notSampled
	notSampled error

	asked, kept atomic.Int64 // rows of which a condition was asked, and that passed

	pages scan.PageCounts // of the tiles that were submitted, and not refused

	hasStrings bool    // some column of of has, with numbers
	rowBytes   float64 // of pages, as far as was looked at
	bytes      float64 // of all pages, about
	rows       int64   // of all splits, filtered or not; about, where some are not known

	// Of filler.mu:
	open     *openEncoded
	sent     map[*stream.Tile]sentTile // when it was last submitted
	refused  []scan.Split
	late     []scan.Split // that are read once all others are decoded
	refusals int          // tiles
	tiles    int          // submitted
}

// sentTile is what a tile has.
type sentTile struct {
	splits []scan.Split
	counts []scan.PageCount // of these
	asked  int64            // rows to count as asked whether they pass a filter
	made   []func()         // of the splits: scan.Paged.Made
}

// stringsColumn is a column of strings.
type stringsColumn struct {
	numbers  *encode.Interner
	text     bool // they must be UTF-8
	column   int  // of Bound.Columns, where there are numbers
	rare     bool // they are to be fewer than one of stringsRatio rows
	expected Size // rows, and strings that differ
}

// encodedRoom is what a split takes in a tile.
type encodedRoom struct {
	rows  int64
	asked int64 // of the rows, to count as asked whether they pass a filter
	bytes int64 // of pages
	plain int64 // about, of decompressed blocks
}

// openEncoded is an encoded tile that is being filled.
type openEncoded struct {
	*stream.Tile
	sentTile
	pending int // splits that are being read
	full    bool
}

// decoding returns how devices make the layout's rows of pages, and for each column of the pages which of
// the columns that devices decode it is, -1 where they do not need it; or why they cannot.
func (l *Layout) decoding(p *scan.Paged) (d *stream.Decoding, columns []int, err error) {
	switch {
	case l.rows != nil:
		return l.rows.decoding(p)
	case l.parts != nil:
		return nil, nil, errors.New("the device does no more than partition")
	case len(l.keys.Fields) > kernels.KeyPartsMax:
		return nil, nil, fmt.Errorf("%d keys are more than %d", len(l.keys.Fields), kernels.KeyPartsMax)
	}
	d = &stream.Decoding{}
	for k, column := range l.bound.KeyColumns {
		f, of := &l.keys.Fields[k], &l.bound.Columns[column]
		if f.Kind != rowdata.Int64 && f.Kind != rowdata.Uint64 || of.Numbered {
			return nil, nil, fmt.Errorf("key %q is packed by the CPU", of.Name)
		}
		part := kernels.KeyPart{
			Word: f.Word, Shift: int(f.Shift), Base: f.Base, Range: f.Span, NullWord: f.NullWord, NullBit: f.NullBit,
		}
		part.Type = columnTypeOf(of)
		if code, ok := f.NullCode(); ok {
			part.NullCode = code
		}
		if f.Interned { // a NULL is the number 0
			part.Type = kernels.Uint32
		}
		d.Keys = append(d.Keys, stream.EncodedKey{KeyPart: part, Nullable: of.Nullable})
	}
	if p.Program == nil {
		if columns, err = l.decodeInto(d, p.Columns); err == nil {
			return d, columns, nil
		}
		d.Columns = nil // in other forms
	}
	columns, err = l.decodeCode(d, p)
	return d, columns, err
}

// decodeInto lets devices decode pages of the query's columns to the layout's columns and keys, or tells why
// they do not suit.
func (l *Layout) decodeInto(d *stream.Decoding, pages []scan.PagedColumn) (columns []int, err error) {
	if len(pages) != len(l.bound.Columns) {
		return nil, errors.New("the input has other columns")
	}
	columns = slices.Repeat([]int{-1}, len(pages))
	add := func(column, into, width int, form kernels.PageForm) {
		columns[column] = len(d.Columns)
		of := &l.bound.Columns[column]
		strings := of.Kind == rowdata.Bytes
		d.Columns = append(d.Columns, stream.EncodedColumn{
			Width: width, Form: form, Column: into, Nullable: of.Nullable,
			Strings: strings, Matched: strings && !l.isNumbered(column), // of which NULLs count
		})
	}
	for i := range l.columns {
		c := &l.columns[i]
		c.decoded = len(d.Columns)
		of := &l.bound.Columns[c.column]
		width, form, ok := formOf(of, c.double, c.arg < 0)
		if !ok || c.words > 0 || columns[c.column] >= 0 {
			return nil, fmt.Errorf("column %q is not taken as it is in the file", of.Name)
		}
		add(c.column, i, width, form)
	}
	for k, column := range l.bound.KeyColumns {
		of := &l.bound.Columns[column]
		_, form, _ := formOf(of, false, false)
		if columns[column] < 0 {
			add(column, -1, d.Keys[k].Type.Bytes(), form)
		} else if d.Columns[columns[column]].Form != form {
			return nil, fmt.Errorf("column %q is a key, and a device needs it in another form, too", of.Name)
		}
		d.Keys[k].Column = columns[column]
	}
	for i, of := range columns {
		if of >= 0 && !suits(&pages[i], &d.Columns[of]) {
			return nil, fmt.Errorf("column %q has other values in the file", pages[i].Name)
		}
	}
	return columns, nil
}

// narrowForms are the forms of integers of which pages have more bytes than Arrow.
var narrowForms = map[arrow.Type]kernels.PageForm{
	arrow.INT8: kernels.FormInt8, arrow.INT16: kernels.FormInt16,
	arrow.UINT8: kernels.FormUint8, arrow.UINT16: kernels.FormUint16,
}

// formOf returns how many bytes pages have of a value of a column, and in which form a device has it: as
// it is, as a double, or, where only NULLs count, as any 4 bytes. ok is false where a device cannot have it
// so.
func formOf(c *rowdata.Column, double, counted bool) (width int, form kernels.PageForm, ok bool) {
	if c.Kind == rowdata.Bytes {
		return 4, kernels.FormWhole, !double
	}
	width = columnTypeOf(c).Bytes()
	narrow, isNarrow := narrowForms[c.Type.ID()]
	switch isFloat := c.Type.ID() == arrow.FLOAT32; {
	case double:
		form, ok = doubleForms[c.Type.ID()]
		return width, form, ok
	case isFloat && counted:
		return 4, kernels.FormWhole, true
	case isFloat:
		return 4, kernels.FormFloat, true
	case isNarrow:
		return width, narrow, true
	case counted && width == 8:
		return width, kernels.FormLow, true
	}
	return width, kernels.FormWhole, true
}

// doubleForms are the forms of integers that a device has as doubles.
var doubleForms = map[arrow.Type]kernels.PageForm{
	arrow.INT32: kernels.FormInt32Double, arrow.UINT32: kernels.FormUint32Double,
	arrow.INT64: kernels.FormInt64Double, arrow.UINT64: kernels.FormUint64Double,
}

// valueBytes are how many bytes Arrow has of a value, where that is not what pages have.
var valueBytes = map[kernels.PageForm]int{
	kernels.FormInt8: 1, kernels.FormInt16: 2, kernels.FormUint8: 1, kernels.FormUint16: 2,
}

// pagedAs returns what a split tells of its pages, or why they are not as devices are to decode them.
func (d *decoder) pagedAs(split scan.Split) (*scan.Paged, error) {
	p, err := scan.PagedOf(split)
	switch {
	case err != nil:
		return nil, err
	case len(p.Columns) != len(d.wanted):
		return nil, errors.New("the input has other columns")
	case !p.Program.Equals(d.program):
		return nil, errors.New("the rows are made of columns of other types")
	}
	for i, c := range p.Columns {
		switch of := d.wanted[i]; {
		case of == nil: // its pages are not needed
		case !suits(&c, of):
			return nil, errors.New("a column has other values in the file")
		case c.Codec != "" && !d.hasStrings:
			// It takes longer than batches do, since pages go to memory beyond the caches, and only
			// numbering strings on a device saves more than that (docs/decisions/32).
			return nil, fmt.Errorf("pages are compressed with %s, and no key is a string", c.Codec)
		}
	}
	return p, nil
}

// suits reports whether the pages of a column have what devices are to decode.
func suits(c *scan.PagedColumn, of *stream.EncodedColumn) bool {
	if c.Width == 0 || of.Strings {
		return c.Width == 0 && of.Strings
	}
	return c.Width == of.Width && c.Value == cmp.Or(valueBytes[of.Form], c.Width) && c.Big == (of.Form == kernels.FormBig)
}

// plannedSplits is of how many splits the bytes of pages are looked at.
const plannedSplits = 64

// plan says how many bytes pages and their strings take, and finds what numbers strings. Its error is why
// the first of a query's splits has no pages as devices are to decode them.
func (d *decoder) plan(q *Query, l *Layout) error {
	rows, bytes := int64(0), int64(0)
	unpacked := make([]int64, len(d.of.Columns))
	looked := q.Splits[:min(len(q.Splits), plannedSplits)]
	for i, split := range looked {
		paged, err := d.pagedAs(split)
		switch {
		case err != nil && i == 0:
			return err
		case err != nil:
			continue
		}
		rows += paged.Rows
		d.of.GroupRows = max(d.of.GroupRows, paged.Rows)
		group := int64(0)
		for i, c := range paged.Columns {
			if of := d.columns[i]; of >= 0 {
				bytes += c.Bytes
				unpacked[of] += c.Unpacked
				group += c.Unpacked
				d.strings[of].text, d.of.Columns[of].Text = c.Text, c.Text
			}
		}
		d.of.GroupBytes = max(d.of.GroupBytes, group)
	}
	rows = max(rows, 1)
	d.rowBytes = float64(bytes) / float64(rows)
	d.bytes = float64(bytes) / float64(len(looked)) * float64(len(q.Splits))
	d.rows = rows * int64(len(q.Splits)) / int64(len(looked))
	for _, s := range q.Splits {
		d.of.GroupRows = max(d.of.GroupRows, s.Rows())
	}
	return d.planStrings(q, l, unpacked, rows)
}

// planStrings finds the interner of each column of strings, and sets its StringBytes to
// unpacked[i] / rows: the bytes of the column's decompressed pages, a row.
func (d *decoder) planStrings(q *Query, l *Layout, unpacked []int64, rows int64) error {
	if l.rows != nil {
		l.rows.number(d)
		// A writer gives up the codes of strings that come once each, as areFew finds when tiles have crossed in vain.
		for i := range d.strings {
			if d.strings[i].numbers != nil && unpacked[i] > codeBytesMax*rows && d.rows >= stringsMany {
				return errors.New("strings of a column may come once each")
			}
		}
	}
	fetched := int64(0) // strings
	for k, column := range l.bound.KeyColumns {
		numbers := q.Interners[column]
		if l.strings != nil && l.strings[k] != nil {
			numbers = l.strings[k]
		}
		if fetched += d.planFetched(column, numbers); fetched*stringsRatio > d.rows {
			return fmt.Errorf("up to %s strings of the build sides of joins are too many to be numbered for %s rows",
				humanize.Comma(fetched), humanize.Comma(d.rows))
		}
		of := d.of.Keys[k].Column
		if of < 0 || !d.of.Columns[of].Strings {
			continue
		}
		if q.Interners[column] == nil && d.joins() {
			return fmt.Errorf("strings of key %q may come once each, and a join leaves out rows", l.bound.Columns[column].Name)
		}
		d.strings[of].numbers = numbers
		d.strings[of].column, d.strings[of].rare = column, l.strings != nil && len(l.bound.KeyColumns) == 1
	}
	for i := range l.columns {
		c := &l.columns[i]
		if c.numbers == nil {
			continue
		}
		of := &d.strings[c.decoded]
		if of.numbers == nil {
			of.numbers, of.column = c.numbers, c.column
		}
		c.numbers, of.rare = of.numbers, true
	}
	for i := range d.of.Columns {
		c := &d.of.Columns[i]
		if !c.Strings || c.Same {
			continue
		}
		if !c.Matched && d.strings[i].numbers == nil {
			return errors.New("nobody needs the strings of a column")
		}
		if c.StringBytes = max((unpacked[i]+rows-1)/rows, stringBytesMin); c.StringBytes > stringBytesMax {
			return fmt.Errorf("the strings of a column have %d B on average", c.StringBytes)
		}
	}
	return nil
}

// codeBytesMax is the most that the code of a string takes in a page, in bytes.
const codeBytesMax = 4

// What a string is expected to take in a page, at least, and at most for devices.
const (
	stringBytesMin = 2
	stringBytesMax = 64 << 10
)

// newDecoder returns what lets devices decode files, or why they do not: the query or the first of its
// splits does not suit them.
func (q *Query) newDecoder(l *Layout) (*decoder, error) {
	if len(q.Splits) == 0 || q.Devices.knobs.NoDecode {
		return nil, errors.New("there are no splits, or it is not wanted")
	}
	paged, err := scan.PagedOf(q.Splits[0])
	if err != nil {
		return nil, err
	}
	of, columns, err := l.decoding(paged)
	if err != nil {
		return nil, err
	}
	d := &decoder{
		of: of, program: paged.Program, count: paged.Filtered, columns: columns,
		wanted:  make([]*stream.EncodedColumn, len(columns)),
		sampled: make(chan struct{}),
		strings: make([]stringsColumn, len(of.Columns)), sent: map[*stream.Tile]sentTile{},
	}
	if of.Code != nil {
		d.fetched = make([]*encode.Interner, len(of.Code.Fetched))
	}
	for i, c := range columns {
		if c >= 0 {
			d.wanted[i] = &of.Columns[c]
			d.hasStrings = d.hasStrings || of.Columns[c].Strings && !of.Columns[c].Matched
		}
	}
	if err := d.plan(q, l); err != nil {
		return nil, err
	}
	of.Refuse, of.Number, of.NumberFetched = d.refuse, d.number, d.numberFetched
	d.feeders.Store(int64(max(q.Workers/feedersShare, 1)))
	if d.count != nil {
		of.Filtered = d.filtered
	}
	return d, nil
}

// feedersShare: at first, one in feedersShare of the readers may wait for a tile.
const feedersShare = 4

// TakeSplit implements aggregator.Aggregator.
func (a *Aggregator) TakeSplit(ctx context.Context, r *aggregator.Rows, split scan.Split) (bool, error) {
	if o := a.opening; o != nil && !o.settled.Load() {
		if !o.isDone() {
			return false, nil
		}
		o.choose(a)
	}
	c := a.devicesFor(r)
	if c == nil || c.decoder == nil || a.refused {
		return false, nil
	}
	return c.decoder.take(ctx, r, split)
}

// decoded waits until devices have decoded what TakeSplit has taken, and returns the splits that are
// to be read after all: devices could not decode their pages.
func (a *Aggregator) decoded() ([]scan.Split, error) {
	c := a.devices.Load()
	if c == nil || c.decoder == nil || a.refused {
		return nil, nil
	}
	refused, err := c.decoder.await()
	a.refused = len(refused) > 0
	return refused, err
}

// missedMax bounds what is read in vain: devices decode no more after missedMax splits in a row, or
// after missedMax refused tiles that are more than half of all tiles. What devices cannot decode may
// be in every split, and only the pages tell.
const missedMax = 8

func (d *decoder) take(ctx context.Context, r *aggregator.Rows, split scan.Split) (taken bool, err error) {
	if d.devices.run.Decoding() == nil || d.full.Load() {
		return false, nil
	}
	paged, err := d.pagedAs(split)
	if errors.Is(err, scan.ErrLate) {
		d.devices.filler.mu.Lock()
		d.late = append(d.late, split)
		d.devices.filler.mu.Unlock()
		return true, nil
	}
	if err != nil {
		return false, nil //nolint:nilerr // it is read as batches
	}
	room, ok := d.roomFor(paged)
	if !ok {
		return false, nil
	}
	d.feeding.Add(1)
	defer d.feeding.Add(-1)
	o, at, memory, err := d.reserve(ctx, r.Thread, room)
	if o == nil || err != nil {
		return false, err
	}
	r.Thread.Does(threads.WorkFill)
	pages := make([]stream.EncodedPages, len(d.of.Columns))
	start := time.Now()
	counts, ok, err := d.read(ctx, paged, at, memory, pages)
	follow(&d.reads, time.Since(start))
	taken, full := d.commit(o, split, paged, room, ok && err == nil, pages, counts)
	if submitErr := d.submit(ctx, r.Thread, full); err == nil {
		err = submitErr
	}
	return taken, err
}

// roomFor returns what a split takes in a tile. ok is false where no tile has so much, or the split has
// strings of another kind.
func (d *decoder) roomFor(p *scan.Paged) (room encodedRoom, ok bool) {
	room.rows, room.asked = p.Rows, p.Asked
	for i, c := range p.Columns {
		switch of := d.columns[i]; {
		case of < 0: // its pages are not read
		case c.Text != d.strings[of].text:
			return room, false
		default:
			room.bytes += alignMemory(c.Bytes)
			if c.Unpacked > c.Bytes {
				room.plain += c.Unpacked
			}
		}
	}
	return room, d.devices.run.HasRoom(room.rows, room.bytes, room.plain)
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

// read reads the pages of all columns to memory that begins at a place in a tile, and counts them. ok is false where
// the split is to be read as batches.
func (d *decoder) read(ctx context.Context, p *scan.Paged, at int64, memory []byte,
	into []stream.EncodedPages) (counts []scan.PageCount, ok bool, err error) {
	reader, err := p.Open()
	if err != nil {
		return nil, false, nil //nolint:nilerr // reading it as batches tells the error
	}
	defer func() { err = cmp.Or(err, reader.Close()) }()
	from := int64(0)
	for i, c := range p.Columns {
		if d.columns[i] < 0 {
			continue
		}
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		pages, ok := reader.Read(i, memory[from:from+c.Bytes:from+c.Bytes])
		if !ok {
			return nil, false, nil
		}
		counts = append(counts, countPages(&pages))
		of := d.columns[i]
		into[of] = encodedPages(&pages, at+from, c.Width)
		if of+1 < len(into) && d.of.Columns[of+1].Same {
			into[of+1] = stream.EncodedPages{Pages: into[of].Pages, Strings: into[of].Strings}
		}
		from += alignMemory(c.Bytes)
	}
	return counts, true, nil
}

// countPages counts the pages of a column as devices get them: the CPU has decompressed what they do not.
func countPages(p *scan.Pages) scan.PageCount {
	count := scan.PageCount{Codec: "UNCOMPRESSED"}
	add := func(b *scan.PageBytes) {
		count.Pages++
		count.Bytes += int64(b.Bytes)
		count.Decompressed += int64(b.Size)
		if b.Snappy {
			count.Codec = "SNAPPY"
		}
	}
	if p.Entries > 0 {
		add(&p.Dictionary)
	}
	for i := range p.Data {
		add(&p.Data[i].PageBytes)
	}
	return count
}

// expandedEncodings are the encodings of values of one width that become plain.
var expandedEncodings = map[scan.PageEncoding]kernels.PageEncoding{
	scan.DeltaBinaryPacked: kernels.DeltaBinaryPacked, scan.ByteStreamSplit: kernels.ByteStreamSplit,
}

// lengthBytes are the bytes before a plain string, which say how many it has.
const lengthBytes = 4

// encodedPages returns the pages of a column as package stream has them. width is how many bytes a
// value has, 0 for strings. at is where the memory of the column begins in a tile.
func encodedPages(p *scan.Pages, at int64, width int) stream.EncodedPages {
	strings := width == 0
	out := pageLists{at: at, width: width}
	var dictionary kernels.Page
	unpackedDictionary := false
	if p.Entries > 0 {
		dictionary.Entries = uint32(p.Entries)
		if dictionary.Dictionary, unpackedDictionary = out.place(p.Dictionary); strings {
			page := kernels.StringPage{From: dictionary.Dictionary, Bytes: uint32(p.Dictionary.Size), Most: dictionary.Entries}
			out.addStrings(page, unpackedDictionary)
		}
	}
	row := 0
	for _, page := range p.Data {
		e := stream.EncodedPage{}
		if page.Encoding == scan.Coded {
			e.Page, e.UnpackedDictionary = dictionary, unpackedDictionary
		}
		e.From, e.Unpacked = out.place(page.PageBytes)
		e.Bytes, e.To, e.Rows = uint32(page.Size), uint64(row), uint32(page.Rows)
		row += page.Rows
		e.Levels = kernels.PageLevels(page.Levels)
		e.LevelsFrom, e.LevelBytes = uint64(at+page.LevelsAt), uint32(page.LevelBytes)
		switch encoding := page.Encoding; {
		case encoding == scan.Coded && p.Entries == 0: // all rows are NULL, or it is damaged
			if e.Apart, e.Strings = kernels.ApartNowhere, len(out.Strings); strings {
				out.addStrings(kernels.StringPage{}, false)
			}
		case encoding == scan.Coded:
		case strings:
			e.Apart, e.Entries, e.Strings = kernels.ApartPlain, e.Rows, len(out.Strings)
			of, unpacked := kernels.StringPage{From: e.From, Bytes: e.Bytes, Most: e.Rows, Levels: e.Levels}, e.Unpacked
			if encoding == scan.DeltaLengthByteArray {
				room := page.Size + lengthBytes*page.Rows
				of.From, unpacked = out.expand(&e, kernels.DeltaLengthByteArray, room), true
				of.Bytes, of.Levels = uint32(room), kernels.LevelsNone
			}
			out.addStrings(of, unpacked)
		case encoding != scan.Plain:
			e.Apart, e.Entries = kernels.ApartPlain, e.Rows
			e.Dictionary, e.UnpackedDictionary = out.expand(&e, expandedEncodings[encoding], width*page.Rows), true
		}
		out.Pages = append(out.Pages, e)
	}
	return out.EncodedPages
}

// pageLists are the lists that encodedPages makes of the pages of a column.
type pageLists struct {
	stream.EncodedPages
	at    int64  // where the memory of the column begins in a tile
	width int    // bytes of a value; 0 for strings
	first uint32 // number of the first string of the next page that has strings
}

// place returns where the bytes of a page are in a tile, or, once they are decompressed, among the
// bytes that have been: then it lists them to be decompressed.
func (l *pageLists) place(b scan.PageBytes) (from uint64, unpacked bool) {
	if !b.Snappy {
		return uint64(l.at + b.At), false
	}
	from = uint64(l.Plain)
	l.Blocks = append(l.Blocks, kernels.Block{
		From: uint64(l.at + b.At), To: from, Bytes: uint32(b.Bytes), Size: uint32(b.Size),
	})
	l.Plain += alignMemory(int64(b.Size))
	return from, true
}

// addStrings lists a page of strings, whose strings are numbered behind the ones of pages before.
func (l *pageLists) addStrings(page kernels.StringPage, unpacked bool) {
	page.First = l.first
	l.first += page.Most
	l.Strings = append(l.Strings, stream.EncodedStrings{StringPage: page, Unpacked: unpacked})
}

// expand has values become plain behind the pages that are decompressed, and returns where. The
// page learns where their head is.
func (l *pageLists) expand(page *stream.EncodedPage, encoding kernels.PageEncoding,
	room int) (to uint64) {
	to = uint64(l.Plain)
	page.Head, page.Expanded = uint32(to/kernels.ExpandedHead), true
	of := kernels.Expansion{
		From: page.From, To: to, Bytes: page.Bytes, Room: uint32(room), Most: page.Rows,
		Levels: page.Levels, Encoding: encoding, Width: uint32(l.width),
	}
	l.Expansions = append(l.Expansions, stream.EncodedExpansion{Expansion: of, Unpacked: page.Unpacked})
	l.Plain += alignMemory(kernels.ExpandedHead + int64(room))
	return to + kernels.ExpandedHead
}

// reserve returns memory of the open tile, or of another, for a split; nil where all tiles are
// under way and the CPU is to take the rows, or a tile has no room for the rows.
func (d *decoder) reserve(ctx context.Context, th *threads.Thread,
	room encodedRoom) (o *openEncoded, at int64, memory []byte, err error) {
	if o, at, memory = d.reserveOpen(room); o != nil {
		return o, at, memory, nil
	}
	f := &d.devices.filler
	wait := d.devices.query.Devices.named() || d.feeding.Load() <= d.feeders.Load() ||
		d.devices.layout.numbered && !f.cpuHelps()
	if !wait && !f.next.TryLock() { // another reader waits already
		return nil, 0, nil, nil
	}
	th.Give()
	if wait {
		f.next.Lock()
	}
	o, at, memory, err = d.reserveNext(ctx, room, wait)
	f.next.Unlock()
	return o, at, memory, cmp.Or(err, th.Take(ctx))
}

// adapt lets more readers wait for a tile where a tile was free when a reader came, or fewer where a reader
// has waited for longer than the pages of a split take to read. Decoding a split takes a reader so much longer
// than that that devices would have nothing to do meanwhile if all readers decoded.
func (d *decoder) adapt(waited time.Duration) {
	switch n := d.feeders.Load(); {
	case waited == 0:
		d.feeders.Store(min(n+1, int64(d.devices.query.Workers)))
	case int64(waited) > d.reads.Load():
		d.feeders.Store(max(n-1, 1))
	}
}

// reserveOpen returns memory of the open tile; nil where there is none, or it has no room.
func (d *decoder) reserveOpen(room encodedRoom) (o *openEncoded, at int64, memory []byte) {
	f := &d.devices.filler
	f.mu.Lock()
	defer f.mu.Unlock()
	if d.open == nil {
		return nil, 0, nil
	}
	if at, memory = d.open.Encoded.Reserve(room.rows, room.bytes, room.plain); memory == nil {
		return nil, 0, nil
	}
	d.open.pending++
	return d.open, at, memory
}

// reserveNext opens a tile, and submits the tile that was open. With wait it may wait for a tile.
// Requires: filler.next is held.
func (d *decoder) reserveNext(ctx context.Context, room encodedRoom,
	wait bool) (o *openEncoded, at int64, memory []byte, err error) {
	f, run := &d.devices.filler, d.devices.run
	if o, at, memory = d.reserveOpen(room); o != nil {
		return o, at, memory, nil
	}
	t, err := run.TryTile()
	waited := time.Duration(0)
	if err == nil && t == nil && wait {
		if err = d.submitOpen(); err == nil { // it may be what there is to wait for
			start := time.Now()
			t, err = run.Tile(ctx)
			waited = time.Since(start)
		}
	}
	if t != nil {
		follow(&f.waits, waited)
		d.adapt(waited)
	}
	if err != nil || t == nil {
		return nil, 0, nil, err
	}
	if at, memory = t.Encode().Reserve(room.rows, room.bytes, room.plain); memory == nil {
		return nil, 0, nil, run.Submit(t) // it is empty, and free again
	}
	if err = d.submitOpen(); err != nil {
		return nil, 0, nil, err
	}
	o = &openEncoded{Tile: t, pending: 1}
	f.mu.Lock()
	d.open = o
	f.mu.Unlock()
	return o, at, memory, nil
}

// submitOpen submits the open tile, if there is one; or whoever reads the last of its splits does.
func (d *decoder) submitOpen() error {
	f := &d.devices.filler
	f.mu.Lock()
	full := d.close()
	f.mu.Unlock()
	if full == nil {
		return nil
	}
	return d.devices.run.SubmitEncoded(full)
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
	d.sent[o.Tile] = o.sentTile
	for _, c := range o.counts {
		d.pages.Add(c)
	}
	d.tiles++
	return o.Tile
}

// commit adds a split that was read to a tile, and returns the tile if it is to be submitted. A tile that has
// other splits, and whose lists have no room for the pages, is closed: the next split finds an empty tile.
func (d *decoder) commit(
	o *openEncoded, split scan.Split, of *scan.Paged, room encodedRoom, ok bool, pages []stream.EncodedPages,
	counts []scan.PageCount,
) (taken bool, full *stream.Tile) {
	f := &d.devices.filler
	f.mu.Lock()
	defer f.mu.Unlock()
	o.pending--
	if ok && o.Encoded.Add(room.rows, pages) {
		o.splits = append(o.splits, split)
		o.asked += room.asked
		o.counts = append(o.counts, counts...)
		if of.Made != nil {
			o.made = append(o.made, of.Made)
		}
		d.missed.Store(0)
		return true, d.toSubmit(o)
	}
	o.Encoded.Drop(room.rows, room.plain)
	switch {
	case ok && len(o.splits) > 0:
		if d.open == o {
			return false, d.close()
		}
	case d.missed.Add(1) >= missedMax:
		d.full.Store(true)
	}
	return false, d.toSubmit(o)
}

// refuse notes the splits of a tile that a device could not decode.
func (d *decoder) refuse(_ context.Context, t *stream.Tile) error {
	f := &d.devices.filler
	f.mu.Lock()
	defer f.mu.Unlock()
	sent := d.sent[t]
	delete(d.sent, t)
	d.refused = append(d.refused, sent.splits...)
	for _, c := range sent.counts {
		d.pages.Add(scan.PageCount{Codec: c.Codec, Pages: -c.Pages, Bytes: -c.Bytes, Decompressed: -c.Decompressed})
	}
	if d.refusals++; d.refusals >= missedMax && d.refusals > d.tiles/2 {
		d.full.Store(true)
	}
	return nil
}

// filtered counts the rows of a tile. kept is how many of them have passed a filter.
func (d *decoder) filtered(t *stream.Tile, kept int64) {
	f := &d.devices.filler
	f.mu.Lock()
	sent := d.sent[t]
	f.mu.Unlock()
	d.asked.Add(sent.asked)
	d.kept.Add(kept)
	d.count(sent.asked, kept)
	d.devices.query.Passed(kept)
	for _, made := range sent.made {
		made()
	}
}

// await submits the open tile, waits until all tiles are decoded, and returns the splits that were
// refused. Requires: no reader is left.
func (d *decoder) await() ([]scan.Split, error) {
	if err := d.submitOpen(); err != nil {
		return nil, err
	}
	if err := d.devices.run.AwaitDecoded(); err != nil {
		return nil, err
	}
	refused := append(d.refused, d.late...)
	d.refused, d.late = nil, nil
	return refused, nil
}
