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

// W6: how long the server waits for one client.
const (
	requestTime = 30 * time.Second // for the body of a request, to its last byte
	answerStall = 2 * time.Minute  // for a client to take what is written of an answer
)

// bounded gives the body of a request, and each write of its answer, a deadline.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		if r.ContentLength != 0 { // the deadline holds, too, while net/http reads what the handler has not
			_ = c.SetReadDeadline(time.Now().Add(requestTime)) // a connection of tests may have none
		}
		if r.ProtoMajor == 1 { // of what the connection's last answer had, nothing is left
			_ = c.SetWriteDeadline(time.Now().Add(answerStall))
		}
		next.ServeHTTP(&boundedWriter{w}, r)
	})
}

// boundedWriter gives the client answerStall to take each write.
type boundedWriter struct{ http.ResponseWriter }

func (b *boundedWriter) Write(p []byte) (int, error) {
	_ = http.NewResponseController(b.ResponseWriter).SetWriteDeadline(time.Now().Add(answerStall))
	return b.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController find the connection.
func (b *boundedWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// errLate is the error of a request whose body stops.
var errLate = fmt.Errorf("the body of the request did not end within %s", requestTime)

// decode decodes the body of a request, which is one value of JSON.
func decode(w http.ResponseWriter, r *http.Request, into any) error {
	text, err := io.ReadAll(r.Body)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errLate
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
