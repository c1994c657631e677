// Package fakempga is a program that behaves as mpga dist does, but aggregates nothing. The binaries
// of tests run it when they are started as mpga would be.
//
// A plan of the fake names its stages, and the tasks that behave badly. Beside the plan lie a log of
// what tasks have started and ended, and a file for each task that is done. A task that starts before
// all tasks of the stage before are done is an error that no attempt mends.
package fakempga

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Plan is the plan of the fake, a file of JSON.
type Plan struct {
	Stages []Stage           `json:"stages"`
	Tasks  map[string]string `json:"tasks,omitempty"` // behaviours, by stage and number: "merge 0"

	path string
}

// Stage is a stage of a plan.
type Stage struct {
	Name  string `json:"name"`
	Tasks int    `json:"tasks"`
}

// The behaviours of a task.
const (
	Fail     = "fail"      // with exit code 1, always
	FailOnce = "fail once" // with exit code 1, the first time
	Refuse   = "refuse"    // with exit code 2
	Hang     = "hang"      // until SIGTERM
	Deaf     = "deaf"      // until SIGKILL
	Garble   = "garble"    // the summary is not JSON
	Stranger = "stranger"  // the summary is of another task
	Chatter  = "chatter"   // 1 MB of text before it fails
)

// What each task of the fake says to have done.
const (
	Rows         = 10
	Groups       = 2
	BytesRead    = 300
	BytesWritten = 40
	Seconds      = 0.25
)

// IsCommand tells whether a program was started as mpga dist.
func IsCommand() bool { return len(os.Args) > 2 && os.Args[1] == "dist" }

// Main runs the command, and returns its exit code.
func Main() int {
	stage := os.Args[2]
	flags := flag.NewFlagSet(stage, flag.ExitOnError)
	path := flags.String("plan", "", "")
	var task int
	for _, name := range []string{"split", "node", "task"} {
		flags.IntVar(&task, name, 0, "")
	}
	for _, name := range []string{"format", "threads", "memory-limit", "temp-dir", "device"} {
		flags.String(name, "", "")
	}
	_ = flags.Parse(os.Args[3:]) // ends the program on an error

	plan, err := Read(*path)
	if err != nil {
		return complain(2, "%v", err)
	}
	if stage == "status" {
		return plan.status()
	}
	plan.Log("start %s %d: %s", stage, task, strings.Join(os.Args[1:], " "))
	code := plan.run(stage, task)
	plan.Log("end %s %d with %d", stage, task, code)
	return code
}

func complain(code int, format string, args ...any) int {
	fmt.Fprintf(os.Stderr, "mpga: "+format+"\n", args...)
	return code
}

// Write writes a plan to a folder, and returns it with its path.
func Write(folder string, p Plan) (*Plan, error) {
	p.path = filepath.Join(folder, "plan.json")
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return &p, os.WriteFile(p.path, text, 0o600)
}

// Read reads the plan at a path.
func Read(path string) (*Plan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p := &Plan{path: path}
	return p, json.Unmarshal(text, p)
}

// Path is where the plan lies.
func (p *Plan) Path() string { return p.path }

func (p *Plan) beside(name string) string { return filepath.Join(filepath.Dir(p.path), name) }

// Log adds a line to the log of the plan.
func (p *Plan) Log(format string, args ...any) {
	f, err := os.OpenFile(p.beside("log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(f, format+"\n", args...)
	}
	if err != nil {
		panic(err)
	}
	f.Close()
}

// Lines returns the log of the plan.
func (p *Plan) Lines() []string {
	text, _ := os.ReadFile(p.beside("log")) // there is none before the first task
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// LockPath is a file that tasks hold a lock of while they hang.
func (p *Plan) LockPath() string { return p.beside("lock") }

func (p *Plan) marker(kind, stage string, task int) string {
	return p.beside(fmt.Sprintf("%s-%s-%d", kind, stage, task))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (p *Plan) done(s Stage) (n int) {
	for task := range s.Tasks {
		if exists(p.marker("done", s.Name, task)) {
			n++
		}
	}
	return n
}

func (p *Plan) status() int {
	committed := p.done(Stage{Name: "commit", Tasks: 1}) == 1
	text, err := json.Marshal(map[string]any{"id": "0123456789abcdef", "committed": committed, "stages": p.Stages})
	if err != nil {
		return complain(1, "%v", err)
	}
	fmt.Printf("%s\n", text)
	return 0
}

// run runs a task of a stage.
func (p *Plan) run(stage string, task int) int {
	for _, s := range p.Stages {
		if s.Name == stage {
			break
		}
		if done := p.done(s); done < s.Tasks {
			return complain(2, "%s %d starts when %d of %d tasks of %s are done", stage, task, done, s.Tasks, s.Name)
		}
	}
	state := "done"
	if exists(p.marker("done", stage, task)) {
		state = "already"
	}
	said := task
	switch p.Tasks[fmt.Sprintf("%s %d", stage, task)] {
	case Fail:
		return complain(1, "a connection was reset")
	case FailOnce:
		if once := p.marker("failed", stage, task); !exists(once) {
			_ = os.WriteFile(once, nil, 0o600)
			return complain(1, "a connection was reset")
		}
	case Refuse:
		return complain(2, "flights.parquet has changed since the plan was made")
	case Hang:
		return p.hang(syscall.SIGTERM)
	case Deaf:
		signal.Ignore(syscall.SIGTERM)
		return p.hang(syscall.SIGUSR1)
	case Garble:
		fmt.Println("Hello, world")
		return 0
	case Stranger:
		said++
	case Chatter:
		for range 1 << 14 {
			fmt.Fprintln(os.Stderr, strings.Repeat("x", 63))
		}
		return complain(1, "the last line")
	}
	if err := os.WriteFile(p.marker("done", stage, task), nil, 0o600); err != nil {
		return complain(1, "%v", err)
	}
	fmt.Printf(`{"stage":%q,"task":%d,"state":%q,"rows":%d,"groups":%d,"bytes_read":%d,"bytes_written":%d,"seconds":%g}`+"\n",
		stage, said, state, Rows, Groups, BytesRead, BytesWritten, Seconds)
	return 0
}

// hang holds the lock until a signal comes.
func (p *Plan) hang(until os.Signal) int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, until)
	lock, err := os.OpenFile(p.LockPath(), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_SH)
	}
	if err != nil {
		return complain(1, "%v", err)
	}
	p.Log("hangs")
	select {
	case <-signals:
		return complain(130, "interrupted")
	case <-time.After(5 * time.Minute): // a test has failed to end it
		return complain(1, "nobody came")
	}
}
