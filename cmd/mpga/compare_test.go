package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/kernels"
)

const comparedQuery = "SELECT origin, sum(distance), count(*), avg(delay) FROM '../../tests/testdata/flights-2001.parquet' GROUP BY origin"

// Would catch a comparison that leaves an algorithm out, that does not say which one cannot answer, or a page that
// lacks one.
func TestCompare(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	out, err := exec.Command("mpga", "compare", comparedQuery, "--device", "host:256MiB", "--times", "1", "--html", page).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{"cpu", "device"}, engine.Algorithms()[1:]...) {
		if !strings.Contains(string(out), "\n"+name+" ") || !strings.Contains(string(html), "<td>"+name+"</td>") {
			t.Errorf("%s is not there:\n%s", name, out)
		}
	}
	wanted := []string{"all answers are the same: 228 groups", "host:256MiB is no GPU", "300,000 rows; ", "\ns: median of"}
	for _, want := range wanted {
		if !strings.Contains(string(out), want) || !strings.Contains(string(html), strings.TrimSpace(want)) {
			t.Errorf("%q is not in %s", want, out)
		}
	}
	cmd := exec.Command("mpga", "compare", strings.Replace(comparedQuery, "count(*)", "median(delay)", 1), "--device", "host:256MiB", "--times", "1",
		"--algorithms", "sgb-ur,hgb", "--json")
	if out, err = cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var first, second compared
	for i, to := range []*compared{&first, &second} {
		if err := json.Unmarshal([]byte(lines[i]), to); err != nil {
			t.Fatal(err)
		}
	}
	if first.Algorithm != "sgb-ur" || first.Groups != 228 || first.Seconds <= 0 || first.Stats.Device.Algorithm != "sgb-ur" {
		t.Errorf("%s", lines[0])
	}
	if second.Algorithm != "hgb" || !strings.Contains(second.Refused, "hgb has no values in order") {
		t.Errorf("%s", lines[1])
	}
}

// What is wrong is said, and what a flag takes.
func TestCompareErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{comparedQuery, "--algorithms", "cpu,sp-ego"}, `--algorithms "sp-ego": want some of cpu, device, auto, mp-ega`},
		{[]string{comparedQuery, "--algorithms", "auto", "--device", "host:1GiB"}, "--algorithms auto: what mpga takes by itself"},
		{[]string{comparedQuery, "--device", "host:1GiB", "--lf-min", "0.9", "--lf-max", "0.2"}, "--lf-min (0.9) and --lf-max (0.2) must"},
		{[]string{comparedQuery, "--times", "0"}, "--times 0: want 1 or more"},
		{[]string{"SELECT 1 FROM"}, "mpga: "},
		{nil, "mpga: "},
	} {
		out, err := exec.Command("mpga", append([]string{"compare"}, c.args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%v: %v, %s", c.args, err, out)
		}
	}
}

// Would catch a statement with LIMIT whose answers, each as right as the other, pass for different; and an algorithm that
// fails and takes the results of all others with it.
func TestCompareLimit(t *testing.T) {
	out, err := exec.Command("mpga", "compare", comparedQuery+" LIMIT 5", "--device", "host:64MiB", "--times", "1", "--algorithms", "cpu,sp-ega").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all answers have 5 groups; their values were not compared") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = exec.Command("mpga", "compare", comparedQuery, "--device", "cuda:63", "--times", "1", "--algorithms", "cpu,sp-ega").CombinedOutput()
	text := string(out)
	if err == nil || !strings.Contains(text, "\ncpu ") || !strings.Contains(text, "mpga: no GPU is used (") ||
		!strings.Contains(text, "): sp-ega did not run") {
		t.Errorf("%v: %s", err, out)
	}
	if kernels.Possible() == nil {
		return // there is a GPU
	}
	cmd := exec.Command("mpga", "compare", comparedQuery, "--times", "1", "--algorithms", "cpu,sp-ega,hgb")
	out, err = cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "): sp-ega, hgb did not run") {
		t.Errorf("without a GPU: %v, %s", err, out)
	}
}
