package main

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
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
	if !strings.Contains(string(out), "all answers are the same: 228 groups") {
		t.Errorf("%s", out)
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
	if err == nil || !strings.Contains(string(out), "\ncpu ") || !strings.Contains(string(out), "mpga: sp-ega: ") {
		t.Errorf("%v: %s", err, out)
	}
}

// Would catch answers that pass for the same though a value is another row's.
func TestDigest(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	type row struct {
		k, n int64
		s    string
		f    float64
		null bool // n and f
	}
	of := func(rows ...row) *timedQuery {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for _, r := range rows {
			b.Field(0).(*array.Int64Builder).Append(r.k)
			b.Field(2).(*array.StringBuilder).Append(r.s)
			if r.null {
				b.Field(1).AppendNull()
				b.Field(3).AppendNull()
				continue
			}
			b.Field(1).(*array.Int64Builder).Append(r.n)
			b.Field(3).(*array.Float64Builder).Append(r.f)
		}
		q := &timedQuery{Groups: int64(len(rows))}
		q.digest.add(b.NewRecordBatch())
		return q
	}
	rows := []row{{1, 10, "a", 0.1, false}, {2, 20, "b", 0.2, false}, {3, 0, "c", 0, true}}
	want := of(rows...)
	other := slices.Clone(rows)
	slices.Reverse(other)
	other[1].f += 1e-13
	if err := of(other...).differs("b", want, "a"); err != nil {
		t.Errorf("in another order: %v", err)
	}
	for name, change := range map[string]func([]row){
		"a value":                 func(r []row) { r[0].n++ },
		"values of two rows":      func(r []row) { r[0].n, r[1].n = r[1].n, r[0].n },
		"doubles of two rows":     func(r []row) { r[0].f, r[1].f = r[1].f, r[0].f },
		"a double":                func(r []row) { r[1].f += 1e-6 },
		"a string":                func(r []row) { r[2].s = "d" },
		"a NULL":                  func(r []row) { r[2].null = false },
		"strings of two rows":     func(r []row) { r[0].s, r[2].s = r[2].s, r[0].s },
		"a NULL of another's row": func(r []row) { r[2].null, r[1].null, r[2].n, r[2].f = false, true, r[1].n, r[1].f },
	} {
		other := slices.Clone(rows)
		if change(other); of(other...).differs("b", want, "a") == nil {
			t.Errorf("%s differ, and the answers do not", name)
		}
	}
	for _, same := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		endless := func(f float64, other float64) *timedQuery {
			return of(row{1, 1, "a", f, false}, row{2, 1, "b", f, false}, row{3, 1, "c", other, false})
		}
		if err := endless(same, 1).differs("b", endless(same, 1), "a"); err != nil {
			t.Errorf("twice %g: %v", same, err)
		}
		if endless(same, 1).differs("b", endless(same, 2), "a") == nil && same != math.MaxFloat64 || endless(1, same).differs("b", endless(same, 1), "a") == nil {
			t.Errorf("beside %g, other values pass for the same", same)
		}
	}
	if err := of(rows[:2]...).differs("b", want, "a"); err == nil || !strings.Contains(err.Error(), "a has 3 groups, b has 2") {
		t.Errorf("fewer groups: %v", err)
	}
}
