package lake

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/vfs"
)

// bitmapOf writes rows as a bitmap with its magic number, with containers of each kind.
func bitmapOf(rows []int64) []byte {
	out := binary.LittleEndian.AppendUint32(nil, vectorMagic)
	byHigh := map[int64][]int64{}
	var highs []int64
	for _, r := range rows {
		if byHigh[r>>32] == nil {
			highs = append(highs, r>>32)
		}
		byHigh[r>>32] = append(byHigh[r>>32], r&(1<<32-1))
	}
	out = binary.LittleEndian.AppendUint64(out, uint64(len(highs)))
	for _, high := range highs {
		out = binary.LittleEndian.AppendUint32(out, uint32(high))
		out = appendRoaring(out, byHigh[high])
	}
	return out
}

// appendRoaring writes a bitmap of 32 bits: containers of more than a hundred neighbours are runs.
func appendRoaring(out []byte, rows []int64) []byte {
	var keys []int64
	byKey := map[int64][]int64{}
	for _, r := range rows {
		if byKey[r>>16] == nil {
			keys = append(keys, r>>16)
		}
		byKey[r>>16] = append(byKey[r>>16], r&0xFFFF)
	}
	isRun := func(k int64) bool { v := byKey[k]; return len(v) > 100 && v[len(v)-1]-v[0] == int64(len(v)-1) }
	runs := make([]byte, (len(keys)+7)/8)
	for i, k := range keys {
		if isRun(k) {
			runs[i/8] |= 1 << (i % 8)
		}
	}
	hasRuns := slices.ContainsFunc(keys, isRun)
	if hasRuns {
		out = binary.LittleEndian.AppendUint32(out, uint32(cookieRuns|(len(keys)-1)<<16))
		out = append(out, runs...)
	} else {
		out = binary.LittleEndian.AppendUint32(out, cookieNoRuns)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(keys)))
	}
	for _, k := range keys {
		out = binary.LittleEndian.AppendUint16(out, uint16(k))
		out = binary.LittleEndian.AppendUint16(out, uint16(len(byKey[k])-1))
	}
	if !hasRuns || len(keys) >= offsetsFrom {
		out = append(out, make([]byte, 4*len(keys))...)
	}
	for _, k := range keys {
		v := byKey[k]
		switch {
		case isRun(k):
			out = binary.LittleEndian.AppendUint16(out, 1)
			out = binary.LittleEndian.AppendUint16(out, uint16(v[0]))
			out = binary.LittleEndian.AppendUint16(out, uint16(len(v)-1))
		case len(v) <= arrayMax:
			for _, row := range v {
				out = binary.LittleEndian.AppendUint16(out, uint16(row))
			}
		default:
			set := make([]byte, containerBytes)
			for _, row := range v {
				set[row/8] |= 1 << (row % 8)
			}
			out = append(out, set...)
		}
	}
	return out
}

// Would catch rows that a container of some kind gives wrong, and damage that is no error.
func TestVector(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 24 {
		var rows []int64
		share := []float64{0.001, 0.05, 0.5, 0.99}[round%4]
		for row := int64(0); row < 200_000; row++ {
			if rng.Float64() < share || row > 70_000 && row < 70_400 {
				rows = append(rows, row)
			}
		}
		if round%3 == 0 {
			rows = append(rows, 1<<32+5, 1<<33+70_000)
		}
		data := bitmapOf(rows)
		got, err := vectorRows(nil, data, 1<<40)
		if err != nil || !slices.Equal(got, rows) {
			t.Fatalf("round %d: %d rows, %v, want %d", round, len(got), err, len(rows))
		}
		if _, err := vectorRows(nil, data, rows[len(rows)-1]); !errors.Is(err, errDamaged) {
			t.Fatalf("a row behind the end: %v", err)
		}
		if _, err := vectorRows(nil, data[:rng.IntN(len(data))], 1<<40); !errors.Is(err, errDamaged) {
			t.Fatalf("a bitmap that is cut off: %v", err)
		}
	}
}

// Would catch a panic, or rows beyond the file, of any bytes.
func FuzzVector(f *testing.F) {
	f.Add(bitmapOf([]int64{1, 2, 3, 100_000, 1 << 33}))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := vectorRows(nil, data, 1<<20)
		for _, r := range rows {
			if err == nil && (r < 0 || r >= 1<<20) {
				t.Fatalf("row %d", r)
			}
		}
	})
}

// Would catch a panic of any bytes that follow the head of a manifest.
func FuzzAvro(f *testing.F) {
	found, _ := filepath.Glob("../../plan/testdata/lake/*/metadata/*.avro")
	for _, name := range found {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		_ = readAvro(data, func(a *avroFile, record map[string]any) error {
			if of, ok := record["data_file"].(map[string]any); ok {
				_, _ = newDataFile(of)
				_ = partitionNames(a.schema)
			}
			return nil
		})
	})
}

// The hashes of the table spec, appendix B; would catch a bucket that leaves out rows.
func TestMurmur3(t *testing.T) {
	long := func(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }
	for _, c := range []struct {
		data []byte
		want int32
	}{
		{long(34), 2017239379}, {long(17486), -653330422}, {long(81068000000), -662762989},
		{long(1510871468000000), -2047944441}, {[]byte("iceberg"), 1210000089}, {[]byte{0, 1, 2, 3}, -188683207},
		{twosComplement(big.NewInt(1420)), -500754589},
	} {
		if got := int32(murmur3(c.data)); got != c.want {
			t.Errorf("%x: %d, want %d", c.data, got, c.want)
		}
	}
}

// Would catch a bound that leaves out rows of a partition.
func TestPartitionBounds(t *testing.T) {
	micros := &arrow.TimestampType{Unit: arrow.Microsecond}
	for _, c := range []struct {
		transform string
		value     any
		typ       arrow.DataType
		low, high int64
	}{
		{"day", int64(1), arrow.PrimitiveTypes.Date32, 1, 1},
		{"day", int64(-1), micros, -86_400_000_000, -1},
		{"month", int64(1), arrow.PrimitiveTypes.Date32, 31, 58},
		{"month", int64(-1), arrow.PrimitiveTypes.Date32, -31, -1},
		{"year", int64(1), arrow.PrimitiveTypes.Date32, 365, 729},
		{"hour", int64(2), micros, 7_200_000_000, 10_799_999_999},
		{"truncate[10]", int64(-10), arrow.PrimitiveTypes.Int32, -10, -1},
		{"identity", int64(7), arrow.PrimitiveTypes.Int64, 7, 7},
	} {
		b := partitionBounds(c.transform, c.value, c.typ)
		if b.Low == nil || b.High == nil || b.Low.Integer != c.low || b.High.Integer != c.high || !b.NoNulls {
			t.Errorf("%s of %v: %+v, want %d to %d", c.transform, c.value, b, c.low, c.high)
		}
	}
	if b := partitionBounds("void", nil, micros); b.AllNulls || b.Low != nil {
		t.Errorf("void: %+v", b)
	}
	if b := partitionBounds("of tomorrow", int64(3), micros); b.Low != nil || b.High != nil {
		t.Errorf("an unknown transform: %+v", b)
	}
}

// Would catch bounds of Delta that leave out values: times are cut off at milliseconds.
func TestJSONValue(t *testing.T) {
	micros := deltaTypes["timestamp"]
	decimal, _ := decimalType("decimal(9,2)")
	for _, c := range []struct {
		text   string
		typ    arrow.DataType
		isHigh bool
		want   int64
		none   bool
	}{
		{`"1970-01-01T00:00:01.000Z"`, micros, false, 1_000_000, false}, {`"1970-01-01T00:00:01.000Z"`, micros, true, 1_001_000, false},
		{`12.5`, decimal, false, 1250, false}, {`12.505`, decimal, false, 0, true}, {`1e999999999`, decimal, false, 0, true},
		{`"1970-01-03"`, arrow.PrimitiveTypes.Date32, false, 2, false}, {`null`, micros, false, 0, true}, {``, micros, true, 0, true},
		{`"x"`, arrow.PrimitiveTypes.Int64, false, 0, true}, {`9223372036854775807`, arrow.PrimitiveTypes.Int64, false, 1<<63 - 1, false},
	} {
		v := jsonValue(json.RawMessage(c.text), c.typ, c.isHigh)
		if (v == nil) != c.none || v != nil && v.Integer != c.want {
			t.Errorf("%s: %+v, want %d", c.text, v, c.want)
		}
	}
}

// writeLog writes a log of Delta, a version for each text.
func writeLog(t *testing.T, versions ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "table")
	if err := os.MkdirAll(filepath.Join(dir, logDir), 0o777); err != nil {
		t.Fatal(err)
	}
	for i, text := range versions {
		name := filepath.Join(dir, logDir, "0000000000000000000"+string(rune('0'+i))+".json")
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	logProtocol = `{"protocol":{"minReaderVersion":3,"readerFeatures":["deletionVectors"]}}`
	logMetadata = `{"metaData":{"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}"}}`
	logAdd      = `{"add":{"path":"x%20y.parquet","partitionValues":{},"size":1,"stats":"{\"numRecords\":10}"}}`
)

// Would catch a file that a later version removes and that stays, a vector that replaces none, and damage that is read.
func TestDeltaLog(t *testing.T) {
	withVector := strings.Replace(logAdd, `"size":1`, `"size":1,"deletionVector":{"storageType":"i","pathOrInlineDv":"00000","sizeInBytes":4,"cardinality":4}`, 1)
	remove := `{"remove":{"path":"x%20y.parquet"}}`
	for _, c := range []struct {
		name     string
		versions []string
		files    int
		live     int64
		want     string
	}{
		{"a file", []string{logProtocol + logMetadata + logAdd}, 1, 10, ""},
		{"removed", []string{logProtocol + logMetadata + logAdd, remove}, 0, 0, ""},
		{"with a vector", []string{logProtocol + logMetadata + logAdd, remove + withVector}, 1, 6, ""},
		{"no metadata", []string{logProtocol + logAdd}, 0, 0, "no protocol or no metadata"},
		{"cut off", []string{logProtocol + logMetadata + logAdd[:40]}, 0, 0, "action 3: damaged metadata"},
		{"unknown feature", []string{strings.Replace(logProtocol, "deletionVectors", "timeTravelToMars", 1) + logMetadata}, 0, 0, "the table needs timeTravelToMars"},
		{"unknown version", []string{strings.Replace(logProtocol, "3", "4", 1) + logMetadata}, 0, 0, "version 4 of the protocol"},
		{"unknown type", []string{logProtocol + strings.Replace(logMetadata, "long", "variant", 1)}, 0, 0, `column "a" is of the type variant`},
	} {
		table, err := Open(context.Background(), vfs.OS, Delta, writeLog(t, c.versions...), Options{})
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
			continue
		}
		if err != nil || len(table.Files) != c.files || c.files > 0 && table.Files[0].Live() != c.live {
			t.Errorf("%s: %+v, %v", c.name, table, err)
			continue
		}
		if c.files > 0 && !strings.HasSuffix(table.Files[0].Path, "x y.parquet") {
			t.Errorf("%s: the path is %s", c.name, table.Files[0].Path)
		}
	}
	dir := writeLog(t, logProtocol+logMetadata+logAdd, remove, logAdd)
	if err := os.Remove(filepath.Join(dir, logDir, "00000000000000000001.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), vfs.OS, Delta, dir, Options{}); err == nil || !strings.Contains(err.Error(), "version 1 of the log is missing") {
		t.Errorf("a version is missing: %v", err)
	}
}
