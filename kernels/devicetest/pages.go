package devicetest

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mpga/mpga/kernels"
)

// Pages holds DecodePages to pages of random rows, levels, encodings and runs, as they are and with
// bytes changed, and to pages that are not in their memory.
func Pages(t *testing.T, device kernels.Device, pages, rowsMax int) {
	for width := 1; width <= 8; width++ {
		big := width != 4 && width != 8
		r := newRig(t, device)
		rng := rand.New(rand.NewPCG(13, uint64(pages+width)))
		d := decoding{width: width}
		for i := range pages {
			rows := rng.IntN(rowsMax + 1)
			if i == 0 {
				rows = 5 * rowsMax
			}
			d.add(rng, rows, i%3 == 1)
		}
		d.addOutside()
		if d.form = kernels.FormBig; big {
			d.run(r, true)
			r.close()
			continue
		}
		d.run(r, true)
		d.form = kernels.FormWhole
		d.run(r, true)
		d.run(r, false)
		d.numbers = true
		d.run(r, true)
		d.numbers = false
		for d.form = range kernels.FormLow + 1 {
			if of8 := d.form >= kernels.FormInt64Double; of8 == (width == 8) {
				d.run(r, true)
			}
		}
		r.close()
	}
}

// decoding is pages, and what is to come of them.
type decoding struct {
	width        int
	numbers      bool // values
	form         kernels.PageForm
	memory, list []byte
	pages        []kernels.Page
	rows, steps  int64
}

// add adds a page of random rows, maybe with bytes changed.
func (d *decoding) add(rng *rand.Rand, rows int, mutated bool) {
	valid := make([]uint32, rows)
	nulls := []float64{0, 0, 0.02, 0.5, 0.98, 1}[rng.IntN(6)]
	values := 0
	for i := range valid {
		if i > 0 && rng.IntN(4) > 0 {
			valid[i] = valid[i-1]
		} else if rng.Float64() >= nulls {
			valid[i] = 1
		}
		values += int(valid[i])
	}
	page := kernels.Page{Rows: uint32(rows), Levels: kernels.PageLevels(1 + rng.IntN(2))}
	if values == rows && rng.IntN(2) == 0 {
		page.Levels = kernels.LevelsNone
	}
	levels := appendRuns(rng, nil, valid, 1)
	var data []byte
	switch rng.IntN(6) {
	case 0, 1:
		for range values * d.width {
			data = append(data, byte(rng.Uint32()))
		}
	case 2:
		page.Apart, page.Entries = kernels.ApartPlain, uint32(max(values+rng.IntN(3)-1, 0))
		data = make([]byte, rng.IntN(20)) // nobody reads it
		if rng.IntN(2) == 0 {
			d.addHead(rng, &page)
		}
		d.addDictionary(rng, &page)
	case 3:
		page.Apart = kernels.ApartNowhere
		data = appendCodes(rng, values, 1)
	default:
		page.Entries = []uint32{1, 2, 17, 300, 70_000}[rng.IntN(5)]
		d.addDictionary(rng, &page)
		data = appendCodes(rng, values, page.Entries)
	}
	d.memory = append(d.memory, make([]byte, rng.IntN(9))...)
	page.From = uint64(len(d.memory))
	var content []byte
	switch page.Levels {
	case kernels.LevelsPrefixed:
		content = append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
	case kernels.LevelsSized:
		page.LevelsFrom, page.LevelBytes = uint64(len(d.memory)), uint32(len(levels))
		d.memory = append(d.memory, levels...)
		page.From = uint64(len(d.memory))
	}
	content = append(content, data...)
	if mutated && len(content) > 0 {
		switch rng.IntN(4) {
		case 0:
			content = content[:rng.IntN(len(content))]
		case 1: // the heads of levels and codes
			content[rng.IntN(min(len(content), 8))] = byte(rng.Uint32())
		default:
			for range 1 + rng.IntN(3) {
				content[rng.IntN(len(content))] = byte(rng.Uint32())
			}
		}
	}
	page.Bytes = uint32(len(content))
	d.memory = append(d.memory, content...)
	d.rows += int64(rng.IntN(50))
	page.To, page.FirstStep = uint64(d.rows), uint32(d.steps)
	d.rows += int64(rows)
	d.steps += kernels.PageSteps(int64(rows))
	d.addPage(page)
}

// addDictionary adds the entries of a page's dictionary, few of which are 0.
func (d *decoding) addDictionary(rng *rand.Rand, p *kernels.Page) {
	p.Dictionary = uint64(len(d.memory))
	for range p.Entries {
		entry := make([]byte, d.width)
		if rng.IntN(500) > 0 {
			for i := range entry {
				entry[i] = byte(rng.Uint32())
			}
		}
		d.memory = append(d.memory, entry...)
	}
}

// addHead adds the head of expanded values: as many as the page has entries, nearly, or none that are whole.
func (d *decoding) addHead(rng *rand.Rand, p *kernels.Page) {
	d.memory = append(d.memory, make([]byte, kernels.ExpandedHead+-len(d.memory)&(kernels.ExpandedHead-1))...)
	p.Head = uint32(len(d.memory) / kernels.ExpandedHead)
	head := make([]byte, kernels.ExpandedHead)
	values := max(p.Entries+uint32(rng.IntN(3)), 1) - 1
	if rng.IntN(10) == 0 {
		values = kernels.ExpandedDamaged
	}
	binary.LittleEndian.PutUint32(head, values)
	d.memory = append(d.memory, head...)
}

func (d *decoding) addPage(p kernels.Page) {
	d.pages = append(d.pages, p)
	d.list = kernels.AppendListed(d.list, p)
}

// addOutside adds pages that are not in their memory.
func (d *decoding) addOutside() {
	memory, rows := uint64(len(d.memory)), uint64(d.rows)
	for _, p := range []kernels.Page{
		{From: memory, Bytes: 1}, {From: ^uint64(0), Bytes: 1}, {To: rows, Rows: 1}, {To: ^uint64(0), Rows: 1},
		{Dictionary: memory, Entries: 1}, {Dictionary: ^uint64(0), Entries: 1}, {Entries: ^uint32(0)},
		{Head: uint32(memory/kernels.ExpandedHead) + 1, Apart: kernels.ApartPlain},
		{Head: ^uint32(0), Apart: kernels.ApartPlain},
		{FirstStep: uint32(d.steps), Rows: 1}, {FirstStep: ^uint32(0)},
	} {
		d.addPage(p)
	}
}

// appendCodes appends random codes below entries, in runs behind their width.
func appendCodes(rng *rand.Rand, values int, entries uint32) []byte {
	width := bits.Len32(entries - 1)
	if rng.IntN(4) == 0 {
		width += rng.IntN(33 - width)
	}
	codes := make([]uint32, values)
	for i := range codes {
		if codes[i] = rng.Uint32N(entries); i > 0 && rng.IntN(3) == 0 {
			codes[i] = codes[i-1]
		}
	}
	out := []byte{byte(width)}
	if width == 0 {
		return out
	}
	return appendRuns(rng, out, codes, width)
}

// appendRuns appends values of width bits in random runs of Parquet's hybrid encoding.
func appendRuns(rng *rand.Rand, out []byte, values []uint32, width int) []byte {
	for len(values) > 0 {
		equal := 1
		for equal < len(values) && values[equal] == values[0] {
			equal++
		}
		if rng.IntN(20) == 0 {
			out = append(out, byte(rng.IntN(2))) // a run of no values
			if out[len(out)-1] == 0 {
				out = append(out, make([]byte, (width+7)/8)...)
			}
		}
		if equal > 8 || rng.IntN(3) == 0 {
			n := 1 + rng.IntN(equal)
			if rng.IntN(2) == 0 {
				n = equal
			}
			out = binary.AppendUvarint(out, uint64(n)<<1)
			value := binary.LittleEndian.AppendUint32(nil, values[0])
			out = append(out, value[:(width+7)/8]...)
			values = values[n:]
			continue
		}
		groups := 1 + rng.IntN([]int{2, 70, 400}[rng.IntN(3)])
		groups = min(groups, (len(values)+7)/8)
		packed := make([]byte, groups*width)
		n := min(8*groups, len(values))
		for i, v := range values[:n] {
			for b := range width {
				packed[(i*width+b)/8] |= byte(v>>b&1) << ((i*width + b) % 8)
			}
		}
		out = binary.AppendUvarint(out, uint64(groups)<<1|1)
		values = values[n:]
		if len(values) == 0 && rng.IntN(2) == 0 { // without the padding
			packed = packed[:(n*width+7)/8]
		}
		out = append(out, packed...)
	}
	return out
}

// run compares what a device makes of the pages with what is to come of them.
func (d *decoding) run(r *Rig, withValid bool) {
	r.t.Helper()
	memory := make([]byte, len(d.memory)+kernels.PagesPad)
	copy(memory, d.memory)
	p := &kernels.Pages{
		Memory: r.put(memory), MemoryBytes: int64(len(d.memory)),
		List: r.put(d.list), Count: int64(len(d.pages)), Steps: d.steps, Status: r.alloc(4 * int64(len(d.pages))),
		Width: d.width, Form: d.form, Numbers: d.numbers,
		Values: r.alloc(d.rows * int64(d.form.Width(d.width))), Rows: d.rows,
	}
	p.Scratch = r.alloc(p.ScratchBytes())
	bitmap := make([]byte, (d.rows+31)/32*4)
	if withValid {
		p.Valid = r.put(bitmap)
	}
	r.must(r.stream.DecodePages([]*kernels.Pages{p}))
	statuses, values := r.get(p.Status, 4*p.Count), r.get(p.Values, d.rows*int64(d.form.Width(d.width)))
	if withValid {
		bitmap = r.get(p.Valid, int64(len(bitmap)))
	}
	width := d.form.Width(d.width)
	others := bytes.Repeat([]byte{poisonByte}, len(values)) // of rows of no page
	for i, page := range d.pages {
		status := kernels.PageStatus(binary.LittleEndian.Uint32(statuses[4*i:]))
		want, rows := d.pageStandsFor(&page, withValid)
		if status != want {
			r.t.Errorf("page %d, %+v: %v, want %v", i, page, status, want)
			continue
		}
		if want == kernels.PageOutside {
			continue
		}
		from, to := int(page.To)*width, int(page.To+uint64(page.Rows))*width
		copy(others[from:to], values[from:to])
		if want != kernels.PageDone {
			continue
		}
		for k, row := range rows {
			at := int(page.To) + k
			wanted := make([]byte, width)
			if row != nil {
				wanted = d.formed(row)
			}
			got := values[at*width : (at+1)*width]
			if d.form == kernels.FormFloat && isNaN(wanted) && isNaN(got) { // whose other bits devices may choose
				continue
			}
			if !bytes.Equal(got, wanted) || withValid && isSet(bitmap, at) != (row != nil) {
				r.t.Errorf("page %d, %+v: row %d is %x, valid %v, want %x", i, page, k, got, isSet(bitmap, at), row)
				break
			}
		}
	}
	if at := firstDifference(values, others); at >= 0 {
		r.t.Errorf("byte %d was written, which belongs to no page", at)
	}
}

func doubleOf(f float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)) }

func isNaN(double []byte) bool {
	return math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(double)))
}

// formed returns a value of a page as the column has it.
func (d *decoding) formed(value []byte) []byte {
	v := int64(0)
	switch d.form {
	case kernels.FormWhole:
		return value
	case kernels.FormFloat:
		return doubleOf(float64(math.Float32frombits(binary.LittleEndian.Uint32(value))))
	case kernels.FormInt32Double:
		return doubleOf(float64(int32(binary.LittleEndian.Uint32(value))))
	case kernels.FormUint32Double:
		return doubleOf(float64(binary.LittleEndian.Uint32(value)))
	case kernels.FormInt64Double:
		return doubleOf(float64(int64(binary.LittleEndian.Uint64(value))))
	case kernels.FormUint64Double:
		return doubleOf(float64(binary.LittleEndian.Uint64(value)))
	case kernels.FormLow:
		return value[:4]
	case kernels.FormBig:
		for i, b := range value {
			if v = v<<8 | int64(b); i == 0 {
				v = int64(int8(b))
			}
		}
		return binary.LittleEndian.AppendUint64(nil, uint64(v))
	case kernels.FormInt8:
		v = int64(int8(value[0]))
	case kernels.FormUint8:
		v = int64(value[0])
	case kernels.FormInt16:
		v = int64(int16(binary.LittleEndian.Uint16(value)))
	case kernels.FormUint16:
		v = int64(binary.LittleEndian.Uint16(value))
	}
	return binary.LittleEndian.AppendUint32(nil, uint32(v))
}

// pageStandsFor is what is to come of a page: the value of each row, nil for NULL.
func (d *decoding) pageStandsFor(p *kernels.Page, withValid bool) (kernels.PageStatus, [][]byte) {
	if !within(p.From, uint64(p.Bytes), uint64(len(d.memory))) || !within(p.To, uint64(p.Rows), uint64(d.rows)) ||
		!within(p.Dictionary, uint64(p.Entries)*uint64(d.width), uint64(len(d.memory))) ||
		p.Head > 0 && !within(uint64(p.Head)*kernels.ExpandedHead, kernels.ExpandedHead, uint64(len(d.memory))) ||
		!within(uint64(p.FirstStep), (uint64(p.Rows)+1023)/1024, uint64(d.steps)) {
		return kernels.PageOutside, nil
	}
	levels, data, ok := d.levelsStandFor(p)
	if !ok {
		return kernels.PageLevelsBad, nil
	}
	values := 0
	for _, level := range levels {
		if level > 1 {
			return kernels.PageLevelsBad, nil
		}
		values += int(level)
	}
	if values < int(p.Rows) && !withValid {
		return kernels.PageNull, nil
	}
	entries, codes, status := d.codesStandFor(p, data, values)
	if status != kernels.PageDone {
		return status, nil
	}
	if d.numbers && p.Apart == kernels.ApartNone && p.Entries > 0 && p.Rows > 0 {
		if last := d.memory[p.Dictionary+4*uint64(p.Entries-1):]; binary.LittleEndian.Uint32(last) == 0 {
			return kernels.PageCode, nil
		}
	}
	rows := make([][]byte, p.Rows)
	for i, level := range levels {
		if level == 1 {
			rows[i] = entries[int(codes[0])*d.width:][:d.width]
			codes = codes[1:]
			if d.numbers && bytes.Equal(rows[i], make([]byte, d.width)) {
				return kernels.PageCode, nil
			}
		}
	}
	return kernels.PageDone, rows
}

func within(from, n, all uint64) bool { return from <= all && n <= all-from }

// levelsStandFor is the level of each row of a page, and its data behind the levels.
func (d *decoding) levelsStandFor(p *kernels.Page) (levels []uint32, data []byte, ok bool) {
	data = d.memory[p.From : p.From+uint64(p.Bytes)]
	var levelData []byte
	switch p.Levels {
	case kernels.LevelsPrefixed:
		if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
			return nil, nil, false
		}
		end := 4 + int64(binary.LittleEndian.Uint32(data))
		levelData, data = data[4:end], data[end:]
	case kernels.LevelsSized:
		if !within(p.LevelsFrom, uint64(p.LevelBytes), uint64(len(d.memory))) {
			return nil, nil, false
		}
		levelData = d.memory[p.LevelsFrom:][:p.LevelBytes]
	}
	if p.Levels != kernels.LevelsNone {
		levels, ok = runsStandFor(levelData, int(p.Rows), 1)
		return levels, data, ok
	}
	return slices.Repeat([]uint32{1}, int(p.Rows)), data, true
}

// codesStandFor is which of the entries each value of a page is. Plain values are entries
// themselves, each once.
func (d *decoding) codesStandFor(p *kernels.Page, data []byte,
	values int) (entries []byte, codes []uint32, status kernels.PageStatus) {
	entries = data
	codes = make([]uint32, values)
	for i := range codes {
		codes[i] = uint32(i)
	}
	if p.Apart == kernels.ApartPlain {
		if values > int(p.Entries) {
			return nil, nil, kernels.PageEnds
		}
		if p.Head > 0 {
			expanded := binary.LittleEndian.Uint32(d.memory[kernels.ExpandedHead*int(p.Head):])
			if expanded == kernels.ExpandedDamaged || values > int(expanded) {
				return nil, nil, kernels.PageEnds
			}
		}
		entries = d.memory[p.Dictionary:]
	} else if p.Apart == kernels.ApartNone && p.Entries == 0 {
		if values*d.width > len(data) {
			return nil, nil, kernels.PageEnds
		}
	} else if entries = d.memory[p.Dictionary:]; values > 0 || len(data) > 0 {
		if len(data) == 0 {
			return nil, nil, kernels.PageEnds
		}
		if data[0] > 32 {
			return nil, nil, kernels.PageWidth
		}
		if values > 0 && p.Entries == 0 {
			return nil, nil, kernels.PageEnds
		}
		clear(codes)
		if data[0] > 0 {
			var ok bool
			if codes, ok = runsStandFor(data[1:], values, int(data[0])); !ok {
				return nil, nil, kernels.PageEnds
			}
		}
		for _, code := range codes {
			if code >= p.Entries {
				return nil, nil, kernels.PageCode
			}
		}
	}
	return entries, codes, kernels.PageDone
}

// runsStandFor reads n values of width bits, bit by bit.
func runsStandFor(data []byte, n, width int) (values []uint32, ok bool) {
	for len(values) < n {
		head, bytes := binary.Uvarint(data)
		if bytes <= 0 || bytes > 5 || head > 1<<32-1 {
			return nil, false
		}
		data = data[bytes:]
		count := head >> 1
		if head&1 == 0 {
			if len(data) < (width+7)/8 {
				return nil, false
			}
			value := uint32(0)
			for i := range (width + 7) / 8 {
				value |= uint32(data[i]) << (8 * i)
			}
			data = data[(width+7)/8:]
			for i := uint64(0); i < count && len(values) < n; i++ {
				values = append(values, value)
			}
			continue
		}
		end := min(count*uint64(width), uint64(len(data))) * 8 // bits
		for bit := uint64(0); bit+uint64(width) <= end; bit += uint64(width) {
			value := uint32(0)
			for b := range uint64(width) {
				value |= uint32(data[(bit+b)/8]>>((bit+b)%8)&1) << b
			}
			if len(values) < n {
				values = append(values, value)
			}
		}
		data = data[end/8:]
	}
	return values, true
}
