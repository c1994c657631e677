package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The examples of the README do what it says, one after the other, where the sample of flights
// lies.
func TestReadmeExamples(t *testing.T) {
	dir := t.TempDir()
	copyFlights(t, dir)
	examples := codeBlocks(t, "../../README.md", "console")
	if len(examples) < 5 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, want := range examples {
		checkTranscript(t, dir, want)
	}
}

// The examples of the other pages do what they say, each page's in a folder of its own.
func TestPageExamples(t *testing.T) {
	for _, page := range []string{"coming-from", "cookbook", "rollups"} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			copyFlights(t, dir)
			for _, want := range codeBlocks(t, "../../docs/"+page+".md", "console") {
				checkTranscript(t, dir, want)
			}
		})
	}
}

// The example of docs/jobs.md does what it says.
func TestJobsExample(t *testing.T) {
	const page = "../../docs/jobs.md"
	dir := t.TempDir()
	copyFlights(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "flights.yaml"), []byte(codeBlocks(t, page, "yaml")[0]), 0o666); err != nil {
		t.Fatal(err)
	}
	checkTranscript(t, dir, codeBlocks(t, page, "console")[0])
}

// copyFlights copies the sample of flights to its place, tests/testdata, below a folder.
func copyFlights(t *testing.T, dir string) {
	t.Helper()
	flights, err := os.ReadFile("../../tests/testdata/flights-2001.parquet")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "tests", "testdata")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "flights-2001.parquet"), flights, 0o666); err != nil {
		t.Fatal(err)
	}
}

// codeBlocks returns the blocks of a language in a page of Markdown; there is at least one.
func codeBlocks(t *testing.T, page, language string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("%s: no block of %s", page, language)
	}
	return blocks
}

// checkTranscript runs the lines of a transcript that begin with a dollar sign, in a folder, and
// compares what they print with the transcript.
func checkTranscript(t *testing.T, dir, want string) {
	t.Helper()
	var got strings.Builder
	for line := range strings.Lines(want) {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		got.WriteString(line)
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		got.Write(out)
	}
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}
