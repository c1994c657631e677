package stream

import (
	"errors"
	"iter"
	"math"
	"sort"
	"unsafe"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/kernels"
)

// Strings become numbers on the device, which has a table of the strings that it has met:
//
//	pages -> where strings begin -> their numbers ---------------------------> values of the column
//	                            \-> those without one -> host: Number -> table -/
//
// Only strings that are new to a device cross the link back, each once for each tile that has it.

// stringLayout is where the strings of an encoded tile are on the device, in bytes from its begin.
type stringLayout struct {
	strings   int64 // of a tile, at most; 0 without columns of strings
	textBytes int64 // of strings without a number, at most

	numbers int64
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

// addStrings adds pages that have strings of a column, and returns which of the tile's strings is the
// first of them.
func (e *Encoded) addStrings(column int, pages []EncodedStrings) (first int64) {
	first = e.strings
	for _, p := range pages {
		if p.Unpacked {
			p.From += uint64(e.layout.plain + e.plain)
		}
		p.First += uint32(first)
		p.Column = uint32(column)
		e.stringPages = append(e.stringPages, p.StringPage)
		e.strings += int64(p.Most)
	}
	return first
}

// strings is what numbers the strings of a tile.
func (t *Tile) strings() *kernels.Strings {
	e, l := t.Encoded, t.device.encoded
	at := kernels.Span{Buffer: t.encoded}
	listed := int64(len(e.blocks)) * kernels.BlockBytes
	for _, pages := range e.pages {
		listed += int64(len(pages)) * kernels.PageBytes
	}
	return &kernels.Strings{
		Memory: at, MemoryBytes: l.plain + l.plainBytes,
		Pages: at.At(l.listed() + listed), Count: int64(len(e.stringPages)), Strings: e.strings,
		Known:   t.device.known,
		Numbers: at.At(l.numbers), Head: at.At(l.status + l.statusBytes(e.items) - kernels.MissingHeadBytes),
		List: at.At(l.missing), Text: at.At(l.text), TextBytes: l.textBytes, Given: at.At(l.given),
		Scratch: at.At(l.finding),
	}
}

// numberMissing sees to it that strings that have no numbers get them, and that the tile is decoded by
// them. It returns false where the tile is to be refused.
func (t *Tile) numberMissing() (ok bool, err error) {
	d, l := t.device, t.device.encoded
	if l.strings == 0 {
		return true, nil
	}
	statuses := t.statuses()
	head := *(*kernels.Missing)(unsafe.Pointer(&statuses[int64(len(statuses))-kernels.MissingHeadBytes]))
	if head.Count == 0 {
		return true, nil
	}
	if !isDone(statuses[:4*len(t.Encoded.blocks)]) {
		return false, nil // the strings may be anything
	}
	invariants.Sometimes("stream: strings are new to a device")
	s := t.strings()
	listBytes := kernels.MissingBytes * int64(head.Count)
	host := t.host.Bytes()[:l.plainBytes+l.missingRoom()]
	if int64(head.Count) > s.Strings || int64(head.Bytes) > l.textBytes || listBytes+int64(head.Bytes) > int64(len(host)) {
		return false, nil // pages of strings that are not where a tile has room for them
	}
	list, text := host[:listBytes], host[listBytes:][:head.Bytes]
	nothing := func() error { return nil }
	copies := []kernels.Copy{{Device: s.List, Host: list, Out: true}, {Device: s.Text, Host: text, Out: true}}
	d.bytesOut.Add(copiedBytes(copies))
	err = t.send(nothing, nothing, func() error { return t.stream.CopyBatch(copies) })
	if err = errors.Join(err, t.finish("new strings")); err != nil {
		return false, err
	}
	numbers := make([]uint32, head.Count)
	missing := unsafe.Slice((*kernels.MissingString)(unsafe.Pointer(unsafe.SliceData(list))), head.Count)
	ok, err = d.run.opt.Decode.Number(d.run.ctx, t.Encoded.stringsOf(missing, text), numbers)
	if err != nil || !ok {
		return false, taken(err)
	}
	given := kernels.Copy{Device: s.Given, Host: host[:4*len(numbers)]}
	copy(wordsOf[uint32](given.Host), numbers)
	d.bytesIn.Add(copiedBytes([]kernels.Copy{given}))
	err = t.send(
		func() error { return t.stream.Copy(given) },
		func() error {
			return firstError(
				func() error { return t.stream.AddStrings(s, int64(head.Count)) },
				func() error { return t.decode(true) },
			)
		},
		t.copyStatuses,
	)
	return true, errors.Join(err, t.finish("decode"))
}

// stringsOf goes over strings with their columns.
func (e *Encoded) stringsOf(missing []kernels.MissingString, text []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		at, page := 0, 0
		for _, m := range missing {
			if p := &e.stringPages[page]; m.String < p.First || m.String-p.First >= p.Most {
				page = sort.Search(len(e.stringPages), func(i int) bool { return e.stringPages[i].First > m.String }) - 1
			}
			end := at + int(m.Bytes)
			if page < 0 || end > len(text) || !yield(int(e.stringPages[page].Column), text[at:end]) {
				return
			}
			at = end
		}
	}
}

const (
	knownShare = 16        // of the memory is a device's table of strings, at most
	knownMax   = 512 << 20 // of strings of 32 bytes it has eight million
)

// layOutKnown says what a device's table of strings would be. It lowers the limit for everything else.
func (d *device) layOutKnown() {
	if d.encoded.strings == 0 {
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
