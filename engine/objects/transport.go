package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// transport makes requests under the watch of their context. A request whose context has none, as a
// request of a library for credentials, gets a watch of its own.
type transport struct {
	fs    *FS
	base  http.RoundTripper
	limit int64 // of an answer's bytes; 0 for none
}

// answerBytesMax bounds the answers to the libraries of stores, which take lists and errors into
// memory as they come: a list of 1,000 keys of 1 KiB has some 2 MiB, a piece of a file at most 1.
const answerBytesMax = 16 << 20

// errEndless marks an answer that is longer than any that makes sense.
var errEndless = fmt.Errorf("the server's answer is longer than %d MiB", answerBytesMax>>20)

// newTransport returns what the requests of a file system go through by default.
func newTransport(opt *Options) http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // a program has put its own in place
		return http.DefaultTransport
	}
	t = t.Clone()
	t.DialContext = (&net.Dialer{Timeout: opt.Timeout, KeepAlive: 30 * time.Second}).DialContext
	t.MaxIdleConnsPerHost = opt.Requests
	return t
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := watchOf(r.Context())
	var own *watch
	if w == nil {
		var ctx context.Context
		ctx, own = t.fs.watch(r.Context(), "a request of "+r.Method)
		r, w = r.WithContext(ctx), own
	}
	w.asked(r.URL.Host)
	if r.Body != nil && r.Body != http.NoBody {
		r = r.Clone(r.Context())
		r.Body = &watchedBody{ReadCloser: r.Body, watch: w, left: -1}
	}
	answer, err := t.base.RoundTrip(r)
	if err = t.fs.noted(r.URL.Host, err); err != nil {
		err = silenceOr(r.Context(), err)
		if own != nil {
			own.end()
		}
		return nil, err
	}
	w.answered(answer.StatusCode)
	left := int64(-1)
	if t.limit > 0 {
		left = t.limit
	}
	answer.Body = &watchedBody{ReadCloser: answer.Body, watch: w, own: own, ctx: r.Context(), left: left}
	return answer, nil
}

// CloseIdleConnections is what http.Client calls.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// silenceOr returns the cause that ended a request if the cause is the server's silence, else the
// error.
func silenceOr(ctx context.Context, err error) error {
	var silence silenceError
	if errors.As(context.Cause(ctx), &silence) {
		return silence
	}
	return err
}

// watchedBody is the body of a request or of an answer.
type watchedBody struct {
	io.ReadCloser
	watch *watch
	own   *watch          // to be ended with the body; nil for none
	ctx   context.Context // of an answer's request; nil for a request's body
	left  int64           // bytes that may come; negative for any number
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errEndless
	}
	if b.left > 0 {
		p = p[:min(int64(len(p)), b.left)]
	}
	n, err := b.ReadCloser.Read(p)
	b.watch.move(n)
	if b.left > 0 {
		b.left -= int64(n)
	}
	if err != nil && !errors.Is(err, io.EOF) && b.ctx != nil {
		err = silenceOr(b.ctx, err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	if b.own != nil {
		b.own.end()
	}
	return b.ReadCloser.Close()
}

// errRedirects marks an answer that leads nowhere.
var errRedirects = errors.New("the server answers with one redirection after the other")

// redirectsMax is how many redirections are followed.
const redirectsMax = 10

// followRedirect is http.Client's CheckRedirect. The next server is not told where the request
// comes from, for that URL may have credentials.
func followRedirect(r *http.Request, via []*http.Request) error {
	if len(via) >= redirectsMax {
		return errRedirects
	}
	r.Header.Del("Referer")
	return nil
}
