// Package peer runs statements in DuckDB, Polars and ClickHouse, within one Python process, so that tests
// and benchmarks can compare their answers and times with mpga's.
package peer

import (
	"bufio"
	"context"
	_ "embed" // peer.py
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// The names of the engines.
const (
	DuckDB     = "DuckDB"
	Polars     = "Polars"
	ClickHouse = "ClickHouse"
)

// ErrNoDuckDB says that a Python has no DuckDB 2, which exists for Python alone.
var ErrNoDuckDB = errors.New("no DuckDB 2: pip install duckdb==2.0.0 pyarrow, or name a Python that has them")

// EngineError is what an engine says of a statement. The process goes on.
type EngineError struct{ Engine, Text string }

func (e *EngineError) Error() string { return e.Engine + ": " + e.Text }

// script is the program of the process. It describes the protocol.
//
//go:embed peer.py
var script string

// Process is a running Python that serves the engines. One goroutine at a time uses it.
type Process struct {
	python  string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	said    lastBytes    // end of its standard error
	temp    string       // its directory of temporary files, where ClickHouse leaves some
	expired func() error // the error of the context that it was started with
	version string       // of DuckDB
	ended   error        // why it serves no more; nil while it does
}

// Start starts an interpreter, such as "python3", whose engines use so many threads each. The end
// of the context kills it. The error is ErrNoDuckDB where DuckDB 2 cannot be imported.
func Start(ctx context.Context, python string, threads int) (*Process, error) {
	p := &Process{python: python, expired: ctx.Err}
	if err := p.start(ctx, threads); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", python, err), p.Close())
	}
	version, err := p.Version(DuckDB)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w (%w)", python, ErrNoDuckDB, err), p.Close())
	}
	if major, _, _ := strings.Cut(version, "."); len(major) == 1 && major < "2" {
		return nil, errors.Join(fmt.Errorf("%s: %w (it has %s)", python, ErrNoDuckDB, version), p.Close())
	}
	p.version = version
	return p, nil
}

func (p *Process) start(ctx context.Context, threads int) (err error) {
	if p.temp, err = os.MkdirTemp("", "mpga-peer-"); err != nil {
		return err
	}
	p.cmd = exec.CommandContext(ctx, p.python, "-c", script, strconv.Itoa(threads))
	p.cmd.Env = append(os.Environ(), "TMPDIR="+p.temp, fmt.Sprint("POLARS_MAX_THREADS=", threads))
	p.cmd.Stderr = &p.said
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReaderSize(out, 1<<20)
	if err := p.cmd.Start(); err != nil {
		p.ended = err
		return fmt.Errorf("%w (%w)", ErrNoDuckDB, err)
	}
	return nil
}

// Request is a question to an engine.
type Request struct {
	Engine string   `json:"engine"`
	Setup  []string `json:"setup"` // statements to run first, which are not timed
	Query  string   `json:"query"` // "" for none
	Whole  bool     `json:"whole"` // set by Ask
}

// Reply says what a query cost. Without a query it has Version and Peak alone.
type Reply struct {
	Version string        `json:"version"` // of the engine
	Rows    int64         `json:"rows"`    // of the result, which was read to its end
	Wall    time.Duration `json:"wall_nanos"`
	CPU     time.Duration `json:"cpu_nanos"`  // of all threads of the process
	Peak    int64         `json:"peak_bytes"` // largest resident set of the process so far; 0 if not known
	Bytes   int64         `json:"bytes"`      // of the Arrow stream behind the reply
	Error   string        `json:"error"`      // of the engine, "" for none
}

// Ask runs the statements of a request. Where read is not nil, it gets the query's result, after the
// query was timed. An error of the engine is an *EngineError.
func (p *Process) Ask(r Request, read func(array.RecordReader) error) (Reply, error) {
	if p.ended != nil {
		return Reply{}, p.ended
	}
	if r.Setup == nil {
		r.Setup = []string{}
	}
	r.Whole = read != nil
	reply, err := p.exchange(r)
	if err != nil {
		return Reply{}, p.lost(err)
	}
	if reply.Error != "" {
		return Reply{}, &EngineError{r.Engine, reply.Error}
	}
	if reply.Bytes == 0 {
		return reply, nil
	}
	stream := io.LimitReader(p.out, reply.Bytes)
	readErr := readStream(stream, read)
	if _, err := io.Copy(io.Discard, stream); err != nil {
		return Reply{}, p.lost(err)
	}
	return reply, readErr
}

// exchange sends a request and returns the line of its reply.
func (p *Process) exchange(r Request) (reply Reply, err error) {
	line, err := json.Marshal(r)
	if err != nil {
		return reply, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return reply, err
	}
	if line, err = p.out.ReadBytes('\n'); err != nil {
		return reply, err
	}
	return reply, json.Unmarshal(line, &reply)
}

func readStream(stream io.Reader, read func(array.RecordReader) error) error {
	r, err := ipc.NewReader(stream)
	if err != nil {
		return err
	}
	defer r.Release()
	return read(r)
}

// lost ends the process after an exchange that failed, and returns why.
func (p *Process) lost(err error) error {
	if !errors.Is(err, io.EOF) { // else it ends on its own
		p.cmd.Process.Kill() // its end is reported below
	}
	p.in.Close()
	p.ended = fmt.Errorf("%s: %w: %s", p.python, errors.Join(p.expired(), p.cmd.Wait(), err), p.said.line())
	return p.ended
}

// Run executes statements of an engine, up to the first that fails.
func (p *Process) Run(engine string, statements ...string) error {
	_, err := p.Ask(Request{Engine: engine, Setup: statements}, nil)
	return err
}

// Version returns the version of an engine, or an error if it cannot be imported.
func (p *Process) Version(engine string) (string, error) {
	if engine == DuckDB && p.version != "" {
		return p.version, nil
	}
	reply, err := p.Ask(Request{Engine: engine}, nil)
	return reply.Version, err
}

// Peak returns the largest resident set of the process so far in bytes, or 0 where the system does
// not tell.
func (p *Process) Peak() (int64, error) {
	reply, err := p.Ask(Request{Engine: DuckDB}, nil)
	return reply.Peak, err
}

// Close lets the process end and removes its temporary files.
func (p *Process) Close() error {
	var err error
	if p.ended == nil && p.cmd != nil && p.cmd.Process != nil {
		p.ended = errors.New(p.python + " was closed")
		err = errors.Join(p.in.Close(), p.cmd.Wait())
		if p.expired() != nil { // it was killed, as it should be
			err = nil
		}
	}
	if p.temp == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(p.temp))
}

// lastBytes keeps the end of what is written to it.
type lastBytes struct{ kept []byte }

// lastBytesMax holds the last lines of a traceback.
const lastBytesMax = 4096

func (l *lastBytes) Write(text []byte) (int, error) {
	l.kept = append(l.kept, text...)
	l.kept = l.kept[max(0, len(l.kept)-lastBytesMax):]
	return len(text), nil
}

// line returns the last line, where a traceback of Python says what happened.
func (l *lastBytes) line() string {
	text := strings.TrimSpace(string(l.kept))
	if text == "" {
		return "it said nothing"
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}
