package bench

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/mpga/mpga/kernels"
)

// PageKind is a kind of pages of values of 8 bytes.
type PageKind struct {
	Name    string
	entries uint32  // of the dictionary; 0: the values are plain
	nulls   float64 // share of the rows; 0: the pages have no levels
	runs    int     // rows in a row that have one value
}

// PageKinds are the kinds that are measured.
var PageKinds = []PageKind{
	{"plain", 0, 0, 1},
	{"plain, 10% NULL", 0, 0.1, 1},
	{"codes of 1,000 entries", 1000, 0, 1},
	{"codes of 100,000 entries", 100_000, 0, 1},
	{"codes of 1,000 entries, 10% NULL", 1000, 0.1, 1},
	{"codes in runs of 100", 1000, 0, 100},
}

// PagesResult is what the decoding of some pages took.
type PagesResult struct {
	Pages   int64
	Rows    int64
	Encoded int64 // bytes of the pages
	Nanos   int64 // on the device, median
}

// DecodePages times the decoding of about so many rows in pages of pageRows, after a run whose values
// it checks.
func (r *Runner) DecodePages(k PageKind, rows, pageRows int64) (res PagesResult, err error) {
	const width, drawnMax = 8, 16 // pages; more are these again
	rng := rand.New(rand.NewPCG(6, 1))
	memory := make([]byte, 0, rows)
	for range k.entries {
		memory = binary.LittleEndian.AppendUint64(memory, rng.Uint64())
	}
	var list, want []byte
	var pages []kernels.Page
	p := &kernels.Pages{Width: width}
	for i := int64(0); res.Rows < rows; i++ {
		if i < drawnMax {
			page := kernels.Page{From: uint64(len(memory)), Rows: uint32(pageRows), Entries: k.entries}
			memory, want = k.appendPage(rng, memory, want, &page)
			pages = append(pages, page)
		}
		page := pages[i%drawnMax]
		page.To, page.FirstStep = uint64(res.Rows), uint32(p.Steps)
		list = kernels.AppendListed(list, page)
		res.Rows += pageRows
		res.Encoded += int64(page.Bytes)
		res.Pages++
		p.Steps += kernels.PageSteps(pageRows)
	}
	p.MemoryBytes, p.Count, p.Rows = int64(len(memory)), res.Pages, res.Rows

	before := len(r.buffers)
	defer func() { err = errors.Join(err, r.freeFrom(before)) }()
	var errs []error
	put := func(to *kernels.Span, host []byte) { *to, err = r.put(host); errs = append(errs, err) }
	alloc := func(to *kernels.Span, n int64) { *to, err = r.alloc(n); errs = append(errs, err) }
	put(&p.Memory, append(memory, make([]byte, kernels.PagesPad)...))
	put(&p.List, list)
	alloc(&p.Values, p.Rows*width)
	alloc(&p.Valid, (p.Rows+31)/32*4)
	alloc(&p.Status, 4*p.Count)
	alloc(&p.Scratch, p.ScratchBytes())
	if err := errors.Join(errs...); err != nil {
		return res, err
	}
	if res.Nanos, err = r.median(func() error { return r.stream.DecodePages([]*kernels.Pages{p}) }); err != nil {
		return res, err
	}
	return res, r.checkBytes(p.Values, p.Rows*width, want)
}

// appendPage appends a page of random rows to memory, which has the dictionary first, and the values
// to what is to come of it.
func (k *PageKind) appendPage(rng *rand.Rand, memory, want []byte, page *kernels.Page) (longer, more []byte) {
	var values []byte
	var codes []uint32
	levels := make([]uint32, page.Rows)
	code := uint32(0)
	for i := range levels {
		if rng.Float64() < k.nulls {
			want = binary.LittleEndian.AppendUint64(want, 0)
			continue
		}
		levels[i] = 1
		word := rng.Uint64()
		if k.entries > 0 {
			if i%k.runs == 0 {
				code = rng.Uint32N(k.entries)
			}
			codes = append(codes, code)
			word = binary.LittleEndian.Uint64(memory[8*code:])
		} else {
			values = binary.LittleEndian.AppendUint64(values, word)
		}
		want = binary.LittleEndian.AppendUint64(want, word)
	}
	if k.nulls > 0 {
		packed := appendRuns(nil, levels, 1)
		page.Levels = kernels.LevelsPrefixed
		memory = append(binary.LittleEndian.AppendUint32(memory, uint32(len(packed))), packed...)
	}
	if k.entries > 0 {
		width := bits.Len32(k.entries - 1)
		memory = appendRuns(append(memory, byte(width)), codes, width)
	}
	memory = append(memory, values...)
	page.Bytes = uint32(uint64(len(memory)) - page.From)
	return memory, want
}

// appendRuns appends values of so many bits in the runs that writers make: of one value from eight
// equal ones on, else of at most 504 packed values.
func appendRuns(out []byte, values []uint32, width int) []byte {
	const equalMin, packedMax = 8, 504
	equalAt := func(i int) (n int) {
		for i+n < len(values) && values[i+n] == values[i] {
			n++
		}
		return n
	}
	for i := 0; i < len(values); {
		if n := equalAt(i); n >= equalMin {
			out = binary.AppendUvarint(out, uint64(n)<<1)
			value := binary.LittleEndian.AppendUint32(nil, values[i])
			out = append(out, value[:(width+7)/8]...)
			i += n
			continue
		}
		end := i + 8
		for end < min(len(values), i+packedMax) && equalAt(end) < equalMin {
			end += 8
		}
		some := values[i:min(end, len(values))]
		groups := (len(some) + 7) / 8
		out = binary.AppendUvarint(out, uint64(groups)<<1|1)
		packed := make([]byte, groups*width+8)
		for k, v := range some {
			at := packed[k*width/8:]
			binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(at)|uint64(v)<<(k*width%8))
		}
		out = append(out, packed[:groups*width]...)
		i += len(some)
	}
	return out
}

// checkBytes compares bytes of the device with bytes, which repeat.
func (r *Runner) checkBytes(at kernels.Span, n int64, want []byte) error {
	words := make([]uint64, n/8)
	if err := r.get(at, words); err != nil {
		return err
	}
	got := narrow(words, 8)
	for from := 0; from < len(got); from += len(want) {
		n := min(len(want), len(got)-from)
		if !bytes.Equal(got[from:from+n], want[:n]) {
			return fmt.Errorf("the bytes from %d on are not right", from)
		}
	}
	return nil
}
