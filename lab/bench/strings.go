package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"unsafe"

	"github.com/mpga/mpga/kernels"
)

// StringKind is a kind of plain strings.
type StringKind struct {
	Name     string
	distinct int
	least    int // bytes
	most     int
}

// StringKinds are the kinds that are measured.
var StringKinds = []StringKind{
	{"100 of 5 bytes", 100, 5, 5},
	{"1e6 of 12 bytes", 1_000_000, 12, 12},
	{"1e6 of 8 to 24 bytes", 1_000_000, 8, 24},
	{"1e5 of 40 to 120 bytes", 100_000, 40, 120},
}

// StringsResult is what the numbering of some strings took.
type StringsResult struct {
	Strings int64
	Bytes   int64 // of the pages
	New     int64 // nanoseconds on the device where no string is known, but without their numbers
	Known   int64 // nanoseconds where all are, median
}

// NumberStrings times the numbering of strings of about so many bytes in pages of pageBytes, whose
// numbers it checks.
func (r *Runner) NumberStrings(k StringKind, total, pageBytes int64) (res StringsResult, err error) {
	rng := rand.New(rand.NewPCG(7, 1))
	words := make([][]byte, k.distinct)
	for i := range words {
		words[i] = make([]byte, k.least+rng.IntN(k.most-k.least+1))
		copy(words[i], fmt.Sprintf("%0*d", k.least, i))
	}
	var memory, list []byte
	var want []uint32 // which word
	for int64(len(memory)) < total {
		page := kernels.StringPage{From: uint64(len(memory)), First: uint32(len(want))}
		for end := len(memory) + int(pageBytes); len(memory) < end; {
			word := rng.IntN(len(words))
			memory = append(binary.LittleEndian.AppendUint32(memory, uint32(len(words[word]))), words[word]...)
			want = append(want, uint32(word))
		}
		page.Bytes, page.Most = uint32(uint64(len(memory))-page.From), uint32(len(want))-page.First
		list = kernels.AppendListed(list, page)
	}
	res.Strings, res.Bytes = int64(len(want)), int64(len(memory))
	s := &kernels.Strings{
		MemoryBytes: res.Bytes, Count: int64(len(list)) / kernels.StringPageBytes, Strings: res.Strings,
		TextBytes: res.Bytes, Known: kernels.NewStringTable(1 << 30),
	}
	before := len(r.buffers)
	defer func() { err = errors.Join(err, r.freeFrom(before)) }()
	var errs []error
	put := func(to *kernels.Span, host []byte) { *to, err = r.put(host); errs = append(errs, err) }
	alloc := func(to *kernels.Span, n int64) { *to, err = r.alloc(n); errs = append(errs, err) }
	put(&s.Memory, append(memory, make([]byte, kernels.PagesPad)...))
	put(&s.Pages, list)
	alloc(&s.Numbers, 4*s.Strings)
	alloc(&s.Head, kernels.MissingHeadBytes)
	alloc(&s.List, kernels.MissingBytes*s.Strings)
	alloc(&s.Text, s.TextBytes)
	alloc(&s.Given, 4*s.Strings)
	alloc(&s.Scratch, s.ScratchBytes())
	alloc(&s.Known.Memory, s.Known.MemoryBytes())
	if err := errors.Join(errs...); err != nil {
		return res, err
	}
	if err := r.stream.Fill(s.Known.Memory, s.Known.ResetBytes(), 0); err != nil {
		return res, err
	}
	if res.New, err = r.median(func() error { return r.stream.NumberStrings(s) }); err != nil {
		return res, err
	}
	if err := r.addWords(s, want); err != nil {
		return res, err
	}
	if res.Known, err = r.median(func() error { return r.stream.NumberStrings(s) }); err != nil {
		return res, err
	}
	numbers := make([]uint64, (s.Strings+1)/2)
	if err := r.get(s.Numbers, numbers[:s.Strings/2]); err != nil {
		return res, err
	}
	for i, word := range want[:s.Strings&^1] {
		if got := uint32(numbers[i/2] >> (32 * (i % 2))); got != word+1 {
			return res, fmt.Errorf("string %d has the number %d, not %d", i, got, word+1)
		}
	}
	return res, nil
}

// addWords gives each listed string the number of its word, which is 1 more than the word.
func (r *Runner) addWords(s *kernels.Strings, want []uint32) error {
	head := make([]uint64, 1)
	if err := r.get(s.Head, head); err != nil {
		return err
	}
	count := int64(head[0] >> 32)
	list := make([]uint64, count)
	if err := r.get(s.List, list); err != nil {
		return err
	}
	var given []byte
	for _, m := range unsafe.Slice((*kernels.MissingString)(unsafe.Pointer(unsafe.SliceData(list))), count) {
		given = binary.LittleEndian.AppendUint32(given, want[m.String]+1)
	}
	from, err := r.put(given)
	if err != nil {
		return err
	}
	return errors.Join(r.stream.CopyWithin(s.Given, from, int64(len(given))), r.stream.AddStrings(s, count))
}
