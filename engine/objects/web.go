package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
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
	r, err := o.do(ctx, http.MethodHead, "")
	switch status := (statusError{}); {
	case err == nil:
		defer r.Body.Close()
		if r.ContentLength >= 0 {
			return versionOf(r, r.ContentLength), nil
		}
	case !errors.As(err, &status): // there was no answer
		return version{}, err
	}
	// Some servers answer no HEAD, or not with a length: the first byte's range tells it.
	r, err = o.do(ctx, http.MethodGet, "bytes=0-0")
	if err != nil {
		return version{}, err
	}
	defer r.Body.Close()
	if size := sizeOf(r); size >= 0 {
		return versionOf(r, size), nil
	}
	return version{}, finalError{errors.New("the server does not say how large it is")}
}

// sizeOf returns the size of the whole file, of which an answer may be a part; -1 where it does not tell.
func sizeOf(r *http.Response) int64 {
	if r.StatusCode != http.StatusPartialContent {
		return r.ContentLength
	}
	_, total, _ := strings.Cut(r.Header.Get("Content-Range"), "/")
	if size, err := strconv.ParseInt(total, 10, 64); err == nil {
		return size
	}
	return -1
}

// versionOf returns the version that an answer is of.
func versionOf(r *http.Response, size int64) version {
	modified, _ := http.ParseTime(r.Header.Get("Last-Modified")) // zero where the server does not tell
	return version{size: size, tag: r.Header.Get("ETag"), modified: modified}
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

// statusError is an answer that is neither the file nor a part of it.
type statusError struct{ status string }

func (e statusError) Error() string { return e.status }

// do makes a request whose answer is the file or a part of it.
func (o *webObject) do(ctx context.Context, method, byteRange string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, o.url, nil)
	if err != nil { // whose text repeats the name
		return nil, finalError{errors.New("the name is no URL as in https://host/path?name=value, other characters as %20")}
	}
	request.Header.Set("Accept-Encoding", "identity") // ranges are of the bytes as they lie there
	if byteRange != "" {
		request.Header.Set("Range", byteRange)
	}
	r, err := o.fs.web.Do(request)
	if err != nil {
		return nil, err
	}
	if r.StatusCode == http.StatusOK || r.StatusCode == http.StatusPartialContent {
		return r, nil
	}
	_ = r.Body.Close()
	if err = answered(r.StatusCode, statusError{r.Status}); r.StatusCode < http.StatusMultipleChoices {
		err = finalError{err}
	}
	return nil, retryAfter(err, r.Header, o.fs.opt.Timeout)
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
	r, err := o.do(ctx, http.MethodGet, fmt.Sprintf("bytes=%d-%d", off, off+int64(len(b))-1))
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
	if sent := r.Header.Get("Content-Range"); r.StatusCode == http.StatusPartialContent && !strings.HasPrefix(sent, fmt.Sprintf("bytes %d-", off)) {
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

// download writes the whole file to a local one.
func (o *webObject) download(ctx context.Context, to io.WriterAt, v version) error {
	r, err := o.do(ctx, http.MethodGet, "")
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

// close drops the copy of the file.
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
