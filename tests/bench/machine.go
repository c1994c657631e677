package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// header says where and when figures were taken, and of what.
type header struct {
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	Memory   int64             `json:"memory_bytes"`
	OS       string            `json:"os"`
	Date     string            `json:"date"`
	Versions map[string]string `json:"versions"` // by engine
	Rows     int64             `json:"rows"`
	Threads  int               `json:"threads"`
	Times    int               `json:"times"`
	CPUTime  bool              `json:"cpu_time,omitempty"` // is compared, not elapsed time
}

// version of mpga; the Makefile sets it.
var version = "dev"

func newHeader(ctx context.Context, b *bench) (header, error) {
	h := header{CPU: cpuModel(), Cores: runtime.NumCPU(), Memory: procValue("/proc/meminfo", "MemTotal") << 10, OS: osName(ctx),
		Date: time.Now().Format(time.DateOnly), Rows: b.rows, Threads: b.threads, Times: b.times}
	h.Versions = map[string]string{mpga: version}
	for _, engine := range b.engines()[1:] {
		var err error
		if h.Versions[engine], err = b.peers.Version(engine); err != nil {
			return h, err
		}
	}
	return h, nil
}

// lines writes the header as people read it.
func (h header) lines() []string {
	engines := []string{}
	for _, e := range allEngines {
		if v, ok := h.Versions[e]; ok {
			engines = append(engines, fmt.Sprintf("%s %s", e, v))
		}
	}
	of := ""
	if h.CPUTime {
		of = " of CPU time"
	}
	return []string{
		fmt.Sprintf("%s, %d cores, %.0f GiB, %s", h.CPU, h.Cores, float64(h.Memory)/(1<<30), h.OS),
		fmt.Sprintf("%s; %s rows, %d threads each, medians of %d%s", strings.Join(engines, ", "), power(h.Rows), h.Threads, h.Times, of),
		h.Date,
	}
}

func cpuModel() string {
	if model := procText("/proc/cpuinfo", "model name"); model != "" {
		return model
	}
	return runtime.GOARCH
}

func osName(ctx context.Context) string {
	name := runtime.GOOS
	if pretty := strings.Trim(procText("/etc/os-release", "PRETTY_NAME"), `"`); pretty != "" {
		name = pretty
	}
	if kernel, err := exec.CommandContext(ctx, "uname", "-sr").Output(); err == nil {
		name += ", " + strings.TrimSpace(string(kernel))
	}
	return name
}

// procText returns the value of the first line `name: value` or `name=value` of a file, or "".
func procText(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(strings.Replace(lines.Text(), "=", ":", 1), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// procValue returns the number of such a line, in the file's unit, or 0.
func procValue(path, name string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(procText(path, name), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
