package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Would catch --stats that says nothing of what a statement without groups has read, or speaks of
// its groups.
func TestStatsWithoutGroups(t *testing.T) {
	cmd := exec.Command("mpga", "sql", "--stats", "SELECT origin, delay FROM '../../tests/testdata/flights-2001.parquet' ORDER BY delay LIMIT 3")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	got := stderr.String()
	if !regexp.MustCompile(`(?m)^read +[1-9][0-9,]* rows, [1-9][0-9.]* [KM]iB in [0-9]+ splits$`).MatchString(got) || !strings.Contains(got, "route") {
		t.Errorf("no bytes were read, --stats says:\n%s", got)
	}
	if strings.Contains(got, "groups") || strings.Contains(got, "\ntable") {
		t.Errorf("there are no groups, but --stats says:\n%s", got)
	}
}
