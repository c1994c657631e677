package hostdevice

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/mpga/mpga/kernels"
)

func (s *stream) DecodePages(columns []*kernels.Pages) error {
	o := s.operation("DecodePages", &kernels.Shape{})
	decoders := make([]func(), len(columns))
	for i, p := range columns {
		decoders[i] = o.decodePages(p)
	}
	return o.enqueue(func() {
		for _, decode := range decoders {
			decode()
		}
	})
}

// decodePages returns what decodes the pages of a column.
func (o *operation) decodePages(p *kernels.Pages) func() {
	memory := o.view(p.Memory, p.MemoryBytes+kernels.PagesPad, false)
	list := view[kernels.Page](o.view(p.List, p.Count*kernels.PageBytes, false))
	statuses := view[kernels.PageStatus](o.view(p.Status, 4*p.Count, true))
	o.scratch(p.Scratch, p.ScratchBytes())
	column := pagesColumn{width: uint64(p.Width), rows: uint64(p.Rows), form: p.Form, numbers: p.Numbers}
	column.values = o.view(p.Values, p.Rows*int64(p.Form.Width(p.Width)), true)
	if p.Valid.Buffer != nil {
		column.valid = view[uint32](o.view(p.Valid, (p.Rows+31)/32*4, true))
	}
	steps, memoryBytes := uint64(p.Steps), p.MemoryBytes
	return func() {
		for i := range list {
			statuses[i] = column.decode(&list[i], memory[:memoryBytes], steps)
		}
	}
}

// pagesColumn is where pages are decoded to.
type pagesColumn struct {
	width, rows uint64
	values      []byte
	valid       []uint32 // nil where no row is to be NULL
	form        kernels.PageForm
	numbers     bool
}

func (c *pagesColumn) decode(p *kernels.Page, memory []byte, steps uint64) kernels.PageStatus {
	entries := uint64(p.Entries) * c.width
	if !isWithin(p.From, p.Bytes, memory) || p.To > c.rows || uint64(p.Rows) > c.rows-p.To ||
		p.Dictionary > uint64(len(memory)) || entries > uint64(len(memory))-p.Dictionary ||
		p.Head > 0 && !isWithin(uint64(p.Head)*kernels.ExpandedHead, kernels.ExpandedHead, memory) ||
		uint64(p.FirstStep)+uint64(kernels.PageSteps(int64(p.Rows))) > steps {
		return kernels.PageOutside
	}
	valid, data, ok := validOf(p, memory)
	if !ok {
		return kernels.PageLevelsBad
	}
	values := 0
	for _, v := range valid {
		values += int(v)
	}
	if values < len(valid) && c.valid == nil {
		return kernels.PageNull
	}
	plain, codes := data, []uint32(nil)
	most := p.Entries
	if p.Head > 0 {
		expanded := binary.LittleEndian.Uint32(memory[uint64(p.Head)*kernels.ExpandedHead:])
		if expanded == kernels.ExpandedDamaged {
			return kernels.PageEnds
		}
		most = min(most, expanded)
	}
	switch {
	case p.Apart == kernels.ApartPlain:
		if values > int(most) {
			return kernels.PageEnds
		}
		plain = memory[p.Dictionary:]
	case p.Entries > 0 || p.Apart == kernels.ApartNowhere:
		var status kernels.PageStatus
		if codes, status = readCodes(data, values, p.Entries); status != kernels.PageDone {
			return status
		}
		if c.numbers && p.Entries > 0 && p.Rows > 0 {
			if last := memory[p.Dictionary+4*uint64(p.Entries-1):]; binary.LittleEndian.Uint32(last) == 0 {
				return kernels.PageCode // a dictionary of strings ends early
			}
		}
		plain = memory[p.Dictionary:]
	case uint64(values)*c.width > uint64(len(data)):
		return kernels.PageEnds
	}
	return c.write(p.To, valid, codes, plain)
}

// validOf returns for each row of a page 1 where it has a value, else 0, and the data of the page
// behind the levels.
func validOf(p *kernels.Page, memory []byte) (valid, data []byte, ok bool) {
	data = memory[p.From:][:p.Bytes]
	var levels []byte
	switch p.Levels {
	case kernels.LevelsPrefixed:
		if levels, data, ok = splitLevels(data); !ok {
			return nil, nil, false
		}
	case kernels.LevelsSized:
		if !isWithin(p.LevelsFrom, p.LevelBytes, memory) {
			return nil, nil, false
		}
		levels = memory[p.LevelsFrom:][:p.LevelBytes]
	}
	valid, ok = readLevels(levels, int(p.Rows), p.Levels)
	return valid, data, ok
}

// write writes the values of a page's rows to the column from row first on. plain has the values,
// which codes number; where codes are nil, they come one after the other.
func (c *pagesColumn) write(first uint64, valid []byte, codes []uint32,
	plain []byte) kernels.PageStatus {
	n, status := 0, kernels.PageDone
	for i, v := range valid {
		row := first + uint64(i)
		width := uint64(c.form.Width(int(c.width)))
		out := c.values[row*width:][:width]
		if v == 0 {
			clear(out)
			continue
		}
		at := uint64(n)
		if codes != nil {
			at = uint64(codes[n])
		}
		c.put(out, plain[at*c.width:])
		if c.numbers && !slices.ContainsFunc(out, func(b byte) bool { return b != 0 }) {
			status = kernels.PageCode
		}
		if c.valid != nil {
			c.valid[row/32] |= 1 << (row % 32)
		}
		n++
	}
	return status
}

// put writes a value of a page as the column has it.
func (c *pagesColumn) put(out, value []byte) {
	if c.form == kernels.FormWhole {
		copy(out, value)
		return
	}
	var low [4]byte
	copy(low[:], value)
	v := binary.LittleEndian.Uint32(low[:])
	double := func(f float64) { binary.LittleEndian.PutUint64(out, math.Float64bits(f)) }
	switch c.form {
	case kernels.FormInt8:
		v = uint32(int8(v))
	case kernels.FormInt16:
		v = uint32(int16(v))
	case kernels.FormUint8:
		v = uint32(uint8(v))
	case kernels.FormUint16:
		v = uint32(uint16(v))
	case kernels.FormFloat:
		double(float64(math.Float32frombits(v)))
		return
	case kernels.FormInt32Double:
		double(float64(int32(v)))
		return
	case kernels.FormUint32Double:
		double(float64(v))
		return
	case kernels.FormBig:
		big := int64(int8(value[0]))
		for _, b := range value[1:c.width] {
			big = big<<8 | int64(b)
		}
		binary.LittleEndian.PutUint64(out, uint64(big))
		return
	case kernels.FormInt64Double:
		double(float64(int64(binary.LittleEndian.Uint64(value))))
		return
	case kernels.FormUint64Double:
		double(float64(binary.LittleEndian.Uint64(value)))
		return
	}
	binary.LittleEndian.PutUint32(out, v)
}

// splitLevels splits a page of LevelsPrefixed into definition levels and values.
func splitLevels(data []byte) (levels, values []byte, ok bool) {
	if len(data) < 4 {
		return nil, nil, false
	}
	bytes, data := binary.LittleEndian.Uint32(data), data[4:]
	if uint64(bytes) > uint64(len(data)) {
		return nil, nil, false
	}
	return data[:bytes], data[bytes:], true
}

// readLevels returns 1 for each row that is not NULL.
func readLevels(data []byte, rows int, kind kernels.PageLevels) (valid []uint8, ok bool) {
	valid = make([]uint8, 0, min(rows, 1<<20))
	if kind == kernels.LevelsNone {
		for range rows {
			valid = append(valid, 1)
		}
		return valid, true
	}
	for len(valid) < rows {
		run, rest, ok := readRun(data, 1)
		if !ok || run.repeated && run.n > 0 && run.value > 1 {
			return nil, false
		}
		for i := range min(run.n, rows-len(valid)) {
			valid = append(valid, uint8(run.at(i, 1)))
		}
		data = rest
	}
	return valid, true
}

// readCodes returns codes below entries.
func readCodes(data []byte, values int, entries uint32) ([]uint32, kernels.PageStatus) {
	codes := make([]uint32, 0, min(values, 1<<20))
	if len(data) == 0 {
		if values > 0 {
			return nil, kernels.PageEnds
		}
		return codes, kernels.PageDone
	}
	width := int(data[0])
	switch {
	case width > 32:
		return nil, kernels.PageWidth
	case values == 0:
		return codes, kernels.PageDone
	case entries == 0:
		return nil, kernels.PageEnds
	case width == 0: // some writers write no run then
		return make([]uint32, values), kernels.PageDone
	}
	data = data[1:]
	legal := true
	for len(codes) < values {
		run, rest, ok := readRun(data, width)
		if !ok {
			return nil, kernels.PageEnds
		}
		for i := range min(run.n, values-len(codes)) {
			code := run.at(i, width)
			legal = legal && code < entries
			codes = append(codes, code)
		}
		data = rest
	}
	if !legal {
		return nil, kernels.PageCode
	}
	return codes, kernels.PageDone
}

// packedRun is n values of Parquet's hybrid of run-length encoding and bit packing.
type packedRun struct {
	n        int
	repeated bool
	value    uint32 // repeated
	packed   []byte // else
}

// at returns value i; a value has width bits.
func (r *packedRun) at(i, width int) uint32 {
	if r.repeated {
		return r.value
	}
	var b [8]byte
	copy(b[:], r.packed[i*width/8:])
	return uint32(binary.LittleEndian.Uint64(b[:]) >> (i * width % 8) & (1<<width - 1))
}

// readRun splits data into its first run and the rest.
func readRun(data []byte, width int) (run packedRun, rest []byte, ok bool) {
	head, n := binary.Uvarint(data)
	if n <= 0 || n > 5 || head > math.MaxUint32 {
		return run, nil, false
	}
	data = data[n:]
	if run.repeated = head&1 == 0; run.repeated {
		bytes := (width + 7) / 8
		if len(data) < bytes {
			return run, nil, false
		}
		var b [4]byte
		copy(b[:], data[:bytes])
		run.n, run.value = int(head>>1), binary.LittleEndian.Uint32(b[:])
		return run, data[bytes:], true
	}
	// Some writers cut off the padding of the last values.
	groups := min(int(head>>1), (len(data)+width-1)/width)
	bytes := min(groups*width, len(data))
	run.n, run.packed = min(8*groups, 8*bytes/width), data[:bytes]
	return run, data[bytes:], true
}
