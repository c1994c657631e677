package dataset

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// Would catch names that go to the rows of another file, and a column that hides the file's own.
func TestFilename(t *testing.T) {
	dir := t.TempDir()
	a := scantest.WriteFile(t, dir, "a.csv", []byte("x\n1\n2\n"))
	b := scantest.WriteFile(t, dir, "b.csv", []byte("x\n3\n"))
	column := array.NewInt64Data(array.NewData(arrow.PrimitiveTypes.Int64, 1, []*memory.Buffer{nil, memory.NewBufferBytes([]byte{4, 0, 0, 0, 0, 0, 0, 0})}, nil, 0, 0))
	fields := []arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}
	batch := array.NewRecordBatch(arrow.NewSchema(fields, nil), []arrow.Array{column}, 1)
	c := scantest.WriteFile(t, dir, "c.arrow", scantest.EncodeArrow(t, false, []arrow.RecordBatch{batch}))
	src := mustOpen(t, Options{Filename: true}, a, b, c)
	if got := scantest.SchemaText(src.Schema()); got != "x int64, filename utf8" {
		t.Errorf("schema: %s", got)
	}
	rows, err := scantest.ReadAll(src, []int{1, 0}, scan.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scantest.SameRows(t, rows, []string{a + "|1", a + "|2", b + "|3", c + "|4"})

	taken := scantest.WriteFile(t, dir, "taken.csv", []byte("filename\n1\n"))
	if _, err := Open(context.Background(), []string{taken}, Options{Filename: true}); err == nil || !strings.Contains(err.Error(), "Filename") {
		t.Errorf("a column of that name: %v", err)
	}
	hive := scantest.WriteFile(t, dir, "filename=1/x.csv", []byte("x\n1\n"))
	if _, err := Open(context.Background(), []string{hive}, Options{Filename: true}); err == nil || !strings.Contains(err.Error(), "folder key") {
		t.Errorf("a folder key of that name: %v", err)
	}
}
