package distributed

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/vfs"
)

// Would catch a file that nobody closes.
func TestMain(m *testing.M) { os.Exit(invariants.Run(m)) }

// fakeSplit is a split of a table that is not there.
type fakeSplit struct {
	scan.Split
	position    uint64
	rows, bytes int64
}

func (s fakeSplit) Position() uint64 { return s.position }
func (s fakeSplit) Rows() int64      { return s.rows }
func (s fakeSplit) Bytes() int64     { return s.bytes }

// Would catch rows that no split has, or two have, and splits that are much larger than others.
func TestCut(t *testing.T) {
	seed := newSeed(t)
	for i := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, i))
		var parts []scan.Split
		var starts []uint64
		var position uint64
		var total, most int64
		for range 1 + rng.IntN(8) { // files
			starts = append(starts, position)
			for range rng.IntN(9) {
				s := fakeSplit{position: position, rows: 1 + rng.Int64N(50), bytes: rng.Int64N(1 << rng.IntN(10))}
				parts = append(parts, s)
				position += uint64(s.rows)
				total += max(s.bytes, 1)
				most = max(most, s.bytes)
			}
			position += uint64(rng.IntN(3)) // positions that no row has
		}
		n := 1 + rng.IntN(12)
		made := cut(parts, starts, n)
		if want := max(min(n, len(parts)), 1); len(made) != want {
			t.Fatalf("seed %d: %d splits of %d, want %d", i, len(made), len(parts), want)
		}
		taken := make([]int, len(parts))
		for k := range made {
			s := &made[k]
			var bytes int64
			for j, p := range parts {
				if within(s, starts, p.Position()) {
					taken[j]++
					bytes += max(p.Bytes(), 1)
				}
			}
			if !s.None && bytes > total/int64(len(made))+2*most+int64(len(parts)) {
				t.Errorf("seed %d: a split of %d B, of %d in %d splits; the largest part has %d", i, bytes, total, len(made), most)
			}
		}
		if slices.ContainsFunc(taken, func(n int) bool { return n != 1 }) {
			t.Fatalf("seed %d: parts in splits: %v; %+v", i, taken, made)
		}
	}
}

// within says whether a task that opens the files of a split alone reads a position of the whole table.
func within(s *Split, starts []uint64, position uint64) bool {
	if s.None {
		return false
	}
	file, _ := place(position, starts)
	if file < s.First || file > s.Last {
		return false
	}
	var own []uint64
	for _, at := range starts[s.First : s.Last+1] {
		own = append(own, at-starts[s.First])
	}
	from, to := s.span(own)
	at := position - starts[s.First]
	return from <= at && at < to
}

// Would catch ranges that are chosen though they overlap or leave partitions out, and a choice that is
// there and not found.
func TestCover(t *testing.T) {
	of := func(ranges ...Range) (list []manifest) {
		for _, r := range ranges {
			list = append(list, manifest{Task: r.First, Last: r.Last})
		}
		return list
	}
	for _, c := range []struct {
		name     string
		attempts []manifest
		want     string
		missing  string
	}{
		{"one", of(Range{0, 7}), "0..7", ""},
		{"two", of(Range{4, 7}, Range{0, 3}), "0..3 4..7", ""},
		{"a hole", of(Range{0, 2}, Range{4, 7}), "", "3"},
		{"none", nil, "", "0, 1, 2, 3, 4, 5, 6, 7"},
		{"overlaps beside a choice", of(Range{0, 4}, Range{0, 3}, Range{2, 7}, Range{4, 7}), "0..3 4..7", ""},
		{"overlaps alone", of(Range{0, 4}, Range{3, 7}), "", ""},
		{"attempts", of(Range{0, 7}, Range{0, 7}), "0..7", ""},
		{"a dead end", of(Range{0, 5}, Range{0, 1}, Range{2, 7}), "0..1 2..7", ""},
	} {
		chosen, missing := cover(c.attempts, 8)
		var got []string
		for i := range chosen {
			got = append(got, Range{chosen[i].Task, chosen[i].Last}.String())
		}
		if strings.Join(got, " ") != c.want || listed(missing) != c.missing {
			t.Errorf("%s: chosen %v, missing %v", c.name, got, missing)
		}
	}
}

// Would catch sizes that no group count or no flag leads to, and bounds that are passed.
func TestSize(t *testing.T) {
	for _, c := range []struct {
		splits, rows, groups         int64
		values                       bool
		r                            Request
		partitions, merges, combines int
	}{
		{8, 1e12, 100, false, Request{}, 1, 1, 0},
		{8, -1, -1, false, Request{}, 64, 64, 0},
		{8, 1e12, 1_000_000, false, Request{}, 64, 8, 0},
		{8, -1, 1_000_000, false, Request{}, 64, 8, 0},
		{64, 1e12, 1_000_000, false, Request{}, 64, 62, 0},
		{64, 1e6, 1_000_000, false, Request{}, 64, 1, 0}, // a split has no more groups than rows
		{8, 1e12, 16_385, false, Request{}, 2, 1, 0},
		{64, 1e15, 1 << 40, false, Request{}, 2048, 2048, 0},
		{100_000, 1 << 60, 1 << 42, false, Request{}, 512, 512, 0}, // whose bytes 63 bits do not count, and whose seal has an end
		{500, 1e12, 100, false, Request{}, 1, 1, 23},
		{500, 1e12, 100, false, Request{Combines: -1}, 1, 1, 0},
		{500, 1e12, 10_000_000, false, Request{}, 1024, 1024, 0},
		{4, 1e12, 100, false, Request{Partitions: 16, Merges: 3, Combines: 9}, 16, 3, 4},
		{8, 1e6, 100, true, Request{}, 64, 1, 0},
		{8, 1e9, 100, true, Request{}, 64, 64, 0},
		{8, 1e9, 1, true, Request{}, 1, 1, 0},
		{8, 0, 0, false, Request{}, 1, 1, 0},
	} {
		p := &Plan{Splits: make([]Split, c.splits), Groups: c.groups}
		n := c.r.count(int(c.splits), Expected{Rows: c.rows, Groups: c.groups, State: 64, Values: c.values})
		p.Partitions, p.Combines, p.Merges = n.Partitions, n.Combines, ranges(n.Partitions, n.Merges)
		if p.Partitions != c.partitions || len(p.Merges) != c.merges || p.Combines != c.combines {
			t.Errorf("%d splits, %d groups: %d partitions, %d merges, %d nodes; want %d, %d, %d", c.splits, c.groups,
				p.Partitions, len(p.Merges), p.Combines, c.partitions, c.merges, c.combines)
		}
		next := 0
		for _, r := range p.Merges {
			if r.First != next || r.Last < r.First {
				t.Errorf("%v after partition %d", r, next-1)
			}
			next = r.Last + 1
		}
		if next != p.Partitions {
			t.Errorf("merges end at %d of %d", next, p.Partitions)
		}
		splits := 0
		for n := range p.Combines {
			from, to := p.combined(n)
			if from != splits || to <= from {
				t.Errorf("node %d has splits [%d, %d)", n, from, to)
			}
			splits = to
		}
		if p.Combines > 0 && splits != len(p.Splits) {
			t.Errorf("the tree has %d of %d splits", splits, len(p.Splits))
		}
	}
}

// Would catch the removal of what a plan needs, or of a file that is nobody's.
func TestCollect(t *testing.T) {
	work := workDir(vfs.OS, t.TempDir(), nil)
	write := func(name string, old bool) {
		check(t, work.Write(name, workdir.TextWriter([]byte("{}"))))
		if old {
			then := time.Now().Add(-48 * time.Hour)
			check(t, os.Chtimes(work.Path(name), then, then))
		}
	}
	const open, done, lost, sealedPlan, again = "0000000000000001", "0000000000000002", "0000000000000003", "0000000000000004", "0000000000000005"
	a, b := "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"
	keep := []string{
		"notes.txt", "other/partial/00000." + a + ".pack",
		open + "/plan.json", open + "/partial/00000." + a + ".pack", open + "/partial/00000." + a + ".json",
		open + "/partial/00001." + b + ".pack", // is being written
		done + "/plan.json", done + "/committed.json",
		again + "/plan.json", again + "/committed.json", again + "/partial/00000." + b + ".pack", // which is newer, and may be of a plan that runs again
		lost + "/partial/00000." + b + ".pack", // its plan may be on its way
		sealedPlan + "/plan.json", sealedPlan + "/partial/00000." + a + ".pack", sealedPlan + "/partial/00000." + a + ".json",
		sealedPlan + "/merge/00000-00003." + a + ".json", sealedPlan + "/merge/00000-00003." + a + "/part-00000.arrow",
	}
	drop := []string{
		open + "/partial/00001." + a + ".pack",
		open + "/merge/00000-00003." + b + "/part-00000.arrow",
		done + "/partial/00000." + a + ".pack", done + "/sealed/partial.json", done + "/merge/00000-00003." + a + "/_manifest.json",
		lost + "/partial/00000." + a + ".pack",
		sealedPlan + "/partial/00000." + b + ".pack", sealedPlan + "/partial/00000." + b + ".json",
	}
	for _, name := range keep {
		write(name, !strings.HasSuffix(name, b+".pack"))
	}
	for i, name := range drop {
		write(name, i != 2 && i < 6)
	}
	later := time.Now().Add(time.Second)
	check(t, os.Chtimes(work.Path(done+"/committed.json"), later, later))
	check(t, work.WriteJSON(sealedPlan+"/sealed/partial.json", seal{Plan: sealedPlan, Stage: StagePartial, Attempts: []manifest{{Attempt: a}}}))
	keep = append(keep, sealedPlan+"/sealed/partial.json")
	for _, dry := range []bool{true, false} {
		found, err := Collect(vfs.OS, work.Root, 24*time.Hour, dry)
		check(t, err)
		var got []string
		for _, g := range found {
			got = append(got, strings.TrimPrefix(g.Path, work.Root+"/"))
		}
		slices.Sort(drop)
		if !slices.Equal(got, drop) {
			t.Fatalf("dry %v: %q\nwant %q", dry, got, drop)
		}
	}
	left, err := work.Walk("")
	check(t, err)
	var names []string
	for _, e := range left {
		names = append(names, e.Name)
	}
	slices.Sort(keep)
	slices.Sort(names)
	if !slices.Equal(names, keep) {
		t.Errorf("left %q\nwant %q", names, keep)
	}
}

// Would catch plans that are read though they are of another version, cut off, or changed.
func TestDecode(t *testing.T) {
	p := &Plan{Format: planFormat, Version: "v1", Statement: "SELECT 1", Splits: []Split{{None: true}}, Partitions: 1, Merges: ranges(1, 1)}
	p.Inputs = []Input{{Read: ReadSplits, Scan: dataset.Options{Known: &dataset.Known{}}}}
	p.Stages = p.stages()
	var err error
	p.ID, err = p.hash()
	check(t, err)
	p.Work = "/work/" + p.ID
	text, err := p.Encode()
	check(t, err)
	if _, err := Decode(text, "v1"); err != nil {
		t.Fatal(err)
	}
	replaced := func(old, new string) []byte { return bytes.Replace(text, []byte(old), []byte(new), 1) }
	for name, damaged := range map[string][]byte{
		"another version": replaced(`"v1"`, `"v2"`), "another format": replaced(`"format": 2`, `"format": 1`),
		"changed": replaced("SELECT 1", "SELECT 2"), "cut off": text[:len(text)/2], "empty": nil, "no plan": []byte("[]"),
		"more": append(slices.Clone(text), "{}"...), "unknown": replaced(`"format"`, `"color": 1, "format"`), "elsewhere": replaced("/work/"+p.ID, "/work/x"),
	} {
		if _, err := Decode(damaged, "v1"); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(p *Plan){
		"files that are not there": func(p *Plan) { p.Splits[0] = Split{Last: 1} },
		"no splits":                func(p *Plan) { p.Splits = nil },
		"no partitions":            func(p *Plan) { p.Partitions = 0 },
		"more nodes than splits":   func(p *Plan) { p.Combines = 2 },
		"a merge too far":          func(p *Plan) { p.Merges = []Range{{0, 1}} },
		"no merges":                func(p *Plan) { p.Merges = nil },
		"other stages":             func(p *Plan) { p.Stages[0].Tasks = -1 },
		"a split of another input": func(p *Plan) { p.Splits[0].Input = 1 },
		"a split of a whole input": func(p *Plan) { p.Inputs[0].Read = ReadWhole },
		"no columns":               func(p *Plan) { p.Inputs[0].Scan.Known = nil },
	} {
		hostile, err := Decode(text, "v1")
		check(t, err)
		change(hostile)
		hostile.ID, err = hostile.hash()
		check(t, err)
		hostile.Work = "/work/" + hostile.ID
		text, err := hostile.Encode()
		check(t, err)
		if _, err := Decode(text, "v1"); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range text { // no panic
		damaged := slices.Clone(text)
		damaged[i] ^= 1
		_, _ = Decode(damaged, "v1")
	}
}

// Would catch splits that are too small beside the groups, or fewer than keep the slots busy.
func TestSplits(t *testing.T) {
	const bytes = 100 << 30
	for _, c := range []struct {
		r            Request
		rows, groups int64
		want         int
	}{
		{Request{}, 1e9, 100, 800},
		{Request{}, -1, -1, 800},
		{Request{}, 1e9, 1e6, 125},
		{Request{}, 1e9, 1e7, 48},
		{Request{Slots: 2}, 1e9, 1e7, 7},
		{Request{Slots: 2}, 1e9, 100, 7},
		{Request{Slots: 100}, 1e9, 1e7, 300},
		{Request{Slots: 1000}, 1e9, 1e7, 800},
		{Request{SplitBytes: 1 << 30}, 1e9, 1e7, 100},
		{Request{Splits: 7}, 1e9, 1e7, 7},
	} {
		if got := c.r.splits(Expected{Bytes: bytes, Rows: c.rows, Groups: c.groups}); got != c.want {
			t.Errorf("%d rows, %d groups, %d slots, %d B: %d splits, want %d", c.rows, c.groups, c.r.Slots, c.r.SplitBytes, got, c.want)
		}
	}
}

// narrow is a budget of a number of bytes.
type narrow struct{ left int64 }

func (n *narrow) Reserve(bytes int64) error {
	if err := n.Room(bytes); err != nil {
		return err
	}
	n.left -= bytes
	return nil
}

func (n *narrow) Unreserve(bytes int64) { n.left += bytes }

func (n *narrow) Room(bytes int64) error {
	if bytes > n.left {
		return engine.ErrMemoryLimit
	}
	return nil
}

// Would catch a seal that is read beyond the limit of memory, and memory that is not given back.
func TestSealWithinMemory(t *testing.T) {
	budget := &narrow{left: 1 << 20}
	p := &Plan{ID: "0000000000000001", Work: t.TempDir(), Partitions: 1}
	tasks := Tasks{Plan: p, FS: vfs.OS}.Open()
	tasks.work.Budget = budget
	for _, c := range []struct {
		bytes int
		want  error
	}{{1000, ErrDamaged}, {1 << 19, engine.ErrMemoryLimit}} {
		check(t, tasks.work.Write("sealed/partial.json", workdir.TextWriter(bytes.Repeat([]byte(" "), c.bytes))))
		if _, err := tasks.readSeal(StagePartial, "sealed/partial.json"); !errors.Is(err, c.want) {
			t.Errorf("a seal of %d bytes: %v, want %v", c.bytes, err, c.want)
		}
		if budget.left != 1<<20 {
			t.Errorf("%d bytes are left reserved", 1<<20-budget.left)
		}
	}
}
