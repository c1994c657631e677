package tests

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

var pythonFlag = flag.String("duckdb-python", "", "a Python whose DuckDB package answers the random statements, in place of the linked DuckDB")

// pythonDuckDB is DuckDB of a Python package, behind peer/answer.py.
type pythonDuckDB struct {
	in  io.Writer
	out *bufio.Reader
}

// startPython starts DuckDB of a Python.
func startPython(t testing.TB, python string) *pythonDuckDB {
	t.Helper()
	cmd := exec.Command(python, "peer/answer.py")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &pythonDuckDB{in, bufio.NewReader(out)}
}

// ask returns the answer to a statement, with cells as sqlTables.theirs has them.
func (p *pythonDuckDB) ask(text string) ([][]any, error) {
	line, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	reply, err := p.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var answer struct {
		Rows  [][]any
		Error string
	}
	if err := json.Unmarshal(reply, &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	for _, row := range answer.Rows {
		for i := range row {
			if row[i], err = pythonCell(row[i]); err != nil {
				return nil, err
			}
		}
	}
	return answer.Rows, nil
}

// pythonCell reads a cell of peer/answer.py.
func pythonCell(v any) (any, error) {
	text, ok := v.(string)
	if !ok {
		return v, nil
	}
	kind, text := text[0], text[1:]
	switch kind {
	case 'f':
		return strconv.ParseFloat(text, 64)
	case 't':
		return "time " + text, nil
	case 's':
		return "span 0 " + text, nil
	case 'l':
		var cells []any
		if err := json.Unmarshal([]byte(text), &cells); err != nil {
			return nil, err
		}
		list := make([]string, len(cells))
		for i := range cells {
			cell, err := pythonCell(cells[i])
			if err != nil {
				return nil, err
			}
			list[i] = elementText(cell)
		}
		return "[" + strings.Join(list, " ") + "]", nil
	}
	return text, nil
}
