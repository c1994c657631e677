//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is a process on a pseudo terminal, and what it has printed.
type terminal struct {
	t    *testing.T
	file *os.File
	mu   sync.Mutex
	text string
	seen int // bytes of text that await has passed
}

// await waits until a pattern is printed, behind what was awaited before.
func (m *terminal) await(pattern string) {
	m.t.Helper()
	want := regexp.MustCompile(pattern)
	for end := time.Now().Add(hurry); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		m.mu.Lock()
		at := want.FindStringIndex(m.text[m.seen:])
		if at != nil {
			m.seen += at[1]
		}
		m.mu.Unlock()
		if at != nil {
			return
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.t.Fatalf("no %q behind %q", pattern, m.text[m.seen:])
}

func (m *terminal) types(keys string) {
	m.t.Helper()
	if _, err := m.file.WriteString(keys); err != nil {
		m.t.Fatal(err)
	}
}

// gather keeps what the process prints, until it ends.
func (m *terminal) gather() {
	buf := make([]byte, 4096)
	for {
		n, err := m.file.Read(buf)
		m.mu.Lock()
		m.text += string(buf[:n])
		m.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// A person types mpga alone, completes, lets Ctrl-C give up a line and cancel a statement, goes on with
// the next, and leaves by Ctrl-D. The table fits the terminal, and the history is kept.
func TestShellOnTerminal(t *testing.T) {
	state := t.TempDir()
	cmd := exec.Command("mpga")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state, "TERM=xterm", "PAGER=", "NO_COLOR=1")
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 60})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	m := &terminal{t: t, file: file}
	var gathered sync.WaitGroup
	gathered.Go(m.gather)

	m.await(`help lists the commands.*\r\nmpga> `)
	m.types(".table fl ../../tests/testdata/flights-20\t\r")
	m.await(`2001.parquet`)
	m.await(`mpga> `)
	m.types("SELECT dest\t, dela\t FROM fl LIMIT 1;\r")
	m.await(`destination.*delay`)
	m.await(`│ destination │ +delay │`)
	m.await(`mpga> `)
	m.types("SELECT 'given up'\x03")
	m.await(`mpga> `)
	m.types("SELECT 'a text that is much too long for the terminal, which has sixty columns' AS a, 1 AS b;\r")
	m.await(`│ a text [^│]*… │ +1 │\r\n`)
	m.await(`mpga> `)
	// Some seconds of work: two million regular expressions a second.
	m.types("SELECT count(*) FROM fl WHERE regexp_matches(repeat(origin || destination, 3000), '(A|B|C)*.*(X|Y|Z)+$');\r")
	time.Sleep(200 * time.Millisecond)
	m.types("\x03")
	m.await(`cancelled\r\n`)
	m.await(`mpga> `)
	m.types("SELECT 40 + 2 AS\r")
	m.await(` \.\.\.> `)
	m.types("answer;\r")
	m.await(`│ +42 │`)
	m.await(`mpga> `)
	m.types("\x04")
	if err := ended(t, cmd); err != nil {
		t.Errorf("%v", err)
	}
	gathered.Wait()
	history, err := os.ReadFile(filepath.Join(state, "mpga", "history"))
	if err != nil || !strings.HasSuffix(string(history), "SELECT 40 + 2 AS answer;\n") || strings.Contains(string(history), "given up") {
		t.Errorf("the history: %q, %v", history, err)
	}
}
