package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// Would catch a table that is missing, numbers that differ from run to run, and flags that change nothing.
func TestScale(t *testing.T) {
	scale := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("mpga-lab", append([]string{"scale", "--runs", "3"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	all := scale()
	for _, want := range []string{"What crosses the network", "Stages, in simulated time", "something breaks", "One machine in a minute", "docs/measurements.md",
		"rollup", "distinct", "store bytes", "Calculated, not measured"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q:\n%s", want, all)
		}
	}
	if again := scale(); again != all {
		t.Error("the same flags show other numbers")
	}
	for _, args := range []string{"--hosts 10", "--rows 1e10", "--split-bytes 1GiB", "--groups 1e5", "--spread zipf:1.2", "--row-bytes 40", "--state-bytes 400",
		"--packed-bytes 40", "--rate 1e4", "--merge-rate 1e3", "--ordered", "--store 1", "--network 1", "--latency 1s", "--start 9s", "--seed 2", "--threads 4",
		"--pairs 1e11"} {
		if scale(strings.Fields(args)...) == all {
			t.Errorf("%s changes nothing", args)
		}
	}
}

// Would catch JSON that does not hold numbers of a limit that is never reached.
func TestScaleJSON(t *testing.T) {
	out, err := exec.Command("mpga-lab", "scale", "--query", "rollup,tpch1", "--format", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var r scaleReport
	d := json.NewDecoder(bytes.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatal(err)
	}
	if len(r.Queries) != 2 || r.Cluster.Hosts != 100 || len(r.Queries[0].Stages) < 3 || r.Queries[0].Times.Total.Median <= 0 || len(r.OneMachine) != 4 {
		t.Errorf("%s", out)
	}
	never := 0
	for _, l := range r.Queries[0].Limits {
		if l.Rows == nil {
			never++
		}
	}
	if never == 0 {
		t.Errorf("%+v", r.Queries[0].Limits)
	}
}

// Would catch flags that are out of their bounds and are calculated with.
func TestScaleRefused(t *testing.T) {
	for _, args := range []string{"--query q11", "--rows 0", "--rows NaN", "--row-bytes Inf", "--store NaN", "--slow Inf", "--groups 1e13", "--spread most", "--spread zipf", "--spread zipf:-1", "--hosts 0", "--task-threads 17",
		"--runs 0", "--format csv", "--memory 0", "--partitions 3", "--splits -1", "--stragglers 1", "--slow 1", "--rate -1", "--store 0", "--latency -1s"} {
		out, err := exec.Command("mpga-lab", append([]string{"scale"}, strings.Fields(args)...)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("%s: %v: %s", args, err, out)
		}
	}
}
