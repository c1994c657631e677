package hostdevice

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
	"unsafe"

	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/kernels"
)

// The known strings are records behind each other, of their column, number and length, 4 bytes each,
// and their bytes; behind how many bytes they have. Zeros are none.
const knownHeader, knownRecord = 16, 12

func (s *stream) NumberStrings(c *kernels.Strings) error {
	o := s.operation("NumberStrings", &kernels.Shape{})
	call := o.strings(c)
	memory := o.view(c.Memory, c.MemoryBytes+kernels.PagesPad, false)
	pages := view[kernels.StringPage](o.view(c.Pages, c.Count*kernels.StringPageBytes, false))
	head := view[kernels.Missing](o.view(c.Head, kernels.MissingHeadBytes, true))
	match := o.match(c)
	text := o.view(c.Text, c.TextBytes, true)
	memoryBytes, device := c.MemoryBytes, s.device
	return o.enqueue(func() {
		memory := memory[:memoryBytes]
		device.strings.Lock() // other streams add strings
		defer device.strings.Unlock()
		known := call.knownNumbers()
		clear(call.numbers)
		clear(call.slots)
		head[0] = kernels.Missing{}
		match.reset()
		listed := map[columnString]uint32{} // 1 more than a string
		for _, page := range pages {
			for i, str := range stringsOf(&page, memory, uint64(len(call.numbers))) {
				at, of := page.First+uint32(i), columnString{page.Column, string(str)}
				if !match.isNumbered(at, of) {
					continue
				}
				if call.numbers[at] = known[of]; call.numbers[at] != 0 {
					continue
				}
				if call.slots[at] = listed[of]; call.slots[at] != 0 {
					continue
				}
				call.slots[at], listed[of] = at+1, at+1
				call.places[at] = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(str))) - uintptr(unsafe.Pointer(&memory[0])))
				call.columns[at] = page.Column
				call.list[head[0].Count] = kernels.MissingString{String: at, Bytes: uint32(len(str))}
				head[0].Count++
				if int(head[0].Bytes)+len(str) <= len(text) {
					copy(text[head[0].Bytes:], str)
				}
				head[0].Bytes += uint32(len(str))
			}
		}
	})
}

func (s *stream) AddStrings(c *kernels.Strings, missing int64) error {
	o := s.operation("AddStrings", &kernels.Shape{})
	call := o.strings(c)
	given := view[uint32](o.view(c.Given, 4*missing, false))
	memory := o.view(c.Memory, c.MemoryBytes+kernels.PagesPad, false)
	device := s.device
	return o.enqueue(func() {
		device.strings.Lock()
		defer device.strings.Unlock()
		for i, number := range given {
			of := &call.list[i]
			call.numbers[of.String] = number
			if number != 0 {
				call.addKnown(columnString{call.columns[of.String], string(memory[call.places[of.String]:][:of.Bytes])}, number)
			}
		}
		for at, like := range call.slots[:len(call.numbers)] {
			if like != 0 {
				call.numbers[at] = call.numbers[like-1]
			}
		}
	})
}

// matching compares strings with patterns.
type matching struct {
	patterns []rowcode.Pattern
	columns  map[uint32]kernels.MatchedColumn
	words    []uint32
	refused  []uint32
}

func (o *operation) match(c *kernels.Strings) *matching {
	m := &matching{patterns: slices.Clone(c.Patterns), columns: map[uint32]kernels.MatchedColumn{}}
	if len(c.Matched) > 0 {
		m.words, m.refused = view[uint32](o.view(c.Words, 4*c.Strings, true)), view[uint32](o.view(c.Refused, 4, true))
	}
	for _, column := range c.Matched {
		m.columns[column.Column] = column
	}
	return m
}

func (m *matching) reset() {
	clear(m.words)
	clear(m.refused)
}

// isNumbered compares a string, if one of a matched column, with its patterns, and reports whether it gets a number.
func (m *matching) isNumbered(at uint32, s columnString) bool {
	c, ok := m.columns[s.column]
	if !ok {
		return true
	}
	m.words[at] = rowcode.Word(m.patterns, s.of) & (c.Patterns | rowcode.StringThere)
	if c.Text && !utf8.ValidString(s.of) || m.isTooLong(c, s.of) {
		m.refused[0] = 1
	}
	return c.Numbered
}

// isTooLong reports whether a string is not to be searched for the parts of a pattern.
func (m *matching) isTooLong(c kernels.MatchedColumn, s string) bool {
	for i := range m.patterns {
		p := &m.patterns[i]
		if c.Patterns>>i&1 == 1 && p.Kind == rowcode.IsLike && len(s)*len(p.Text) > kernels.PatternSteps {
			return true
		}
	}
	return false
}

// columnString is a string of a column.
type columnString struct {
	column uint32
	of     string
}

// stringsCall is the memory that both calls use.
type stringsCall struct {
	numbers []uint32
	list    []kernels.MissingString
	places  []uint64 // by listed string, where it is in the memory
	columns []uint32 // by listed string
	slots   []uint32 // by string, 1 more than the listed string that it is alike, or is; 0 of none
	known   []byte
}

func (o *operation) strings(c *kernels.Strings) *stringsCall {
	out := &stringsCall{
		numbers: view[uint32](o.view(c.Numbers, 4*c.Strings, true)),
		list:    view[kernels.MissingString](o.view(c.List, kernels.MissingBytes*c.Strings, true)),
	}
	if scratch := o.view(c.Scratch, c.ScratchBytes(), true); scratch != nil {
		out.places, out.slots = view[uint64](scratch[:8*c.Strings]), view[uint32](scratch[8*c.Strings:])
		out.columns = out.slots[c.Strings:]
	}
	if c.Known.Slots > 0 {
		// Streams share it as they do on a GPU, whose kernels agree by atomics: it counts as no access.
		m, from := span(c.Known.Memory)
		out.known = m.data[from:][:c.Known.MemoryBytes()]
	}
	return out
}

// knownNumbers reads the known strings.
func (c *stringsCall) knownNumbers() map[columnString]uint32 {
	known := map[columnString]uint32{}
	if len(c.known) < knownHeader {
		return known
	}
	rest := c.known[knownHeader:][:binary.LittleEndian.Uint64(c.known)]
	for len(rest) > 0 {
		word := func(i int) uint32 { return binary.LittleEndian.Uint32(rest[4*i:]) }
		of := columnString{word(0), string(rest[knownRecord:][:word(2)])}
		known[of] = word(1)
		rest = rest[knownRecord+len(of.of):]
	}
	return known
}

// addKnown adds a string if there is room for it.
func (c *stringsCall) addKnown(of columnString, number uint32) {
	if len(c.known) < knownHeader || len(of.of) > kernels.KnownStringMax {
		return
	}
	used := binary.LittleEndian.Uint64(c.known)
	record := binary.LittleEndian.AppendUint32(nil, of.column)
	record = binary.LittleEndian.AppendUint32(record, number)
	record = append(binary.LittleEndian.AppendUint32(record, uint32(len(of.of))), of.of...)
	if uint64(len(record)) <= uint64(len(c.known)-knownHeader)-used {
		copy(c.known[knownHeader+used:], record)
		binary.LittleEndian.PutUint64(c.known, used+uint64(len(record)))
	}
}

// stringsOf returns the strings of a page, up to the first that goes beyond the page. all is the most
// strings that all pages together have.
func stringsOf(p *kernels.StringPage, memory []byte, all uint64) (strings [][]byte) {
	if !isWithin(p.From, p.Bytes, memory) || uint64(p.First)+uint64(p.Most) > all {
		return nil
	}
	data, ok := valuesOf(memory[p.From:][:p.Bytes], p.Levels)
	for ok && len(strings) < int(p.Most) && len(data) >= 4 {
		n := binary.LittleEndian.Uint32(data)
		if data = data[4:]; uint64(n) > uint64(len(data)) {
			break
		}
		strings = append(strings, data[:n])
		data = data[n:]
	}
	return strings
}
