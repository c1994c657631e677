package rollup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// daily is a roll-up of a folder of some files, a day each.
func daily(t *testing.T, fsys vfs.FS, statement string, days int) Options {
	t.Helper()
	dir := t.TempDir()
	check(t, os.Mkdir(filepath.Join(dir, "t"), 0o777))
	for day := range days {
		addDay(t, dir, day)
	}
	return Options{
		Statement: statement, Tables: map[string]plan.Table{"t": {Files: []string{filepath.Join(dir, "t")}}},
		State: filepath.Join(dir, "state"), Output: filepath.Join(dir, "out.csv"), Layout: sink.Options{Format: sink.CSV},
		FS: fsys, Version: "test",
	}
}

// addDay writes the file of a day: a row is k, v, and there are 5 values of k.
func addDay(t *testing.T, dir string, day int) {
	t.Helper()
	text := "k,v\n"
	for row := range 10 {
		text += fmt.Sprintf("%d,%d\n", row%5, day*10+row)
	}
	check(t, os.WriteFile(filepath.Join(dir, "t", fmt.Sprintf("%03d.csv", day)), []byte(text), 0o666))
}

const dailySum = "SELECT k, sum(v) AS sv FROM t GROUP BY k ORDER BY k"

// dailyAnswer is what dailySum gives.
func dailyAnswer(days int) string {
	text := "k,sv\n"
	for k := range 5 {
		sum := 0
		for day := range days {
			sum += 2*day*10 + 2*k + 5
		}
		text += fmt.Sprintf("%d,%d\n", k, sum)
	}
	return text
}

// want compares an output.
func want(t *testing.T, o Options, text string) {
	t.Helper()
	got, err := os.ReadFile(o.Output)
	check(t, err)
	if string(got) != text {
		t.Errorf("the output is\n%s\nwant\n%s", got, text)
	}
}

// says compares the class and the text of an error.
func says(t *testing.T, name string, err, class error, text string) {
	t.Helper()
	if err == nil || !errors.Is(err, class) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v, want %q of the class %v", name, err, text, class)
	}
}

// Would catch a night that reads more than what is new, and more parts behind an answer than a tree has.
func TestNights(t *testing.T) {
	o := daily(t, vfs.OS, dailySum, 20)
	dir := filepath.Dir(o.State)
	eng := open(t, vfs.OS, 2)
	for day := 20; day < 60; day++ {
		r, err := Run(t.Context(), eng, o)
		check(t, err)
		added := 1
		if day == 20 {
			added = 20
		}
		if r.Files != day || r.Added != added || r.FilesRead != added || r.Changed+r.Gone+r.Again != 0 || r.Rows != 5 ||
			r.RowsRead != int64(10*added) || r.Generation != int64(day-19) {
			t.Errorf("day %d: %+v", day, r)
		}
		if r.Sources > sourcesMost {
			t.Errorf("day %d: the answer is made of %d parts, where groups come again", day, r.Sources)
		}
		want(t, o, dailyAnswer(day))
		addDay(t, dir, day)
	}
	check(t, os.WriteFile(filepath.Join(dir, "t", "030.csv"), []byte("k,v\n0,0\n"), 0o666)) // below the total
	_, err := Run(t.Context(), eng, o)
	check(t, err)
	check(t, os.Remove(filepath.Join(dir, "t", "030.csv")))
	addDay(t, dir, 30)
	r, err := Run(t.Context(), eng, o)
	check(t, err)
	if r.FilesRead != 1 || r.Changed != 1 {
		t.Errorf("%+v", r)
	}
	want(t, o, dailyAnswer(60))
}

// Would catch a first run that begins anew where one was killed: files whose parts a state has are not read.
func TestGoesOn(t *testing.T) {
	fsys := faultfs.New(faultfs.Unsynced{FS: vfs.OS})
	o := daily(t, fsys, dailySum, 40)
	o.saveEvery = 1
	eng := open(t, fsys, 1)
	var s *Status
	for call := int64(100); s == nil || s.Files == 0; call += 50 {
		fsys.KillAt(call)
		if _, err := Run(t.Context(), eng, o); err == nil {
			t.Fatalf("a run without %d calls", call)
		}
		fsys.FailAt(0)
		var err error
		s, err = ReadStatus(fsys, o.State)
		check(t, err)
	}
	r, err := Run(t.Context(), eng, o)
	check(t, err)
	if want := 40 - s.Files; r.FilesRead != want || r.Added != want || r.Again != 0 {
		t.Errorf("%+v, and the state had %d files", r, s.Files)
	}
	want(t, o, dailyAnswer(40))
}

// Would catch an explanation that is not what a run does then, and one that writes.
func TestExplain(t *testing.T) {
	o := daily(t, vfs.OS, dailySum, 30)
	dir, eng := filepath.Join(filepath.Dir(o.State), "t"), open(t, vfs.OS, 1)
	file := func(day string) string { return filepath.Join(dir, day+".csv") }
	for _, step := range []struct {
		name   string
		change func()
		want   map[string]string // why, by day
		gone   []string
	}{
		{"first", func() { o.KeepParts = 5 }, map[string]string{"000": "there is no state", "029": "there is no state"}, nil},
		{"nothing", func() {}, nil, nil},
		{"new", func() { addDay(t, filepath.Dir(dir), 30) }, map[string]string{"030": "it is new"}, nil},
		{"changed", func() { check(t, os.WriteFile(file("029"), []byte("k,v\n1,1\n"), 0o666)) },
			map[string]string{"029": "it has changed"}, nil},
		{"gone", func() { check(t, os.Remove(file("003"))) }, nil, []string{file("003")}},
	} {
		step.change()
		e, err := Explain(t.Context(), eng, o)
		check(t, err)
		why := map[string]string{}
		for _, r := range e.Reads {
			if why[r.Path] = r.Why; step.gone != nil && r.Why != "again: "+step.gone[0]+" has gone" {
				t.Errorf("%s: %+v", step.name, r)
			}
		}
		for day, want := range step.want {
			if why[file(day)] != want {
				t.Errorf("%s: day %s is read since %q, want %q", step.name, day, why[file(day)], want)
			}
		}
		r, err := Run(t.Context(), eng, o)
		check(t, err)
		if r.FilesRead != len(e.Reads) || r.Files != e.Files || !slices.Equal(e.Gone, append([]string{}, step.gone...)) ||
			r.Merged < len(e.Merges) || r.Merged > len(e.Merges)+1 { // and a total
			t.Errorf("%s: %+v, and the run %+v", step.name, e, r)
		}
	}
}

// Would catch a run without news that writes a state, and one that writes no output.
func TestNothingNew(t *testing.T) {
	o := daily(t, vfs.OS, dailySum, 3)
	eng := open(t, vfs.OS, 1)
	_, err := Run(t.Context(), eng, o)
	check(t, err)
	check(t, os.Remove(o.Output))
	r, err := Run(t.Context(), eng, o)
	check(t, err)
	if r.Generation != 1 || r.FilesRead+r.Merged != 0 {
		t.Errorf("%+v", r)
	}
	want(t, o, dailyAnswer(3))
}

// Would catch a tree whose shape depends on more than the list, or in which a file that comes or goes moves more than
// the runs beside it; and parts that are not in order, or have a leaf twice.
func TestTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var leaves []*node
	for i := range 3000 {
		leaves = append(leaves, &node{key: newKey("leaf", rng.Uint64()), file: i})
	}
	count := func(roots []*node) (nodes map[string]bool) {
		nodes = map[string]bool{}
		var visit func(n *node)
		visit = func(n *node) {
			nodes[n.key] = true
			if n.members != nil && (len(n.members) < shortest || len(n.members) > longest) {
				t.Errorf("a part of %d members", len(n.members))
			}
			for _, m := range n.members {
				visit(m)
			}
		}
		for _, n := range roots {
			visit(n)
		}
		return nodes
	}
	for n := range 200 {
		var got []*node
		for _, root := range tree(leaves[:n]) {
			root.each(func(leaf *node) { got = append(got, leaf) })
		}
		if !slices.Equal(got, leaves[:n]) {
			t.Errorf("%d leaves: %d in other order", n, len(got))
		}
	}
	all := count(tree(leaves))
	most := 0
	for range 100 {
		at := rng.IntN(len(leaves))
		fewer := count(tree(slices.Delete(slices.Clone(leaves), at, at+1)))
		changed := 0
		for key := range fewer {
			if !all[key] {
				changed++
			}
		}
		most = max(most, changed)
	}
	if roots := len(tree(leaves)); most > 40 || roots > 100 {
		t.Errorf("%d parts are made anew of 3,000 files, of which one has gone; %d roots", most, roots)
	}
}

// Would catch a state that is taken for another statement's, or for one of other columns or another version, and an
// input, output or directory that is not refused by its name. The last good result stays.
func TestRefusals(t *testing.T) {
	eng := open(t, vfs.OS, 1)
	o := daily(t, vfs.OS, dailySum, 3)
	dir := filepath.Dir(o.State)
	_, err := Run(t.Context(), eng, o)
	check(t, err)
	refused := func(name string, class error, text string, change func(o *Options)) {
		t.Helper()
		other := o
		change(&other)
		_, err := Run(t.Context(), eng, other)
		says(t, name, err, class, text)
		want(t, o, dailyAnswer(3))
	}
	set := func(statement string) func(o *Options) { return func(o *Options) { o.Statement = statement } }
	refused("another statement", ErrOther, "mpga rollup rebuild", set("SELECT k, sum(v) FROM t GROUP BY k ORDER BY k DESC"))
	refused("other options", ErrOther, "of other options", func(o *Options) { o.Deterministic = true })
	other := func(statement string) func(o *Options) {
		return func(o *Options) { o.Statement, o.State = statement, filepath.Join(dir, "other") }
	}
	refused("rows", ErrStatement, "makes no groups", other("SELECT k FROM t ORDER BY k"))
	refused("the time", ErrStatement, "write the time", other("SELECT now(), count(*) FROM t"))
	refused("pivot", ErrStatement, "its columns depend on the rows of a table", other("PIVOT t ON k USING sum(v)"))
	refused("no state", ErrStatement, "the directory of the state has no name", func(o *Options) { o.State = "" })
	refused("random values", ErrStatement, "random() in a roll-up", other("SELECT k, sum(v + random()) FROM t GROUP BY k"))
	refused("an output in the input", ErrStatement, "is among the inputs",
		func(o *Options) { o.Output = filepath.Join(dir, "t", "001.csv") })
	refused("an output that would be an input", ErrStatement, "is among the inputs",
		func(o *Options) { o.Output = filepath.Join(dir, "t", "new", "out.csv") })
	refused("an output that a pattern names", ErrStatement, "is among the inputs", func(o *Options) {
		o.Tables = map[string]plan.Table{"t": {Files: []string{filepath.Join(dir, "t", "0*.csv")}}}
		o.Output, o.State = filepath.Join(dir, "t", "0new.csv"), filepath.Join(dir, "other")
	})
	for name, ask := range map[string]func(string) error{
		"status":  func(dir string) error { _, err := ReadStatus(vfs.OS, dir); return err },
		"rebuild": func(dir string) error { _, err := Forget(vfs.OS, dir, "test"); return err },
		"gc":      func(dir string) error { _, err := Collect(vfs.OS, dir, 0, true); return err },
	} {
		says(t, name, ask(filepath.Join(dir, "nowhere")), fs.ErrNotExist, "nowhere")
		says(t, name, ask(filepath.Join(dir, "t")), ErrOther, "no state of a roll-up")
	}
	refused("an output in the state", ErrStatement, "lie in one another",
		func(o *Options) { o.Output = filepath.Join(o.State, "out.csv") })
	refused("a foreign directory", ErrOther, "has 000.csv in it, and no state of a roll-up",
		func(o *Options) { o.State = filepath.Join(dir, "t") })
	refused("a word", ErrStatement, "want rebuild or fail", func(o *Options) { o.OnChange = "maybe" })

	if _, err := os.Stat(filepath.Join(dir, "other")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("refused statements leave a directory: %v", err)
	}

	spaced := o
	spaced.Statement = "select k,  sum(v) as SV /* of all days */\nFROM t GROUP BY k ORDER BY k;"
	r, err := Run(t.Context(), eng, spaced)
	check(t, err)
	if r.FilesRead > 0 {
		t.Errorf("the same statement in other words reads files: %+v", r)
	}
	want(t, o, strings.Replace(dailyAnswer(3), "sv", "SV", 1))
	_, err = Run(t.Context(), eng, o)
	check(t, err)

	check(t, os.WriteFile(filepath.Join(dir, "t", "003.csv"), []byte("k,v\n1,0.5\n"), 0o666))
	addDay(t, dir, 4)
	packs := func() int {
		files, err := filepath.Glob(filepath.Join(o.State, "parts", "*"))
		check(t, err)
		return len(files)
	}
	before := packs()
	refused("other columns", ErrOther, "v was of the type int64, and is of the type float64", func(*Options) {})
	if packs() != before {
		t.Errorf("%d packs of a run that failed", packs()-before)
	}
	check(t, os.Remove(filepath.Join(dir, "t", "004.csv")))
	_, err = Forget(vfs.OS, o.State, "test")
	check(t, err)
	r, err = Run(t.Context(), eng, o)
	check(t, err)
	if r.FilesRead != 4 || r.Generation != 3 {
		t.Errorf("after a rebuild: %+v", r)
	}
}

// Would catch an output that is refused when its state is made: a run that nobody can use, whose next does less than it
// says.
func TestOutputRefused(t *testing.T) {
	eng := open(t, vfs.OS, 1)
	for _, c := range []struct {
		name, output, text string
		layout             sink.Options
	}{
		{"a folder that stays", "t", "replace it", sink.Options{Format: sink.CSV, Manifest: true}},
		{"a folder of others", "t", "is no part of such an output", sink.Options{Format: sink.CSV, Manifest: true, Overwrite: true}},
		{"no folder", "nowhere/out.csv", "nowhere does not exist", sink.Options{}},
		{"a column that is not there", "out", "day", sink.Options{Format: sink.CSV, PartitionBy: []string{"day"}}},
		{"a folder with the name of a file", "t", "is a directory", sink.Options{Format: sink.CSV}},
	} {
		o := daily(t, vfs.OS, dailySum, 2)
		dir := filepath.Dir(o.State)
		check(t, os.Rename(filepath.Join(dir, "t"), filepath.Join(dir, "days")))
		check(t, os.CopyFS(filepath.Join(dir, "t"), os.DirFS(filepath.Join(dir, "days"))))
		o.Tables = map[string]plan.Table{"t": {Files: []string{filepath.Join(dir, "days")}}}
		o.Output, o.Layout = filepath.Join(dir, c.output), c.layout
		_, err := Run(t.Context(), eng, o)
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", c.name, err, c.text)
		}
		if _, err := os.Stat(o.State); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: there is a state: %v", c.name, err)
		}
	}
}

// Would catch damage that is taken for a state, or that no message names with what to do.
func TestDamage(t *testing.T) {
	eng := open(t, vfs.OS, 1)
	for _, c := range []struct {
		name string
		glob string
		text string
		do   func(text []byte) []byte
	}{
		{"a cut pack", "parts/*", "where ", func(text []byte) []byte { return text[:len(text)/2] }},
		{"a pack of another content", "parts/*", "checksum", func(text []byte) []byte {
			text = bytes.Clone(text)
			text[len(text)/2] ^= 1
			return text
		}},
		{"no pack", "parts/*", "a pack is missing", func([]byte) []byte { return nil }},
		{"a cut manifest", "manifest/*", "is damaged", func(text []byte) []byte { return text[:len(text)/2] }},
		{"a changed manifest", "manifest/*", "another checksum", func(text []byte) []byte {
			return bytes.Replace(text, []byte(`"partitions":`), []byte(`"partitions":1`), 1)
		}},
		{"another format", "manifest/*", "has format 7", func(text []byte) []byte {
			return bytes.Replace(text, []byte(`"format":1`), []byte(`"format":7`), 1)
		}},
	} {
		o := daily(t, vfs.OS, dailySum, 3)
		_, err := Run(t.Context(), eng, o)
		check(t, err)
		files, err := filepath.Glob(filepath.Join(o.State, c.glob))
		check(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			check(t, err)
			check(t, os.Remove(file))
			if text = c.do(text); text != nil {
				check(t, os.WriteFile(file, text, 0o666))
			}
		}
		addDay(t, filepath.Dir(o.State), 3)
		class := ErrDamaged
		if c.name == "another format" {
			class = ErrOther
		}
		_, err = Run(t.Context(), eng, o)
		says(t, c.name, err, class, "mpga rollup rebuild "+o.State)
		if !strings.Contains(fmt.Sprint(err), c.text) && c.text != "checksum" {
			t.Errorf("%s: %v, want %q", c.name, err, c.text)
		}
		if _, err := Verify(t.Context(), vfs.OS, o.State); err == nil {
			t.Errorf("%s: verified", c.name)
		}
		want(t, o, dailyAnswer(3))
		_, err = Forget(vfs.OS, o.State, "test")
		check(t, err)
		_, err = Run(t.Context(), eng, o)
		check(t, err)
		want(t, o, dailyAnswer(4))
	}
}

// Would catch a change that is taken for none, one that is refused though the parts beside it are kept, and one that
// reads files again though that is not allowed.
func TestOnChange(t *testing.T) {
	eng := open(t, vfs.OS, 2)
	o := daily(t, vfs.OS, dailySum, 40)
	o.OnChange = OnChangeFail
	dir := filepath.Dir(o.State)
	for _, keep := range []int{0, 2} {
		o.KeepParts = keep
		_, err := Run(t.Context(), eng, o)
		check(t, err)
		check(t, os.Remove(filepath.Join(dir, "t", "003.csv")))
		r, err := Run(t.Context(), eng, o)
		if keep == 0 {
			check(t, err)
			if r.FilesRead != 0 || r.Gone != 1 {
				t.Errorf("%+v", r)
			}
			addDay(t, dir, 3)
			continue
		}
		says(t, "parts that were dropped", err, ErrChanged, "003.csv has gone; ")
		want(t, o, dailyAnswer(40))
		o.OnChange = OnChangeRebuild
		r, err = Run(t.Context(), eng, o)
		check(t, err)
		if r.Again == 0 || r.FilesRead != r.Again || r.Again > 39 {
			t.Errorf("%+v", r)
		}
	}
}

// Each call of the file system fails once, and is the last once: of a run that merges parts, and replaces a state. The
// run fails, or is done; the output is the last or the next; and the next run is right. Would catch a fault that is
// hidden, and a state that a kill leaves between two.
func TestFaults(t *testing.T) {
	base := faultfs.Unsynced{FS: vfs.OS}
	step := int64(1)
	if testing.Short() {
		step = 3
	}
	for _, kill := range []bool{false, true} {
		for n := 1 + rand.Int64N(step); ; n += step {
			fsys := faultfs.New(base)
			o := daily(t, fsys, dailySum, 12)
			o.fresh = 1
			eng := open(t, fsys, 1)
			_, err := Run(t.Context(), eng, o)
			check(t, err)
			addDay(t, filepath.Dir(o.State), 12)
			if fsys.FailAt(n); kill {
				fsys.KillAt(n)
			}
			_, err = Run(t.Context(), eng, o)
			fired := fsys.Fired()
			fsys.FailAt(0)
			if err != nil && !errors.Is(err, faultfs.ErrInjected) {
				t.Errorf("operation %d, kill %t: %v", n, kill, err)
			}
			got, readErr := os.ReadFile(o.Output)
			isGone := errors.Is(readErr, fs.ErrNotExist) // package sink takes back an output that may not be durable
			if string(got) != dailyAnswer(13) && (err == nil || string(got) != dailyAnswer(12) && !isGone) {
				t.Errorf("operation %d, kill %t: %v: the output is\n%s", n, kill, err, got)
			}
			if open := fsys.OpenFiles(); open != 0 {
				t.Errorf("operation %d, kill %t: %d files are open", n, kill, open)
			}
			_, err = Run(t.Context(), eng, o)
			check(t, err)
			want(t, o, dailyAnswer(13))
			if !fired {
				if n < 50 {
					t.Errorf("%d operations", n)
				}
				break
			}
		}
	}
}

// Would catch a second run that goes on beside the first, and a lock of a killed process that stays.
func TestLock(t *testing.T) {
	eng := open(t, vfs.OS, 1)
	o := daily(t, vfs.OS, dailySum, 2)
	unlock, err := openDir(vfs.OS, o.State).lock()
	check(t, err)
	_, err = Run(t.Context(), eng, o)
	says(t, "a twin", err, ErrBusy, fmt.Sprintf("is held by process %d on ", os.Getpid()))
	check(t, unlock())
	check(t, os.Mkdir(o.State, 0o777))
	check(t, os.WriteFile(filepath.Join(o.State, lockName), []byte("process 1"), 0o666)) // of a process that was killed
	_, err = Run(t.Context(), eng, o)
	check(t, err)
	if _, err := os.Stat(filepath.Join(o.State, lockName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock stays: %v", err)
	}
}
