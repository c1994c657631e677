package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// rest makes requests of servers whose interface is plain HTTP. A method makes one attempt:
// FS.retry makes the others.
type rest struct {
	client   *http.Client
	pauseMax time.Duration // that a server may ask for

	// sign adds to a request who makes it; nil where the client does, or nobody.
	sign func(r *http.Request, body []byte) error

	// explain takes from the body of an answer what went wrong; nil of servers that do not say it
	// there.
	explain func(body []byte) string
}

// do makes a request. Its answer has a status from 200 to 299; all others are errors.
func (s *rest) do(ctx context.Context, method, address string, header map[string]string,
	body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, finalError{err}
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	if s.sign != nil {
		if err := s.sign(r, body); err != nil {
			return nil, err
		}
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= 200 && answer.StatusCode < 300 {
		return answer, nil
	}
	refusal := answerError{status: answer.StatusCode, header: answer.Header, text: answer.Status}
	if s.explain == nil {
		_ = answer.Body.Close()
	} else if said, err := readAnswer(answer); err == nil {
		if why := s.explain(said); why != "" {
			refusal.text += ": " + why
		}
	}
	return nil, retryAfter(answered(answer.StatusCode, refusal), answer.Header, s.pauseMax)
}

// call makes a request and returns the body of its answer.
func (s *rest) call(ctx context.Context, method, address string, header map[string]string,
	body []byte) ([]byte, http.Header, error) {
	answer, err := s.do(ctx, method, address, header, body)
	if err != nil {
		return nil, nil, err
	}
	text, err := readAnswer(answer)
	return text, answer.Header, err
}

// delete removes the object, or the upload, that has an address.
func (s *rest) delete(ctx context.Context, address string) error {
	_, _, err := s.call(ctx, http.MethodDelete, address, nil, nil)
	return err
}

// open asks for n bytes of an object from an offset on, packed as an encoding says. It returns them
// with the size of the whole object.
func (s *rest) open(ctx context.Context, address string, offset int64, n int,
	encoding string) (io.ReadCloser, int64, error) {
	answer, err := s.do(ctx, http.MethodGet, address, rangeOf(offset, n, encoding), nil)
	if err != nil {
		return nil, 0, err
	}
	return answer.Body, sizeOf(answer), nil
}

// identity asks for bytes as they lie at the server.
const identity = "identity"

// rangeOf is the head of a request for n bytes from an offset on.
func rangeOf(offset int64, n int, encoding string) map[string]string {
	return map[string]string{"Range": fmt.Sprintf("bytes=%d-%d", offset, offset+int64(n)-1), "Accept-Encoding": encoding}
}

// sizeOf returns the size of the whole object, also where the answer is a part of it; -1 where the
// answer does not tell.
func sizeOf(r *http.Response) int64 {
	if r.StatusCode != http.StatusPartialContent {
		return r.ContentLength
	}
	return totalOf(r.Header.Get("Content-Range"))
}

// totalOf returns the 9 of "bytes 0-4/9", -1 where there is no number.
func totalOf(contentRange string) int64 {
	_, total, _ := strings.Cut(contentRange, "/")
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

// readAnswer reads the body of an answer, which the client bounds, and closes it.
func readAnswer(answer *http.Response) ([]byte, error) {
	text, err := io.ReadAll(answer.Body)
	return text, errors.Join(err, answer.Body.Close())
}

// answerError is the answer of a server that refuses a request.
type answerError struct {
	status int
	header http.Header
	text   string
}

func (e answerError) Error() string { return e.text }

// escapeKey escapes all of a key but its slashes, as signatures of S3 want it: QueryEscape leaves
// -_.~ as they are.
func escapeKey(key string) string { return keyEscapes.Replace(url.QueryEscape(key)) }

var keyEscapes = strings.NewReplacer("+", "%20", "%2F", "/")
