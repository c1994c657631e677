package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/lab/papers"
)

// Would catch a report that lacks one of its files, or that has other numbers than the known ones.
func TestPaper(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "report")
	out, err := exec.Command("mpga-lab", "paper", "--paper", "004", "--figure", "table1,theorem1,feedback",
		"--scale", "1e-5",
		"--device", "host:64MiB", "-o", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"index.html", "report.md", "figures.csv", "report.json", "ega-table1.svg",
		"ega-theorem1.svg", "ega-feedback.svg"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r papers.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Machine.IsGPU || r.Scale != 1e-5 || len(r.Results) != 3 || len(r.Left) != 0 {
		t.Fatalf("%+v", r)
	}
	probes := r.Results[0].Panels[0].Series
	if ega, _ := probes[0].At(.99); ega < 1 || ega > 3 {
		t.Errorf("SP-EGA: %g probes", ega)
	}
	if linear, _ := probes[1].At(.99); linear < 10 {
		t.Errorf("LPHGA: %g probes", linear)
	}
	for _, result := range r.Results {
		for _, v := range result.Verdicts {
			if v.Status != papers.Holds {
				t.Errorf("%s: %+v", result.Name, v)
			}
		}
	}
	if !strings.Contains(string(out), "times are not a GPU's") && !strings.Contains(string(out),
		"Times are not a GPU's") || strings.Count(string(out), "holds") < 6 {
		t.Errorf("%s", out)
	}
}

// Would catch input that runs first and fails then, that leaves files, or that an error does not explain.
func TestPaperRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "report")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--figure", "figure99", "-o", dir}, `no figure "figure99": want some of table1, figure5`},
		{[]string{"--paper", "wang", "-o", dir}, `no paper "wang": want some of 004 (ega)`},
		{[]string{"--paper", "001", "--figure", "table1", "-o", dir}, `want some of figure3, figure4, figure5, estimate`},
		{[]string{"--scale", "0", "-o", dir}, "--scale 0: want above 0 and up to 1"},
		{[]string{"--scale", "1.1", "-o", dir}, "--scale 1.1: want above 0 and up to 1"},
		{[]string{"--scale", "NaN", "-o", dir}, "--scale NaN: want above 0"},
		{[]string{"--repeats", "0", "-o", dir}, "--repeats 0: want 1 to 1000"},
		{[]string{"--repeats", "1001", "-o", dir}, "--repeats 1001: want 1 to 1000"},
		{[]string{"--device", "cpu", "-o", dir}, `--device "cpu": want cuda, or host:SIZE`},
		{[]string{"--device", "host:much", "-o", dir}, "--device"},
		{[]string{"--device", "host:2MiB", "-o", dir}, "want host:32MiB at least"},
		{[]string{"-o", file}, "want a directory"},
		{nil, "-o DIR"},
	} {
		out, err := exec.Command("mpga-lab", append([]string{"paper"}, c.args...)...).CombinedOutput()
		exit, ok := err.(*exec.ExitError)
		if !ok || exit.ExitCode() != 2 || !strings.Contains(string(out), c.want) {
			t.Errorf("%v: %v, %s", c.args, err, out)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%v leaves files", c.args)
		}
	}
}

// Would catch a list without a figure.
func TestPaperList(t *testing.T) {
	out, err := exec.Command("mpga-lab", "paper", "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(out), "\n"); lines != len(papers.Figures()) || !strings.Contains(string(out),
		"004  ega       coprocessing42  Bytes over the link") {
		t.Errorf("%s", out)
	}
}
