package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/vfs"
)

// FS is a file system with objects. It is safe for concurrent use.
type FS struct {
	vfs.FS // of all names that are not URLs

	ctx      context.Context        // ends all requests
	cleanup  func() context.Context // a context for removing outputs when ctx has ended
	opt      Options
	requests *semaphore.Weighted
	base     http.RoundTripper // of all requests, except requests by Options.Client
	web      rest              // requests of https
	stores   rest              // requests of stores, and of their libraries; a store adds signatures
	bytes    atomic.Int64      // that may be held ahead of readers
	held     atomic.Int64      // bytes of pieces

	warnings sync.Mutex
	warned   map[string]time.Time // when, of a server that is waited for

	reached sync.Map // true by the host of each server that has answered

	files sync.Map // *webObject by URL
	known sync.Map // version by URL, of objects whose size has been asked for

	mu      sync.Mutex
	buckets map[string]bucket // by scheme://name
}

var (
	_ vfs.FS      = (*FS)(nil)
	_ vfs.Objects = (*FS)(nil)
)

// version tells versions of an object apart. Where the store has no tag it is empty; likewise the
// time is zero.
type version struct {
	size     int64
	tag      string
	modified time.Time
}

// checkSize holds the size that an object has now against the size of the version that was opened.
// B3.
func (v version) checkSize(size int64) error {
	if size == v.size {
		return nil
	}
	return finalError{fmt.Errorf("%w: it had %d B, now %d", errChanged, v.size, size)}
}

// New returns a file system in which base has the names without a scheme. Requests end with the
// context.
func New(ctx context.Context, base vfs.FS, opt Options) (*FS, error) {
	opt.EnsureDefaults()
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	f := &FS{
		FS: base, ctx: ctx, opt: opt, requests: semaphore.NewWeighted(int64(opt.Requests)),
		buckets: make(map[string]bucket), warned: make(map[string]time.Time),
	}
	f.bytes.Store(opt.Bytes)
	f.cleanup = sync.OnceValue(func() context.Context {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		time.AfterFunc(cleanupTime, cancel)
		return ctx
	})
	f.base = newTransport(&f.opt)
	f.stores = rest{pauseMax: opt.Timeout,
		client: &http.Client{Transport: &transport{fs: f, base: f.base, limit: answerBytesMax},
			CheckRedirect: followRedirect}}
	f.web = rest{pauseMax: opt.Timeout, client: f.webClient()}
	return f, nil
}

// webClient returns a copy of Options.Client that makes its requests under watches.
func (f *FS) webClient() *http.Client {
	c := *f.opt.Client
	base := c.Transport
	if base == nil {
		base = f.base
	}
	c.Transport = &transport{fs: f, base: base}
	if c.CheckRedirect == nil {
		c.CheckRedirect = followRedirect
	}
	return &c
}

// cleanupTime is how long after the end of FS's context the rest of outputs may be removed: a
// command that is interrupted ends within a second. B7.
const cleanupTime = 700 * time.Millisecond

// lasting returns the context of requests that remove what an output has left that was given up.
// B7.
func (f *FS) lasting() context.Context {
	if f.ctx.Err() != nil {
		return f.cleanup()
	}
	return f.ctx
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
	for _, file := range f.files.Range {
		errs = append(errs, file.(*webObject).close())
	}
	f.files.Clear()
	clear(f.buckets)
	f.web.client.CloseIdleConnections()
	f.stores.client.CloseIdleConnections()
	return errors.Join(errs...)
}

// openers open buckets, by scheme, with requests of stores. Build tags leave some out.
var openers = make(map[string]func(ctx context.Context, name string, r rest, log *slog.Logger) (bucket, error))

// schemes are the schemes of objects; true for schemes that have buckets.
var schemes = map[string]bool{"s3": true, "gs": true, "az": true, "https": false, "http": false}

// split returns the parts of scheme://host/key, where the host may be a bucket.
func split(name string) (scheme, host, key string) {
	scheme, rest, _ := strings.Cut(name, "://")
	host, key, _ = strings.Cut(rest, "/")
	return scheme, host, key
}

// IsObject reports whether a name is a URL of a scheme that the FS knows; other names are files.
func (f *FS) IsObject(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	_, known := schemes[scheme]
	return ok && known
}

// store is what holds an object.
type store interface {
	// stat returns the version of an object; fs.ErrNotExist where there is none.
	stat(ctx context.Context) (version, error)

	// read fills b with the bytes from off on, of an object of that version. It returns how many
	// came.
	read(ctx context.Context, b []byte, off int64, v version) (int, error)
}

// storeOf returns the store of an object.
func (f *FS) storeOf(name string) (store, error) {
	scheme, host, key := split(name)
	if !schemes[scheme] {
		return f.webObject(name), nil
	}
	if host == "" || key == "" {
		return nil, fmt.Errorf("%s: want %s://bucket/key", redact.URL(name), scheme)
	}
	bucket, err := f.bucket(scheme, host)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", redact.URL(name), err)
	}
	return &bucketObject{bucket: bucket, key: key}, nil
}

// webObject returns the file of a web server. All users of a URL share one webObject, and so one
// local copy.
func (f *FS) webObject(name string) *webObject {
	file, _ := f.files.LoadOrStore(name, &webObject{fs: f, url: name})
	return file.(*webObject)
}

// bucket opens a bucket, once.
func (f *FS) bucket(scheme, host string) (bucket, error) {
	open := openers[scheme]
	switch {
	case open == nil:
		return nil, fmt.Errorf("this program was built without %s (the build tag no%s)", scheme, scheme)
	case strings.ContainsAny(host, "@?#"):
		return nil, fmt.Errorf("the name of a bucket has no credentials and no parameters; %s", hint(scheme))
	}
	name := scheme + "://" + host
	f.mu.Lock()
	defer f.mu.Unlock()
	if b, ok := f.buckets[name]; ok {
		return b, nil
	}
	b, err := open(f.ctx, host, f.stores, f.opt.Logger)
	if err != nil {
		return nil, fmt.Errorf("%w; %s", redact.Error(err), hint(scheme))
	}
	f.buckets[name] = b
	return b, nil
}

// hint says what to set where a store refuses.
func hint(scheme string) string {
	switch scheme {
	case "s3":
		return "credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or the machine's " +
			"role; AWS_REGION; AWS_ENDPOINT_URL for a server that is not Amazon's"
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
	scheme, host, _ := split(name)
	name, err = redact.URL(name), redact.Error(err)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing && schemes[scheme] && (op == listingThem || op == writingIt): // any key may be listed or written
		return fmt.Errorf("%s://%s: there is no such bucket or container: %w", scheme, host, err)
	case missing:
		return fmt.Errorf("%s: %w", name, err)
	case errors.Is(err, errChanged):
		return fmt.Errorf("%s: %s: %w", name, op, err)
	}
	if errors.As(err, new(unreachableError)) { // credentials do not matter
		return fmt.Errorf("%s: %s: %w (%s)", name, op, err, reachHint(scheme))
	}
	return fmt.Errorf("%s: %s: %w (%s)", name, op, err, hint(scheme))
}

// Stat implements vfs.FS. A prefix of objects is a directory.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	if !f.IsObject(name) {
		return f.FS.Stat(name)
	}
	scheme, _, key := split(name)
	err := error(fs.ErrNotExist)
	if key != "" && !strings.HasSuffix(key, "/") {
		f.known.Delete(name) // it may have changed
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
		return nil, fmt.Errorf("%s: the bucket is empty: %w", redact.URL(name), fs.ErrNotExist)
	}
	return nil, err
}

// version returns the known version of an object, or asks the store for it.
func (f *FS) version(name string) (v version, err error) {
	if known, ok := f.known.Load(name); ok {
		return known.(version), nil
	}
	s, err := f.storeOf(name)
	if err != nil {
		return v, err
	}
	const op = "asking for its size"
	err = f.retry(f.ctx, op, name, func(ctx context.Context) (int, error) {
		v, err = s.stat(ctx)
		return 0, err
	})
	if err != nil {
		return v, problem(op, name, err)
	}
	f.known.Store(name, v)
	return v, nil
}

// Open opens an object for reading, or a file. It asks for an object's size unless it is known.
func (f *FS) Open(name string) (vfs.File, error) {
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

// List returns the objects whose names begin with a prefix, a URL, sorted by name.
func (f *FS) List(prefix string) ([]vfs.Object, error) { return f.list(prefix, 0) }

// list returns the objects below a prefix; most of them at most, unless most is 0.
func (f *FS) list(prefix string, most int) (found []vfs.Object, err error) {
	scheme, host, key := split(prefix)
	if !schemes[scheme] {
		return nil, fmt.Errorf("%s: files of %s cannot be listed: name each", redact.URL(prefix), scheme)
	}
	bucket, err := f.bucket(scheme, host)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", redact.URL(prefix), err)
	}
	size := 1000
	if most > 0 {
		size = most
	}
	for token, more := "", true; more && (most == 0 || len(found) < most); more = token != "" {
		var page []listed
		err := f.retry(f.ctx, listingThem, prefix, func(ctx context.Context) (int, error) {
			objects, next, err := bucket.list(ctx, key, token, size)
			if err == nil {
				page, token = objects, next
			}
			return 0, err
		})
		if err != nil {
			return nil, problem(listingThem, prefix, err)
		}
		for _, o := range page {
			if strings.HasSuffix(o.key, "/") {
				continue // what consoles make for a folder
			}
			name := scheme + "://" + host + "/" + o.key
			f.known.Store(name, o.version)
			found = append(found, vfs.Object{Name: name, Size: o.size, Modified: o.modified, ETag: o.tag})
		}
	}
	slices.SortFunc(found, func(a, b vfs.Object) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// Remove deletes an object, or a file. An object of a server that is read only is an error.
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
		return fmt.Errorf("%s: %w: it is read only", redact.URL(name), errors.ErrUnsupported)
	}
	f.known.Delete(name)
	const op = "removing it"
	return problem(op, name, f.retry(f.lasting(), op, name, func(ctx context.Context) (int, error) {
		return 0, object.bucket.remove(ctx, object.key)
	}))
}

// The rest of vfs.FS is not for objects.

func unsupported(op, name string) error {
	return &fs.PathError{Op: op, Path: redact.URL(name), Err: errors.ErrUnsupported}
}

// local calls a function of the file system of all names that are not URLs.
func local[T any](f *FS, op, name string, do func(name string) (T, error)) (result T, err error) {
	if f.IsObject(name) {
		return result, unsupported(op, name)
	}
	return do(name)
}

// Create implements vfs.FS. Objects are uploaded.
func (f *FS) Create(name string, perm fs.FileMode) (vfs.File, error) {
	return local(f, "create", name, func(name string) (vfs.File, error) { return f.FS.Create(name, perm) })
}

// Link implements vfs.FS. Objects are copied.
func (f *FS) Link(from, to string) error {
	_, err := local(f, "link", from, func(from string) (any, error) { return nil, f.FS.Link(from, to) })
	return err
}

// ReadDir implements vfs.FS. Objects are listed.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	return local(f, "readdir", name, f.FS.ReadDir)
}

// objectInfo describes an object, or a prefix of objects.
type objectInfo struct {
	name     string
	size     int64
	dir      bool
	tag      string
	modified time.Time
}

func (i objectInfo) Name() string       { return path.Base(redact.URL(i.name)) }
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
