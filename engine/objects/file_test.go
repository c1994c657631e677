package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"

	"github.com/mpga/mpga/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// memoryStore is an object in memory, whose requests fail as they are told to.
type memoryStore struct {
	bytes    []byte
	requests atomic.Int64
	most     atomic.Int64 // bytes asked for

	mu   sync.Mutex
	fail func(n int) (int, error) // how many of n bytes come, and why no more
}

func (s *memoryStore) stat(context.Context) (version, error) {
	return version{size: int64(len(s.bytes))}, nil
}

func (s *memoryStore) read(ctx context.Context, b []byte, off int64, _ version) (int, error) {
	s.requests.Add(1)
	s.most.Add(int64(len(b)))
	n, err := len(b), error(nil)
	s.mu.Lock()
	if s.fail != nil {
		n, err = s.fail(len(b))
	}
	s.mu.Unlock()
	if errors.Is(err, errHang) {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return copy(b[:n], s.bytes[off:]), err
}

var errHang = errors.New("no answer")

func newFS(t *testing.T, opt Options) *FS {
	t.Helper()
	f, err := New(t.Context(), vfs.OS, opt)
	check(t, err)
	t.Cleanup(func() { check(t, f.Close()) })
	return f
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// Would catch bytes of another place, lost or doubled, by pieces, announced ranges and many
// readers, with a store that fails, ends early and hangs.
func TestReadAt(t *testing.T) {
	content := randomBytes(5<<20 + 12_345)
	faults := map[string]func(rng *rand.Rand) func(n int) (int, error){
		"no faults": func(*rand.Rand) func(n int) (int, error) { return nil },
		"faults": func(rng *rand.Rand) func(n int) (int, error) {
			return func(n int) (int, error) {
				switch rng.IntN(6) {
				case 0:
					return 0, errors.New("connection reset")
				case 1:
					return rng.IntN(n), io.ErrUnexpectedEOF
				case 2:
					return rng.IntN(n), nil
				case 3:
					return 0, errHang
				}
				return n, nil
			}
		},
	}
	for name, fault := range faults {
		for seed := range uint64(6) {
			rng := rand.New(rand.NewPCG(seed, 7))
			fsys := newFS(t, Options{Attempts: 100, Silences: 100, Pause: time.Microsecond, Timeout: 2 * time.Millisecond, Requests: 1 + rng.IntN(8)})
			store := &memoryStore{bytes: content, fail: fault(rng)}
			f := newFile(fsys, "s3://b/k", store, version{size: int64(len(content))})
			var ranges []vfs.Range
			for range rng.IntN(6) {
				ranges = append(ranges, vfs.Range{Offset: rng.Int64N(int64(len(content))), Bytes: rng.Int64N(3 << 20)})
			}
			f.Announce(ranges)
			var readers sync.WaitGroup
			for reader := range uint64(4) {
				readers.Go(func() {
					rng := rand.New(rand.NewPCG(seed, reader))
					at := rng.Int64N(int64(len(content)))
					for range 60 {
						b := make([]byte, 1+rng.IntN(1<<rng.IntN(21)))
						n, err := f.ReadAt(b, at)
						if want := content[at:min(at+int64(len(b)), int64(len(content)))]; !bytes.Equal(b[:n], want) || (n < len(b)) != errors.Is(err, io.EOF) {
							t.Errorf("%s, seed %d: %d B of %d at %d: %v", name, seed, n, len(b), at, err)
							return
						}
						if at += int64(n); at >= int64(len(content)) || rng.IntN(9) == 0 {
							at = rng.Int64N(int64(len(content)))
						}
					}
				})
			}
			readers.Wait()
			check(t, f.Close())
		}
	}
}

// Would catch an io.Reader and io.Seeker that break their rules.
func TestRead(t *testing.T) {
	for _, size := range []int{0, 1, 100, 300_000} {
		content := randomBytes(size)
		fsys := newFS(t, Options{})
		f := newFile(fsys, "s3://b/k", &memoryStore{bytes: content}, version{size: int64(size)})
		if size <= 100 {
			check(t, iotest.TestReader(f, content))
		} else if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d B, want %d: %v", len(got), size, err)
		}
		check(t, f.Close())
	}
}

// Would catch pieces that are asked for twice, one after the other, or that nobody reads.
func TestRequests(t *testing.T) {
	content := randomBytes(8 << 20)
	fsys := newFS(t, Options{})
	store := &memoryStore{bytes: content}
	f := newFile(fsys, "s3://b/k", store, version{size: int64(len(content))})
	b := make([]byte, 8)
	_, err := f.ReadAt(b, int64(len(content)-8))
	check(t, err)
	_, err = f.ReadAt(make([]byte, 5000), int64(len(content)-5008))
	check(t, err)
	for range 2 { // all of the tail, and once more
		_, err = f.ReadAt(make([]byte, tailBytes), int64(len(content)-tailBytes))
		check(t, err)
	}
	if n := store.requests.Load(); n != 1 {
		t.Errorf("%d requests for a footer", n)
	}
	_, err = f.ReadAt(b, 0)
	check(t, err)
	if n := store.most.Load(); n > tailBytes+8 {
		t.Errorf("%d B for a header and a footer", n)
	}
	store.requests.Store(0)
	f.Announce([]vfs.Range{{Offset: 4, Bytes: 100_000}, {Offset: 120_000, Bytes: 200_000}, {Offset: 3 << 20, Bytes: 3 << 20}})
	for _, r := range []vfs.Range{{Offset: 4, Bytes: 100_000}, {Offset: 120_000, Bytes: 200_000}, {Offset: 3 << 20, Bytes: 3 << 20}} {
		for at := r.Offset; at < r.Offset+r.Bytes; at += 10_000 {
			_, err := f.ReadAt(make([]byte, min(10_000, r.Offset+r.Bytes-at)), at)
			check(t, err)
		}
	}
	if n := store.requests.Load(); n != 4 {
		t.Errorf("%d requests for ranges of 4 pieces together", n)
	}
	check(t, f.Close())
	if held := fsys.held.Load(); held != 0 || len(f.pieces) > 0 {
		t.Errorf("%d B in %d pieces are held after Close", held, len(f.pieces))
	}
	fsys.SetBytes(0)
	store.requests.Store(0)
	f = newFile(fsys, "s3://b/k", store, version{size: int64(len(content))})
	f.Announce([]vfs.Range{{Offset: 0, Bytes: 8 << 20}})
	_, err = f.ReadAt(b, 0)
	check(t, err)
	check(t, f.Close())
	if n := store.requests.Load(); n != 1 {
		t.Errorf("%d requests without room to read ahead", n)
	}
}

// B2. Would catch attempts that are counted though bytes have come in between.
func TestSlowProgress(t *testing.T) {
	content := randomBytes(100_000)
	store := &memoryStore{bytes: content, fail: func(n int) (int, error) { return min(n, 1000), errors.New("connection reset") }}
	f := newFile(newFS(t, Options{Attempts: 2, Pause: time.Microsecond}), "s3://b/k", store, version{size: int64(len(content))})
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d B, want %d: %v", len(got), len(content), err)
	}
	check(t, f.Close())
}

// Would catch a file that waits for ever, hides the cause, or is asked again after a final answer.
func TestGivingUp(t *testing.T) {
	fsys := newFS(t, Options{Attempts: 3, Pause: time.Microsecond})
	for _, c := range []struct {
		err      error
		requests int64
		want     []string
	}{
		{errors.New("503 Slow Down"), 3, []string{"s3://b/k: reading 8 B at 0: tried 3 times: 503 Slow Down", "AWS_ACCESS_KEY_ID"}},
		{finalError{fmt.Errorf("%w (404)", fs.ErrNotExist)}, 1, []string{"s3://b/k: file does not exist (404)"}},
		{finalError{errChanged}, 1, []string{"s3://b/k: reading 8 B at 0: the object changed"}},
	} {
		store := &memoryStore{bytes: randomBytes(1 << 20), fail: func(int) (int, error) { return 0, c.err }}
		f := newFile(fsys, "s3://b/k", store, version{size: 1 << 20})
		_, err := f.ReadAt(make([]byte, 8), 0)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if n := store.requests.Load(); n != c.requests {
			t.Errorf("%v: %d requests, want %d", c.err, n, c.requests)
		}
		check(t, f.Close())
	}
	store := &memoryStore{bytes: randomBytes(1 << 20), fail: func(int) (int, error) { return 0, errHang }}
	f := newFile(fsys, "s3://b/k", store, version{size: 1 << 20})
	f.Announce([]vfs.Range{{Bytes: 1 << 20}})
	time.AfterFunc(time.Millisecond, f.cancel)
	if _, err := f.ReadAt(make([]byte, 8), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("closed while reading: %v", err)
	}
	check(t, f.Close())
}

// Would catch names of the system taken for objects, and calls that objects do not have.
func TestNames(t *testing.T) {
	fsys := newFS(t, Options{})
	for name, want := range map[string]bool{
		"s3://b/k": true, "gs://b/k": true, "az://b/k": true, "https://h/k": true, "http://h/k": true,
		"file://k": false, "/tmp/s3://b": false, "s3:/b": false, "s3": false, "": false,
	} {
		if fsys.IsObject(name) != want {
			t.Errorf("%q: an object is %v", name, !want)
		}
	}
	if _, err := fsys.Create("s3://b/k", 0o666); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("create: %v", err)
	}
	if _, err := fsys.Upload("https://h/k"); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "read only") {
		t.Errorf("upload: %v", err)
	}
	if _, err := fsys.List("https://h/"); err == nil || !strings.Contains(err.Error(), "cannot be listed") {
		t.Errorf("list: %v", err)
	}
	for _, name := range []string{"s3://", "s3://b", "s3://b/"} {
		if _, err := fsys.Upload(name); err == nil || !strings.Contains(err.Error(), "want s3://bucket/key") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A missing bucket is named without the key, as what is missing.
func TestMissingBucket(t *testing.T) {
	missing := answered(404, errors.New("404: NoSuchBucket"))
	for _, c := range []struct{ op, name, want string }{
		{listingThem, "s3://b/some/", "s3://b: there is no such bucket or container: file does not exist (404: NoSuchBucket)"},
		{writingIt, "az://b/k", "az://b: there is no such bucket or container: file does not exist (404: NoSuchBucket)"},
		{"asking for its size", "s3://b/k", "s3://b/k: file does not exist (404: NoSuchBucket)"},
		{"asking for its size", "https://b/k", "https://b/k: file does not exist (404: NoSuchBucket)"},
	} {
		if err := problem(c.op, c.name, missing); err.Error() != c.want || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s %s: %v, want %s", c.op, c.name, err, c.want)
		}
	}
}
