package stream

import (
	"context"
	"errors"
	"slices"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/kernels"
)

// Decoding lets tiles be encoded: their rows come as the pages of a Parquet file, which the devices
// decode to the keys and columns of the rows.
type Decoding struct {
	Columns []EncodedColumn
	Keys    []EncodedKey

	// Code makes the columns of Shape, and behind them the values of Keys, of Columns, its inputs; and it
	// leaves out rows. Where it is nil, they are among Columns.
	Code *rowcode.Code

	// Filtered is told how many rows of a tile have passed Code's condition. It is called by several
	// goroutines at once. Required where Code filters.
	Filtered func(t *Tile, kept int64)

	// GroupRows is how many rows an encoded tile is to have room for, if there is memory for it: the
	// rows of the largest row group.
	GroupRows int64

	// GroupBytes is how many bytes of decompressed pages it is to have room for: the pages of a large
	// row group.
	GroupBytes int64

	// Number gives numbers to strings that a device has not met before: equal strings of a column always
	// get the same number, and none gets 0. Where it returns false, their tile is refused. It keeps none
	// of the strings, and is called by several goroutines at once. Required where a column has Strings.
	Number func(ctx context.Context, strings *NewStrings, numbers []uint32) (bool, error)

	// NumberFetched gives numbers to strings of Code.Fetched[fetched], as Number does. It is called by several
	// goroutines at once, and required where a column without Words is fetched that has strings.
	NumberFetched func(fetched int, strings [][]byte, numbers []uint32) error

	// Refuse takes back an encoded tile that a device could not decode, whose rows are of none of the
	// run's groups. It keeps no memory of the tile, and is called by several goroutines at once.
	Refuse func(ctx context.Context, t *Tile) error
}

// EncodedColumn is a column of a file.
type EncodedColumn struct {
	Width    int // bytes of a value in pages: 4 or 8
	Form     kernels.PageForm
	Type     kernels.ColumnType // of the values, for Code
	Column   int                // of Shape.Columns, which has the values; -1: they are parts of keys, or inputs, alone
	Nullable bool

	// Strings: the column has strings. Its values are their numbers, of 4 bytes. StringBytes is how many
	// bytes of pages a row takes, about.
	Strings     bool
	StringBytes int64

	// Values is about how many distinct values a column without a range has; 0 where nothing tells. It is a hint.
	Values int64

	// Matched: the values of a column of strings are words of Code's patterns (rowcode.Word), with Patterns' bits.
	// Text: they are to be UTF-8. Same: the column has the pages of the column before, whose strings have numbers.
	Matched  bool
	Patterns uint32
	Text     bool
	Same     bool
}

// numbered reports whether the column's values are the numbers of strings.
func (c *EncodedColumn) numbered() bool { return c.Strings && !c.Matched }

// rowBytes returns how many bytes of pages a row takes.
func (c *EncodedColumn) rowBytes() int64 {
	if c.Strings {
		return c.StringBytes
	}
	return int64(c.Width)
}

// EncodedKey is a part of packed keys. A column of Decoding.Columns has the part's Values and Valid, if
// there is no Code.
type EncodedKey struct {
	kernels.KeyPart
	Column   int
	Nullable bool // for Code
}

// Encoded is the rows of a tile as they lie in a file. Whoever fills the tile reserves bytes for pages,
// writes them, and adds the pages; all but the writing by one goroutine at a time.
type Encoded struct {
	packed     []byte // the host's memory of the pages
	used       int64  // of packed
	plain      int64  // bytes of decompressed blocks
	chunks     int64
	rows       int64
	claims     int64   // rows that memory was reserved for
	claim      int64   // bytes of decompressed blocks that were reserved
	steps      []int64 // by column
	blocks     []kernels.Block
	expansions []kernels.Expansion
	pages      [][]kernels.Page // by column
	items      int64            // blocks, expansions, pages, and pages of strings

	stringPages []kernels.StringPage
	strings     int64 // of these pages, at most

	layout *encodedLayout
}

// encodedLayout is how the device memory of an encoded tile is divided, in bytes from its begin.
type encodedLayout struct {
	of   *Decoding
	rows int64 // at most

	packed  int64        // pages as they lie in the host's memory, from 0 on
	lists   int64        // room for blocks and pages, behind the packed pages
	plain   int64        // where decompressed blocks are
	decoded []columnRoom // by column; none of columns of Shape
	bitmaps [2]int64     // of these columns, from and to
	keys    []columnRoom // that Code makes
	status  int64
	marks   []int64 // by Code.Marked: a bitmap; behind the last one, its end
	stringLayout
	chunks int64
	steps  int64
	bytes  int64

	plainBytes int64 // room for decompressed blocks
	itemsMax   int64 // blocks and pages
	host       int64 // bytes of host memory
}

// columnRoom is where a column is.
type columnRoom struct {
	values int64
	valid  int64 // -1 without a bitmap
}

// spans returns where a column is in the memory of a tile.
func (c columnRoom) spans(at kernels.Span) (values, valid kernels.Span) {
	if c.valid >= 0 {
		valid = at.At(c.valid)
	}
	return at.At(c.values), valid
}

const (
	pageSlack    = 16 // of the bytes of rows, pages may take so much more than their values
	itemBytes    = max(kernels.PageBytes, kernels.BlockBytes, kernels.ExpansionBytes, kernels.StringPageBytes)
	itemsMin     = 1 << 10
	bytesPerItem = 8 << 10 // pages of values that are smaller make lists that are too long
)

func newEncodedLayout(of *Decoding, rows int64) *encodedLayout {
	l := &encodedLayout{of: of, rows: rows}
	take := func(n int64) int64 {
		at := l.bytes
		l.bytes += align(n)
		return at
	}
	values := int64(0)
	for i := range of.Columns {
		c := &of.Columns[i]
		values += rows * c.rowBytes()
		if c.Strings && !c.Same {
			l.strings += rows
		}
		if c.numbered() {
			l.textBytes += rows * c.rowBytes()
		}
		l.matches = l.matches || c.Matched
	}
	l.plainBytes = align(max(values+values/pageSlack, of.GroupBytes+of.GroupBytes/pageSlack))
	if l.textBytes > 0 {
		l.textBytes = max(l.textBytes, of.GroupBytes)
	}
	l.itemsMax = itemsMin + values/bytesPerItem
	l.lists = align(l.itemsMax * itemBytes)
	l.packed = take(l.plainBytes + kernels.PagesPad)
	take(l.lists)
	l.host = l.bytes + align(l.missingRoom())
	l.plain = take(l.plainBytes + kernels.PagesPad)
	l.takeStrings(take)
	for _, c := range of.Columns {
		room := columnRoom{valid: -1}
		if c.Column < 0 {
			room.values = take(rows * int64(c.Form.Width(c.Width)))
		}
		l.decoded = append(l.decoded, room)
	}
	l.bitmaps[0] = l.bytes
	for i, c := range of.Columns {
		if c.Column < 0 && c.Nullable {
			l.decoded[i].valid = take(kernels.BitmapBytes(rows))
		}
	}
	l.bitmaps[1] = l.bytes
	if of.Code != nil {
		for _, k := range of.Keys {
			room := columnRoom{take(rows * int64(k.Type.Bytes())), -1}
			if k.Nullable {
				room.valid = take(kernels.BitmapBytes(rows))
			}
			l.keys = append(l.keys, room)
		}
	}
	l.status = take(l.statusBytes(l.itemsMax))
	l.host += align(l.statusBytes(l.itemsMax))
	l.takeMarks(take)
	l.chunks = take((&kernels.Blocks{Chunks: l.chunksMax()}).ScratchBytes())
	l.steps = take((&kernels.Pages{Steps: int64(len(of.Columns))*kernels.PageSteps(rows) + l.itemsMax}).ScratchBytes())
	return l
}

// takeMarks makes room for the rows of lookups that Code marks.
func (l *encodedLayout) takeMarks(take func(n int64) int64) {
	if l.of.Code == nil {
		return
	}
	for _, i := range l.of.Code.Marked {
		l.marks = append(l.marks, take(kernels.BitmapBytes(l.of.Code.Lookups[i].Rows())))
	}
	l.marks = append(l.marks, take(0))
	l.host += l.marks[len(l.marks)-1] - l.marks[0]
}

// statusBytes returns the bytes of the statuses. items is how many blocks and pages there are. The
// statuses of blocks, of the pages of each column and of keys begin at multiples of statusAlignment,
// and so does what is behind them: whether a string is refused, how many rows Code has left, and how
// many strings have no number.
func (l *encodedLayout) statusBytes(items int64) int64 {
	return alignStatus(4*(items+1)+statusAlignment*int64(len(l.of.Columns)+3)) +
		kernels.EvaluationHeadBytes + kernels.MissingHeadBytes
}

// headAt is where the head of Code is among the statuses.
func (l *encodedLayout) headAt(items int64) int64 {
	return l.statusBytes(items) - kernels.MissingHeadBytes - kernels.EvaluationHeadBytes
}

// refusedAt is where the statuses say that a string is refused.
func (l *encodedLayout) refusedAt(items int64) int64 { return l.headAt(items) - statusAlignment }

// statusAlignment is the alignment of spans of device memory.
const statusAlignment = 16

func (l *encodedLayout) chunksMax() int64 { return l.plainBytes/kernels.ChunkSize + l.itemsMax }

// Encode makes a tile that is empty an encoded one. Requires: Run.Decoding.
func (t *Tile) Encode() *Encoded {
	l := t.device.encoded
	t.Encoded = &Encoded{
		packed: t.host.Bytes()[:l.plainBytes], layout: l, steps: make([]int64, len(l.of.Columns)),
		pages: make([][]kernels.Page, len(l.of.Columns)),
	}
	return t.Encoded
}

// Decoding returns how encoded tiles are decoded; nil where none are: Options.Decode.
func (r *Run) Decoding() *Decoding { return r.opt.Decode }

// HasRoom reports whether an empty tile of any device has the room that Reserve asks for. Requires:
// Run.Decoding.
func (r *Run) HasRoom(rows, bytes, plain int64) bool {
	return !slices.ContainsFunc(r.devices, func(d *device) bool {
		l := d.encoded
		return rows > l.rows || max(bytes, plain) > l.plainBytes
	})
}

// Reserve returns `bytes` bytes of memory for the pages of `rows` rows, and where the memory is; nil
// where the tile has no room. The pages' blocks have about plain bytes, decompressed. Add or Drop
// follows.
func (e *Encoded) Reserve(rows, bytes, plain int64) (at int64, memory []byte) {
	at = (e.used + 15) &^ 15
	if l := e.layout; bytes > int64(len(e.packed))-at || rows > l.rows-e.claims ||
		plain > l.plainBytes-e.claim || e.items >= l.itemsMax {
		return 0, nil
	}
	e.claims += rows
	e.claim += plain
	e.used = at + bytes
	return at, e.packed[at:e.used:e.used]
}

// Drop gives up rows and bytes that were reserved. Their memory stays unused.
func (e *Encoded) Drop(rows, plain int64) {
	e.claims -= rows
	e.claim -= plain
}

// EncodedPages are the pages of a column, for some rows that come next in a tile. From of blocks and
// pages, and Dictionary of pages, are places in reserved memory; but where a page or its dictionary is
// Unpacked, they are places in the decompressed bytes of the blocks. To of pages is counted from the
// first of the rows, and of blocks from 0.
//
// Of a column of Strings, Strings are the pages that have strings, dictionaries and others. The
// dictionary of a page, or the values of a page that is Apart, are the numbers of the strings of one of
// them.
type EncodedPages struct {
	Blocks     []kernels.Block
	Expansions []EncodedExpansion
	Pages      []EncodedPage
	Strings    []EncodedStrings
	Plain      int64 // bytes of the decompressed blocks, and of expanded pages
}

// EncodedExpansion is a page that becomes plain: To counts from 0 among the decompressed bytes, and From does
// where it is Unpacked.
type EncodedExpansion struct {
	kernels.Expansion
	Unpacked bool
}

// EncodedPage is a page; see EncodedPages. Where it is Expanded, Head counts from the first decompressed byte.
type EncodedPage struct {
	kernels.Page
	Unpacked           bool
	UnpackedDictionary bool
	Expanded           bool
	Strings            int // of EncodedPages.Strings, where the column has any
}

// EncodedStrings is a page that has strings; see EncodedPages. First is counted from the first of the
// column, and Column is not set.
type EncodedStrings struct {
	kernels.StringPage
	Unpacked bool
}

// Add adds rows, whose pages it has for each column. It returns false, and adds nothing, where the tile
// has no room.
func (e *Encoded) Add(rows int64, columns []EncodedPages) bool {
	l := e.layout
	var plain, items, strings int64
	for i := range columns {
		of := &columns[i]
		items += int64(len(of.Pages))
		if l.of.Columns[i].Same {
			continue
		}
		plain += align(of.Plain)
		items += int64(len(of.Blocks) + len(of.Expansions) + len(of.Strings))
		for _, s := range of.Strings {
			strings += int64(s.Most)
		}
	}
	if rows > l.rows-e.rows || plain > l.plainBytes-e.plain || items > l.itemsMax-e.items ||
		strings > l.strings-e.strings {
		return false
	}
	var plainAt, stringsAt int64 // of the column, or of the column before, whose pages it has
	for c := range columns {
		of := &columns[c]
		is := &l.of.Columns[c]
		if !is.Same {
			plainAt, stringsAt = e.plain, e.strings
			e.addPages(c, of)
		}
		for _, p := range of.Pages {
			if p.Unpacked {
				p.From += uint64(l.plain + plainAt)
			}
			if p.Expanded {
				p.Head += uint32((l.plain + plainAt) / kernels.ExpandedHead)
			}
			switch {
			case is.Matched:
				p.Dictionary = uint64(l.words + 4*(stringsAt+int64(of.Strings[p.Strings].First)))
			case is.Strings:
				p.Dictionary = uint64(l.numbers + 4*(stringsAt+int64(of.Strings[p.Strings].First)))
			case p.UnpackedDictionary:
				p.Dictionary += uint64(l.plain + plainAt)
			}
			p.To += uint64(e.rows)
			p.FirstStep = uint32(e.steps[c])
			e.steps[c] += kernels.PageSteps(int64(p.Rows))
			e.pages[c] = append(e.pages[c], p.Page)
		}
	}
	e.rows += rows
	e.items += items
	return true
}

// addPages adds what a column's pages are made of.
func (e *Encoded) addPages(column int, of *EncodedPages) {
	l := e.layout
	for _, b := range of.Blocks {
		b.To += uint64(e.plain)
		b.FirstChunk = uint32(e.chunks)
		e.chunks += kernels.BlockChunks(int64(b.Size))
		e.blocks = append(e.blocks, b)
	}
	for _, x := range of.Expansions {
		if x.To += uint64(l.plain + e.plain); x.Unpacked {
			x.From += uint64(l.plain + e.plain)
		}
		e.expansions = append(e.expansions, x.Expansion)
	}
	e.addStrings(column, of.Strings)
	e.plain += align(of.Plain)
}

// SubmitEncoded hands an encoded tile over, as Submit: once it is decoded, it is submitted as other
// tiles are, or Decoding.Refuse has got it.
func (r *Run) SubmitEncoded(t *Tile) error {
	t.Rows = int(t.Encoded.rows)
	if t.Rows == 0 {
		r.put(t)
		return nil
	}
	if err := context.Cause(r.ctx); err != nil {
		return err
	}
	r.work.Add(1)
	r.decoding.Add(1)
	err := spawn.Call(t.sendEncoded)
	spawn.Go(func() error {
		// Also after an error, as in device.send.
		if ended := errors.Join(err, t.finish("decode")); ended != nil {
			return failure(ended)
		}
		spawn.Step()
		ok, ended := t.numberMissing()
		if ended != nil {
			return wrapDevice(ended)
		}
		if !ok || !t.isDecoded() {
			invariants.Sometimes("stream: a tile cannot be decoded")
			r.count(func(c *Counters) { c.Refused += int64(t.Rows) })
			ended = wrapDevice(taken(r.opt.Decode.Refuse(r.ctx, t)))
			r.put(t)
			return ended
		}
		return t.submitDecoded()
	}, func(ended error) {
		r.fail(ended)
		r.decoding.Done()
		r.work.Done()
	})
	return wrapDevice(err)
}

// submitDecoded hands over the rows that are left of a tile that is decoded.
func (t *Tile) submitDecoded() error {
	r, of, rows := t.device.run, t.device.encoded.of, int64(t.Rows)
	t.tellMarks()
	if of.Code != nil && of.Code.Filters {
		t.Rows = int(t.head().Rows)
		of.Filtered(t, int64(t.Rows))
	}
	r.count(func(c *Counters) {
		c.Decoded += rows
		c.Kept += int64(t.Rows)
	})
	t.Encoded = nil
	if t.Rows == 0 {
		invariants.Sometimes("stream: no row of a tile passes")
		r.put(t)
		return nil
	}
	t.decoded = true
	if r.opt.Decoded == nil {
		return r.Submit(t)
	}
	return wrapDevice(t.giveDecoded())
}

// giveDecoded has the rows of a tile go to Options.Decoded. The tile is free before they are where they are to
// be, since decoding others takes as long as that.
func (t *Tile) giveDecoded() error {
	r := t.device.run
	rest, err := func() (func() error, error) {
		if err := t.copyRows(); err != nil {
			return nil, err
		}
		r.count(func(c *Counters) { c.RowsOut += int64(t.Rows) })
		rest, err := r.opt.Decoded(r.ctx, t)
		return rest, taken(err)
	}()
	r.resting <- struct{}{}
	defer func() { <-r.resting }()
	r.put(t)
	if err != nil {
		return err
	}
	return taken(rest())
}

// head is how Code has ended.
func (t *Tile) head() kernels.EvaluationHead {
	return kernels.EvaluationHeadOf(t.statuses()[t.device.encoded.headAt(t.Encoded.items):])
}

// AwaitDecoded waits until all encoded tiles that were submitted are decoded or refused.
func (r *Run) AwaitDecoded() error {
	r.decoding.Wait()
	return context.Cause(r.ctx)
}

// sendEncoded enqueues the decoding of a tile.
func (t *Tile) sendEncoded() error {
	d, e, l := t.device, t.Encoded, t.device.encoded
	lists := l.plainBytes // in the host's memory
	host := t.host.Bytes()
	for _, b := range e.blocks {
		host = kernels.AppendListed(host[:lists], b)
		lists += kernels.BlockBytes
	}
	for _, x := range e.expansions {
		host = kernels.AppendListed(host[:lists], x)
		lists += kernels.ExpansionBytes
	}
	for _, pages := range e.pages {
		for _, p := range pages {
			host = kernels.AppendListed(host[:lists], p)
			lists += kernels.PageBytes
		}
	}
	for _, p := range e.stringPages {
		host = kernels.AppendListed(host[:lists], p)
		lists += kernels.StringPageBytes
	}
	host = t.host.Bytes()
	at := kernels.Span{Buffer: t.encoded}
	listed := at.At(l.listed())
	copies := []kernels.Copy{
		{Device: at, Host: host[:e.used]},
		{Device: listed, Host: host[l.plainBytes:lists]},
	}
	d.bytesIn.Add(copiedBytes(copies))
	d.bytesEncoded.Add(e.used)
	return t.send(
		func() error { return t.stream.CopyBatch(copies) },
		func() error { return t.decode(false) },
		t.copyStatuses,
	)
}

// listed is where a device has the lists of blocks and pages.
func (l *encodedLayout) listed() int64 { return l.packed + l.plainBytes + align(kernels.PagesPad) }

func (t *Tile) copyStatuses() error {
	l, at := t.device.encoded, kernels.Span{Buffer: t.encoded}
	copies := []kernels.Copy{{Device: at.At(l.status), Host: t.statuses(), Out: true}}
	if len(l.marks) > 1 {
		copies = append(copies, kernels.Copy{Device: at.At(l.marks[0]), Host: t.marked(), Out: true})
	}
	return t.stream.CopyBatch(copies)
}

// marked is where the host has the rows of lookups that the code has marked.
func (t *Tile) marked() []byte {
	l := t.device.encoded
	at := l.plainBytes + l.lists + align(l.missingRoom()) + align(l.statusBytes(l.itemsMax))
	return t.host.Bytes()[at:][:l.marks[len(l.marks)-1]-l.marks[0]]
}

// tellMarks tells lookups of the rows that the code has marked. Requires: the tile is decoded.
func (t *Tile) tellMarks() {
	l := t.device.encoded
	if len(l.marks) < 2 {
		return
	}
	marks := t.marked()
	for i, lookup := range l.of.Code.Marked {
		of := l.of.Code.Lookups[lookup]
		if n := kernels.BitmapBytes(of.Rows()); n > 0 {
			of.Marked(wordsOf[uint32](marks[l.marks[i]-l.marks[0]:][:n]))
		}
	}
}

// statuses is where the host has the statuses of an encoded tile: of blocks, of pages by column, and
// whether a key is outside of its range: 0 where nothing is wrong. Before a kernel has written one, it is
// another. A Missing follows.
func (t *Tile) statuses() []byte {
	l := t.device.encoded
	return t.host.Bytes()[l.plainBytes+l.lists+align(l.missingRoom()):][:l.statusBytes(t.Encoded.items)]
}

// isDecoded reports whether the device has decoded all of a tile.
func (t *Tile) isDecoded() bool {
	statuses := t.statuses()
	done := func(count int) bool {
		part := statuses[:4*count]
		statuses = statuses[alignStatus(int64(4*count)):]
		return isDone(part)
	}
	ok := done(len(t.Encoded.blocks))
	for _, pages := range t.Encoded.pages {
		ok = done(len(pages)) && ok
	}
	l := t.device.encoded
	if l.of.Code != nil {
		ok = ok && !t.head().Wrong
	}
	if l.matches {
		ok = ok && isDone(t.statuses()[l.refusedAt(t.Encoded.items):][:4])
	}
	return ok && (t.device.run.opt.Decoded != nil || done(1)) // keys
}

// isDone reports whether all of some statuses say so.
func isDone(statuses []byte) bool {
	return !slices.ContainsFunc(wordsOf[uint32](statuses), func(status uint32) bool { return status != 0 })
}

func alignStatus(n int64) int64 { return (n + statusAlignment - 1) &^ (statusAlignment - 1) }

// decode enqueues the kernels that decode a tile whose lists are on the device. again says that it is
// decoded, but for what depends on strings that had no numbers.
func (t *Tile) decode(again bool) error {
	d, e, l := t.device, t.Encoded, t.device.encoded
	at := kernels.Span{Buffer: t.encoded}
	rows, status, listed := int64(t.Rows), at.At(l.status), at.At(l.listed())
	into := t.rows()
	columns := make([]kernels.Column, len(l.of.Columns))
	for i, c := range l.of.Columns {
		to := &columns[i]
		to.Type = c.Type
		if c.Column >= 0 {
			to.Values, to.Valid = into.Columns[c.Column], into.Valid[c.Column]
		} else {
			to.Values, to.Valid = l.decoded[i].spans(at)
		}
	}
	blocks := &kernels.Blocks{
		Packed: at, PackedBytes: e.used, Plain: at.At(l.plain), PlainBytes: l.plainBytes,
		List: listed, Count: int64(len(e.blocks)), Chunks: e.chunks, Status: status, Scratch: at.At(l.chunks),
	}
	expansions := &kernels.Expansions{
		Memory: at, MemoryBytes: l.plain + l.plainBytes,
		List: listed.At(blocks.Count * kernels.BlockBytes), Count: int64(len(e.expansions)),
	}
	var steps []func() error
	if !again {
		steps = t.unpack(blocks, expansions)
	}
	next := func(count, bytes int64) {
		listed = listed.At(count * bytes)
		status = status.At(alignStatus(4 * count))
	}
	next(blocks.Count, kernels.BlockBytes)
	listed = listed.At(expansions.Count * kernels.ExpansionBytes)
	var decoded []*kernels.Pages
	scratch := at.At(l.steps)
	for i, c := range l.of.Columns {
		pages := &kernels.Pages{
			Memory: at, MemoryBytes: l.plain + l.plainBytes, List: listed, Count: int64(len(e.pages[i])), Steps: e.steps[i],
			Width: c.Width, Form: c.Form, Numbers: c.Strings, Values: columns[i].Values,
			Valid: columns[i].Valid, Rows: rows, Status: status, Scratch: scratch,
		}
		next(pages.Count, kernels.PageBytes)
		scratch = scratch.At(pages.ScratchBytes())
		if c.Strings {
			pages.MemoryBytes = max(l.numbers, l.words) + 4*l.strings
		}
		if c.numbered() || !again {
			decoded = append(decoded, pages)
		}
	}
	steps = append(steps, func() error { return t.stream.DecodePages(decoded) })
	keys := &kernels.KeyParts{Rows: rows, KeyBytes: d.layout.shape.KeyBytes, Keys: into.Keys, Outside: status}
	for i, k := range l.of.Keys {
		part := k.KeyPart
		if l.of.Code == nil {
			part.Values, part.Valid = columns[k.Column].Values, columns[k.Column].Valid
		} else {
			part.Values, part.Valid = l.keys[i].spans(at)
		}
		keys.Parts = append(keys.Parts, part)
	}
	if l.of.Code != nil {
		code := t.evaluation(columns, into, keys)
		steps = append(steps, func() error { return t.stream.Evaluate(code) })
	}
	if d.run.opt.Decoded == nil {
		steps = append(steps, func() error { return t.stream.PackKeys(keys) })
	}
	return firstError(steps...)
}

// unpack returns the steps before pages are decoded: bitmaps are cleared, statuses are set, blocks
// decompressed, values expanded, and strings numbered.
func (t *Tile) unpack(blocks *kernels.Blocks,
	expansions *kernels.Expansions) (steps []func() error) {
	d, e, l := t.device, t.Encoded, t.device.encoded
	at := kernels.Span{Buffer: t.encoded}
	if from, to := l.bitmaps[0], l.bitmaps[1]; from < to {
		steps = append(steps, func() error { return t.stream.Fill(at.At(from), to-from, 0) })
	}
	if from, to := d.layout.bitmaps, d.layout.bytes; from < to && l.of.Code == nil {
		input := kernels.Span{Buffer: t.input, Offset: from}
		steps = append(steps, func() error { return t.stream.Fill(input, to-from, 0) })
	}
	steps = append(steps,
		func() error { return t.stream.Fill(at.At(l.status), l.statusBytes(e.items), 0xFF) },
		func() error { return t.stream.DecompressSnappy(blocks) },
		func() error { return t.stream.ExpandPages(expansions) },
	)
	if l.strings > 0 {
		t.stringsSeen = d.stringsAdded.Load()
		steps = append(steps, func() error { return t.stream.NumberStrings(t.strings()) })
	}
	return steps
}

// evaluation is what makes the rows of a tile, and the values of keys, of decoded columns; keys are of the rows that it
// makes.
func (t *Tile) evaluation(columns []kernels.Column, rows kernels.Rows, keys *kernels.KeyParts) *kernels.Evaluation {
	l := t.device.encoded
	code := &kernels.Evaluation{
		Head: kernels.Span{Buffer: t.encoded, Offset: l.status + l.headAt(t.Encoded.items)},
		Code: l.of.Code, Rows: rows.Count, Room: l.rows, Inputs: columns,
		Lookups: slices.Clone(t.device.lookups.tables), Fetched: t.device.lookups.fetched,
	}
	for i, lookup := range l.of.Code.Marked {
		code.Lookups[lookup].Marks = kernels.Span{Buffer: t.encoded, Offset: l.marks[i]}
	}
	for i, typ := range t.device.layout.shape.Columns {
		code.Outputs = append(code.Outputs, kernels.Column{Type: typ, Values: rows.Columns[i], Valid: rows.Valid[i]})
	}
	for i := range keys.Parts {
		code.Outputs = append(code.Outputs, keys.Parts[i].Column)
	}
	if keys.Count = code.Head; code.Code.Each != nil { // which may make more rows than there are
		keys.Rows = l.rows
	}
	return code
}

// giveRows gives the rows of a tile to the CPU.
func (t *Tile) giveRows() error {
	if err := t.copyRows(); err != nil {
		return err
	}
	return taken(t.device.run.takeRows(t))
}

// copyRows brings the rows of a tile to the host, which has none of them where a device has decoded them.
func (t *Tile) copyRows() error {
	if !t.decoded {
		return nil
	}
	d := t.device
	return d.copyOut(t.stream, d.layout.copies(t.input, 0, t.host.Bytes(), int64(t.Rows), true))
}

// layOutEncoded says what encoded tiles would be, if there is memory for them. It lowers the limit for
// everything else by what they take.
func (d *device) layOutEncoded() {
	o := &d.run.opt
	d.encoded, d.known, d.lookups = nil, kernels.StringTable{}, nil
	if o.Decode == nil || o.Streams*len(o.Devices) < 2 { // a tile that waits for pages would be the only one
		return
	}
	lookups := layOutLookups(o.Decode.Code)
	if lookups.bytes > d.limit/lookupsShare {
		return
	}
	limit := d.limit - lookups.bytes
	streams, rows := int64(o.Streams), d.layout.capacity
	l := newEncodedLayout(o.Decode, rows)
	for l.bytes*streams > limit/encodedShare || l.host*streams > o.PinnedLimit/ringPinned || l.isTooLarge() {
		if rows /= 2; rows < max(o.Decode.GroupRows, tileRowsMin) {
			return
		}
		l = newEncodedLayout(o.Decode, rows)
	}
	d.layout = newLayout(&o.Shape, o.Nullable, rows)
	d.encoded, d.lookups = l, lookups
	d.limit = limit - l.bytes*streams
	d.layOutKnown()
}

// layOut says what the tiles of all devices would be. Where a device has no memory for encoded tiles, in
// rings of fewer and fewer, none has them. streams is Options.Streams as it was given.
func (r *Run) layOut(streams int) error {
	tries := []int{streams}
	if streams == 0 {
		tries = streamsDecode[:]
	}
	for _, n := range tries {
		if r.opt.Decode == nil {
			break
		}
		r.opt.Streams = n
		if err := r.layOutDevices(); err != nil {
			return err
		}
		if !slices.ContainsFunc(r.devices, func(d *device) bool { return d.encoded == nil }) {
			return nil
		}
	}
	r.opt.Decode = nil
	if streams == 0 {
		r.opt.Streams = streamsDefault
	}
	return r.layOutDevices()
}

func (r *Run) layOutDevices() error {
	for _, d := range r.devices {
		if err := d.layOut(); err != nil {
			return err
		}
	}
	return nil
}

// DecodeBytes returns how many bytes of a device's memory are enough for the encoded tiles of an input of `rows` rows;
// where nothing but tiles takes memory, so that all rows may be under way at once.
func DecodeBytes(of *Decoding, rows int64, onlyDecode bool) int64 {
	const tileMax = 1 << 28 // rows; none of more has room, and a damaged file may have any number
	streams := int64(streamsDecode[0])
	tile := ceilDiv(rows, streams)
	if !onlyDecode {
		tile = min(tile, tileRowsMin)
	}
	tile = min(max(of.GroupRows, tile), tileMax)
	return encodedShare*streams*newEncodedLayout(of, tile).bytes + lookupsShare*layOutLookups(of.Code).bytes
}

// encodedShare: encoded tiles take no more than this part of the memory.
const encodedShare = 4
