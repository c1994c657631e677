package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/job"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/vfs"
)

// metrics are gauges in Prometheus' text format. mpga needs no other kinds: a command runs once.
// They are safe for concurrent use.
type metrics struct {
	mu     sync.Mutex
	values map[string]map[string]float64 // by name, then by labels as they are written
	server *http.Server
}

// metricHelp has a help text for every metric, by name.
var metricHelp = map[string]string{
	"mpga_run_success":                        "1 if the last run ended without an error, 0 if not.",
	"mpga_run_exit_code":                      "Exit code of the last run.",
	runStart:                                  "When the last run began, in seconds since 1970.",
	"mpga_run_duration_seconds":               "How long the last run took.",
	"mpga_run_last_success_timestamp_seconds": "When a run last ended without an error, in seconds since 1970.",
	"mpga_backfill_dates":                     "Dates of the last run that had an outcome: done, skipped or failed.",
	"mpga_step_outcome":                       "1 for the outcome of a step in the last run: done, skipped or failed.",
	"mpga_step_attempts":                      "How often a step was tried.",
	"mpga_step_duration_seconds":              "How long a step took, all attempts and pauses together.",
	"mpga_step_output_rows":                   "Rows that a step has written.",
	"mpga_step_output_bytes":                  "Size of what a step has written.",
	"mpga_query_progress_ratio":               "Part of a query that is done, from 0 to 1.",
	"mpga_query_rows_read":                    "Rows that a query has read.",
	"mpga_query_bytes_read":                   "Bytes that a query has read of its input, in its own form.",
	"mpga_query_groups":                       "Groups that a query has found.",
	"mpga_query_spilled_bytes":                "Bytes that a query has written to its temporary files.",
	"mpga_query_memory_peak_bytes":            "Most bytes that a query held in pages, tables and decoded columns.",
	"mpga_query_resident_peak_bytes":          "Most bytes that the process had resident while the query ran.",
	"mpga_query_phase_seconds":                "How long a phase of a query took.",
}

// startMetrics returns metrics of a command, served at an address if there is one.
func startMetrics(listen string, started time.Time, command string) (*metrics, error) {
	m := &metrics{values: make(map[string]map[string]float64)}
	m.begin(started, "command", command)
	if listen == "" {
		return m, nil
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", m.serve)
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	spawn.Go(func() error { return m.server.Serve(listener) }, func(err error) {
		if !errors.Is(err, http.ErrServerClosed) {
			slog.Warn("metrics are not served any more", "error", err)
		}
	})
	slog.Info("metrics are served", "url", "http://"+listener.Addr().String()+"/metrics")
	return m, nil
}

func (m *metrics) serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(m.text()) // the client may have gone
}

// stop ends serving and writes the file, if there is one.
func (m *metrics) stop(file string) error {
	if m.server != nil {
		_ = m.server.Close() // nothing is lost
	}
	if file == "" {
		return nil
	}
	m.keepLastSuccess(file)
	if err := vfs.WriteFile(vfs.OS, file, m.text()); err != nil {
		return fmt.Errorf("--metrics-file: %w", err)
	}
	return nil
}

const lastSuccess = "mpga_run_last_success_timestamp_seconds"

// keepLastSuccess takes over from an earlier file when runs last succeeded, where this one has not.
func (m *metrics) keepLastSuccess(file string) {
	f, err := os.Open(file)
	if err != nil {
		return
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), lastSuccess)
		space := strings.LastIndexByte(rest, ' ')
		if !ok || space < 0 {
			continue
		}
		value, err := strconv.ParseFloat(rest[space+1:], 64)
		if _, known := m.values[lastSuccess][rest[:space]]; err == nil && !known {
			m.put(lastSuccess, value, rest[:space])
		}
	}
}

// set gives a metric a value; labels are names and values in turn.
func (m *metrics) set(name string, value float64, labels ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(name, value, labelText(labels))
}

// put sets a value by its labels' text. Requires: m.mu is held.
func (m *metrics) put(name string, value float64, labels string) {
	if m.values[name] == nil {
		m.values[name] = make(map[string]float64)
	}
	m.values[name][labels] = value
}

// labelEscapes are Prometheus' own.
var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// labelText writes the labels that have a value: {job="nightly",step="by_day"}.
func labelText(labels []string) string {
	var parts []string
	for label := range slices.Chunk(labels, 2) {
		if label[1] != "" {
			parts = append(parts, label[0]+`="`+labelEscapes.Replace(label[1])+`"`)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// text returns all metrics in Prometheus' text format, version 0.0.4. prometheus/common/expfmt
// writes it from a protobuf message for each value and makes the command 130 kB larger,
// client_golang 776 kB; VictoriaMetrics/metrics (25 kB) has no help texts.
func (m *metrics) text() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(m.values)) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, metricHelp[name], name)
		for _, labels := range slices.Sorted(maps.Keys(m.values[name])) {
			fmt.Fprintf(&b, "%s%s %s\n", name, labels, strconv.FormatFloat(m.values[name][labels], 'g', -1, 64))
		}
	}
	return b.Bytes()
}

const runStart = "mpga_run_start_timestamp_seconds"

// begin sets when the command began, in place of what an earlier call said with other labels.
func (m *metrics) begin(started time.Time, labels ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.values, runStart)
	m.put(runStart, seconds(started), labelText(labels))
}

// run sets the metrics of a command that has ended.
func (m *metrics) run(started time.Time, code int, labels ...string) {
	now := time.Now()
	success := 0.0
	if code == exitDone {
		success = 1
		m.set(lastSuccess, seconds(now), labels...)
	}
	m.set("mpga_run_success", success, labels...)
	m.set("mpga_run_exit_code", float64(code), labels...)
	m.begin(started, labels...)
	m.set("mpga_run_duration_seconds", now.Sub(started).Seconds(), labels...)
}

// seconds since 1970, to the millisecond.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// progress sets the metrics of a query that runs.
func (m *metrics) progress(p engine.Progress, labels ...string) {
	m.set("mpga_query_progress_ratio", max(p.Fraction, 0), labels...)
	m.set("mpga_query_rows_read", float64(p.RowsRead), labels...)
	m.set("mpga_query_bytes_read", float64(p.BytesRead), labels...)
	m.set("mpga_query_groups", float64(p.Groups), labels...)
}

// query sets the metrics of a query that has ended.
func (m *metrics) query(s engine.Stats, labels ...string) {
	m.set("mpga_query_rows_read", float64(s.RowsRead), labels...)
	m.set("mpga_query_bytes_read", float64(s.BytesRead), labels...)
	m.set("mpga_query_groups", float64(s.Groups), labels...)
	m.set("mpga_query_spilled_bytes", float64(s.SpilledBytes), labels...)
	m.set("mpga_query_memory_peak_bytes", float64(s.MemoryPeak), labels...)
	m.set("mpga_query_resident_peak_bytes", float64(s.ResidentPeak), labels...)
	for phase, took := range s.PhaseTimes {
		m.set("mpga_query_phase_seconds", took.Seconds(), append(slices.Clone(labels), "phase", string(phase))...)
	}
}

// step sets the metrics of a step that has ended.
func (m *metrics) step(r job.StepReport, labels ...string) {
	for _, outcome := range []job.Outcome{job.Done, job.Skipped, job.Failed} {
		value := 0.0
		if r.Outcome == outcome {
			value = 1
		}
		m.set("mpga_step_outcome", value, append(slices.Clone(labels), "outcome", string(outcome))...)
	}
	m.set("mpga_step_attempts", float64(r.Attempts), labels...)
	m.set("mpga_step_duration_seconds", r.Elapsed.Seconds(), labels...)
	if r.Outcome == job.Done {
		m.set("mpga_step_output_rows", float64(r.Rows), labels...)
		m.set("mpga_step_output_bytes", float64(r.Bytes), labels...)
		m.query(r.Stats, labels...)
	}
}
