package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/sqlscan"
	"github.com/mpga/mpga/internal/vfs"
)

// historyMax is how many lines a history keeps.
const historyMax = 1000

// HistoryPath returns where the history of a user is kept: in the directory for state (XDG), or "" if
// there is none.
func HistoryPath(getenv func(string) string) string {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "mpga", "history")
}

// history are the lines that were typed, the oldest first.
type history struct {
	path string   // "" if it is not kept
	made []string // in this session
}

// load returns the lines of the file, none if there is no such file.
func (h *history) load() ([]string, error) {
	if h.path == "" {
		return nil, nil
	}
	f, err := vfs.OS.Open(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []string
	scanner := bufio.NewScanner(io.NewSectionReader(f, 0, historyBytesMax))
	scanner.Buffer(nil, statementBytesMax)
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	return lines[max(0, len(lines)-historyMax):], nil // a line that is too long ends it
}

// historyBytesMax bounds the file that is read.
const historyBytesMax = 16 << 20

// save adds the lines of this session to the file, which another session may have changed. Only the
// user may read the file.
func (h *history) save() error {
	if h.path == "" || len(h.made) == 0 {
		return nil
	}
	lines, err := h.load()
	if err != nil {
		return err
	}
	if err := vfs.OS.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	lines = append(lines, h.made...)
	return vfs.WriteFileBy(vfs.OS, h.path, 0o600, func(w io.Writer) error {
		for _, line := range lines[max(0, len(lines)-historyMax):] {
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
		return nil
	})
}

// add adds a statement or a command, without the secrets of its URLs. It returns the lines by which
// the text is remembered.
func (h *history) add(text string) []string {
	lines := historyLines(redact.Text(text))
	h.made = append(h.made, lines...)
	return lines
}

// historyLines returns a statement as one line, or as its own lines where a string or a comment
// needs their ends.
func historyLines(text string) []string {
	joined := true
	for _, t := range sqlscan.Scan(text) {
		line := t.Kind == sqlscan.Comment && strings.HasPrefix(t.Text(text), "--")
		joined = joined && !line && !strings.Contains(t.Text(text), "\n")
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range parts {
		parts[i] = strings.TrimSpace(strings.ReplaceAll(parts[i], "\t", " "))
	}
	if joined {
		return []string{strings.Join(parts, " ")}
	}
	return parts
}
