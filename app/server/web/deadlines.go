package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// bounded gives the body of a request, and each write of its answer, a deadline. W6.
func (s *Service) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		if r.ContentLength != 0 { // the deadline holds, too, while net/http reads what the handler has not
			_ = c.SetReadDeadline(time.Now().Add(s.opt.RequestTime)) // a connection of tests may have none
		}
		if r.ProtoMajor == 1 { // of what the connection's last answer had, nothing is left
			_ = c.SetWriteDeadline(time.Now().Add(s.opt.AnswerStall))
		}
		next.ServeHTTP(&boundedWriter{w, s.opt.AnswerStall}, r)
	})
}

// boundedWriter gives the client some time to take each write.
type boundedWriter struct {
	http.ResponseWriter
	stall time.Duration
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	_ = http.NewResponseController(b.ResponseWriter).SetWriteDeadline(time.Now().Add(b.stall))
	return b.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController find the connection.
func (b *boundedWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// errLate is the error of a request whose body stops.
var errLate = errors.New("the body of the request did not end")

// decode decodes the body of a request, which is one value of JSON and has until a deadline that bounded has set.
func (s *Service) decode(w http.ResponseWriter, r *http.Request, into any) error {
	text, err := io.ReadAll(r.Body)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w within %s", errLate, s.opt.RequestTime)
	}
	if err != nil {
		return err
	}
	// All of the body is here: the deadline must not end the context of a statement that takes longer.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return json.Unmarshal(text, into)
}

// closeUnread has the connection end after the answer, where a request has a body that nobody will read:
// net/http would wait for the body before it sends the answer.
func closeUnread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 && r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
}
