package dataset

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
)

// numbersFile returns a file of a format, of several splits, whose rows are numbers from first on.
// Files of as many rows have as many bytes.
func numbersFile(t *testing.T, format string, first, rows int) []byte {
	t.Helper()
	if format == "csv" {
		var text strings.Builder
		text.WriteString("n\n")
		for i := range rows {
			fmt.Fprintf(&text, "%08d\n", first+i)
		}
		return []byte(text.String())
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range rows {
		b.Append(int64(first + i))
	}
	column := b.NewArray()
	batch := array.NewRecordBatch(schema, []arrow.Array{column}, int64(rows))
	if format == "parquet" {
		return scantest.EncodeParquet(t, int64(rows/4), []arrow.RecordBatch{batch})
	}
	var out bytes.Buffer
	w, err := ipc.NewFileWriter(&out, ipc.WithSchema(schema))
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(4) {
		if err := w.Write(batch.NewSlice(i*int64(rows)/4, (i+1)*int64(rows)/4)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Would catch an answer that is half of one file and half of another, and a crash, where a file is
// changed between the moment when it was opened first and the moment when it has been read: by
// another in its place, in its place, by its end that is gone, or by rows that are added. The
// answer is what it was, or an error that says so.
func TestChangedFiles(t *testing.T) {
	const rows = 4000
	r := rand.New(rand.NewPCG(11, 1))
	changes := map[string]func(path string, before, after []byte) error{
		"replaced": func(path string, _, after []byte) error {
			if err := os.WriteFile(path+".new", after, 0o666); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
		"written over": func(path string, _, after []byte) error { return os.WriteFile(path, after, 0o666) },
		"cut": func(path string, before, _ []byte) error {
			return os.Truncate(path, r.Int64N(int64(len(before))))
		},
		"grown": func(path string, before, _ []byte) error {
			return os.WriteFile(path, append(slices.Clone(before), "00000001\n00000002\n"...), 0o666)
		},
		"written over and grown": func(path string, _, after []byte) error {
			return os.WriteFile(path, append(slices.Clone(after), "00000001\n"...), 0o666)
		},
		"removed":   func(path string, _, _ []byte) error { return os.Remove(path) },
		"unchanged": func(string, []byte, []byte) error { return nil },
	}
	for _, format := range []string{"parquet", "arrow", "csv"} {
		before, after := numbersFile(t, format, 10_000_000, rows), numbersFile(t, format, 20_000_000, rows)
		var want []string
		for i := range rows {
			want = append(want, fmt.Sprint(10_000_000+i))
		}
		for name, change := range changes {
			for splitsBefore := range 4 {
				path := filepath.Join(t.TempDir(), "f."+format)
				if err := os.WriteFile(path, before, 0o666); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
					t.Fatal(err)
				}
				src := mustOpen(t, Options{sizes: textfile.Sizes{Chunk: int64(len(before)/4 + 1)}}, path)
				got, err := readChanged(t, src, splitsBefore, func() error { return change(path, before, after) })
				slices.Sort(got)
				switch text := fmt.Sprintf("%s %s after %d splits", format, name, splitsBefore); {
				case err == nil && !slices.Equal(got, want):
					t.Errorf("%s: no error, and %d rows, want %d", text, len(got), len(want))
				case err != nil && (name == "unchanged" || name == "grown" && format == "csv"):
					t.Errorf("%s: %v", text, err)
				case err != nil && !strings.Contains(err.Error(), "f."+format):
					t.Errorf("%s: the error names no file: %v", text, err)
				}
			}
		}
	}
}

// readChanged reads all splits, and makes a change after so many of them, while the next is open.
func readChanged(t *testing.T, src scan.Source, splitsBefore int, change func() error) (rows []string, err error) {
	splits, err := src.Splits(t.Context(), []int{0})
	if err != nil {
		return nil, err
	}
	for i, s := range splits {
		reader, err := s.Open(t.Context(), scan.OpenOptions{BatchRows: 100})
		if err != nil {
			return rows, err
		}
		for reader.Next() {
			batch := reader.RecordBatch()
			for row := range int(batch.NumRows()) {
				rows = append(rows, scantest.RowText(batch, row))
			}
			if i == splitsBefore {
				if err := change(); err != nil {
					return rows, err
				}
				splitsBefore = -1
			}
		}
		err = reader.Err()
		reader.Release()
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}
