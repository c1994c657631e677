package devicetest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/kernels"
)

// Expand holds ExpandPages to pages of random values and blocks, as they are and with bytes changed, and to
// pages that are not in their memory.
func Expand(t *testing.T, device kernels.Device, pages, valuesMax int) {
	r := newRig(t, device)
	defer r.close()
	rng := rand.New(rand.NewPCG(29, uint64(pages)))
	e := expanding{}
	for i := range pages {
		n := rng.IntN(valuesMax + 1)
		if i == 0 {
			n = 5 * valuesMax
		}
		e.add(rng, n, i%3 == 1)
	}
	e.run(r)
}

// expanding is pages, and what they are to become.
type expanding struct {
	memory []byte
	pages  []kernels.Expansion
}

// add adds a page of random values, maybe with bytes changed.
func (e *expanding) add(rng *rand.Rand, n int, mutated bool) {
	p := kernels.Expansion{
		Encoding: kernels.PageEncoding(rng.IntN(3)), Levels: kernels.PageLevels(rng.IntN(3)), Most: uint32(n + rng.IntN(3)),
	}
	var content []byte
	if p.Levels == kernels.LevelsPrefixed {
		levels := make([]byte, rng.IntN(20))
		content = append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
	}
	switch p.Encoding {
	case kernels.DeltaBinaryPacked:
		p.Width = []uint32{4, 8}[rng.IntN(2)]
		content = appendDeltas(rng, content, randomIntegers(rng, n))
		p.Room = p.Width * p.Most
	case kernels.DeltaLengthByteArray:
		lengths, all := make([]uint64, n), 0
		for i := range lengths {
			lengths[i] = uint64(rng.IntN([]int{1, 3, 40, 40, 300}[rng.IntN(5)]))
			all += int(lengths[i])
		}
		content = appendDeltas(rng, content, lengths)
		for range all {
			content = append(content, byte(rng.Uint32()))
		}
		p.Room = uint32(all + 4*n + rng.IntN(8))
	default:
		p.Width = 1 + rng.Uint32N(8)
		for range n * int(p.Width) {
			content = append(content, byte(rng.Uint32()))
		}
		p.Room = p.Width * p.Most
	}
	if mutated && len(content) > 0 {
		switch rng.IntN(5) {
		case 0:
			content = content[:rng.IntN(len(content))]
		case 1:
			p.Most -= min(p.Most, 4)
		case 2:
			p.Room -= min(p.Room, 9)
		case 3: // heads
			content[rng.IntN(min(len(content), 16))] = byte(rng.Uint32())
		default:
			for range 1 + rng.IntN(3) {
				content[rng.IntN(len(content))] = byte(rng.Uint32())
			}
		}
	}
	e.memory = append(e.memory, make([]byte, rng.IntN(9))...)
	p.From, p.Bytes = uint64(len(e.memory)), uint32(len(content))
	e.memory = append(e.memory, content...)
	e.pages = append(e.pages, p)
}

// randomIntegers returns numbers that go up slowly, or any.
func randomIntegers(rng *rand.Rand, n int) []uint64 {
	out, kind, value := make([]uint64, n), rng.IntN(4), rng.Uint64()
	for i := range out {
		switch kind {
		case 0:
			value = rng.Uint64()
		case 1:
			value += rng.Uint64N(100)
		case 2:
			value = uint64(rng.IntN(1<<20) - 1<<19)
		default:
			value += 7
		}
		out[i] = value
	}
	return out
}

// appendDeltas appends values as Parquet's DELTA_BINARY_PACKED, in blocks of a random size.
func appendDeltas(rng *rand.Rand, out []byte, values []uint64) []byte {
	zigzag := func(v uint64) { out = binary.AppendVarint(out, int64(v)) }
	minis := []int{1, 2, 4, 4, 8, 32}[rng.IntN(6)]
	mini := 8 * []int{1, 4, 4, 4, 16, 32}[rng.IntN(6)]
	out = binary.AppendUvarint(out, uint64(mini*minis))
	out = binary.AppendUvarint(out, uint64(minis))
	out = binary.AppendUvarint(out, uint64(len(values)))
	if len(values) == 0 {
		return append(out, 0)
	}
	zigzag(values[0])
	for at := 1; at < len(values); at += mini * minis {
		here := values[at:min(at+mini*minis, len(values))]
		least := here[0] - values[at-1]
		for i := range here {
			if d := values[at+i] - values[at+i-1]; int64(d) < int64(least) {
				least = d
			}
		}
		zigzag(least)
		widths := len(out)
		out = append(out, make([]byte, minis)...)
		for m := 0; m*mini < len(here); m++ {
			var above []uint64
			width := 0
			for i := m * mini; i < min((m+1)*mini, len(here)); i++ {
				above = append(above, values[at+i]-values[at+i-1]-least)
				for width < 64 && above[len(above)-1]>>width != 0 {
					width++
				}
			}
			if rng.IntN(10) == 0 {
				width = min(width+rng.IntN(9), 64)
			}
			out[widths+m] = byte(width)
			packed := make([]byte, mini*width/8)
			for i, v := range above {
				for b := range width {
					packed[(i*width+b)/8] |= byte(v>>b&1) << ((i*width + b) % 8)
				}
			}
			if (m+1)*mini >= len(here) && rng.IntN(2) == 0 { // without the values that nobody needs
				packed = packed[:(len(above)*width+7)/8]
			}
			out = append(out, packed...)
		}
	}
	return out
}

// run compares what a device makes of the pages with what they stand for.
func (e *expanding) run(r *Rig) {
	r.t.Helper()
	memory, list := e.memory, []byte(nil)
	for i := range e.pages {
		p := &e.pages[i]
		memory = append(memory, make([]byte, -len(memory)&(kernels.ExpandedHead-1))...)
		p.To = uint64(len(memory))
		memory = append(memory, bytes.Repeat([]byte{poisonByte}, kernels.ExpandedHead+int(p.Room))...)
		list = kernels.AppendListed(list, *p)
	}
	all := uint64(len(memory))
	for _, outside := range []kernels.Expansion{
		{From: all, Bytes: 1, Room: 8}, {From: ^uint64(0), Bytes: 1, Room: 8}, {To: all &^ 15, Room: 16},
		{To: ^uint64(15), Room: 16}, {To: 1}, {Width: 9},
	} {
		list = kernels.AppendListed(list, outside)
	}
	at := r.put(append(bytes.Clone(memory), make([]byte, kernels.PagesPad)...))
	r.must(r.stream.ExpandPages(&kernels.Expansions{Memory: at, MemoryBytes: int64(len(memory)),
		List: r.put(list), Count: int64(len(list)) / kernels.ExpansionBytes}))
	got := r.get(at, int64(len(memory)))
	for i, p := range e.pages {
		values, plain, ok := expansionStandsFor(&p, memory)
		room := got[p.To+kernels.ExpandedHead:][:p.Room]
		if found := binary.LittleEndian.Uint32(got[p.To:]); found != uint32(values) {
			r.t.Errorf("page %d, %+v: %d values, want %d", i, p, found, values)
			continue
		}
		if !bytes.Equal(room[:len(plain)], plain) {
			r.t.Errorf("page %d, %+v: byte %d is wrong", i, p, firstDifference(room[:len(plain)], plain))
		}
		from := p.To
		if !ok { // what the room has is nobody's
			from += uint64(p.Room)
		} else {
			from += uint64(len(plain))
		}
		copy(memory[p.To:from+kernels.ExpandedHead], got[p.To:])
	}
	if at := firstDifference(got, memory); at >= 0 {
		r.t.Errorf("byte %d was written, which belongs to no page", at)
	}
}

// expansionStandsFor is what a page becomes, bit by bit; ok is false of a page that is damaged.
func expansionStandsFor(p *kernels.Expansion, memory []byte) (values int, plain []byte, ok bool) {
	noStrings := []byte(nil)
	if p.Encoding == kernels.DeltaLengthByteArray && p.Room >= 4 {
		noStrings = []byte{0xff, 0xff, 0xff, 0xff}
	}
	data := memory[p.From:][:p.Bytes]
	if p.Levels == kernels.LevelsPrefixed {
		if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
			return kernels.ExpandedDamaged, noStrings, false
		}
		data = data[4+binary.LittleEndian.Uint32(data):]
	}
	if p.Encoding == kernels.ByteStreamSplit {
		n := len(data) / int(p.Width)
		if len(data)%int(p.Width) != 0 || n > int(p.Most) || len(data) > int(p.Room) {
			return kernels.ExpandedDamaged, nil, false
		}
		for i := range n {
			for b := range int(p.Width) {
				plain = append(plain, data[b*n+i])
			}
		}
		return n, plain, true
	}
	numbers, data, ok := deltasStandFor(data)
	if ok = ok && len(numbers) <= int(p.Most); !ok {
		return kernels.ExpandedDamaged, noStrings, false
	}
	for _, v := range numbers {
		switch {
		case p.Encoding == kernels.DeltaLengthByteArray:
			if int64(uint32(v)) > int64(len(data)) {
				return kernels.ExpandedDamaged, noStrings, false
			}
			plain = append(binary.LittleEndian.AppendUint32(plain, uint32(v)), data[:uint32(v)]...)
			data = data[uint32(v):]
		case p.Width == 4:
			plain = binary.LittleEndian.AppendUint32(plain, uint32(v))
		default:
			plain = binary.LittleEndian.AppendUint64(plain, v)
		}
	}
	if len(plain) > int(p.Room) {
		return kernels.ExpandedDamaged, noStrings, false
	}
	if noStrings != nil && len(plain)+4 <= int(p.Room) {
		plain = append(plain, noStrings...)
	}
	return len(numbers), plain, true
}

// deltasStandFor reads DELTA_BINARY_PACKED, bit by bit.
func deltasStandFor(data []byte) (values []uint64, rest []byte, ok bool) {
	var head [4]uint64
	for i := range head {
		n := 0
		if head[i], n = binary.Uvarint(data); n <= 0 {
			return nil, nil, false
		}
		data = data[n:]
	}
	block, minis, count := head[0], head[1], head[2]
	if block == 0 || block > 1<<24 || minis == 0 || minis > 32 || block%(8*minis) != 0 || count > 1<<31-1 {
		return nil, nil, false
	}
	if count == 0 {
		return nil, data, true
	}
	values = append(values, head[3]>>1^-(head[3]&1))
	for uint64(len(values)) < count {
		least, n := binary.Varint(data)
		if n <= 0 || len(data)-n < int(minis) {
			return nil, nil, false
		}
		widths := data[n : n+int(minis)]
		data = data[n+int(minis):]
		for _, width := range widths {
			if uint64(len(values)) == count {
				break
			}
			need := min(count-uint64(len(values)), block/minis)
			if width > 64 || (need*uint64(width)+7)/8 > uint64(len(data)) {
				return nil, nil, false
			}
			for i := range int(need) {
				above := uint64(0)
				for b := range int(width) {
					bit := i*int(width) + b
					above |= uint64(data[bit/8]>>(bit%8)&1) << b
				}
				values = append(values, values[len(values)-1]+uint64(least)+above)
			}
			data = data[min(block/minis*uint64(width)/8, uint64(len(data))):]
		}
	}
	return values, data, true
}
