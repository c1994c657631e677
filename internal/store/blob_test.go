package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
)

// testBlob returns a blob of pages of text rows, some of them empty.
func testBlob(t testing.TB, header string, rows ...int) ([]byte, *rowdata.RowLayout) {
	t.Helper()
	layout, _ := testLayouts(t)
	var out bytes.Buffer
	w, err := NewBlobWriter(&out, []byte(header), &layout, rowdata.GoMemory)
	if err != nil {
		t.Fatal(err)
	}
	first := 0
	for _, n := range rows {
		if err := w.Append(textPage(rowdata.GoMemory, &layout, first, n)); err != nil {
			t.Fatal(err)
		}
		first += n
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), &layout
}

// readBlob returns the header and the texts of all rows.
func readBlob(data []byte, layout *rowdata.RowLayout) (header string, rows []string, err error) {
	r, err := OpenBlob(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "", nil, err
	}
	pages := r.Pages(layout, rowdata.GoMemory)
	for {
		page, err := pages.Next()
		if errors.Is(err, io.EOF) {
			return string(r.Header()), rows, nil
		}
		if err != nil {
			return "", nil, err
		}
		for i := range page.Rows {
			row := page.Words[i*layout.Stride:]
			rows = append(rows, rowText(row[0:2])+"|"+rowText(row[2:4]))
		}
		page.Release()
	}
}

// rowText returns a string of a row, which may be the NULL of a key in damaged rows.
func rowText(words []uint64) string {
	v := rowdata.AsBytes2(words)
	if !v.Long() && v.Len() > rowdata.InlineBytes {
		return "NULL"
	}
	return string(v.Bytes())
}

// Would catch pages that are lost, cut or reordered, and a header that is not given back.
func TestBlob(t *testing.T) {
	data, layout := testBlob(t, `{"a": 1}`, 1, 500, 0, 20_000)
	header, rows, err := readBlob(data, layout)
	if err != nil || header != `{"a": 1}` || len(rows) != 20_501 {
		t.Fatalf("header %q, %d rows, %v", header, len(rows), err)
	}
	for i, row := range rows {
		if want := string(text(i, 0)) + "|" + string(text(i, 2)); row != want {
			t.Fatalf("row %d is %q, want %q", i, row, want)
		}
	}
	if _, rows, err = readBlob(first(testBlob(t, "")), layout); err != nil || rows != nil {
		t.Errorf("an empty blob: %d rows, %v", len(rows), err)
	}
}

// Would catch a frame that compresses so well that its reader takes it for an attack.
func TestBlobOfZeros(t *testing.T) {
	layout, _ := testLayouts(t)
	var out bytes.Buffer
	w, err := NewBlobWriter(&out, nil, &layout, rowdata.GoMemory)
	if err != nil {
		t.Fatal(err)
	}
	const rows = 1 << 18
	if err := w.Append(page(rows, rows*layout.Stride)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, got, err := readBlob(out.Bytes(), &layout); err != nil || len(got) != rows {
		t.Errorf("%d rows, %v", len(got), err)
	}
}

func first[A, B any](a A, _ B) A { return a }

// Would catch frames of several workers that mix.
func TestBlobConcurrently(t *testing.T) {
	layout, _ := testLayouts(t)
	var out bytes.Buffer
	w, err := NewBlobWriter(&out, nil, &layout, rowdata.GoMemory)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				if err := w.Append(textPage(rowdata.GoMemory, &layout, i, j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, rows, err := readBlob(out.Bytes(), &layout); err != nil || len(rows) != 8*190 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// Would catch any damage that is taken for data: a bit, a cut, a part of another blob.
func TestBlobDamage(t *testing.T) {
	data, layout := testBlob(t, "a header", 3, 2)
	_, want, err := readBlob(data, layout)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= 1 << (i % 8)
		header, rows, err := readBlob(damaged, layout)
		switch {
		case err == nil && (header != "a header" || strings.Join(rows, "\n") != strings.Join(want, "\n")):
			t.Errorf("byte %d is damaged, and the rows are others", i)
		case err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion):
			t.Errorf("byte %d: %v", i, err)
		}
		if _, _, err := readBlob(data[:i], layout); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut to %d B: %v", i, err)
		}
	}
	// Whole frames that are missing, come twice, or have other rows.
	short, _ := testBlob(t, "a header", 3)
	for _, rows := range [][]int{{3}, {3, 2, 2}, {3, 3}} {
		other, _ := testBlob(t, "a header", rows...)
		trailer := bytes.Clone(data[len(data)-blobTrailer:])
		binary.LittleEndian.PutUint64(trailer[24:], uint64(len(other)-blobTrailer))
		binary.LittleEndian.PutUint32(trailer[32:], crc32.Checksum(trailer[:32], castagnoli))
		if _, _, err := readBlob(append(other[:len(other)-blobTrailer:len(other)-blobTrailer], trailer...), layout); !errors.Is(err, ErrCorrupt) {
			t.Errorf("pages of %v rows: %v", rows, err)
		}
	}
	if _, _, err := readBlob(append(short, data...), layout); !errors.Is(err, ErrCorrupt) {
		t.Errorf("two blobs in one: %v", err)
	}
}

// Would catch errors that do not say where, and versions that are taken for damage.
func TestBlobErrors(t *testing.T) {
	data, layout := testBlob(t, "a header", 300, 300)
	newer := bytes.Clone(data)
	newer[4] = 9
	if _, _, err := readBlob(newer, layout); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "version 9, this program reads 1") {
		t.Errorf("a newer blob: %v", err)
	}
	damaged := bytes.Clone(data)
	damaged[len(damaged)-blobTrailer-1] ^= 1
	_, _, err := readBlob(damaged, layout)
	second := blobPrefix + len("a header") + frameHeader + int(binary.LittleEndian.Uint64(data[blobPrefix+len("a header")+24:]))
	if want := fmt.Sprintf("byte %d: ", second); !errors.Is(err, ErrCorrupt) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("a damaged second frame: %v, want %s", err, want)
	}
}

// failingWriter takes n bytes, then fails.
type failingWriter struct{ n int }

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.n -= len(b); w.n < 0 {
		return 0, errors.New("the disk is gone")
	}
	return len(b), nil
}

// Would catch a trailer behind a frame that was not written.
func TestBlobWriteFails(t *testing.T) {
	layout, _ := testLayouts(t)
	w, err := NewBlobWriter(&failingWriter{100}, []byte("h"), &layout, rowdata.GoMemory)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(textPage(rowdata.GoMemory, &layout, 0, 100)); err == nil {
		t.Error("a failed write gives no error")
	}
	if err := w.Close(); err == nil {
		t.Error("a blob with a hole is complete")
	}
}

// FuzzBlob reads arbitrary blobs: an error, or pages, and no more memory than what is there can ask
// for. seal writes right checksums, so that what lies behind them is reached.
func FuzzBlob(f *testing.F) {
	whole, layout := testBlob(f, "a header", 3, 2)
	empty, _ := testBlob(f, "")
	f.Add(whole, true)
	f.Add(whole[:len(whole)-1], false)
	f.Add(empty, true)
	f.Fuzz(func(t *testing.T, data []byte, seal bool) {
		if data = bytes.Clone(data); seal && len(data) >= blobPrefix+blobTrailer {
			sealBlob(data)
		}
		_, _, err := readBlob(data, layout)
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
			t.Errorf("%v", err)
		}
	})
}

// sealBlob gives header, frames and trailer the checksums that they should have.
func sealBlob(data []byte) {
	end := len(data) - blobTrailer
	binary.LittleEndian.PutUint64(data[end+24:], uint64(end))
	binary.LittleEndian.PutUint32(data[end+32:], crc32.Checksum(data[end:end+32], castagnoli))
	at := blobPrefix + int(binary.LittleEndian.Uint32(data[8:]))
	if at > end {
		return
	}
	sum := crc32.Update(crc32.Checksum(data[:12], castagnoli), castagnoli, data[blobPrefix:at])
	binary.LittleEndian.PutUint32(data[12:], sum)
	for at+frameHeader <= end {
		stored := binary.LittleEndian.Uint64(data[at+24:])
		if stored > uint64(end-at-frameHeader) {
			return
		}
		next := at + frameHeader + int(stored)
		sum := crc32.Update(crc32.Checksum(data[at:at+32], castagnoli), castagnoli, data[at+frameHeader:next])
		binary.LittleEndian.PutUint32(data[at+32:], sum)
		at = next
	}
}
