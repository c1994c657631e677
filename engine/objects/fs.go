package objects

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
	"golang.org/x/sync/semaphore"

	"github.com/mpga/mpga/stream"
)

// FS is a file system with objects. It is safe for concurrent use.
type FS struct {
	stream.FS // of all names that are not URLs

	ctx      context.Context // ends all requests
	opt      Options
	requests *semaphore.Weighted
	bytes    atomic.Int64 // that may be held ahead of readers
	held     atomic.Int64 // bytes of pieces

	mu      sync.Mutex
	buckets map[string]*blob.Bucket // by URL
	web     map[string]*webObject   // by URL
	known   map[string]version      // objects whose size has been asked for
}

var (
	_ stream.FS      = (*FS)(nil)
	_ stream.Objects = (*FS)(nil)
)

// version tells versions of an object apart. Where the store has no tag it is empty; likewise the time is zero.
type version struct {
	size     int64
	tag      string
	modified time.Time
}

// checkSize holds the size that an object has now against that of the version that was opened. B3.
func (v version) checkSize(size int64) error {
	if size == v.size {
		return nil
	}
	return finalError{fmt.Errorf("%w: it had %d B, now %d", errChanged, v.size, size)}
}

// New returns a file system whose names without a scheme are those of base. Requests end with the context.
func New(ctx context.Context, base stream.FS, opt Options) (*FS, error) {
	opt.EnsureDefaults()
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	f := &FS{
		FS: base, ctx: ctx, opt: opt, requests: semaphore.NewWeighted(int64(opt.Requests)),
		buckets: make(map[string]*blob.Bucket), web: make(map[string]*webObject), known: make(map[string]version),
	}
	f.bytes.Store(opt.Bytes)
	return f, nil
}

// SetBytes changes Options.Bytes, for programs that learn the memory limit late.
func (f *FS) SetBytes(n int64) { f.bytes.Store(n) }

// roomAhead says whether a piece may be read before anyone asks for it. B4.
func (f *FS) roomAhead(n int64) bool { return f.held.Load()+n <= f.bytes.Load() }

// Close closes connections and drops copies of files.
//
// Requires: all files are closed.
func (f *FS) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, b := range f.buckets {
		errs = append(errs, b.Close())
	}
	for _, o := range f.web {
		errs = append(errs, o.close())
	}
	clear(f.buckets)
	clear(f.web)
	f.opt.Client.CloseIdleConnections()
	return errors.Join(errs...)
}

// openers open buckets, by scheme. Build tags leave some out.
var openers = make(map[string]func(ctx context.Context, host string) (*blob.Bucket, error))

// schemes are those of objects, and whether they have buckets.
var schemes = map[string]bool{"s3": true, "gs": true, "az": true, "https": false, "http": false}

// IsObject implements stream.Objects.
func (f *FS) IsObject(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	_, known := schemes[scheme]
	return ok && known
}

// store is what holds an object.
type store interface {
	// stat returns the version of an object; fs.ErrNotExist where there is none.
	stat(ctx context.Context) (version, error)

	// read fills b with the bytes from off on, of an object of that version. It returns how many came.
	read(ctx context.Context, b []byte, off int64, v version) (int, error)
}

// storeOf returns the store of an object.
func (f *FS) storeOf(name string) (store, error) {
	scheme, rest, _ := strings.Cut(name, "://")
	if !schemes[scheme] {
		return f.webObject(name), nil
	}
	host, key, _ := strings.Cut(rest, "/")
	if host == "" || key == "" {
		return nil, fmt.Errorf("%s: want %s://bucket/key", name, scheme)
	}
	bucket, err := f.bucket(scheme, host)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &bucketObject{bucket: bucket, key: key}, nil
}

// webObject returns the file of a web server, which has one copy at most.
func (f *FS) webObject(name string) *webObject {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.web[name] == nil {
		f.web[name] = &webObject{fs: f, url: name}
	}
	return f.web[name]
}

// bucket opens a bucket, once.
func (f *FS) bucket(scheme, host string) (*blob.Bucket, error) {
	open := openers[scheme]
	if open == nil {
		return nil, fmt.Errorf("this program was built without %s (the build tag no%s)", scheme, scheme)
	}
	name := scheme + "://" + host
	f.mu.Lock()
	defer f.mu.Unlock()
	if b, ok := f.buckets[name]; ok {
		return b, nil
	}
	b, err := open(f.ctx, host)
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, hint(scheme))
	}
	f.buckets[name] = b
	return b, nil
}

// hint says what to set where a store refuses.
func hint(scheme string) string {
	switch scheme {
	case "s3":
		return "credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or the machine's role; AWS_REGION; AWS_ENDPOINT_URL for a server that is not Amazon's"
	case "gs":
		return "credentials: GOOGLE_APPLICATION_CREDENTIALS, gcloud auth application-default login, or the machine's account"
	case "az":
		return "AZURE_STORAGE_ACCOUNT, and AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or a login of az"
	}
	return "the server must be reachable; a proxy is taken from HTTPS_PROXY"
}

// problem says what was done to which object, and what to set unless that cannot matter.
func problem(op, name string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	scheme, _, _ := strings.Cut(name, "://")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", name, err)
	case errors.Is(err, errChanged):
		return fmt.Errorf("%s: %s: %w", name, op, err)
	case gcerrors.Code(err) == gcerrors.Internal || gcerrors.Code(err) == gcerrors.ResourceExhausted:
		err = passingError{err}
	}
	return fmt.Errorf("%s: %s: %w (%s)", name, op, err, hint(scheme))
}

// Stat implements stream.FS. A prefix of objects is a directory.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	if !f.IsObject(name) {
		return f.FS.Stat(name)
	}
	scheme, rest, _ := strings.Cut(name, "://")
	_, key, _ := strings.Cut(rest, "/")
	err := error(fs.ErrNotExist)
	if key != "" && !strings.HasSuffix(key, "/") {
		f.forget(name) // it may have changed
		var v version
		if v, err = f.version(name); err == nil {
			return objectInfo{name: name, size: v.size, tag: v.tag, modified: v.modified}, nil
		}
	}
	if !schemes[scheme] || !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	below, listErr := f.list(strings.TrimRight(name, "/")+"/", 1)
	switch {
	case listErr != nil:
		return nil, listErr
	case len(below) > 0:
		return objectInfo{name: name, dir: true}, nil
	case key == "":
		return nil, fmt.Errorf("%s: the bucket is empty: %w", name, fs.ErrNotExist)
	}
	return nil, err
}

// version returns what is known of an object, or asks.
func (f *FS) version(name string) (version, error) {
	f.mu.Lock()
	v, ok := f.known[name]
	f.mu.Unlock()
	if ok {
		return v, nil
	}
	s, err := f.storeOf(name)
	if err != nil {
		return v, err
	}
	err = f.retry(f.ctx, func(ctx context.Context) (int, error) {
		v, err = s.stat(ctx)
		return 0, err
	})
	if err != nil {
		return v, problem("asking for its size", name, err)
	}
	f.know(name, v)
	return v, nil
}

func (f *FS) know(name string, v version) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[name] = v
}

func (f *FS) forget(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, name)
}

// Open implements stream.FS.
func (f *FS) Open(name string) (stream.File, error) {
	if !f.IsObject(name) {
		return f.FS.Open(name)
	}
	v, err := f.version(name)
	if err != nil {
		return nil, err
	}
	s, err := f.storeOf(name)
	if err != nil {
		return nil, err
	}
	return newFile(f, name, s, v), nil
}

// List implements stream.Objects.
func (f *FS) List(prefix string) ([]stream.Object, error) { return f.list(prefix, 0) }

// list returns the objects below a prefix, at most so many unless that is 0.
func (f *FS) list(prefix string, most int) (found []stream.Object, err error) {
	scheme, rest, _ := strings.Cut(prefix, "://")
	if !schemes[scheme] {
		return nil, fmt.Errorf("%s: files of %s cannot be listed: name each", prefix, scheme)
	}
	host, key, _ := strings.Cut(rest, "/")
	bucket, err := f.bucket(scheme, host)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", prefix, err)
	}
	token, size := blob.FirstPageToken, 1000
	if most > 0 {
		size = most
	}
	for token != nil {
		var page []*blob.ListObject
		err := f.retry(f.ctx, func(ctx context.Context) (int, error) {
			var next []byte
			var err error
			page, next, err = bucket.ListPage(ctx, token, size, &blob.ListOptions{Prefix: key})
			if err != nil {
				return 0, final(err)
			}
			token = next
			return 0, nil
		})
		if err != nil {
			return nil, problem("listing objects", prefix, err)
		}
		for _, o := range page {
			if o.IsDir || strings.HasSuffix(o.Key, "/") {
				continue // what consoles make for a folder
			}
			name := scheme + "://" + host + "/" + o.Key
			f.know(name, version{size: o.Size, tag: hex.EncodeToString(o.MD5), modified: o.ModTime})
			found = append(found, stream.Object{Name: name, Size: o.Size})
		}
		if most > 0 && len(found) >= most {
			break
		}
	}
	slices.SortFunc(found, func(a, b stream.Object) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// Remove implements stream.FS.
func (f *FS) Remove(name string) error {
	if !f.IsObject(name) {
		return f.FS.Remove(name)
	}
	s, err := f.storeOf(name)
	if err != nil {
		return err
	}
	object, ok := s.(*bucketObject)
	if !ok {
		return fmt.Errorf("%s: %w: it is read only", name, errors.ErrUnsupported)
	}
	f.forget(name)
	return problem("removing it", name, f.retry(f.ctx, func(ctx context.Context) (int, error) {
		return 0, final(object.bucket.Delete(ctx, object.key))
	}))
}

// The rest of stream.FS is not for objects.

func unsupported(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: errors.ErrUnsupported}
}

// Create implements stream.FS. Objects are uploaded.
func (f *FS) Create(name string) (stream.File, error) {
	if f.IsObject(name) {
		return nil, unsupported("create", name)
	}
	return f.FS.Create(name)
}

// ReadDir implements stream.FS. Objects are listed.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	if f.IsObject(name) {
		return nil, unsupported("readdir", name)
	}
	return f.FS.ReadDir(name)
}

// objectInfo is what is known of an object, or of a prefix.
type objectInfo struct {
	name     string
	size     int64
	dir      bool
	tag      string
	modified time.Time
}

func (i objectInfo) Name() string       { return path.Base(i.name) }
func (i objectInfo) Size() int64        { return i.size }
func (i objectInfo) ModTime() time.Time { return i.modified }
func (i objectInfo) ETag() string       { return i.tag }
func (i objectInfo) IsDir() bool        { return i.dir }
func (i objectInfo) Sys() any           { return nil }

func (i objectInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o777
	}
	return 0o666
}
