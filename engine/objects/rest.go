package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// rest makes the requests of a store whose interface is plain HTTP.
type rest struct {
	client   *http.Client
	pauseMax time.Duration // that a server may ask for

	// sign adds to a request who makes it; nil where the client does.
	sign func(r *http.Request, body []byte) error

	// explain takes from the body of an answer what went wrong.
	explain func(body []byte) string
}

// do makes a request. Its answer has a status from 200 to 299; all others are errors.
func (s *rest) do(ctx context.Context, method, address string, header map[string]string, body []byte) (*http.Response, error) {
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
	if said, err := readAnswer(answer); err == nil {
		if why := s.explain(said); why != "" {
			refusal.text += ": " + why
		}
	}
	return nil, retryAfter(answered(answer.StatusCode, refusal), answer.Header, s.pauseMax)
}

// call makes a request and returns the body of its answer.
func (s *rest) call(ctx context.Context, method, address string, header map[string]string, body []byte) ([]byte, http.Header, error) {
	answer, err := s.do(ctx, method, address, header, body)
	if err != nil {
		return nil, nil, err
	}
	text, err := readAnswer(answer)
	return text, answer.Header, err
}

// open asks for a part of an object.
func (s *rest) open(ctx context.Context, address string, offset int64, n int, header map[string]string) (io.ReadCloser, int64, error) {
	all := map[string]string{"Range": fmt.Sprintf("bytes=%d-%d", offset, offset+int64(n)-1)}
	for name, value := range header {
		all[name] = value
	}
	answer, err := s.do(ctx, http.MethodGet, address, all, nil)
	if err != nil {
		return nil, 0, err
	}
	return answer.Body, sizeOf(answer), nil
}

// readAnswer reads the body of an answer, which the client bounds, and closes it.
func readAnswer(answer *http.Response) ([]byte, error) {
	text, err := io.ReadAll(answer.Body)
	return text, errors.Join(err, answer.Body.Close())
}

// answerError is an answer of a store that does not do what it was asked for.
type answerError struct {
	status int
	header http.Header
	text   string
}

func (e answerError) Error() string { return e.text }

// escapeKey escapes all of a key but its slashes, as signatures of S3 want it.
func escapeKey(key string) string {
	var b strings.Builder
	for _, c := range []byte(key) {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.~/", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
