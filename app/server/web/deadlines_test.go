package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/app/server/web"
)

// impatient is how long the server of these tests waits for a client.
const impatient = 200 * time.Millisecond

// newImpatientSite starts a server of HTTP/1 or HTTP/2 that waits for its clients no longer than impatient. answered
// has a value when the server has answered with a file, to its end or not.
func newImpatientSite(t *testing.T, version int) (s *site, answered chan bool) {
	t.Helper()
	handler := newService(t, "", func(o *web.Options) { o.RequestTime, o.AnswerStall = impatient, impatient }).Handler()
	answered = make(chan bool, 1)
	listener := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != version {
			t.Errorf("a request of HTTP/%d", r.ProtoMajor)
		}
		if strings.HasSuffix(r.URL.Path, "/file") {
			defer func() { answered <- true }() // also where the answer is cut short
		}
		handler.ServeHTTP(w, r)
	}))
	if version == 2 {
		listener.EnableHTTP2 = true
		listener.StartTLS()
	} else {
		listener.Start()
	}
	t.Cleanup(listener.Close)
	s = &site{t: t, url: listener.URL, client: listener.Client()}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.client.Jar = jar
	return s, answered
}

// Would catch a client that holds a connection, or a stream of one, by a body that stops before its end.
func TestStoppedBody(t *testing.T) {
	for _, version := range []int{1, 2} {
		s, _ := newImpatientSite(t, version)
		s.get("/api/session", object{}, nil)
		for _, length := range []int64{-1, 1000} { // which the headers do not say, or say
			for _, path := range []string{"/api/statements", "/api/explain", "/api/sign-in"} {
				what := fmt.Sprintf("HTTP/%d, %s, %d bytes", version, path, length)
				body, send := io.Pipe()
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, body)
				if err != nil {
					t.Fatal(err)
				}
				r.ContentLength = length
				go func() { _, _ = io.WriteString(send, `{"text": "SELECT`) }()
				response, err := s.client.Do(r)
				if err != nil {
					t.Errorf("%s: %v", what, err)
					continue
				}
				text, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				late := response.StatusCode == http.StatusRequestTimeout &&
					strings.Contains(string(text), "did not end within 200ms")
				if err != nil || !late {
					t.Errorf("%s: %d, %s, %v", what, response.StatusCode, text, err)
				}
				if version == 1 && !response.Close {
					t.Errorf("%s: the connection goes on", what)
				}
				_ = send.Close()
			}
		}
		if _, status := s.run("SELECT count(*) FROM t"); status.State != "done" {
			t.Errorf("HTTP/%d, afterwards: %+v", version, status)
		}
	}
}

// Would catch a client that takes nothing of a long answer, and holds its connection and the result for it.
func TestSlowReader(t *testing.T) {
	for _, version := range []int{1, 2} {
		s, answered := newImpatientSite(t, version)
		s.get("/api/session", object{}, nil)
		id, status := s.run("SELECT repeat('x', 200000) FROM t") // more than fits the windows of TCP and of HTTP/2
		if status.State != "done" {
			t.Fatalf("%+v", status)
		}
		url := fmt.Sprintf("%s/api/results/%d/file?format=csv", s.url, id)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		<-answered
		n, err := io.Copy(io.Discard, response.Body)
		if err == nil || n >= 50_000_000 {
			t.Errorf("HTTP/%d: a reader that took nothing in time has %d bytes, %v", version, n, err)
		}
		_ = response.Body.Close()
		if _, status := s.run("SELECT count(*) FROM t"); status.State != "done" {
			t.Errorf("HTTP/%d, afterwards: %+v", version, status)
		}
	}
}
