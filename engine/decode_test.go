package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
)

// pagedTypes are the types of columns whose pages devices decode.
var pagedTypes = []arrow.DataType{
	arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Float64,
	arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Timestamp_us, &arrow.Decimal128Type{Precision: 12, Scale: 2},
	arrow.BinaryTypes.String, arrow.BinaryTypes.String, arrow.BinaryTypes.Binary,
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16,
	arrow.PrimitiveTypes.Float32,
}

// randomPages returns a Parquet file of batches, written in a random way.
func randomPages(t *testing.T, rng *rand.Rand, schema *arrow.Schema, batches []arrow.RecordBatch, groupRows int64) []byte {
	t.Helper()
	codecs := []compress.Compression{
		compress.Codecs.Uncompressed, compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Snappy,
		compress.Codecs.Snappy, compress.Codecs.Snappy, compress.Codecs.Zstd, compress.Codecs.Zstd, compress.Codecs.Gzip,
		compress.Codecs.Brotli, compress.Codecs.Lz4Raw,
	}
	opts := []parquet.WriterProperty{
		parquet.WithCompression(codecs[rng.IntN(len(codecs))]),
		parquet.WithDictionaryDefault(rng.IntN(2) == 0),
		parquet.WithDataPageVersion([]parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV1, parquet.DataPageV2}[rng.IntN(3)]),
		parquet.WithDataPageSize([]int64{100, 1 << 10, 8 << 10, 1 << 20}[rng.IntN(4)]),
		parquet.WithMaxRowGroupLength(groupRows),
		parquet.WithStats(rng.IntN(4) > 0),
		parquet.WithStoreDecimalAsInteger(true),
	}
	for i, f := range schema.Fields() {
		some := pagedEncodings(f.Type)
		if slices.ContainsFunc(batches, func(b arrow.RecordBatch) bool { return b.Column(i).NullN() > 0 }) {
			// The writer's deltas panic at a page without values behind another.
			some = slices.DeleteFunc(some, func(e parquet.Encoding) bool { return e != parquet.Encodings.ByteStreamSplit })
		}
		if len(some) > 0 && rng.IntN(3) == 0 {
			opts = append(opts, parquet.WithDictionaryFor(f.Name, false), parquet.WithEncodingFor(f.Name, some[rng.IntN(len(some))]))
		}
	}
	return parquetBytes(t, schema, batches, opts...)
}

// writeRandomPages writes such a file, and returns its name.
func writeRandomPages(t *testing.T, rng *rand.Rand, schema *arrow.Schema, batches []arrow.RecordBatch, groupRows int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := os.WriteFile(path, randomPages(t, rng, schema, batches, groupRows), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// pagedEncodings are what pages of a type may have besides plain values and codes of a dictionary.
func pagedEncodings(t arrow.DataType) []parquet.Encoding {
	switch id := t.ID(); {
	case id == arrow.STRING, id == arrow.BINARY:
		return []parquet.Encoding{
			parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaByteArray,
		}
	case arrow.IsFloating(id):
		return []parquet.Encoding{parquet.Encodings.ByteStreamSplit}
	}
	return []parquet.Encoding{
		parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.ByteStreamSplit,
	}
}

// parquetBytes returns a Parquet file of batches.
func parquetBytes(t *testing.T, schema *arrow.Schema, batches []arrow.RecordBatch, opts ...parquet.WriterProperty) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &file, parquet.NewWriterProperties(opts...), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.WriteBuffered(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// answerFile answers a query over a file.
func answerFile(t *testing.T, eng *engine.Engine, path string, q query.Query) (*grouptest.Rows, engine.Stats, error) {
	t.Helper()
	src, err := dataset.Open(context.Background(), []string{path}, dataset.Options{})
	if err != nil {
		return nil, engine.Stats{}, err
	}
	return answerWithStats(eng, src, q)
}

// answerWithStats answers a query over a source.
func answerWithStats(eng *engine.Engine, src scan.Source, q query.Query) (*grouptest.Rows, engine.Stats, error) {
	result, err := eng.Aggregate(context.Background(), src, q)
	if err != nil {
		return nil, engine.Stats{}, err
	}
	defer result.Release()
	rows, err := grouptest.ReadAll(result, len(q.Keys))
	return rows, result.Stats(), err // the statistics of a query that has failed, too
}

// hostDecoder returns an engine of a device of the host, with random knobs.
func hostDecoder(t *testing.T, rng *rand.Rand) *engine.Engine {
	t.Helper()
	opt := engine.Options{Device: "host:" + []string{"16MiB", "64MiB", "256MiB"}[rng.IntN(3)], Threads: 1 + rng.IntN(4)}
	onDevice(t, &opt)
	knobs := testknobs.Engine{Device: testknobs.Device{
		TileRows: []int{0, 1000, 4000}[rng.IntN(3)], Streams: []int{0, 1, 2}[rng.IntN(3)],
		Groups: []int64{0, 10, 1 << 30}[rng.IntN(3)], Count: 1 + rng.IntN(2), NoDecode: rng.IntN(10) == 0,
	}}
	return openChecked(t, testknobs.With(opt, knobs))
}

// pagedFuncs are functions that a device has.
var pagedFuncs = []query.Func{
	query.CountStar, query.Sum, query.Sum, query.Min, query.Max, query.Avg, query.Count, query.StddevSamp, query.Median, query.QuantileDisc,
	query.CountDistinct, query.MinN, query.MaxN,
}

// stringFuncs are functions of strings that a device has.
var stringFuncs = []query.Func{query.Min, query.Max, query.CountDistinct, query.MinN, query.MaxN}

// pagedQuery returns a query of such aggregates as a device has.
func pagedQuery(rng *rand.Rand, schema *arrow.Schema) query.Query {
	q := query.Query{Overflow: query.OverflowWiden}
	for range min(rng.IntN(16), 1) * (1 + rng.IntN(3)) {
		field := schema.Field(rng.IntN(schema.NumFields()))
		if arrow.IsFloating(field.Type.ID()) && rng.IntN(10) > 0 { // whose keys the CPU packs
			field = schema.Field(0)
		}
		q.Keys = append(q.Keys, query.Key{Column: field.Name, Name: fmt.Sprintf("k%d", len(q.Keys))})
	}
	for range 1 + rng.IntN(4) {
		a := query.Aggregate{
			Func: pagedFuncs[rng.IntN(len(pagedFuncs))],
			Name: fmt.Sprintf("a%d", len(q.Aggregates)),
		}
		if a.Func.Param() == query.FractionParam {
			a.Fraction = rng.Float64()
		}
		if a.Func.Param() == query.LengthParam {
			a.Length = 1 + rng.IntN(7)
		}
		if a.Func != query.CountStar {
			field := schema.Field(rng.IntN(schema.NumFields()))
			a.Args = []string{field.Name}
			if !grouptest.Suits(a.Func, field.Type) || arrow.IsBaseBinary(field.Type.ID()) && !slices.Contains(stringFuncs, a.Func) && rng.IntN(10) > 0 {
				a.Func, a.Fraction, a.Length = query.Count, 0, 0
			}
		}
		q.Aggregates = append(q.Aggregates, a)
	}
	return q
}

// Would catch a device that decodes pages to other rows than the CPU: of every type, codec, encoding,
// page size and pattern of NULLs that the writer knows.
func TestDecodeRandom(t *testing.T) {
	seed := newSeed(t)
	queries := 400
	if testing.Short() {
		queries = 60
	}
	// Chance decides what a device decodes: as many queries are asked as give some of each kind.
	decoded, ofStrings, folded, asked := 0, 0, 0, 0
	for ; asked < queries || ofStrings == 0 || folded == 0; asked++ {
		if asked == 20*queries {
			t.Fatalf("rows of %d of %d queries were decoded, %d with keys of strings, %d with folds of strings", decoded, asked, ofStrings, folded)
		}
		rng := rand.New(rand.NewPCG(seed, uint64(asked)))
		schema, batches := grouptest.RandomTable(rng, grouptest.RandomRows(rng)/4, pagedTypes...)
		q := pagedQuery(rng, schema)
		want, err := grouptest.Oracle(schema, batches, q)
		if err != nil {
			continue
		}
		path := writeRandomPages(t, rng, schema, batches, []int64{100, 3000, 1 << 20}[rng.IntN(3)])
		eng := hostDecoder(t, rng)
		got, stats, err := answerFile(t, eng, path, q)
		if err != nil {
			t.Fatalf("query %d, %v over %v: %v", asked, q.Aggregates, q.Keys, err)
		}
		if err := grouptest.Equal(want, got); err != nil {
			t.Fatalf("query %d, %v over %v of %v, %+v: %v", asked, q.Aggregates, q.Keys, schema, stats.Device, err)
		}
		if stats.Device.Decoded > 0 {
			decoded++
			if slices.ContainsFunc(q.Keys, func(k query.Key) bool { return isStrings(schema, k.Column) }) {
				ofStrings++
			}
			if slices.ContainsFunc(q.Aggregates, func(a query.Aggregate) bool {
				return slices.Contains(stringFuncs, a.Func) && isStrings(schema, a.Args[0])
			}) {
				folded++
			}
		}
	}
	t.Logf("rows of %d of %d queries were decoded, %d with keys of strings, %d with folds of strings", decoded, asked, ofStrings, folded)
}

func isStrings(schema *arrow.Schema, column string) bool {
	fields, _ := schema.FieldsByName(column)
	return arrow.IsBaseBinary(fields[0].Type.ID())
}

// tableOf returns a random table whose columns c0 and c1 have two types.
func tableOf(rng *rand.Rand, c0, c1 arrow.DataType) (*arrow.Schema, []arrow.RecordBatch) {
	for {
		schema, batches := grouptest.RandomTable(rng, 9000, c0, c1)
		if schema.NumFields() > 1 && schema.Field(0).Type == c0 && schema.Field(1).Type == c1 {
			return schema, batches
		}
	}
}

// Would catch an encoding of pages whose files no device decodes after all.
func TestDecodeEncodings(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 1))
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String} {
		schema, batches := tableOf(rng, arrow.PrimitiveTypes.Int64, typ)
		key, arg := "c0", "c1"
		if typ == arrow.BinaryTypes.String {
			key, arg = arg, key
		}
		q := query.Query{Keys: []query.Key{{Column: key}}, Aggregates: []query.Aggregate{{Func: query.Max, Args: []string{arg}, Name: "n"}}}
		want, err := grouptest.Oracle(schema, batches, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, encoding := range append(pagedEncodings(typ), parquet.Encodings.Plain) {
			for _, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy} {
				for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
					path := writeParquet(t, schema, batches, parquet.WithCompression(codec), parquet.WithDataPageVersion(version),
						parquet.WithDictionaryFor("c1", false), parquet.WithEncodingFor("c1", encoding), parquet.WithMaxRowGroupLength(2000),
						parquet.WithDataPageSize(16<<10), parquet.WithBatchSize(100)) // pages of less than a piece of snappy
					opt := engine.Options{Device: "host:64MiB", Threads: 1}
					onDevice(t, &opt)
					got, stats, err := answerFile(t, openChecked(t, opt), path, q)
					if err == nil {
						err = grouptest.Equal(want, got)
					}
					if err != nil {
						t.Errorf("%s, %s, %s, version %v: %v", typ, encoding, codec, version, err)
					}
					if decodes := encoding != parquet.Encodings.DeltaByteArray; decodes != (stats.Device.Decoded > 0) {
						t.Errorf("%s, %s, %s, version %v: %d rows were decoded", typ, encoding, codec, version, stats.Device.Decoded)
					}
				}
			}
		}
	}
}

// Would catch a device that decodes no more once the pages of a tile are too many for its lists.
func TestDecodeSmallPages(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 1))
	schema, batches := tableOf(rng, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64)
	path := writeParquet(t, schema, batches, parquet.WithDictionaryDefault(false), parquet.WithMaxRowGroupLength(100),
		parquet.WithBatchSize(3), parquet.WithDataPageSize(1))
	q := query.Query{Keys: []query.Key{{Column: "c0"}}, Aggregates: []query.Aggregate{{Func: query.Max, Args: []string{"c1"}, Name: "n"}}}
	want, err := grouptest.Oracle(schema, batches, q)
	if err != nil {
		t.Fatal(err)
	}
	opt := engine.Options{Device: "host:64MiB", Threads: 1}
	onDevice(t, &opt)
	knobs := testknobs.Engine{Device: testknobs.Device{TileRows: 9000}}
	got, stats, err := answerFile(t, openChecked(t, testknobs.With(opt, knobs)), path, q)
	if err == nil {
		err = grouptest.Equal(want, got)
	}
	if err != nil || stats.Device.Decoded < stats.RowsRead*3/4 {
		t.Errorf("%d of %d rows were decoded: %v", stats.Device.Decoded, stats.RowsRead, err)
	}
}

// Would catch a plan that does not say who decodes a file, or why the CPU does.
func TestDecodeExplained(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	schema, batches := grouptest.RandomTable(rng, 2000, arrow.PrimitiveTypes.Int64)
	for codec, want := range map[compress.Compression]string{
		compress.Codecs.Snappy: "decode: the device, the pages of all columns",
		compress.Codecs.Gzip:   "decode: the CPU, since pages are compressed with GZIP, and no key is a string",
	} {
		path := writeParquet(t, schema, batches, parquet.WithCompression(codec))
		src, err := dataset.Open(t.Context(), []string{path}, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		eng := openChecked(t, engine.Options{Device: "host:64MiB"})
		plan, err := eng.Explain(t.Context(), src, query.Query{Keys: []query.Key{{Column: "c0"}}, Aggregates: []query.Aggregate{{Func: query.CountStar}}})
		if err != nil {
			t.Fatal(err)
		}
		if text := plan.String(); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", codec, want, text)
		}
	}
}

// Would catch a query that hangs, or answers otherwise, where a call of a device fails while pages are
// on their way to it, and one that is cancelled then.
func TestDecodeFaults(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	schema, batches := grouptest.RandomTable(rng, 9000, arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String)
	q := query.Query{Keys: []query.Key{{Column: "c0"}, {Column: "c1"}}, Aggregates: []query.Aggregate{{Func: query.CountStar, Name: "n"}}}
	want, err := grouptest.Oracle(schema, batches, q)
	if err != nil {
		t.Fatal(err)
	}
	path := writeRandomPages(t, rng, schema, batches, 500)
	for name, groups := range map[string]int64{"decode": 0, "decode to partitions": 1 << 30} {
		failEach(t, name, testknobs.Engine{Device: testknobs.Device{TileRows: 1000, Groups: groups}}, 11, func(t *testing.T, knobs testknobs.Engine) {
			eng := openChecked(t, testknobs.With(engine.Options{Device: "host:64MiB", Threads: 3}, knobs))
			got, _, err := answerFile(t, eng, path, q)
			if err == nil {
				err = grouptest.Equal(want, got)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	for at := range 20 {
		eng := openChecked(t, engine.Options{Device: "host:64MiB", Threads: 3})
		src, err := dataset.Open(t.Context(), []string{path}, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(at)*200*time.Microsecond, cancel)
		if result, err := eng.Aggregate(ctx, src, q); err == nil {
			for result.Next() {
			}
			result.Release()
		}
		cancel()
	}
}

// Would catch a damaged file that a device reads otherwise than the CPU: another answer, another
// error, or none.
func TestDecodeMutated(t *testing.T) {
	seed := newSeed(t)
	files := 2000
	if testing.Short() {
		files = 200
	}
	rng := rand.New(rand.NewPCG(seed, 7))
	open := func(opt engine.Options) *engine.Engine {
		opt.Allocator = memory.NewGoAllocator() // which counts nothing: pqarrow loses memory where a footer is damaged
		eng, err := engine.Open(opt)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = eng.Close() })
		return eng
	}
	opt := engine.Options{Device: "host:64MiB", Threads: 2}
	onDevice(t, &opt)
	cpu, device := open(engine.Options{Device: "cpu", Threads: 1}), open(opt)
	var refused, failed int
	path := filepath.Join(t.TempDir(), "t.parquet")
	var file []byte
	var q query.Query
	for i := range files {
		if i%20 == 0 {
			key := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String}[rng.IntN(2)]
			schema, batches := grouptest.RandomTable(rng, 1500, key, arrow.PrimitiveTypes.Int32)
			q = query.Query{Keys: []query.Key{{Column: "c0"}}, Aggregates: []query.Aggregate{
				{Func: query.Max, Args: []string{"c1"}, Name: "m"}, {Func: query.CountStar, Name: "n"},
			}}
			file = randomPages(t, rng, schema, batches, 1<<20) // so that only one error can come first
		}
		mutated := slices.Clone(file)
		for range 1 + rng.IntN(3) {
			mutated[rng.IntN(len(mutated))] ^= 1 << rng.IntN(8)
		}
		if err := os.WriteFile(path, mutated, 0o600); err != nil {
			t.Fatal(err)
		}
		want, _, wantErr := answerFile(t, cpu, path, q)
		got, stats, err := answerFile(t, device, path, q)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("file %d: error %v, want %v", i, err, wantErr)
		}
		if stats.Device != nil && stats.Device.Refused > 0 {
			refused++
		}
		if err != nil {
			failed++
			continue
		}
		if err := grouptest.Equal(want, got); err != nil {
			t.Fatalf("file %d: %v", i, err)
		}
	}
	if failed == 0 || refused == 0 && !testing.Short() {
		t.Errorf("%d of %d files have errors, %d rows that the device has refused", failed, files, refused)
	}
}

// A damaged page is refused, by devices as by the CPU, also where all its rows are NULL, so that no value is needed.
func TestDecodeDamagedNulls(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int32}, {Name: "v", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	const rows = 3000
	keys, nulls := make([]any, rows), make([]any, rows)
	for i := range keys {
		keys[i] = int64(i % 7)
	}
	batch := grouptest.Batch(schema, grouptest.Array(schema.Field(0).Type, keys),
		grouptest.Array(schema.Field(1).Type, nulls), grouptest.Array(schema.Field(2).Type, nulls))
	for _, c := range []struct {
		properties []parquet.WriterProperty
		head       []byte // of the values of a page, or before them
		at         int    // of the byte that is damaged, from head on
		damaged    byte
		columns    []string
	}{
		{ // no differences, in blocks of 128, of 4 miniblocks: of none
			[]parquet.WriterProperty{
				parquet.WithDictionaryDefault(false),
				parquet.WithEncodingFor("v", parquet.Encodings.DeltaBinaryPacked),
				parquet.WithEncodingFor("s", parquet.Encodings.DeltaLengthByteArray),
			}, []byte{128, 1, 4, 0, 0}, 2, 0, []string{"v", "s"},
		},
		// Levels, of which 3,000 are 0, before the width of codes, of 77 bits, which numbers without a value do not have.
		{nil, []byte{3, 0, 0, 0, 0xf0, 0x2e, 0}, 7, 77, []string{"s"}},
	} {
		path := writeParquet(t, schema, []arrow.RecordBatch{batch}, c.properties...)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(whole, c.head); n != 2 {
			t.Fatalf("%d pages have no value, want 2", n)
		}
		for _, column := range c.columns {
			at := bytes.Index(whole, c.head)
			if column == "s" {
				at = bytes.LastIndex(whole, c.head)
			}
			for _, damaged := range []bool{false, true} {
				file := slices.Clone(whole)
				if damaged {
					file[at+c.at] = c.damaged
				}
				if err := os.WriteFile(path, file, 0o600); err != nil {
					t.Fatal(err)
				}
				checkDamaged(t, path, column, damaged)
			}
		}
	}
}

// A dictionary page with fewer strings than its header says is refused, though no row has the last string.
func TestDecodeDamagedDictionary(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int32}, {Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	keys, texts := make([]any, 3000), make([]any, 3000)
	for i := range keys {
		keys[i], texts[i] = int64(i%7), fmt.Sprint("text ", i%50)
	}
	batch := grouptest.Batch(schema, grouptest.Array(schema.Field(0).Type, keys), grouptest.Array(schema.Field(1).Type, texts))
	path := writeParquet(t, schema, []arrow.RecordBatch{batch})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head := []byte{0x4c, 0x15, 2 * 50} // of a dictionary page: field 7 of a page's header, whose field 1 are the entries
	at := bytes.Index(whole, head)
	if at < 0 || bytes.Count(whole, head) != 1 {
		t.Fatal("want one page that is a dictionary of 50 strings")
	}
	for _, entries := range []byte{50, 51, 60} {
		file := slices.Clone(whole)
		file[at+2] = 2 * entries
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		checkDamaged(t, path, "s", entries != 50)
	}
}

// checkDamaged has the CPU and a device answer a query of a column whose page may be damaged.
func checkDamaged(t *testing.T, path, column string, damaged bool) {
	t.Helper()
	q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{
		{Func: query.Count, Args: []string{column}}, {Func: query.Max, Args: []string{column}},
	}}
	var errs [2]string
	for i, device := range []string{"cpu", "host:64MiB"} {
		opt := engine.Options{Device: device, Threads: 2}
		if i > 0 {
			onDevice(t, &opt)
		}
		eng, err := engine.Open(opt)
		if err != nil {
			t.Fatal(err)
		}
		_, stats, err := answerFile(t, eng, path, q)
		errs[i] = fmt.Sprint(err)
		if i > 0 && !damaged && stats.Device.Decoded == 0 {
			t.Errorf("%s: no device has decoded the page", column)
		}
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	}
	if errs[0] != errs[1] || (errs[0] != "<nil>") != damaged {
		t.Errorf("%s, damaged %v: errors %q", column, damaged, errs)
	}
}

// Would catch pages that are counted for nobody, or twice: whoever decodes them, a file has as many.
func TestDecodePagesCounted(t *testing.T) {
	schema, batches := deviceTable(40_000, 300)
	path := writeParquet(t, schema, batches, parquet.WithCompression(compress.Codecs.Snappy),
		parquet.WithMaxRowGroupLength(2000), parquet.WithDataPageSize(4<<10))
	q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.Sum, Args: []string{"v"}}}}
	count := func(stats engine.Stats) (sum scan.PageCount) {
		lists := [][]scan.PageCount{stats.Pages, nil}
		if stats.Device != nil {
			lists[1] = stats.Device.Pages
		}
		for _, p := range slices.Concat(lists...) {
			sum.Pages += p.Pages
			sum.Decompressed += p.Decompressed
		}
		return sum
	}
	var want scan.PageCount
	for i, device := range []string{"cpu", "host:16MiB", "host:64MiB"} {
		eng := openChecked(t, engine.Options{Device: device, Threads: 2})
		_, stats, err := answerFile(t, eng, path, q)
		if err != nil {
			t.Fatal(err)
		}
		got := count(stats)
		if i == 0 {
			want = got
		}
		if got != want || got.Pages < 40 {
			t.Errorf("%s: %+v of %+v and %+v, want %+v", device, got, stats.Pages, stats.Device, want)
		}
	}
}
