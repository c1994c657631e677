package dataset

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/internal/vfs"
)

// tightBudget refuses all but some blocks.
type tightBudget struct{ left, taken int64 }

func (b *tightBudget) Reserve(n int64) error {
	if n > b.left {
		return errors.New("no room")
	}
	b.left, b.taken = b.left-n, b.taken+n
	return nil
}

func (b *tightBudget) Unreserve(n int64)  { b.left, b.taken = b.left+n, b.taken-n }
func (b *tightBudget) Room(n int64) error { return nil }

// Would catch bytes that are lost where blocks and the file meet, and memory that is not given
// back.
func TestSpool(t *testing.T) {
	for _, size := range []int{0, 1, spoolBlock - 1, spoolBlock, spoolBlock + 1, 3*spoolBlock + 7} {
		for _, room := range []int64{0, spoolBlock, 2 * spoolBlock, 1 << 40} {
			want := make([]byte, size)
			for i := range want {
				want[i] = byte(i % 251)
			}
			budget := &tightBudget{left: room}
			s := NewSpool(vfs.OS, t.TempDir())
			if err := s.fill(bytes.NewReader(want), budget); err != nil {
				t.Fatal(err)
			}
			if s.size != int64(size) {
				t.Errorf("%d B, room for %d: size %d", size, room, s.size)
			}
			for _, at := range []int{0, size / 3, max(size-5, 0)} {
				for _, n := range []int{0, 1, 5, size - at} {
					got := make([]byte, n)
					read, _ := s.ReadAt(got, int64(at))
					if end := min(at+n, size); !bytes.Equal(got[:read], want[at:end]) {
						t.Errorf("%d B, room for %d: %d B at %d differ, %d were read", size, room, n, at, read)
					}
				}
			}
			for range 2 {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			if budget.taken != 0 {
				t.Errorf("%d B, room for %d: %d B are reserved yet", size, room, budget.taken)
			}
		}
	}
}

// noBlocks refuses the blocks of spools.
type noBlocks struct{}

func (noBlocks) Reserve(n int64) error { return (&tightBudget{left: spoolBlock - 1}).Reserve(n) }
func (noBlocks) Unreserve(int64)       {}
func (noBlocks) Room(int64) error      { return nil }

// Would catch Parquet that a pipe brings and that are read otherwise than as a file, and
// temporary files that stay.
func TestStdinFromItsEnd(t *testing.T) {
	const path = "../../../tests/testdata/flights-2001.parquet"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := mustRead(t, Options{}, path)
	for _, budget := range []scan.Budget{nil, noBlocks{}} {
		dir := t.TempDir()
		spool := NewSpool(vfs.OS, dir)
		got := mustRead(t, Options{Stdin: bytes.NewReader(content), Spool: spool, Budget: budget}, "-")
		if !slices.Equal(got, want) {
			t.Errorf("%d rows, want %d", len(got), len(want))
		}
		if inFile := spool.file != nil; inFile != (budget != nil) {
			t.Errorf("in a file: %t", inFile)
		}
		if err := spool.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	}
	_, err = Open(context.Background(), []string{"-"}, Options{Stdin: strings.NewReader("PAR1 and no more PAR1"), Spool: NewSpool(vfs.OS, t.TempDir())})
	if err == nil || !strings.Contains(err.Error(), "-: ") {
		t.Errorf("a file that is none: %v", err)
	}
}

// mustRead returns a column of files.
func mustRead(t *testing.T, opt Options, path string) []string {
	t.Helper()
	rows, err := scantest.ReadAll(mustOpen(t, opt, path), []int{2}, scan.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
