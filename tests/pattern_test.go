package tests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// randomName returns a name of one to three characters, among them characters with a meaning in patterns.
func randomName(rng *rand.Rand) string {
	const letters = "aab1-!^x"
	name := make([]byte, 1+rng.IntN(3))
	for i := range name {
		name[i] = letters[rng.IntN(len(letters))]
	}
	return string(name)
}

// randomSegment returns a part of a pattern between slashes: of some names of randomName. There are no backslashes and
// no ranges without an end, which DuckDB does not take within brackets.
func randomSegment(rng *rand.Rand) string {
	pieces := []string{"*", "?", "*", "a", "b", "1", "[ab]", "[!a]", "[a-x]", "[!1-9]", "[-a]", "[1!]"}
	var segment strings.Builder
	for range 1 + rng.IntN(3) {
		segment.WriteString(pieces[rng.IntN(len(pieces))])
	}
	return strings.ReplaceAll(segment.String(), "**", "*")
}

// randomPattern returns a pattern that finds files alone: a folder's name has no ending.
func randomPattern(rng *rand.Rand) string {
	segments := make([]string, rng.IntN(4))
	for i := range segments {
		segments[i] = randomSegment(rng)
	}
	if len(segments) > 0 && rng.IntN(2) == 0 {
		segments[rng.IntN(len(segments))] = "**"
	}
	return strings.Join(append(segments, randomSegment(rng)+".csv"), "/")
}

// Patterns find in a tree of random names what DuckDB's glob finds there.
func TestSQLPatternsRandom(t *testing.T) {
	s := openSQL(t)
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 5))
		root := filepath.Join(s.dir, fmt.Sprint("tree", seed))
		for range 60 {
			parts := []string{root}
			for range rng.IntN(4) {
				parts = append(parts, randomName(rng))
			}
			folder := filepath.Join(parts...)
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, randomName(rng)+".csv"), []byte("v\n1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for range 150 {
			pattern := root + "/" + randomPattern(rng)
			want := namesIn(t, s.theirs, "SELECT file FROM glob('"+pattern+"')")
			got := namesIn(t, s.ours, "SELECT DISTINCT filename FROM read_csv('"+pattern+"', filename = true)")
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, %s\ngot  %q\nwant %q", seed, pattern, got, want)
			}
		}
	}
}

// namesIn returns the names of files that a statement answers, in order; none where no file matches.
func namesIn(t *testing.T, answer func(string) ([][]any, error), statement string) (names []string) {
	t.Helper()
	rows, err := answer(statement)
	if err != nil && !strings.Contains(err.Error(), "no file matches") && !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%s: %v", statement, err)
	}
	for _, row := range rows {
		names = append(names, row[0].(string))
	}
	slices.Sort(names)
	return names
}
