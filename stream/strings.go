package stream

import (
	"errors"
	"math"
	"unsafe"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/kernels"
)

// Strings become numbers on the device, which has a table of the strings that it has met:
//
//	pages -> where strings begin -> their numbers ---------------------------> values of the column
//	                            \-> those without one -> host: Number -> table -/
//
// Only strings that are new to a device cross the link back. Strings that are only compared have no numbers, but
// words that say which patterns they are as.

// stringLayout is where the strings of an encoded tile are on the device, in bytes from its begin.
type stringLayout struct {
	strings   int64 // of a tile, at most; 0 without columns of strings
	textBytes int64 // of strings without a number, at most; 0 where none gets one
	matches   bool  // some are compared with patterns

	numbers int64
	words   int64
	missing int64 // kernels.Strings.List
	text    int64
	given   int64
	finding int64 // kernels.Strings.Scratch
}

func (l *stringLayout) takeStrings(take func(int64) int64) {
	if l.strings == 0 {
		return
	}
	l.numbers = take(4*l.strings + kernels.PagesPad)
	if l.matches {
		l.words = take(4*l.strings + kernels.PagesPad)
	}
	l.missing = take(kernels.MissingBytes * l.strings)
	l.text = take(l.textBytes)
	l.given = take(4 * l.strings)
	l.finding = take((&kernels.Strings{Strings: l.strings}).ScratchBytes())
}

// missingRoom returns how many bytes strings without numbers, with where they come from, may take more
// than their pages.
func (l *stringLayout) missingRoom() int64 {
	const lengthBytes = 4 // of a string in a page
	return l.strings * (kernels.MissingBytes - lengthBytes)
}

// isTooLarge reports whether a tile has more strings than a device numbers at once.
func (l *encodedLayout) isTooLarge() bool {
	return l.strings > 0 && (l.plain+l.plainBytes > math.MaxUint32 || l.strings >= math.MaxUint32)
}

// addStrings adds pages that have strings of a column.
func (e *Encoded) addStrings(column int, pages []EncodedStrings) {
	first := e.strings
	for _, p := range pages {
		if p.Unpacked {
			p.From += uint64(e.layout.plain + e.plain)
		}
		p.First += uint32(first)
		p.Column = uint32(column)
		e.stringPages = append(e.stringPages, p.StringPage)
		e.strings += int64(p.Most)
	}
}

// strings is what numbers the strings of a tile.
func (t *Tile) strings() *kernels.Strings {
	e, l := t.Encoded, t.device.encoded
	at := kernels.Span{Buffer: t.encoded}
	listed := int64(len(e.blocks))*kernels.BlockBytes + int64(len(e.expansions))*kernels.ExpansionBytes
	for _, pages := range e.pages {
		listed += int64(len(pages)) * kernels.PageBytes
	}
	s := &kernels.Strings{
		Memory: at, MemoryBytes: l.plain + l.plainBytes,
		Pages: at.At(l.listed() + listed), Count: int64(len(e.stringPages)), Strings: e.strings,
		Known:   t.device.known,
		Numbers: at.At(l.numbers), Head: at.At(l.status + l.statusBytes(e.items) - kernels.MissingHeadBytes),
		List: at.At(l.missing), Text: at.At(l.text), TextBytes: l.textBytes, Given: at.At(l.given),
		Scratch: at.At(l.finding), Words: at.At(l.words), Refused: at.At(l.status + l.refusedAt(e.items)),
	}
	if l.of.Code != nil {
		s.Patterns = l.of.Code.Patterns
	}
	for i, c := range l.of.Columns {
		if c.Matched {
			of := kernels.MatchedColumn{Column: uint32(i), Patterns: c.Patterns, Text: c.Text}
			if c.Same {
				of.Column, of.Numbered = uint32(i-1), true
			}
			s.Matched = append(s.Matched, of)
		}
	}
	return s
}

// numberMissing sees to it that strings that have no numbers get them, and that the tile is decoded by
// them. It returns false where the tile is to be refused.
func (t *Tile) numberMissing() (ok bool, err error) {
	if t.device.encoded.strings == 0 || t.missing().Count == 0 {
		return true, nil
	}
	if statuses := t.statuses(); !isDone(statuses[:4*len(t.Encoded.blocks)]) {
		return false, nil // the strings may be anything
	}
	if ok, err = t.giveNumbers(); err != nil || !ok {
		return false, err
	}
	err = t.send(noWork, func() error { return t.decode(true) }, t.copyStatuses)
	return true, errors.Join(err, t.finish("decode"))
}

func noWork() error { return nil }

// missing is how many strings of the tile have no number.
func (t *Tile) missing() kernels.Missing {
	statuses := t.statuses()
	return *(*kernels.Missing)(unsafe.Pointer(&statuses[int64(len(statuses))-kernels.MissingHeadBytes]))
}

// giveNumbers gives numbers to the strings that have none. Tiles do so one after the other: most of their
// strings are the same, and strings that an earlier tile has added have numbers when its turn comes.
func (t *Tile) giveNumbers() (ok bool, err error) {
	d := t.device
	d.numbering.Lock()
	defer d.numbering.Unlock()
	s := t.strings()
	if added := d.stringsAdded.Load(); added > t.stringsSeen {
		invariants.Sometimes("stream: strings that were new have numbers by now")
		t.stringsSeen = added
		err = t.send(noWork, func() error { return t.stream.NumberStrings(s) }, t.copyStatuses)
		if err = errors.Join(err, t.finish("strings again")); err != nil {
			return false, err
		}
	}
	head, l := t.missing(), d.encoded
	listBytes := kernels.MissingBytes * int64(head.Count)
	host := t.host.Bytes()[:l.plainBytes+l.missingRoom()]
	switch {
	case head.Count == 0:
		return true, nil
	case int64(head.Count) > s.Strings || int64(head.Bytes) > l.textBytes ||
		listBytes+int64(head.Bytes) > int64(len(host)):
		return false, nil // strings whose pages are not as the tile has room for
	}
	invariants.Sometimes("stream: strings are new to a device")
	list, text := host[:listBytes], host[listBytes:][:head.Bytes]
	copies := []kernels.Copy{{Device: s.List, Host: list, Out: true}, {Device: s.Text, Host: text, Out: true}}
	d.bytesOut.Add(copiedBytes(copies))
	err = t.send(noWork, noWork, func() error { return t.stream.CopyBatch(copies) })
	if err = errors.Join(err, t.finish("new strings")); err != nil {
		return false, err
	}
	numbers := make([]uint32, head.Count)
	missing := unsafe.Slice((*kernels.MissingString)(unsafe.Pointer(unsafe.SliceData(list))), head.Count)
	ok, err = d.run.opt.Decode.Number(d.run.ctx, t.Encoded.newStrings(missing, text), numbers)
	if err != nil || !ok {
		return false, taken(err)
	}
	given := kernels.Copy{Device: s.Given, Host: host[:4*len(numbers)]}
	copy(wordsOf[uint32](given.Host), numbers)
	d.bytesIn.Add(copiedBytes([]kernels.Copy{given}))
	err = t.send(
		func() error { return t.stream.Copy(given) },
		func() error { return t.stream.AddStrings(s, int64(head.Count)) },
		noWork,
	)
	if err = errors.Join(err, t.finish("add strings")); err == nil {
		d.stringsAdded.Add(1)
		d.run.count(func(c *Counters) { c.NewStrings += int64(head.Count) })
	}
	return err == nil, err
}

// NewStrings are strings of encoded columns that have no numbers yet.
type NewStrings struct {
	list  []kernels.MissingString
	ends  []uint32 // by string, where its bytes end
	text  []byte
	pages []kernels.StringPage
	near  []uint32 // by pageNear of a tile's strings, the page of the first of them
}

// pageNear strings of a tile are of one page or of few.
const pageNear = 1 << 10

func (e *Encoded) newStrings(list []kernels.MissingString, text []byte) *NewStrings {
	n := &NewStrings{list: list, ends: make([]uint32, len(list)), text: text, pages: e.stringPages}
	end := uint32(0)
	for i := range list {
		end += list[i].Bytes
		n.ends[i] = end
	}
	page := uint32(0)
	for first := int64(0); first < e.strings; first += pageNear {
		for int64(n.pages[page].First)+int64(n.pages[page].Most) <= first {
			page++
		}
		n.near = append(n.near, page)
	}
	return n
}

// Len returns how many strings there are.
func (n *NewStrings) Len() int { return len(n.list) }

// Bytes returns how many bytes all strings have.
func (n *NewStrings) Bytes() int { return len(n.text) }

// At returns a string, and which of Decoding.Columns it is of.
func (n *NewStrings) At(i int) (column int, s []byte) {
	m := &n.list[i]
	page := n.near[m.String/pageNear]
	for m.String-n.pages[page].First >= n.pages[page].Most {
		page++
	}
	return int(n.pages[page].Column), n.text[n.ends[i]-m.Bytes : n.ends[i]]
}

const (
	knownShare = 16        // of the memory is a device's table of strings, at most
	knownMax   = 512 << 20 // of strings of 32 bytes it has eight million
)

// layOutKnown says what a device's table of strings would be. It lowers the limit for everything else.
func (d *device) layOutKnown() {
	if d.encoded.textBytes == 0 {
		return
	}
	d.known = kernels.NewStringTable(min(d.limit/knownShare, knownMax))
	d.limit -= align(d.known.MemoryBytes())
}

// openKnown makes an empty table of strings.
func (d *device) openKnown() (err error) {
	if d.known.Slots == 0 {
		return nil
	}
	if d.known.Memory.Buffer, err = d.guard.alloc(d.known.MemoryBytes()); err != nil {
		return err
	}
	s := d.tiles[0].stream
	return errors.Join(s.Fill(d.known.Memory, d.known.ResetBytes(), 0), d.finish(s)) // before other streams read it
}

// dropKnown gives the memory of the table of strings back.
func (d *device) dropKnown() (err error) {
	if b := d.known.Memory.Buffer; b != nil {
		err = d.guard.free(b.Free)
		d.known.Memory.Buffer = nil
	}
	return err
}
