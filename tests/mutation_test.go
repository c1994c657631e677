package tests

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
)

var mutationsFlag = flag.Int("mutations", 2500, "how many damaged files TestMutations reads")

// mutate damages a file: bytes that are changed, cut out, doubled, moved, of extreme values or of
// another file.
func mutate(r *rand.Rand, data, other []byte) []byte {
	data = slices.Clone(data)
	for range 1 + r.IntN(3) {
		if len(data) < 16 {
			break
		}
		at := r.IntN(len(data))
		if r.IntN(2) == 0 { // footers and headers are small, and say most
			at = len(data) - 1 - r.IntN(min(len(data), 600))
		}
		to := min(at+1+r.IntN(20), len(data))
		switch r.IntN(16) { // most keep the length: what follows is then read
		case 0:
			data = slices.Delete(data, at, to)
		case 1:
			data = slices.Insert(data, at, data[at:to]...)
		case 2:
			data = data[:at]
		case 3, 4, 5, 6:
			data[at] = byte(r.Uint32())
		case 7, 8:
			for i := at; i < to; i++ {
				data[i] = []byte{0, 0xFF, 0x7F, 0x80}[r.IntN(4)]
			}
		case 9, 10:
			if to-at >= 8 {
				binary.LittleEndian.PutUint64(data[at:], []uint64{1 << 31, 1<<63 - 1, 1 << 62, 1 << 40, 1<<32 - 1}[r.IntN(5)])
			}
		case 11, 12:
			from := r.IntN(len(other))
			copy(data[at:], other[from:min(from+to-at, len(other))])
		default:
			data[at] ^= 1 << r.IntN(8)
		}
	}
	return data
}

// Whatever is damaged in a file, the answer is one or an error that names the file: never a panic,
// a bug that is told as such, or a query without an end.
func TestMutations(t *testing.T) {
	n := *mutationsFlag
	if testing.Short() {
		n = min(n, 400)
	}
	_, batch := salesTable(600)
	dir := t.TempDir()
	var names []string
	files := map[string][]byte{}
	for name, opt := range map[string]sink.Options{
		"plain.parquet": {Codec: "none"}, "snappy.parquet": {RowGroupRows: 200}, "zstd.parquet": {Codec: "zstd", RowGroupRows: 100}, "gzip.parquet": {Codec: "gzip"}, "lz4.parquet": {Codec: "lz4"}, "brotli.parquet": {Codec: "brotli"},
		"plain.arrow": {}, "zstd.arrow": {Codec: "zstd"}, "lz4.arrows": {Codec: "lz4"}, "plain.csv": {}, "packed.csv.gz": {}, "packed.csv.zst": {}, "tabs.tsv": {},
	} {
		path := filepath.Join(dir, name)
		if err := write(path, opt, batch); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
		names = append(names, name)
	}
	for name, data := range smallForeignFiles(t) {
		files[name] = data
		names = append(names, name)
	}
	slices.Sort(names)
	eng, err := engine.Open(engine.Options{Threads: 2, MemoryLimit: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	failed := 0
	for i := range n {
		r := rand.New(rand.NewPCG(*seedFlag, uint64(i)))
		name := names[r.IntN(len(names))]
		path := filepath.Join(dir, "damaged."+name)
		if err := os.WriteFile(path, mutate(r, files[name], files[names[r.IntN(len(names))]]), 0o666); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := readDamaged(ctx, eng, path)
		switch {
		case ctx.Err() != nil:
			t.Errorf("-seed=%d, mutation %d of %s: it has no end", *seedFlag, i, name)
		case errors.Is(err, engine.ErrInternal) || err != nil && strings.Contains(err.Error(), "runtime error") || err != nil && !strings.Contains(err.Error(), "damaged."+name) && !errors.Is(err, engine.ErrQuery) && !errors.Is(err, engine.ErrOverflow):
			t.Errorf("-seed=%d, mutation %d of %s: %v", *seedFlag, i, name, err)
		}
		cancel()
		if err != nil {
			failed++
		}
	}
	t.Logf("%d of %d files were refused", failed, n)
}

// smallForeignFiles returns the files of other writers that are small, by name, where these are beside the project.
func smallForeignFiles(t *testing.T) map[string][]byte {
	files := map[string][]byte{}
	err := filepath.WalkDir(foreignDir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return fs.SkipAll
		}
		if err != nil || entry.IsDir() || filepath.Ext(path) == ".md" {
			return err
		}
		data, err := os.ReadFile(path)
		if len(data) <= 1<<16 {
			files["of "+entry.Name()] = data
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// everything asks for all columns of a file.
func everything(schema *arrow.Schema) query.Query {
	q := query.Query{Aggregates: []query.Aggregate{{Func: query.CountStar}}}
	for i, f := range schema.Fields() {
		if query.CheckReadable(f.Name, f.Type) != nil {
			continue
		}
		name := []string{f.Name}
		if f.Type.ID() == arrow.NULL || len(schema.FieldIndices(f.Name)) > 1 {
			continue
		}
		if len(q.Keys) == 0 {
			q.Keys = []query.Key{{Column: f.Name}}
		}
		q.Aggregates = append(q.Aggregates, query.Aggregate{Func: query.Max, Args: name, Name: fmt.Sprint("max ", i)})
	}
	return q
}

// readDamaged answers salesQuery over a file that may not have the columns any more, and asks for all columns of a file
// of another writer.
func readDamaged(ctx context.Context, eng *engine.Engine, path string) error {
	src, err := dataset.Open(ctx, []string{path}, dataset.Options{})
	if err != nil {
		return err
	}
	q := salesQuery
	if strings.Contains(path, "damaged.of ") {
		q = everything(src.Schema())
	}
	result, err := eng.Aggregate(ctx, src, q)
	if err != nil {
		return err
	}
	defer result.Release()
	for result.Next() {
		for _, column := range result.RecordBatch().Columns() {
			_ = bytes.Clone([]byte(column.String()))
		}
	}
	return result.Err()
}
