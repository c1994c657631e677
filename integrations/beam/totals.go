package mpgabeam

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Totals is the work of one task, or of all tasks of a stage. It is what the collections of a
// pipeline hold: about 100 bytes, however many rows there are. The names in JSON are mpga's own.
type Totals struct {
	Stage        string  `json:"stage"`
	Tasks        int64   `json:"tasks"`
	Already      int64   `json:"already"` // tasks that an earlier attempt had done
	Rows         int64   `json:"rows"`
	Groups       int64   `json:"groups"`
	BytesRead    int64   `json:"bytes_read"`
	BytesWritten int64   `json:"bytes_written"`
	Seconds      float64 `json:"seconds"` // of all tasks, added up
}

// addTotals adds the work of two sets of tasks of one stage.
func addTotals(a, b Totals) Totals {
	return Totals{
		Stage:        b.Stage,
		Tasks:        a.Tasks + b.Tasks,
		Already:      a.Already + b.Already,
		Rows:         a.Rows + b.Rows,
		Groups:       a.Groups + b.Groups,
		BytesRead:    a.BytesRead + b.BytesRead,
		BytesWritten: a.BytesWritten + b.BytesWritten,
		Seconds:      a.Seconds + b.Seconds,
	}
}

// summary is the line that a task of mpga prints when it has ended well.
type summary struct {
	Stage        string  `json:"stage"`
	Task         int64   `json:"task"`
	State        string  `json:"state"`
	Rows         int64   `json:"rows"`
	Groups       int64   `json:"groups"`
	BytesRead    int64   `json:"bytes_read"`
	BytesWritten int64   `json:"bytes_written"`
	Seconds      float64 `json:"seconds"`
}

// The states of a summary.
const (
	stateDone    = "done"
	stateAlready = "already"
)

// parseSummary returns the totals of a task from what mpga has printed. Another stage or task than
// the one that was started shows that the program is not the mpga that this package knows.
func parseSummary(printed []byte, stage string, task int64) (Totals, error) {
	line := bytes.TrimSpace(printed)
	if len(line) == 0 {
		return Totals{}, errors.New("no summary on the standard output")
	}
	var s summary
	if err := json.Unmarshal(line, &s); err != nil {
		return Totals{}, fmt.Errorf("the summary %.200q: %w", line, err)
	}
	if s.Stage != stage || s.Task != task {
		return Totals{}, fmt.Errorf("a summary of %s %d", s.Stage, s.Task)
	}
	t := Totals{Stage: stage, Tasks: 1, Rows: s.Rows, Groups: s.Groups, BytesRead: s.BytesRead, BytesWritten: s.BytesWritten, Seconds: s.Seconds}
	switch s.State {
	case stateDone:
	case stateAlready:
		t.Already = 1
	default:
		return Totals{}, fmt.Errorf("a summary with the state %q", s.State)
	}
	return t, nil
}
