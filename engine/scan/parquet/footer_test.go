package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// footers returns those of files of several writers, by name.
func footers(t testing.TB) map[string][]byte {
	t.Helper()
	batch := scantest.ParquetBatch(t, 100)
	files := map[string][]byte{
		"groups":     scantest.EncodeParquet(t, 30, []arrow.RecordBatch{batch}),
		"index":      scantest.EncodeParquet(t, 50, []arrow.RecordBatch{batch}, parquet.WithPageIndexEnabled(true), parquet.WithCompression(compress.Codecs.Zstd)),
		"bloom":      scantest.EncodeParquet(t, 50, []arrow.RecordBatch{batch}, parquet.WithBloomFilterEnabled(true), parquet.WithDictionaryDefault(false)),
		"statistics": scantest.EncodeParquet(t, 50, []arrow.RecordBatch{batch}, parquet.WithStats(false)),
		"no rows":    scantest.EncodeParquet(t, 50, []arrow.RecordBatch{batch.NewSlice(0, 0)}),
	}
	paths, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, path := range paths {
		if files[path], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range files {
		if files[name], err = readFooter(bytes.NewReader(data), int64(len(data)), reserve.New(reserve.GoHeap, nil)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return files
}

// What is decoded of a footer here is what arrow-go decodes.
func TestFooter(t *testing.T) {
	for name, raw := range footers(t) {
		meta, groups, err := parseFooter(raw)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, err := metadata.NewFileMetaData(raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !meta.Schema.Equals(want.Schema) || meta.NumRows != want.NumRows || !meta.KeyValueMetadata().Equals(want.KeyValueMetadata()) ||
			!meta.WriterVersion().Equal(want.WriterVersion()) || len(meta.RowGroups) != 0 || len(groups) != len(want.RowGroups) {
			t.Errorf("%s: another footer, or %d row groups in place of %d", name, len(groups), len(want.RowGroups))
			continue
		}
		for i := range groups {
			group := want.RowGroup(i)
			if groups[i].rows != group.NumRows() || len(groups[i].chunks) != group.NumColumns() {
				t.Errorf("%s, row group %d: %d rows and %d columns, want %d and %d", name, i, groups[i].rows, len(groups[i].chunks), group.NumRows(), group.NumColumns())
				continue
			}
			for c := range groups[i].chunks {
				chunk, err := group.ColumnChunk(c)
				if err != nil {
					t.Fatal(err)
				}
				sameChunk(t, &groups[i].chunks[c], chunk)
				of := want.RowGroups[i].Columns[c].MetaData.Statistics
				stats := &groups[i].chunks[c].stats
				if stats.known != (of != nil) {
					t.Fatalf("%s, row group %d, column %d: statistics known: %t", name, i, c, stats.known)
				}
				if of == nil {
					continue
				}
				nulls := int64(-1)
				if of.NullCount != nil {
					nulls = *of.NullCount
				}
				distinct := int64(-1)
				if of.DistinctCount != nil {
					distinct = *of.DistinctCount
				}
				same := func(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
				if !same(stats.min, of.MinValue) || !same(stats.max, of.MaxValue) || !same(stats.oldMin, of.Min) || !same(stats.oldMax, of.Max) || stats.nulls != nulls || stats.distinct != distinct ||
					stats.minExact != exactness(of.IsMinValueExact) || stats.maxExact != exactness(of.IsMaxValueExact) {
					t.Errorf("%s, row group %d, column %d: %+v, want %v", name, i, c, stats, of)
				}
			}
		}
	}
}

func exactness(said *bool) int {
	switch {
	case said == nil:
		return 0
	case *said:
		return compactTrue
	}
	return compactFalse
}

// sameChunk compares all but statistics.
func sameChunk(t *testing.T, got *columnChunk, want *metadata.ColumnChunkMetaData) {
	t.Helper()
	location := func(at *metadata.IndexLocation) indexLocation {
		if at == nil {
			return indexLocation{}
		}
		return indexLocation{at.Offset, int64(at.Length)}
	}
	var encodings, data encodingSet
	for _, e := range want.Encodings() {
		encodings.add(int64(e))
	}
	for _, s := range want.EncodingStats() {
		if kind := pageKind(s.PageType); kind == pageV1 || kind == pageV2 {
			data.add(int64(s.Encoding))
		}
	}
	plain := columnChunk{
		dataStart: want.DataPageOffset(), dictionary: want.DictionaryPageOffset(), listed: want.HasDictionaryPage(),
		bytes: want.TotalCompressedSize(), unpacked: want.TotalUncompressedSize(), values: want.NumValues(), bloom: want.BloomFilterOffset(), bloomBytes: int64(want.BloomFilterLength()),
		offsetIndex: location(want.GetOffsetIndexLocation()), columnIndex: location(want.GetColumnIndexLocation()),
		codec: want.Compression(), encodings: encodings, data: data, paged: len(want.EncodingStats()) > 0,
	}
	chunk := *got
	chunk.stats = chunkStats{}
	if !reflect.DeepEqual(chunk, plain) {
		t.Errorf("got %+v, want %+v", chunk, plain)
	}
}

// S3: a footer that is cut off gives an error, one that is changed gives an error or other figures.
func TestFooterDamaged(t *testing.T) {
	places := 400 // of a footer
	if testing.Short() {
		places = 100
	}
	for name, raw := range footers(t) {
		step := len(raw)/places + 1
		for cut := 0; cut < len(raw); cut += step {
			if _, _, err := parseFooter(raw[:cut]); err == nil {
				t.Fatalf("%s, cut to %d of %d B: no error", name, cut, len(raw))
			}
		}
		changed := bytes.Clone(raw)
		for at := 0; at < len(raw); at += step {
			for _, flip := range []byte{0x01, 0x0c, 0xf0, 0xff} {
				changed[at] ^= flip
				_ = decode.Guard(func() error { _, _, err := parseFooter(changed); return err })
				changed[at] = raw[at]
			}
		}
	}
}

// What no footer of these writers has is passed over; what contradicts the format is an error that
// says so.
func TestCompactSkip(t *testing.T) {
	for name, tt := range map[string]struct {
		data []byte
		ok   bool
	}{
		"list of integers":      {[]byte{0x19, 0x25, 2, 4, 0}, true},
		"list of truth values":  {[]byte{0x19, 0x21, 1, 2, 0}, true},
		"long list":             {append([]byte{0x19, 0xf3, 20}, make([]byte, 21)...), true},
		"set":                   {[]byte{0x1a, 0x15, 2, 0}, true},
		"map":                   {[]byte{0x1b, 1, 0x85, 1, 'k', 2, 0}, true},
		"empty map":             {[]byte{0x1b, 0, 0}, true},
		"list of structures":    {[]byte{0x19, 0x2c, 0x15, 2, 0, 0, 0}, true},
		"list longer than data": {[]byte{0x19, 0xf5, 0xff, 0xff, 0xff, 0x7f, 0}, false},
		"list of unknown type":  {[]byte{0x19, 0x1d, 0, 0}, false},
		"map longer than data":  {[]byte{0x1b, 0xff, 0x7f, 0x33, 0}, false},
		"nested too deeply":     {bytes.Repeat([]byte{0x19, 0x19}, 40), false},
	} {
		r := compactReader{data: tt.data}
		r.structure(&compactFields{}, nil)
		if ok := r.err == nil && r.at == len(tt.data); ok != tt.ok || !tt.ok && r.err == nil {
			t.Errorf("%s: %d of %d B, %v", name, r.at, len(tt.data), r.err)
		}
	}
}

// Files whose ends are no footer say what is wrong.
func TestReadFooter(t *testing.T) {
	for name, data := range map[string]string{"short": "PAR1", "other magic": "PAR1....XXXX", "encrypted": "PAR1\x00\x00\x00\x00PARE", "too long": "PAR1\xff\x00\x00\x00PAR1"} {
		if raw, err := readFooter(bytes.NewReader([]byte(data)), int64(len(data)), reserve.New(reserve.GoHeap, nil)); err == nil {
			t.Errorf("%s: %q", name, raw)
		} else if (name == "too long") != errors.Is(err, decode.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A column that is encrypted is an error where it is read, and keeps no other from being read.
func TestEncryptedColumn(t *testing.T) {
	const key = "0123456789abcdef"
	hidden := parquet.ColumnPathToEncryptionPropsMap{"c7": parquet.NewColumnEncryptionProperties("c7", parquet.WithKey(key), parquet.WithKeyID("k"))}
	batch := scantest.ParquetBatch(t, 20)
	if batch.Schema().Field(7).Name != "c7" {
		t.Fatal(batch.Schema())
	}
	data := scantest.EncodeParquet(t, 10, []arrow.RecordBatch{batch}, parquet.WithEncryptionProperties(
		parquet.NewFileEncryptionProperties(key, parquet.WithPlaintextFooter(), parquet.WithEncryptedColumns(hidden))))
	src := openTable(t, scantest.WriteFile(t, t.TempDir(), "f.parquet", data))
	if rows := src.Stats().Rows; rows != 20 {
		t.Errorf("%d rows", rows)
	}
	if rows, err := scantest.ReadAll(src, []int{0, 6, 8}, scan.OpenOptions{}); err != nil || len(rows) != 20 {
		t.Errorf("%d rows of the other columns: %v", len(rows), err)
	}
	if _, err := scantest.ReadAll(src, []int{7}, scan.OpenOptions{}); err == nil || !strings.Contains(err.Error(), `column "c7": encrypted columns cannot be read`) {
		t.Errorf("the encrypted column: %v", err)
	}
}

// Would catch offsets in another file that are taken for offsets in the one that names it, and its
// rows for rows of that.
func TestRowsElsewhere(t *testing.T) {
	meta, err := metadata.NewFileMetaData(footers(t)["groups"], nil)
	if err != nil {
		t.Fatal(err)
	}
	meta.SetFilePath("part-0.parquet")
	file := bytes.NewBufferString(magicPlain)
	n, err := meta.WriteTo(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	file.Write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
	file.WriteString(magicPlain)
	path := scantest.WriteFile(t, t.TempDir(), "all.parquet", file.Bytes())
	if _, err := tableOf(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), `"part-0.parquet" is one of them`) {
		t.Error(err)
	}
}

// What it takes to decode a footer of some 1,000 chunks, by both ways.
func BenchmarkFooter(b *testing.B) {
	data := scantest.EncodeParquet(b, 5, []arrow.RecordBatch{scantest.ParquetBatch(b, 200)})
	raw, err := readFooter(bytes.NewReader(data), int64(len(data)), reserve.New(reserve.GoHeap, nil))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("here", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := parseFooter(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("arrow-go", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := metadata.NewFileMetaData(raw, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func FuzzFooter(f *testing.F) {
	for _, raw := range footers(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		_ = decode.Guard(func() error { _, _, err := parseFooter(raw); return err })
	})
}
