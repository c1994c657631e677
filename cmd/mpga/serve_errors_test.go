package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// sqlTypes are the types of badTexts as read_csv takes them.
var sqlTypes = map[string]string{
	"int64": "BIGINT", "double": "DOUBLE", "decimal(9,2)": "DECIMAL(9,2)", "bool": "BOOLEAN", "date": "DATE",
	"timestamp": "TIMESTAMP",
}

// startedServer is a process of mpga serve whose clients may name the files of a folder.
type startedServer struct {
	client *http.Client
	url    string // of HTTP
	flight *fsql.Client
}

var listens = regexp.MustCompile(`msg="(?:clients are|HTTP is) served" (?:address|url)=(\S+)`)

func startServer(t *testing.T, dir string) *startedServer {
	t.Helper()
	cmd := exec.Command("mpga", "serve", "--listen", "localhost:0", "--http", "localhost:0", "--allow-files", dir,
		"--temp-dir", t.TempDir())
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	var addresses []string
	for len(addresses) < 2 && lines.Scan() {
		if m := listens.FindStringSubmatch(lines.Text()); m != nil {
			addresses = append(addresses, m[1])
		}
	}
	var rest bytes.Buffer
	read := make(chan bool)
	go func() {
		_, _ = io.Copy(&rest, stderr)
		close(read)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-read
		if err := ended(t, cmd); err != nil || insides.MatchString(rest.String()) {
			t.Errorf("the server: %v\n%s", err, rest.String())
		}
	})
	if len(addresses) < 2 {
		t.Fatal("the server does not listen")
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &startedServer{client: &http.Client{Jar: jar}, url: strings.TrimSuffix(addresses[1], "/")}
	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	if s.flight, err = fsql.NewClient(addresses[0], nil, nil, plain); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.flight.Close() })
	s.ask(t, "/api/session", map[string]any{}, nil)
	return s
}

// ask sends a request of HTTP, and decodes the answer.
func (s *startedServer) ask(t *testing.T, path string, body, into any) {
	t.Helper()
	method, reader := http.MethodGet, io.Reader(nil)
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		method, reader = http.MethodPost, bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, reader)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text := bodyOf(t, response)
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s: %v in %s", path, err, text)
		}
	}
}

// byHTTP returns the error of a statement of the page, "" where it has none.
func (s *startedServer) byHTTP(t *testing.T, query string) string {
	t.Helper()
	var answer struct {
		ID    int64
		Error struct{ Message string }
	}
	s.ask(t, "/api/statements", map[string]any{"text": query}, &answer)
	if answer.Error.Message != "" {
		return answer.Error.Message
	}
	for {
		var run struct{ State, Error string }
		s.ask(t, fmt.Sprint("/api/runs/", answer.ID), nil, &run)
		if run.State != "waiting" && run.State != "running" {
			return run.Error
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// byFlight returns the error of a statement over Flight SQL.
func (s *startedServer) byFlight(t *testing.T, query string) error {
	t.Helper()
	info, err := s.flight.Execute(t.Context(), query)
	if err != nil {
		return err
	}
	r, err := s.flight.DoGet(t.Context(), info.Endpoint[0].Ticket)
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
	}
	return r.Err()
}

// Would catch an error of a reader that ends the server, is told as its bug, or says neither file, row nor column: of
// the bad values that TestReadErrors has other commands read, in the first row, behind the sample and in the last row.
func TestServedReadErrors(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir)
	check := func(query string, want []string) {
		for _, from := range []string{"SELECT k, max(v) FROM %s GROUP BY k", "SELECT * FROM %s ORDER BY v"} {
			statement := fmt.Sprintf(from, query)
			flight := s.byFlight(t, statement)
			if code := status.Code(flight); code == codes.OK || code == codes.Internal || code == codes.Unavailable {
				t.Errorf("%s: %v", statement, flight)
			}
			told := map[string]string{"HTTP": s.byHTTP(t, statement), "Flight": status.Convert(flight).Message()}
			for kind, text := range told {
				for _, want := range want {
					if !strings.Contains(text, want) {
						t.Errorf("%s, by %s: no %s in %.1000q", statement, kind, want, text)
					}
				}
				lines := strings.Count(text, "\n") + 1 // three where the statement is pointed at
				if len(text) > 1000 || lines != 1 && lines != 3 || insides.MatchString(text) {
					t.Errorf("%s, by %s: %.2000q", statement, kind, text)
				}
			}
		}
	}
	for name, bad := range badTexts {
		_, of, typed := strings.Cut(bad.types, "=")
		if typed && bad.ending != ".csv" { // by the type of the first rows
			continue
		}
		for i, row := range []int{0, behindSample, badRows - 1} {
			if row == 0 && bad.behind || testing.Short() && i != 1 {
				continue
			}
			file := fmt.Sprintf("%s-%d%s", strings.ReplaceAll(name, " ", "-"), row, bad.ending)
			packed(t, filepath.Join(dir, file), bad.text(badRows, row))
			query := "'" + file + "'"
			if typed {
				query = fmt.Sprintf("read_csv('%s', types = {'v': '%s'})", file, sqlTypes[of])
			}
			want := []string{file, fmt.Sprintf(bad.place, row+bad.first)}
			if !strings.Contains(name, "fields") && !strings.Contains(name, "syntax") {
				want = append(want, `"v"`)
			}
			check(query, want)
		}
	}
	if err := s.byFlight(t, "SELECT 1"); err != nil {
		t.Errorf("the server afterwards: %v", err)
	}
	if text := s.byHTTP(t, "SELECT 1"); text != "" {
		t.Errorf("the server afterwards: %s", text)
	}
}
