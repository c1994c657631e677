package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/partition"
)

// The contents of the pages of tests.
const (
	rowPages scatter.Content = iota
	statePages
)

// testLayouts are the layouts of a query with a long key, a long argument and states that grow.
func testLayouts(t testing.TB) (rows, states rowdata.RowLayout) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.BinaryTypes.String}, {Name: "v", Type: arrow.BinaryTypes.String},
	}, nil)
	b, err := rowdata.Bind(query.Query{
		Keys:       []query.Key{{Column: "k"}},
		Aggregates: []query.Aggregate{{Func: query.CountStar}, {Func: query.CountDistinct, Args: []string{"v"}}},
	}, schema, []rowdata.ColumnStats{{NoNulls: true}, {NoNulls: true}})
	if err != nil {
		t.Fatal(err)
	}
	return b.RowLayout(), b.StateLayout()
}

// testStore returns a store with a budget.
func testStore(t testing.TB, limit int64, temp *Temp) *Store {
	rows, states := testLayouts(t)
	return NewStore(StoreOptions{Memory: mem.NewMemory(limit), Temp: temp, Layouts: [scatter.Contents]*rowdata.RowLayout{&rows, &states}, Writers: 2})
}

// textPage returns a page of rows whose strings are made of a number, some of them long.
func textPage(m rowdata.Memory, layout *rowdata.RowLayout, first, rows int) *rowdata.Page {
	page := rowdata.NewPage(m, rows*layout.Stride)
	clear(page.Words)
	for i := range rows {
		row := page.Words[i*layout.Stride:]
		for at := 0; at < 4; at += 2 {
			v := rowdata.AsBytes2(row[at : at+2])
			v.Set(text(first+i, at))
			page.Heap.Keep(v)
		}
	}
	page.Rows = rows
	return page
}

func text(i, at int) []byte {
	rng := rand.New(rand.NewPCG(uint64(i), uint64(at)))
	b := make([]byte, rng.IntN(40))
	for j := range b {
		b[j] = byte('a' + rng.IntN(26))
	}
	return b
}

// drain reads all rows of a partition and checks that they are whole; it returns their first texts.
func drain(t *testing.T, p scatter.Partitions, layout *rowdata.RowLayout, partition int) (rows map[string]int, err error) {
	t.Helper()
	pages := p.Take(partition, rowPages)
	defer pages.Close()
	rows = map[string]int{}
	for {
		page, err := pages.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range page.Rows {
			row := page.Words[i*layout.Stride:]
			rows[string(rowdata.AsBytes2(row[0:2]).Bytes())+"|"+string(rowdata.AsBytes2(row[2:4]).Bytes())]++
		}
		page.Release()
	}
}

// putPage puts one page into a partition.
func putPage(p scatter.Partitions, partition int, content scatter.Content, page *rowdata.Page) error {
	return p.Put(content, []scatter.PartitionPage{{Partition: partition, Page: page}})
}

// Would catch pages that are lost, doubled or damaged on their way through the disk, strings that
// refer to memory that is gone, memory beyond the budget, and space on disk that is not given back.
func TestStoreSpills(t *testing.T) {
	temp := NewTemp(vfs.OS, t.TempDir(), 1<<40)
	s := testStore(t, 2<<20, temp)
	defer func() {
		if err := s.Close(); err != nil || s.memory.Used() != 0 || temp.Used() != 0 {
			t.Errorf("closed: %v, %d B of memory, %d B of disk in use", err, s.memory.Used(), temp.Used())
		}
	}()
	layout := s.layouts[rowPages]
	p := s.NewPass(2)
	want := make([]map[string]int, 4)
	for i := range want {
		want[i] = map[string]int{}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for first := 0; first < 100_000; {
		part, rows := rng.IntN(4)&rng.IntN(4), 1+rng.IntN(500)
		for i := range rows {
			want[part][string(text(first+i, 0))+"|"+string(text(first+i, 2))]++
		}
		if err := putPage(p, part, rowPages, textPage(s.memory, layout, first, rows)); err != nil {
			t.Fatal(err)
		}
		first += rows
	}
	if s.Spilled() == 0 || s.Stored() == 0 || s.Files() == 0 {
		t.Errorf("%d B spilled to %d B in %d files", s.Spilled(), s.Stored(), s.Files())
	}
	if peak := s.memory.Peak(); peak > 5<<19 {
		t.Errorf("a peak of %d B for a budget of %d", peak, 2<<20)
	}
	for part := range want {
		got, err := drain(t, p, layout, part)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want[part]) {
			t.Errorf("partition %d: %d rows differ, want %d", part, len(got), len(want[part]))
		}
		for text, n := range want[part] {
			if got[text] != n {
				t.Fatalf("partition %d: %d rows of %q, want %d", part, got[text], text, n)
			}
		}
	}
}

// Would catch space of an extent of which only a part could be written that is never given back: a
// temp directory is an engine's, and outlives the query.
func TestPartOfExtent(t *testing.T) {
	temp := NewTemp(vfs.OS, t.TempDir(), 3<<20)
	s := testStore(t, 1<<30, temp)
	p := s.NewPass(1)
	for i := range 300 {
		if err := putPage(p, 0, rowPages, textPage(s.memory, s.layouts[rowPages], i*500, 500)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Reclaim(1); !errors.Is(err, ErrTempLimit) || s.Stored() == 0 {
		t.Errorf("%d B were stored, %v", s.Stored(), err)
	}
	if temp.Used() != 0 {
		t.Errorf("%d B of disk are in use", temp.Used())
	}
	if err := s.Close(); err != nil || s.memory.Used() != 0 || temp.Used() != 0 {
		t.Errorf("closed: %v, %d B of memory, %d B of disk in use", err, s.memory.Used(), temp.Used())
	}
}

// brokenDisk is a file system whose temporary files cannot be written.
type brokenDisk struct{ vfs.FS }

type brokenFile struct{ vfs.TempFile }

func (d brokenDisk) CreateTemp(dir string) (vfs.TempFile, error) {
	file, err := d.FS.CreateTemp(dir)
	return brokenFile{file}, err
}

func (brokenFile) WriteAt([]byte, int64) (int, error) { return 0, errors.New("the disk is gone") }

// Would catch bytes that were not written and count as used.
func TestBrokenDisk(t *testing.T) {
	temp := NewTemp(brokenDisk{vfs.OS}, t.TempDir(), 1<<30)
	s := testStore(t, 1<<30, temp)
	if err := putPage(s.NewPass(1), 0, rowPages, textPage(s.memory, s.layouts[rowPages], 0, 500)); err != nil {
		t.Fatal(err)
	}
	if err := s.Reclaim(1); err == nil || !strings.Contains(err.Error(), temp.dir) {
		t.Errorf("a disk that is gone: %v", err)
	}
	if err := s.Close(); err != nil || s.memory.Used() != 0 || temp.Used() != 0 {
		t.Errorf("closed: %v, %d B of memory, %d B of disk in use", err, s.memory.Used(), temp.Used())
	}
}

// T1. Would catch freed memory that stays resident beyond the budget.
func TestFreedMemory(t *testing.T) {
	m := mem.NewMemory(1 << 20)
	defer m.Close()
	var blocks [][]uint64
	for range 8 {
		blocks = append(blocks, m.Alloc(1<<20/8))
	}
	for _, b := range blocks {
		m.Free(b)
	}
	if m.Used() != 0 || m.Resident() > m.Limit() {
		t.Errorf("%d B are in use and %d resident, of a budget of %d", m.Used(), m.Resident(), m.Limit())
	}
}

// T3. Would catch memory that a short frame can ask for by its header.
func TestFrameClaims(t *testing.T) {
	memory := mem.NewMemory(1 << 40)
	defer memory.Close()
	layout, _ := testLayouts(t)
	page := rowdata.NewPage(rowdata.GoMemory, 8*layout.Stride)
	clear(page.Words)
	page.Rows = 8
	frame, err := (&frameWriter{layout: &layout, memory: rowdata.GoMemory}).append(nil, page)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(frame[16:], 1<<31) // words: 16 GiB
	binary.LittleEndian.PutUint32(frame[32:], crc32.Update(crc32.Checksum(frame[:32], castagnoli), castagnoli, frame[frameHeader:]))
	_, err = (&frameReader{layout: &layout, memory: memory, from: bytes.NewReader(frame)}).next()
	if !errors.Is(err, ErrCorrupt) || memory.Peak() > 0 {
		t.Errorf("a frame of %d B that claims to be of 16 GiB took %d B: %v", len(frame), memory.Peak(), err)
	}
}

// Would catch a full temp directory that is not told as such, or that leaves memory or disk behind.
func TestTempLimit(t *testing.T) {
	temp := NewTemp(vfs.OS, t.TempDir(), 1<<20)
	s := testStore(t, 1<<20, temp)
	p := s.NewPass(1)
	var err error
	for i := 0; i < 1000 && err == nil; i++ {
		err = putPage(p, i%2, rowPages, textPage(s.memory, s.layouts[rowPages], i*500, 500))
	}
	if !errors.Is(err, ErrTempLimit) {
		t.Errorf("1 MiB of disk was enough: %v", err)
	}
	if err := s.Close(); err != nil || s.memory.Used() != 0 || temp.Used() != 0 {
		t.Errorf("closed: %v, %d B of memory, %d B of disk in use", err, s.memory.Used(), temp.Used())
	}
}

// Would catch a bit that changes on disk and is read as if it had not.
func TestFrameFlips(t *testing.T) {
	rows, _ := testLayouts(t)
	w := frameWriter{layout: &rows, memory: rowdata.GoMemory}
	frame, err := w.append(nil, textPage(rowdata.GoMemory, &rows, 0, 20))
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(frame) {
		damaged := bytes.Clone(frame)
		damaged[bit/8] ^= 1 << (bit % 8)
		if at := bit / 8; at >= 36 && at < frameHeader {
			continue // padding
		}
		r := frameReader{layout: &rows, memory: rowdata.GoMemory, from: bytes.NewReader(damaged)}
		if _, err := r.next(); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("bit %d flipped: %v", bit, err)
		}
	}
}

// FuzzFrame reads frames whose words are anything at all, under a checksum that is right: what they
// refer to must lie inside them.
func FuzzFrame(f *testing.F) {
	rows, states := testLayouts(f)
	f.Add(uint8(1), rowdata.View[byte]([]uint64{20, 4, 3, 0}), false)
	f.Add(uint8(2), rowdata.View[byte]([]uint64{20 | 1<<40, 1 << 63, 3, 0, 1 << 50}), true)
	f.Add(uint8(1), rowdata.View[byte]([]uint64{5, 0, 1, 2, 6, 0, 1 << 33, 0}), true)
	f.Fuzz(func(t *testing.T, n uint8, content []byte, state bool) {
		layout := &rows
		if state {
			layout = &states
		}
		words := make([]uint64, len(content)/8)
		copy(rowdata.View[byte](words), content)
		r := frameReader{layout: layout, memory: rowdata.GoMemory, from: bytes.NewReader(appendFrame(nil, int(n), layout.Stride, words))}
		page, err := r.next()
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Error(err)
			}
			return
		}
		w := frameWriter{layout: layout, memory: rowdata.GoMemory}
		page.Heap.Alloc(1 << 16)
		_, _ = w.append(nil, page) // reads all that the page refers to; overlapping parts may be too much
	})
}

func page(rows, words int) *rowdata.Page {
	page := rowdata.NewPage(rowdata.GoMemory, words)
	page.Rows = rows
	return page
}

// Would catch pages handed to another partition or content, or handed over twice, sizes that are
// not of all pages put, and a peak that falls or that counts rows instead of bytes.
func TestStoreAccounting(t *testing.T) {
	s := testStore(t, 1<<30, nil)
	defer s.Close()
	q := s.NewPass(2)
	put := func(p int, content scatter.Content, page *rowdata.Page) {
		t.Helper()
		if err := putPage(q, p, content, page); err != nil {
			t.Fatal(err)
		}
	}
	check := func(sizes [4]int64, bytes, peak int64) {
		t.Helper()
		if got := [4]int64(q.Sizes()); got != sizes {
			t.Errorf("sizes %v, want %v", got, sizes)
		}
		if s.bytes != bytes || s.BytesPeak() != peak {
			t.Errorf("%d B, at most %d; want %d and %d", s.bytes, s.BytesPeak(), bytes, peak)
		}
	}
	check([4]int64{}, 0, 0)
	rows, more, states := page(3, 10), page(1, 100), page(5, 20)
	states.Heap.Alloc(1)
	heap := states.Heap.Bytes()
	put(1, rowPages, rows)
	put(1, rowPages, more)
	put(1, statePages, states)
	put(3, statePages, page(7, 7))
	all := 8*137 + heap
	check([4]int64{0, 9, 0, 7}, all, all)

	take := func(p int, content scatter.Content, want ...*rowdata.Page) {
		t.Helper()
		var got []*rowdata.Page
		pages := q.Take(p, content)
		defer pages.Close()
		for page, err := pages.Next(); err == nil; page, err = pages.Next() {
			got = append(got, page)
		}
		if len(got) != len(want) {
			t.Fatalf("partition %d: %d pages, want %d", p, len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("partition %d: page %d is another", p, i)
			}
		}
	}
	take(0, rowPages)
	take(1, rowPages, rows, more)
	take(1, rowPages)
	check([4]int64{0, 9, 0, 7}, all-8*110, all)
	take(1, statePages, states)
	check([4]int64{0, 9, 0, 7}, 8*7, all)
	put(0, rowPages, page(1, 1))
	check([4]int64{1, 9, 0, 7}, 8*8, all)
}

// Would catch a race between workers that put and take pages, and pages lost by one.
func TestStoreConcurrently(t *testing.T) {
	const workers, each = 8, 500
	s := testStore(t, 1<<30, nil)
	defer s.Close()
	q := s.NewPass(partition.Radix(3))
	var wg sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for range workers {
		wg.Go(func() {
			for i := range each {
				if err := putPage(q, i%8, scatter.Content(i%2), page(1, 2)); err != nil {
					t.Error(err)
				}
				if i%5 == 0 {
					pages := q.Take(i%8, scatter.Content(i%2))
					mu.Lock()
					for _, err := pages.Next(); err == nil; _, err = pages.Next() {
						taken++
					}
					pages.Close()
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	put, left := int64(0), s.bytes/16
	for _, n := range q.Sizes() {
		put += n
	}
	if int64(taken)+left != workers*each || put != workers*each {
		t.Errorf("%d pages taken, %d left in %d B, of %d", taken, left, s.bytes, workers*each)
	}
}
