package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/mpga/mpga/internal/vfs"
)

// webObject is a file of a web server.
type webObject struct {
	fs  *FS
	url string

	mu   sync.Mutex
	copy vfs.TempFile // of the whole file, where the server sends no ranges
}

// errNoRange marks a server that answers a request for a range with the whole file.
var errNoRange = errors.New("the server sends whole files only")

func (o *webObject) stat(ctx context.Context) (version, error) {
	r, err := o.do(ctx, http.MethodHead, wholeFile)
	switch {
	case err == nil:
		defer r.Body.Close()
		if r.ContentLength >= 0 {
			return versionOf(r, r.ContentLength), nil
		}
	case !errors.As(err, new(answerError)): // there was no answer
		return version{}, err
	}
	// Some servers answer no HEAD, or not with a length: the first byte's range tells it.
	r, err = o.do(ctx, http.MethodGet, rangeOf(0, 1, identity))
	if err != nil {
		return version{}, err
	}
	defer r.Body.Close()
	if size := sizeOf(r); size >= 0 {
		return versionOf(r, size), nil
	}
	return version{}, finalError{errors.New("the server does not say how large it is")}
}

// check holds an answer against the version that was opened, as far as the answer tells. B3.
func (v version) check(r *http.Response) error {
	if tag := r.Header.Get("ETag"); tag != "" && v.tag != "" && tag != v.tag {
		return finalError{fmt.Errorf("%w: its tag was %s, now %s", errChanged, v.tag, tag)}
	}
	if size := sizeOf(r); size >= 0 {
		return v.checkSize(size)
	}
	return nil
}

// wholeFile is the head of a request for a file as it lies at the server, so that its size is the
// sum of its ranges.
var wholeFile = map[string]string{"Accept-Encoding": identity}

// do makes a request whose answer is the file or a part of it.
func (o *webObject) do(ctx context.Context, method string, header map[string]string) (*http.Response, error) {
	if _, err := url.Parse(o.url); err != nil { // whose text repeats the name
		return nil, finalError{errors.New("the name is no URL as in https://host/path?name=value, other characters as %20")}
	}
	r, err := o.fs.web.do(ctx, method, o.url, header, nil)
	if err != nil || r.StatusCode == http.StatusOK || r.StatusCode == http.StatusPartialContent {
		return r, err
	}
	_ = r.Body.Close()
	return nil, finalError{answerError{text: r.Status}}
}

func (o *webObject) read(ctx context.Context, b []byte, off int64, v version) (int, error) {
	o.mu.Lock()
	file := o.copy
	o.mu.Unlock()
	if file != nil {
		return file.ReadAt(b, off)
	}
	n, err := o.readRange(ctx, b, off, v)
	if errors.Is(err, errNoRange) {
		if err := o.fetch(ctx, v); err != nil {
			return 0, err
		}
		return o.read(ctx, b, off, v)
	}
	return n, err
}

func (o *webObject) readRange(ctx context.Context, b []byte, off int64, v version) (int, error) {
	r, err := o.do(ctx, http.MethodGet, rangeOf(off, len(b), identity))
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	if err := v.check(r); err != nil {
		return 0, err
	}
	if r.StatusCode == http.StatusOK && (off > 0 || int64(len(b)) < v.size) {
		return 0, errNoRange
	}
	if sent := r.Header.Get("Content-Range"); r.StatusCode == http.StatusPartialContent &&
		!strings.HasPrefix(sent, fmt.Sprintf("bytes %d-", off)) {
		return 0, finalError{fmt.Errorf("the server was asked for bytes from %d on, and sent the range %q", off, sent)}
	}
	return io.ReadFull(r.Body, b)
}

// fetch reads the whole file into the temp directory, once.
//
// Requires: the context has a watch.
func (o *webObject) fetch(ctx context.Context, v version) (err error) {
	resume := watchOf(ctx).pause() // perhaps another attempt fetches the file
	o.mu.Lock()
	defer o.mu.Unlock()
	resume()
	if o.copy != nil {
		return nil
	}
	file, err := o.fs.FS.CreateTemp(o.fs.opt.TempDir)
	if err != nil {
		return finalError{fmt.Errorf("temp directory: %w", err)}
	}
	if err := o.download(ctx, file, v); err != nil {
		return errors.Join(err, file.Close())
	}
	o.copy = file
	return nil
}

// download writes the whole file to a local file.
func (o *webObject) download(ctx context.Context, to io.WriterAt, v version) error {
	r, err := o.do(ctx, http.MethodGet, wholeFile)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if err := v.check(r); err != nil {
		return err
	}
	n, err := io.Copy(io.NewOffsetWriter(to, 0), io.LimitReader(r.Body, v.size+1)) // no more than shows that it is larger
	if err != nil {
		return err
	}
	return v.checkSize(n)
}

// close closes the local copy, which removes it.
func (o *webObject) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.copy == nil {
		return nil
	}
	file := o.copy
	o.copy = nil
	return file.Close()
}
