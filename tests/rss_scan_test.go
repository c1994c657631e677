package tests

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/zstd"

	"github.com/mpga/mpga/tests/shapes"
)

var rssFlag = flag.Int("rss", 5, "how many random tables are read within random memory limits")

// codecs that take their memory in different ways.
var rssCodecs = []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Zstd, compress.Codecs.Gzip}

// randomShape makes a table that takes much memory for one of several reasons.
func randomShape(rng *rand.Rand) (s shapes.Shape) {
	switch rng.IntN(4) {
	case 0: // many columns
		s = shapes.Shape{Rows: 1 + rng.IntN(60), Numbers: rng.IntN(4000), Texts: 1 + rng.IntN(4000), TextBytes: 1 + rng.IntN(20)}
	case 1: // long strings
		s = shapes.Shape{Numbers: 1, Texts: 1 + rng.IntN(3), TextBytes: 1 << (10 + rng.IntN(10))}
		s.Rows = 1 + 40<<20/s.Texts/s.TextBytes
	case 2: // huge values
		s = shapes.Shape{Rows: 1 + rng.IntN(4), Numbers: rng.IntN(2), Texts: 1, TextBytes: 1 << 20 * (5 + rng.IntN(25))}
	default: // many rows
		s = shapes.Shape{Rows: 60_000, Numbers: 1 + rng.IntN(6), Texts: 1 + rng.IntN(3), TextBytes: 1 + rng.IntN(100)}
	}
	if rng.IntN(3) == 0 {
		s.Distinct = 1 + rng.IntN(100)
	}
	s.Alike, s.Nulls, s.Seed = rng.IntN(3) == 0, rng.IntN(3) == 0, rng.Uint64()
	return s
}

// writeShape writes a table in a random format, and returns its file and what it is.
func writeShape(rng *rand.Rand, dir string, s shapes.Shape) (file, how string, err error) {
	batch := 1 + 4<<20/(16*(s.Numbers+s.Texts)+s.TextBytes*s.Texts)
	switch format := rng.IntN(8); format {
	case 0, 1, 2:
		file = filepath.Join(dir, []string{"t.csv", "t.csv.gz", "t.csv.zst"}[format])
		return file, filepath.Base(file), s.WriteCSV(file)
	case 6, 7:
		file = filepath.Join(dir, []string{"t.ndjson", "t.json.zst"}[format-6])
		return file, filepath.Base(file), s.WriteJSON(file)
	case 3:
		opt := shapes.ArrowOptions{Stream: rng.IntN(2) == 0, Compressed: rng.IntN(2) == 0, BatchRows: batch}
		opt.Dictionary = opt.Stream && s.Distinct > 0 && rng.IntN(2) == 0
		file = filepath.Join(dir, "t.arrow")
		return file, fmt.Sprintf("%+v", opt), s.WriteArrow(file, opt)
	}
	opt := shapes.ParquetOptions{
		Codec: rssCodecs[rng.IntN(len(rssCodecs))], Dictionary: rng.IntN(2) == 0, PageBytes: 1 << (12 + rng.IntN(12)),
		GroupRows: int64(1 + s.Rows/(1+rng.IntN(4))), BatchRows: batch,
	}
	if !opt.Dictionary && rng.IntN(2) == 0 {
		opt.Encoding = []parquet.Encoding{parquet.Encodings.DeltaByteArray, parquet.Encodings.DeltaLengthByteArray}[rng.IntN(2)]
	}
	file = filepath.Join(dir, "t.parquet")
	return file, fmt.Sprintf("%+v", opt), s.WriteParquet(file, opt)
}

// randomCount asks for some columns, or all, of which it makes a few numbers.
func randomCount(rng *rand.Rand, names []string, file string) string {
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	some := 1 + rng.IntN(min(len(names), 1<<rng.IntN(9)))
	var counts []string
	for _, name := range names[:some] {
		counts = append(counts, "count("+name+")")
	}
	return fmt.Sprintf("SELECT %s FROM '%s'", strings.Join(counts, ", "), file)
}

// Whatever a file holds and how it is written: who reads it stays within the memory limit, or says
// which would be enough. Would catch decoders that take memory by a length in the file, or by the
// rows of a batch, unasked.
func TestReadersStayWithinLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for i := range *rssFlag {
		number := *firstFlag + i
		rng := rand.New(rand.NewPCG(*seedFlag, uint64(number)))
		shape := randomShape(rng)
		file, how, err := writeShape(rng, t.TempDir(), shape)
		if err != nil {
			t.Fatal(err)
		}
		limit := int64(128+rng.IntN(3)*rng.IntN(100)) << 20
		threads := 1 + rng.IntN(8)
		query := randomCount(rng, shape.Names(), file)
		ok := t.Run(fmt.Sprint(number), func(t *testing.T) {
			withinRaised(t, limit, query, "--threads", fmt.Sprint(threads))
		})
		if !ok {
			t.Logf("-seed=%d -first=%d -rss=1: %v; %s", *seedFlag, number, shape, how)
		}
		if err := os.Remove(file); err != nil {
			t.Error(err)
		}
	}
}

// The shapes that took several times the limit, each at a limit that it may need more than.
func TestReadersOfLargeThings(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	one := shapes.ParquetOptions{Codec: compress.Codecs.Snappy, PageBytes: 1 << 20, GroupRows: 1 << 20, BatchRows: 1}
	value := func(rows int, bytes int) shapes.Shape {
		return shapes.Shape{Rows: rows, Texts: 1, TextBytes: bytes, Seed: 1}
	}
	dictionary := one
	dictionary.Dictionary = true
	repeated := value(8, 20<<20)
	repeated.Distinct = 3
	groups := one
	groups.GroupRows, groups.BatchRows = 1, 1
	wide := shapes.Shape{Rows: 400, Texts: 5000, TextBytes: 10, Seed: 2}
	wideParquet := one
	wideParquet.GroupRows, wideParquet.BatchRows = 400, 100
	for _, c := range []struct {
		file  string
		write func(file string) error
		query string
	}{
		{"values.parquet", func(file string) error { return value(3, 60<<20).WriteParquet(file, one) }, "count(t0)"},
		{"dictionary.parquet", func(file string) error { return repeated.WriteParquet(file, dictionary) }, "count(t0)"},
		{"groups.parquet", func(file string) error {
			return shapes.Shape{Rows: 200, Numbers: 1000}.WriteParquet(file, groups)
		}, "count(n7)"},
		{"wide.parquet", func(file string) error { return wide.WriteParquet(file, wideParquet) }, countsOf(wide.Names())},
		{"field.csv", value(1, 50<<20).WriteCSV, "count(t0)"},
		{"fields.csv", value(4, 20<<20).WriteCSV, "count(t0)"},
		{"wide.csv", wide.WriteCSV, countsOf(wide.Names())},
		{"wider.csv", shapes.Shape{Rows: 2, Numbers: 200_000}.WriteCSV, "count(n7)"},
		{"value.json", value(1, 50<<20).WriteJSON, "count(t0)"},
		{"values.json", value(4, 20<<20).WriteJSON, "count(t0)"},
		{"wide.json", wide.WriteJSON, countsOf(wide.Names())},
		{"wider.json", shapes.Shape{Rows: 2, Numbers: 200_000}.WriteJSON, "count(n7)"},
		{"batch.arrow", func(file string) error { return value(6, 10<<20).WriteArrow(file, shapes.ArrowOptions{BatchRows: 6}) }, "count(t0)"},
		{"window.csv.zst", func(file string) error { return writeWindow(file, 128<<20) }, "count(n)"},
	} {
		t.Run(c.file, func(t *testing.T) {
			file := filepath.Join(dir, c.file)
			if err := c.write(file); err != nil {
				t.Fatal(err)
			}
			withinRaised(t, 128<<20, fmt.Sprintf("SELECT %s FROM '%s'", c.query, file), "--threads", "2")
			if err := os.Remove(file); err != nil {
				t.Error(err)
			}
		})
	}
}

// countsOf counts the values of columns.
func countsOf(names []string) string { return "count(" + strings.Join(names, "), count(") + ")" }

// writeWindow writes text whose decompressor is to keep so many bytes of it.
func writeWindow(file string, window int) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := zstd.NewWriter(f, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	line := []byte("n\n" + strings.Repeat("1234567\n", 1<<17))
	for range 2 * window / len(line) {
		if _, err := w.Write(line); err != nil {
			return err
		}
		line = line[len(line)%8:] // without the name of the column
	}
	return w.Close()
}
