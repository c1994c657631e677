package web_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/app/server/web"
)

const tokens = "ann 0123456789abcdef\nbob fedcba9876543210\n"

// Would catch data for who has no token, or another's, and a cookie that scripts or other sites get. W1, W4.
func TestTokens(t *testing.T) {
	ann := newSite(t, tokens, nil)
	for _, path := range []string{"/api/session", "/api/statements", "/api/explain"} {
		if status, _, _ := ann.ask(path, object{"text": "SELECT 1"}); status != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", path, status)
		}
	}
	for _, path := range []string{"/api/tables", "/api/functions", "/api/runs", "/api/runs/1", "/api/results/1", "/api/samples", "/api/runs/1/report", "/metrics"} {
		if status, text, _ := ann.ask(path, nil); status != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d %s", path, status, text)
		}
	}
	if status, _, header := ann.ask("/api/sign-in", object{"token": "0123456789abcdee"}); status != http.StatusUnauthorized || header.Get("Set-Cookie") != "" {
		t.Errorf("a wrong token: %d %v", status, header)
	}
	_, _, header := ann.ask("/api/sign-in", object{"token": "0123456789abcdef"})
	if cookie := header.Get("Set-Cookie"); !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
		t.Errorf("cookie: %q", cookie)
	}
	ann.get("/api/session", object{}, nil)
	if status, _, header := ann.ask("/metrics", nil); status != http.StatusOK || header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("metrics with a token: %d %v", status, header)
	}
	id, _ := ann.run("SELECT n FROM t")

	bob := ann.another()
	bob.get("/api/sign-in", object{"token": "fedcba9876543210"}, nil)
	bob.get("/api/session", object{}, nil)
	for _, path := range []string{"", "/plan", "/timeline", "/report"} {
		if status, _, _ := bob.ask(fmt.Sprint("/api/runs/", id, path), nil); status != http.StatusNotFound {
			t.Errorf("another's run%s: %d", path, status)
		}
	}
	if status, _, _ := bob.ask(fmt.Sprint("/api/runs/", id, "/cancel"), object{}); status != http.StatusNotFound {
		t.Errorf("cancelling another's run: %d", status)
	}
	if _, text, _ := bob.ask("/api/runs", nil); strings.Contains(text, "SELECT n") {
		t.Errorf("another's runs: %s", text)
	}
	ann.get("/api/sign-out", object{}, nil)
	if status, _, _ := ann.ask("/api/tables", nil); status != http.StatusUnauthorized {
		t.Errorf("signed out: %d", status)
	}
}

// Would catch requests that another site has a browser send, and a site whose name leads to the
// server's loopback address. W2.
func TestOtherSites(t *testing.T) {
	s := newSite(t, "", nil)
	s.get("/api/session", object{}, nil)
	for _, headers := range [][]string{
		{"Origin", "http://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
	} {
		if status, _, _ := s.ask("/api/statements", object{"text": "SELECT 1"}, headers...); status != http.StatusForbidden {
			t.Errorf("%v: %d", headers, status)
		}
	}
	if status, _, _ := s.ask("/api/runs", nil, "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden {
		t.Errorf("reading from another site: %d", status)
	}
	for host, want := range map[string]int{
		"evil.example": http.StatusMisdirectedRequest, "evil.example:80": http.StatusMisdirectedRequest, "10.0.0.1": http.StatusMisdirectedRequest,
		"localhost": http.StatusOK, "localhost:1": http.StatusOK, "[::1]:80": http.StatusOK, "127.0.0.1": http.StatusOK,
	} {
		if status, _, _ := s.ask("/", nil, "Host", host); status != want {
			t.Errorf("Host %s: %d", host, status)
		}
	}
	if status, _, _ := s.ask("/healthz", nil, "Host", "probe.example"); status != http.StatusOK {
		t.Errorf("a sign of life: %d", status)
	}
}

// Would catch a file of the page that is not there or has a wrong type, and more than the page needs.
func TestFilesOfThePage(t *testing.T) {
	s := newSite(t, "", nil)
	total := 0
	for name, kind := range map[string]string{
		"": "text/html", "page.css": "text/css", "report.css": "text/css", "report.js": "text/javascript", "theme.js": "text/javascript",
		"main.js": "text/javascript", "api.js": "text/javascript", "editor.js": "text/javascript", "complete.js": "text/javascript",
		"query.js": "text/javascript", "rows.js": "text/javascript", "chart.js": "text/javascript", "runs.js": "text/javascript", "meters.js": "text/javascript",
	} {
		status, text, header := s.ask("/"+name, nil)
		if status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), kind) || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", name, status, header)
		}
		total += len(text)
		if status, _, _ := s.ask("/"+name, nil, "If-None-Match", header.Get("ETag")); status != http.StatusNotModified {
			t.Errorf("%s, again: %d", name, status)
		}
	}
	if total > 100_000 {
		t.Errorf("the page has %d bytes", total)
	}
	for _, name := range []string{"/nothing.js", "/..%2fweb.go", "/page/index.html"} {
		if status, _, _ := s.ask(name, nil); status != http.StatusNotFound {
			t.Errorf("%s: %d", name, status)
		}
	}
}

// Would catch a section of devices on a machine without, and devices that the page does not get.
func TestDevices(t *testing.T) {
	for _, c := range []struct {
		devices func() ([]web.Device, error)
		want    bool
	}{
		{nil, false},
		{func() ([]web.Device, error) { return nil, errors.New("no driver") }, false},
		{func() ([]web.Device, error) { return []web.Device{{Name: "GPU", UtilizationGPU: 7}}, nil }, true},
	} {
		s := newSite(t, "", func(o *web.Options) { o.Devices = c.devices })
		var answer struct {
			Samples []struct{ Devices []web.Device }
		}
		for end := time.Now().Add(5 * time.Second); len(answer.Samples) == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
			s.get("/api/samples", nil, &answer)
		}
		if len(answer.Samples) == 0 || len(answer.Samples[0].Devices) > 0 != c.want {
			t.Errorf("devices: %+v", answer)
		}
	}
}
