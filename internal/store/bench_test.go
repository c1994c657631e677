package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/vfs"
)

// benchRows is how many rows a page of the benchmarks has: some 100 KB.
const benchRows = 2500

// benchPage returns a page of rows without long strings, whose words compress about as keys do.
func benchPage(m rowdata.Memory, layout *rowdata.RowLayout) *rowdata.Page {
	rng := rand.New(rand.NewPCG(1, 1))
	page := rowdata.NewPage(m, benchRows*layout.Stride)
	clear(page.Words)
	for i := range benchRows {
		row := page.Words[i*layout.Stride:]
		for at := 0; at < 4; at += 2 {
			*rowdata.AsBytes2(row[at : at+2]) = rowdata.ToBytes2(fmt.Appendf(nil, "key%09d", rng.IntN(1e9)))
		}
	}
	page.Rows = benchRows
	return page
}

// BenchmarkAlloc varies the size of blocks that are allocated and freed, all of them warm.
func BenchmarkAlloc(b *testing.B) {
	for _, bytes := range []int{4 << 10, 128 << 10, 2 << 20, 4 << 20} {
		b.Run(fmt.Sprintf("%dKiB", bytes>>10), func(b *testing.B) {
			m := mem.NewMemory(1 << 30)
			defer m.Close()
			for b.Loop() {
				m.Free(m.Alloc(bytes / 8))
			}
		})
	}
	b.Run("4KiB-parallel", func(b *testing.B) {
		m := mem.NewMemory(1 << 30)
		defer m.Close()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				m.Free(m.Alloc(512))
			}
		})
	})
}

// BenchmarkStore puts pages into a store and takes them back: from memory, and through the disk.
func BenchmarkStore(b *testing.B) {
	for _, spill := range []bool{false, true} {
		b.Run(map[bool]string{false: "memory", true: "disk"}[spill], func(b *testing.B) {
			rows, states := testLayouts(b)
			memory := mem.NewMemory(1 << 30)
			defer memory.Close()
			s := NewStore(StoreOptions{Memory: memory, Temp: NewTemp(vfs.OS, b.TempDir(), 1<<40), Layouts: [scatter.Contents]*rowdata.RowLayout{&rows, &states}, Writers: 1, SpillAll: spill})
			defer s.Close()
			p := s.NewPass(4)
			page := benchPage(memory, &rows)
			b.SetBytes(page.Bytes())
			for i := 0; b.Loop(); i++ {
				if err := putPage(p, i%16, rowPages, page); err != nil {
					b.Fatal(err)
				}
				pages := p.Take(i%16, rowPages)
				var err error
				if page, err = pages.Next(); err != nil {
					b.Fatal(err)
				}
				pages.Close()
			}
			page.Release()
		})
	}
}

// BenchmarkSpill fills a store of a small budget and reads it back, which writes most pages to
// disk, the largest partitions first: the bytes are those of all pages.
func BenchmarkSpill(b *testing.B) {
	const pages = 1000
	rows, states := testLayouts(b)
	memory := mem.NewMemory(16 << 20)
	defer memory.Close()
	temp := NewTemp(vfs.OS, b.TempDir(), 1<<40)
	master := benchPage(memory, &rows)
	defer master.Release()
	b.SetBytes(pages * master.Bytes())
	for b.Loop() {
		s := NewStore(StoreOptions{Memory: memory, Temp: temp, Layouts: [scatter.Contents]*rowdata.RowLayout{&rows, &states}, Writers: 1})
		p := s.NewPass(4)
		for i := range pages {
			page := rowdata.NewPage(memory, len(master.Words))
			copy(page.Words, master.Words)
			page.Rows = master.Rows
			if err := putPage(p, i%16, rowPages, page); err != nil {
				b.Fatal(err)
			}
		}
		for i := range 16 {
			taken := p.Take(i, rowPages)
			for {
				page, err := taken.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					b.Fatal(err)
				}
				page.Release()
			}
			taken.Close()
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFrame encodes and decodes the frame of a page: of rows alone, and with strings behind
// them.
func BenchmarkFrame(b *testing.B) {
	rows, _ := testLayouts(b)
	memory := mem.NewMemory(1 << 30)
	defer memory.Close()
	for i, page := range []*rowdata.Page{benchPage(memory, &rows), textPage(memory, &rows, 0, benchRows)} {
		name := []string{"words", "strings"}[i]
		w := frameWriter{layout: &rows, memory: memory}
		frame, err := w.append(nil, page)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("encode/"+name, func(b *testing.B) {
			b.SetBytes(page.Bytes())
			buf := make([]byte, 0, 2*len(frame)+1<<20)
			for b.Loop() {
				if _, err := w.append(buf[:0], page); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(frame))/float64(page.Bytes()), "stored/byte")
		})
		b.Run("decode/"+name, func(b *testing.B) {
			b.SetBytes(page.Bytes())
			from := bytes.NewReader(frame)
			r := frameReader{layout: &rows, memory: memory, from: from}
			for b.Loop() {
				from.Reset(frame)
				got, err := r.next()
				if err != nil {
					b.Fatal(err)
				}
				got.Release()
			}
		})
		page.Release()
	}
}
