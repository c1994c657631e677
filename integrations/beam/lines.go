package mpgabeam

import (
	"bytes"
	"strings"
)

// lineWriter hands on each line that is written to it, and keeps the last ones.
type lineWriter struct {
	each func(line string)
	most int // bytes that are kept, and of a line that is handed on

	open []byte // the line that has no end yet
	kept []string
	size int // bytes of kept
}

func (w *lineWriter) Write(p []byte) (int, error) {
	written := len(p)
	for {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		w.open = append(w.open, line[:min(len(line), w.most-len(w.open))]...)
		if !ended {
			return written, nil
		}
		w.flush()
		p = rest
	}
}

// flush ends the open line.
func (w *lineWriter) flush() {
	line := strings.TrimSpace(string(w.open))
	w.open = w.open[:0]
	if line == "" {
		return
	}
	w.each(line)
	w.kept = append(w.kept, line)
	for w.size += len(line); w.size > w.most; w.kept = w.kept[1:] {
		w.size -= len(w.kept[0])
	}
}

// last returns the lines that are kept.
func (w *lineWriter) last() string { return strings.Join(w.kept, "\n") }
