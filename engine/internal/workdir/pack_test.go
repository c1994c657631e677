package workdir

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/vfs"
)

// Would catch a file that nobody closes.
func TestMain(m *testing.M) { os.Exit(invariants.Run(m)) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Would catch blobs whose bytes are mixed up or lost on their way through the file.
func TestSpool(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	s := NewSpool(func() (vfs.TempFile, error) { return vfs.OS.CreateTemp(dir) }, 8)
	s.each = 100
	want := make([][]byte, 8)
	for range 500 {
		i := rng.IntN(7) // the last is empty
		text := bytes.Repeat([]byte{byte(rng.IntN(256))}, rng.IntN(200))
		w, err := s.Create(i)
		check(t, err)
		_, err = w.Write(text)
		check(t, err)
		want[i] = append(want[i], text...)
	}
	var got bytes.Buffer
	check(t, s.CopyTo(&got))
	sizes, sum := s.Sizes()
	if !bytes.Equal(got.Bytes(), slices.Concat(want...)) || sum != int64(got.Len()) {
		t.Errorf("%d B, want %d", got.Len(), sum)
	}
	for i, n := range sizes {
		if n != int64(len(want[i])) {
			t.Errorf("blob %d has %d B, want %d", i, n, len(want[i]))
		}
	}
	check(t, s.Close())
}

var errTemp = errors.New("the temporary file has failed")

// failingTemp is a temporary file whose n-th call fails.
type failingTemp struct {
	vfs.TempFile
	left *int
}

func (f failingTemp) call() error {
	if *f.left--; *f.left == 0 {
		return errTemp
	}
	return nil
}

func (f failingTemp) WriteAt(p []byte, at int64) (int, error) {
	if err := f.call(); err != nil {
		return 0, err
	}
	return f.TempFile.WriteAt(p, at)
}

func (f failingTemp) ReadAt(p []byte, at int64) (int, error) {
	if err := f.call(); err != nil {
		return 0, err
	}
	return f.TempFile.ReadAt(p, at)
}

// Would catch a pack that is written though a temporary file has lost a part of it.
func TestSpoolFaults(t *testing.T) {
	dir := t.TempDir()
	fill := func(s *Spool, to *strings.Builder) error {
		for i := range 6 {
			w, err := s.Create(i % 2)
			check(t, err)
			if _, err := w.Write([]byte(strings.Repeat(string(rune('a'+i)), 70))); err != nil {
				return err
			}
			check(t, w.Close())
		}
		return s.CopyTo(to)
	}
	want := ""
	for n := 0; ; n++ {
		left := n
		s := NewSpool(func() (vfs.TempFile, error) {
			file, err := vfs.OS.CreateTemp(dir)
			return failingTemp{file, &left}, err
		}, 2)
		s.each = 100
		var b strings.Builder
		err := fill(s, &b)
		check(t, s.Close())
		switch {
		case n == 0:
			check(t, err)
			want = b.String()
		case left > 0: // there are no more calls
			if n < 4 {
				t.Errorf("%d calls", n)
			}
			return
		case !errors.Is(err, errTemp):
			t.Errorf("call %d: %v", n, err)
		}
		if err == nil && b.String() != want {
			t.Errorf("call %d: %q, want %q", n, b.String(), want)
		}
	}
}
