package tests

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dustin/go-humanize"
)

// mapFile has the lines of Go of each folder.
const mapFile = "../ARCHITECTURE.md"

var (
	// mapLine is a line of the map: folders side by side, their lines of Go if any, what they hold.
	mapLine = regexp.MustCompile(`(?m)^( {4,})([\w./-]+/(?:, [\w./-]+/)*)(?:( +)(\d[\d,]*))?( .*)?$`)

	// mapTotals are the totals above the map.
	mapTotals = regexp.MustCompile(
		`the module has ([\d,]+), ([\d,]+) of CUDA, ([\d,]+) of tests and ([\d,]+) of support for tests`)
)

// sizeOff is by what part a size in the map may be off, of folders with more than sizeSmall lines.
const (
	sizeOff   = 0.1
	sizeSmall = 500
)

// Would catch a map whose sizes are those of another year. -rewrite-house writes them.
func TestMapSizes(t *testing.T) {
	text, err := os.ReadFile(mapFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{} // by folder, and of the totals
	for _, name := range slices.Concat(sourceFiles(t, "*.go"), sourceFiles(t, "*.cu"), sourceFiles(t, "*.cuh")) {
		content, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(content, []byte("\n"))
		first, _, _ := strings.Cut(name, "/")
		isTest := strings.HasSuffix(name, "_test.go")
		switch {
		case !strings.HasSuffix(name, ".go"):
			lines["CUDA"] += n
		case isProduct(name):
			lines[path.Dir(name)] += n
			if slices.Contains(testingOnly, path.Dir(name)) {
				lines["support"] += n
			} else {
				lines["module"] += n
			}
		case first == "tests" || first == "lab" && !isTest:
			lines[first] += n
		}
		if isTest {
			lines["all tests"] += n
		}
	}
	check := func(what, written string, n, digits int) string {
		was, err := strconv.Atoi(strings.ReplaceAll(written, ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		if off := math.Abs(float64(was - n)); !*rewriteHouse && off > sizeOff*float64(max(n, sizeSmall)) {
			t.Errorf("%s has %d lines of Go, and %s in the map: go test -run TestMapSizes -rewrite-house", what, n, written)
		}
		return humanize.Comma(int64(firstDigits(n, digits)))
	}
	var parents []string // by depth
	changed := mapLine.ReplaceAllStringFunc(string(text), func(line string) string {
		m := mapLine.FindStringSubmatch(line)
		folders := strings.Split(strings.TrimSuffix(m[2], "/"), "/, ")
		above := parents[:min((len(m[1])-4)/2, len(parents))]
		n := 0
		for _, folder := range folders {
			n += lines[path.Join(path.Join(above...), folder)]
		}
		parents = append(above, folders[0])
		if m[4] == "" {
			return line
		}
		return m[1] + m[2] + fmt.Sprintf("%*s", len(m[3])+len(m[4]), " "+check(m[2], m[4], n, 2)) + m[5]
	})
	changed = mapTotals.ReplaceAllStringFunc(changed, func(line string) string {
		m := mapTotals.FindStringSubmatch(line)
		return fmt.Sprintf("the module has %s, %s of CUDA, %s of tests and %s of support for tests",
			check("the module", m[1], lines["module"], 3), check("CUDA", m[2], lines["CUDA"], 1),
			check("tests", m[3], lines["all tests"], 2), check("support for tests", m[4], lines["support"], 2))
	})
	if *rewriteHouse {
		if err := os.WriteFile(mapFile, []byte(changed), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// firstDigits returns n with its first digits, and zeros behind them.
func firstDigits(n, digits int) int {
	unit := 1
	for n/unit >= int(math.Pow10(digits)) {
		unit *= 10
	}
	return (n + unit/2) / unit * unit
}
