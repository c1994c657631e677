package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/klauspost/compress/s2"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/spec"
	"github.com/mpga/mpga/engine/spectest"
	"github.com/mpga/mpga/stream"
	"github.com/mpga/mpga/stream/faultfs"
)

// mixedQuery has states of every form: words, strings, vectors, sets, positions.
var mixedQuery = spec.Query{
	Keys: []spec.Key{{Column: "s"}, {Column: "k"}},
	Aggregates: []spec.Aggregate{
		{Func: spec.CountStar}, {Func: spec.Sum, Args: []string{"v"}}, {Func: spec.Max, Args: []string{"s"}}, {Func: spec.Median, Args: []string{"v"}},
		{Func: spec.List, Args: []string{"s"}}, {Func: spec.Mode, Args: []string{"v"}}, {Func: spec.Last, Args: []string{"s"}}, {Func: spec.ArgMin, Args: []string{"s", "v"}},
		{Func: spec.CountDistinct, Args: []string{"s"}}, {Func: spec.ApproxCountDistinct, Args: []string{"v"}},
	},
}

// mixedTable has keys of groups of about ten rows.
func mixedTable(rows int) (*arrow.Schema, []arrow.RecordBatch) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "s", Type: spectest.DictionaryTypes()[0], Nullable: true}, {Name: "k", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "v", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
	columns := make([][]any, 3)
	for i := range rows {
		columns[0] = append(columns[0], []any{"short", nil, "a string of more than twelve bytes"}[i%3])
		columns[1] = append(columns[1], int64(i%(rows/30+1)))
		columns[2] = append(columns[2], int64(i%7))
	}
	arrays := make([]arrow.Array, 3)
	for i, cells := range columns {
		arrays[i] = spectest.Array(schema.Field(i).Type, cells)
	}
	return schema, []arrow.RecordBatch{spectest.Batch(schema, arrays...)}
}

// TestPartialFaults fails every file operation once: partial states are in their directory whole or
// not at all, a merge gives the right answer or an error, and no file stays open or behind.
func TestPartialFaults(t *testing.T) {
	schema, batches := mixedTable(300)
	want, err := spectest.Oracle(schema, batches, mixedQuery)
	if err != nil {
		t.Fatal(err)
	}
	pieces := cutBatches(rand.New(rand.NewPCG(1, 1)), batches, 2)
	fsys := faultfs.New(stream.OS)
	for n := int64(0); ; n++ { // 0 fails nothing
		dir := t.TempDir()
		fsys.FailAt(n)
		got, err := throughFiles(t, fsys, dir, schema, pieces)
		switch {
		case err == nil:
			if err := spectest.Equal(want, got); err != nil {
				t.Errorf("operation %d: %v", n, err)
			}
		case !errors.Is(err, faultfs.ErrInjected):
			t.Errorf("operation %d: %v", n, err)
		}
		if open := fsys.OpenFiles(); open != 0 {
			t.Errorf("operation %d (%v): %d open files", n, err, open)
		}
		checkLeft(t, dir, n, err)
		if n > 0 && !fsys.Fired() {
			t.Logf("%d operations", n-1)
			return
		}
	}
}

// throughFiles writes partial states of pieces to directories and merges them.
func throughFiles(t *testing.T, fsys stream.FS, dir string, schema *arrow.Schema, pieces [][]arrow.RecordBatch) (*spectest.Rows, error) {
	eng := openChecked(t, engine.WithTestingKnobs(engine.Options{FS: fsys, TempDir: dir, Threads: 2}, engine.TestingKnobs{SpillAll: true, ForceSplits: 1}))
	defer eng.Close()
	var sources [][]engine.Blob
	for i, piece := range pieces {
		path := filepath.Join(dir, string(rune('a'+i)))
		if err := writeDir(eng, fsys, path, scan.Batches(schema, piece)); err != nil {
			return nil, err
		}
		blobs, err := engine.OpenPartialDir(fsys, path)
		if err != nil {
			return nil, err
		}
		sources = append(sources, blobs)
	}
	return mergeAll(eng, sources, engine.MergeOptions{}, len(mixedQuery.Keys))
}

func writeDir(eng *engine.Engine, fsys stream.FS, path string, src scan.Source) (err error) {
	dir, err := engine.CreatePartialDir(fsys, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Abort()) }()
	if _, err := eng.Partial(context.Background(), src, mixedQuery, engine.PartialOptions{Partitions: 4, Create: dir.Create}); err != nil {
		return err
	}
	return dir.Commit()
}

// checkLeft checks that a folder holds whole directories of partial states alone.
func checkLeft(t *testing.T, dir string, n int64, err error) {
	t.Helper()
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		files, _ := os.ReadDir(filepath.Join(dir, e.Name()))
		if strings.HasPrefix(e.Name(), ".") || len(files) != 4 {
			t.Errorf("operation %d (%v): left %s with %d files", n, err, e.Name(), len(files))
		}
	}
}

// Would catch a merge that holds its input in memory, or that cannot spill it.
func TestMergeWithinMemory(t *testing.T) {
	schema, batches := mixedTable(200_000)
	q := mixedQuery
	q.Aggregates = q.Aggregates[:5]
	pieces := cutBatches(rand.New(rand.NewPCG(1, 1)), batches, 3)
	var sources [][]engine.Blob
	var size int64
	eng := openChecked(t, engine.WithTestingKnobs(engine.Options{Threads: 2}, engine.TestingKnobs{MemoryBytes: 2 << 20}))
	for _, piece := range pieces {
		blobs, err := partial(eng, "a piece", scan.Batches(schema, piece), q, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blobs {
			size += int64(len(b.(*memoryBlob).data))
		}
		sources = append(sources, blobs)
	}
	one := openChecked(t, engine.Options{})
	want, err := answer(one, scan.Batches(schema, batches), q)
	if err != nil {
		t.Fatal(err)
	}
	result, err := eng.Merge(context.Background(), sources, engine.MergeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer result.Release()
	got, err := spectest.ReadAll(result, len(q.Keys))
	if err != nil {
		t.Fatal(err)
	}
	if err := spectest.Equal(want, got); err != nil {
		t.Error(err)
	}
	s := result.Stats()
	if s.PartitionsSplit == 0 || s.SpilledBytes == 0 || s.MemoryPeak > 4<<20 {
		t.Errorf("%d B of blobs: %d partitions split, %d B spilled, at most %d B of memory for a budget of 2 MiB", size, s.PartitionsSplit, s.SpilledBytes, s.MemoryPeak)
	}
}

// Would catch partitions that share a key, or lose one.
func TestMergeByPartition(t *testing.T) {
	schema, batches := mixedTable(5_000)
	eng := openChecked(t, engine.Options{})
	defer eng.Close()
	want, err := answer(eng, scan.Batches(schema, batches), mixedQuery)
	if err != nil {
		t.Fatal(err)
	}
	var sources [][]engine.Blob
	for _, piece := range cutBatches(rand.New(rand.NewPCG(2, 1)), batches, 2) {
		blobs, err := partial(eng, "a piece", scan.Batches(schema, piece), mixedQuery, 8)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, blobs)
	}
	all := &spectest.Rows{Schema: want.Schema, Keys: want.Keys}
	for p := range 8 {
		some := [][]engine.Blob{sources[0], {sources[1][p]}} // the others need not be there
		got, err := mergeAll(eng, some, engine.MergeOptions{Partitions: []int{p}}, len(mixedQuery.Keys))
		if err != nil {
			t.Fatal(err)
		}
		all.Cells = append(all.Cells, got.Cells...)
	}
	if err := spectest.Equal(want, all); err != nil {
		t.Error(err)
	}
}

// Would catch states that are merged though they do not belong together, and errors that do not say
// which.
func TestMergeRefuses(t *testing.T) {
	schema, batches := mixedTable(100)
	eng := openChecked(t, engine.Options{})
	defer eng.Close()
	blobs := func(name string, q spec.Query, partitions int) []engine.Blob {
		list, err := partial(eng, name, scan.Batches(schema, batches), q, partitions)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	q := spec.Query{Keys: []spec.Key{{Column: "k"}}}
	other := q
	other.Deterministic = true
	a, b := blobs("a", q, 2), blobs("b", q, 2)
	older := bytes.Clone(a[0].(*memoryBlob).data)
	older[4] = 0
	for _, c := range []struct {
		name    string
		sources [][]engine.Blob
		want    string
		is      error
	}{
		{"nothing", nil, "there are none", engine.ErrPartials},
		{"an empty source", [][]engine.Blob{a, {}}, "source 1 has no blobs", engine.ErrPartials},
		{"another query", [][]engine.Blob{a, blobs("c", other, 2)}, `a, blob 0 and c, blob 0: they are of another query: {"keys":[{"column":"k"}]} and {"keys":[{"column":"k"}],"deterministic":true}`, engine.ErrPartials},
		{"other partitions", [][]engine.Blob{a, blobs("c", q, 4)}, "they are in 2 and 4 partitions", engine.ErrPartials},
		{"a source twice", [][]engine.Blob{a, b, a}, "a, blob 0 and a, blob 0 are of the same run", engine.ErrPartials},
		{"a partition missing", [][]engine.Blob{a, b[:1]}, "partition 1 of 2 is missing beside b, blob 0", engine.ErrPartials},
		{"a partition twice", [][]engine.Blob{a, {b[1], b[1]}}, "are both partition 1", engine.ErrPartials},
		{"two runs in a source", [][]engine.Blob{{a[0], b[1]}}, "a, blob 0 and b, blob 1 are not of the same run", engine.ErrPartials},
		{"another version", [][]engine.Blob{{&memoryBlob{"old", older}, a[1]}}, "old: unknown version: partial states of version 0, this program reads 1", stream.ErrVersion},
		{"a cut", [][]engine.Blob{{&memoryBlob{"short", older[:50]}, a[1]}}, "short: 50 B are too few", stream.ErrCorrupt},
		{"no states", [][]engine.Blob{{&memoryBlob{"text", bytes.Repeat([]byte("text"), 100)}}}, "text: these are no partial states", stream.ErrCorrupt},
	} {
		_, err := mergeAll(eng, c.sources, engine.MergeOptions{}, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// Would catch words that no state has and that crash what reads them: checksums tell of damage, not
// of what another program has written.
func TestMergeMutated(t *testing.T) {
	seed := newSeed(t)
	eng, err := engine.Open(engine.Options{Threads: 1}) // not checked: half a result is the collector's
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	strange := []uint64{0, 1, 2, 1 << 31, 1 << 32, 1<<64 - 1, 1 << 63, 1<<63 - 1, 1 << 40, 100, 1<<32 - 1, 13}
	for i, c := range spectest.Cases() {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		c.Query.Deterministic = i%2 == 0
		blobs, err := partial(eng, c.Name, scan.Batches(c.Schema, c.Batches()), c.Query, 1)
		if err != nil {
			continue
		}
		head, frame := firstFrame(t, blobs[0].(*memoryBlob).data)
		if frame == nil {
			continue
		}
		rows, stride := binary.LittleEndian.Uint32(frame[8:]), binary.LittleEndian.Uint32(frame[12:])
		if rows > 100 {
			continue // the others have the same words
		}
		payload := framePayload(t, frame)
		for range 5 {
			words := bytes.Clone(payload)
			for range 1 + rng.IntN(3) {
				if len(words) > 0 {
					at := 8 * rng.IntN(len(words)/8)
					binary.LittleEndian.PutUint64(words[at:], binary.LittleEndian.Uint64(words[at:])^strange[rng.IntN(len(strange))])
				}
			}
			_, _ = mergeAll(eng, [][]engine.Blob{{&memoryBlob{c.Name, oneFrame(head, rows, stride, words)}}}, engine.MergeOptions{}, len(c.Query.Keys))
		}
	}
}

// firstFrame returns the header of a blob and its first frame, or nil where there is none.
func firstFrame(t testing.TB, data []byte) (head, frame []byte) {
	t.Helper()
	at := 16 + int(binary.LittleEndian.Uint32(data[8:]))
	if at+36 == len(data) {
		return data[:at], nil
	}
	n := int(binary.LittleEndian.Uint64(data[at+24:]))
	return data[:at], data[at : at+40+n]
}

// framePayload returns the words of a frame.
func framePayload(t testing.TB, frame []byte) []byte {
	t.Helper()
	if frame[5] == 0 {
		return frame[40:]
	}
	words, err := s2.Decode(nil, frame[40:])
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// FuzzMerge merges a blob of arbitrary words behind right checksums: an answer or an error.
func FuzzMerge(f *testing.F) {
	schema, batches := mixedTable(20)
	eng, err := engine.Open(engine.Options{Threads: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { eng.Close() })
	deterministic := spec.Query{Deterministic: true, Aggregates: []spec.Aggregate{{Func: spec.Avg, Args: []string{"v"}}, {Func: spec.Corr, Args: []string{"v", "k"}}}}
	heads := make([][]byte, 2)
	strides := make([]uint32, 2)
	for i, q := range []spec.Query{mixedQuery, deterministic} {
		blobs, err := partial(eng, "seed", scan.Batches(schema, batches), q, 1)
		if err != nil {
			f.Fatal(err)
		}
		head, frame := firstFrame(f, blobs[0].(*memoryBlob).data)
		heads[i], strides[i] = head, binary.LittleEndian.Uint32(frame[12:])
		f.Add(i == 1, binary.LittleEndian.Uint32(frame[8:]), framePayload(f, frame))
		f.Add(i == 1, uint32(1), make([]byte, 8*strides[i]))
	}
	f.Fuzz(func(t *testing.T, exact bool, rows uint32, words []byte) {
		which := 0
		if exact {
			which = 1
		}
		data := oneFrame(heads[which], rows, strides[which], words[:len(words)/8*8])
		_, _ = mergeAll(eng, [][]engine.Blob{{&memoryBlob{"fuzzed", data}}}, engine.MergeOptions{}, 0)
	})
}

// oneFrame makes a blob of a header and one frame that is not compressed.
func oneFrame(head []byte, rows, stride uint32, payload []byte) []byte {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	data := bytes.Clone(head)
	frame := make([]byte, 40)
	copy(frame, "MPGF\x01")
	binary.LittleEndian.PutUint32(frame[8:], rows)
	binary.LittleEndian.PutUint32(frame[12:], stride)
	binary.LittleEndian.PutUint64(frame[16:], uint64(len(payload)/8))
	binary.LittleEndian.PutUint64(frame[24:], uint64(len(payload)))
	binary.LittleEndian.PutUint32(frame[32:], crc32.Update(crc32.Checksum(frame[:32], castagnoli), castagnoli, payload))
	data = append(append(data, frame...), payload...)
	trailer := make([]byte, 36)
	copy(trailer, "MPGT")
	binary.LittleEndian.PutUint64(trailer[8:], 1)
	binary.LittleEndian.PutUint64(trailer[16:], uint64(rows))
	binary.LittleEndian.PutUint64(trailer[24:], uint64(len(data)))
	binary.LittleEndian.PutUint32(trailer[32:], crc32.Checksum(trailer[:32], castagnoli))
	return append(data, trailer...)
}
