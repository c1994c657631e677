package rollup

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// Would catch a file that nobody closes.
func TestMain(m *testing.M) { os.Exit(invariants.Run(m)) }

var (
	seedFlag      = flag.Uint64("seed", 0, "replays a random test; 0 is another seed each time")
	historiesFlag = flag.Int("histories", 0, "random histories; 0 is 40 in short form, and 300 else")
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open returns an engine that is closed with the test.
func open(t *testing.T, fsys vfs.FS, threads int) *engine.Engine {
	t.Helper()
	eng, err := engine.Open(engine.Options{Threads: threads, Device: "cpu", TempDir: t.TempDir(), FS: fsys})
	check(t, err)
	t.Cleanup(func() { check(t, eng.Close()) })
	return eng
}

// statements are rolled up in histories, over the tables t, which has a folder of files, d, which is small, and u, a
// folder of the columns of t.
var statements = []string{
	"SELECT k, count(*) AS n, sum(v) AS sv, min(s), max(v), avg(v) FROM t GROUP BY k ORDER BY k",
	"SELECT k, count(DISTINCT s) AS ds, median(v) AS m, quantile_disc(v, 0.9), list(v)[1:3] AS l FROM t GROUP BY k ORDER BY k",
	"SELECT k % 3 AS k3, s, first(v) AS f, last(v) AS l, string_agg(s, ',') AS a FROM t GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL",
	"SELECT count(*), sum(k), sum(v) FILTER (WHERE k > 3), mode(s), stddev(v) FROM t",
	"SELECT k + 1 AS k, arg_max(s, v), max(v, 2) FROM t WHERE v > 2 AND s IS NOT NULL GROUP BY 1 ORDER BY sum(v) DESC, k LIMIT 4 OFFSET 1",
	"SELECT name, sum(v) AS sv, count(*) AS n, count(DISTINCT k) FROM t JOIN d USING (k) GROUP BY name ORDER BY name",
	"SELECT t.k, n, d.name FROM (SELECT k, count(*) AS n FROM t GROUP BY k) t LEFT JOIN d USING (k) ORDER BY ALL",
	"SELECT DISTINCT s, k FROM t ORDER BY ALL",
	`SELECT k, s, grouping(k, s) AS g, count(*) AS n, sum(v) AS sv, count(DISTINCT v) AS d, first(v) AS f FROM t
		GROUP BY CUBE (k, s) ORDER BY ALL`,
	`SELECT name, s, grouping(name, s) AS g, sum(v) AS sv, count(DISTINCT k) AS d FROM t JOIN d USING (k)
		GROUP BY ROLLUP (name, s) ORDER BY ALL`,
	`SELECT k % 3 AS r, s, grouping(s) AS g, median(v) AS m, list(v) AS l FROM t WHERE k > 7
		GROUP BY GROUPING SETS ((1, s), (s), ()) ORDER BY 1, 2, 3`,
	"SELECT k, sum(v) AS sv, first(s) AS f FROM (SELECT k, v, s FROM t UNION ALL SELECT * FROM u) GROUP BY k ORDER BY k",
	"WITH x AS (SELECT k, sum(v) AS sv FROM t GROUP BY k) SELECT max(sv), min(sv), count(*) FROM x",
	"SELECT k, n, sum(n) OVER (ORDER BY k) AS running FROM (SELECT k, count(*) AS n FROM t GROUP BY k) ORDER BY k",
}

// history is a folder of files that change, and a roll-up over them.
type history struct {
	t     *testing.T
	rng   *rand.Rand
	dir   string
	fsys  *faultfs.FS // of roll-ups
	eng   *engine.Engine
	plain *engine.Engine // of full runs
	opt   Options
	good  [][]byte // outputs that are right: of the last run that ended, and of runs since
	clock time.Time
	kind  string      // the ending of the files: Parquet knows where no value is NULL
	lake  *deltaTable // the table t, where it is one of Delta; else nil
}

func newHistory(t *testing.T, rng *rand.Rand) *history {
	h := &history{t: t, rng: rng, dir: t.TempDir(), clock: time.Unix(1_700_000_000, 0)}
	h.kind = []string{".csv", ".parquet"}[rng.IntN(2)]
	h.fsys = faultfs.New(faultfs.Unsynced{FS: vfs.OS})
	h.eng, h.plain = open(t, h.fsys, 1+rng.IntN(3)), open(t, vfs.OS, 1+rng.IntN(2))
	tables := map[string]plan.Table{}
	for _, name := range []string{"t", "u"} {
		check(t, os.Mkdir(filepath.Join(h.dir, name), 0o777))
		tables[name] = plan.Table{Files: []string{filepath.Join(h.dir, name)}}
	}
	tables["d"] = plan.Table{Files: []string{filepath.Join(h.dir, "d.csv")}}
	h.opt = Options{
		Statement: statements[rng.IntN(len(statements))], Tables: tables, Deterministic: true, KeepParts: rng.IntN(4),
		State: filepath.Join(h.dir, "state"), Output: filepath.Join(h.dir, "out"+h.kind), Version: "test",
		FS: h.fsys, fresh: 1, saveEvery: []time.Duration{0, 1, time.Millisecond}[rng.IntN(3)],
		bundled: []int64{-1, 0, 300}[rng.IntN(3)],
	}
	h.writeSmall()
	h.writeFile("u", h.newName())
	isLake := h.kind == ".parquet" && rng.IntN(2) == 0
	if !isLake && rng.IntN(2) == 0 {
		tables["t"] = plan.Table{Files: tables["t"].Files, Scan: &dataset.Options{UnionByName: true}}
	}
	if isLake {
		h.opt.Output = filepath.Join(h.dir, "out.csv") // a full run alone knows, by WHERE, where no value is NULL
		h.lake = &deltaTable{dir: filepath.Join(h.dir, "t"), files: map[string]*deltaFile{}}
		h.changeLake()
		return h
	}
	for range 1 + rng.IntN(12) {
		h.writeFile("t", h.newName())
	}
	return h
}

func (h *history) newName() string { return fmt.Sprintf("%03d%s", h.rng.IntN(1000), h.kind) }

// writeFile writes a file of a table, and returns how many rows it has: a row is k, v, s, and where columns go by their
// names perhaps w, which no statement reads, of one type or another, before them or behind. Half of the files have values
// of all kinds.
func (h *history) writeFile(table, name string) (rows int) {
	var b strings.Builder
	before, behind := [2]string{}, [2]string{} // the name, and the value
	if h.opt.Tables[table].Scan != nil {
		w := [2]string{"w", []string{"1", "0.5", "text"}[h.rng.IntN(3)]}
		switch h.rng.IntN(3) {
		case 0:
			before = [2]string{w[0] + ",", w[1] + ","}
		case 1:
			behind = [2]string{"," + w[0], "," + w[1]}
		}
	}
	line := func(text string) { b.WriteString(before[1] + text + behind[1] + "\n") }
	b.WriteString(before[0] + "k,v,s" + behind[0] + "\n")
	line("0,0.25,x") // the types of these columns are the same in all files
	isPlain := h.rng.IntN(2) == 0
	rows = 1 + h.rng.IntN(12)
	for range rows - 1 {
		k, v := fmt.Sprint(h.rng.IntN(9)), fmt.Sprint(float64(h.rng.IntN(1000))/64*float64(h.rng.IntN(3)))
		s := []string{"a", "bb", "x", "zz", ""}[h.rng.IntN(5)]
		if isPlain {
			s = "plain"
		} else if h.rng.IntN(4) == 0 {
			k, v = "", []string{"", "nan", "-0.0", "1e300", "-inf", "5e-324"}[h.rng.IntN(6)]
		}
		line(k + "," + v + "," + s)
	}
	path := filepath.Join(table, name)
	if h.kind == ".csv" {
		h.put(path, b.String())
		return rows
	}
	h.put("rows.csv", b.String())
	of := plan.Options{Tables: map[string]plan.Table{"rows": {Files: []string{filepath.Join(h.dir, "rows.csv")}}}}
	check(h.t, h.write("SELECT * FROM rows", of, filepath.Join(h.dir, path)))
	h.age(path)
	return rows
}

// appendTo appends to a file of text: lines, a line without its end, the rest of such a line, or nothing.
func (h *history) appendTo(path string) {
	text, err := os.ReadFile(path)
	check(h.t, err)
	more, form := "", "%d,%v,%s\n"
	switch {
	case bytes.HasPrefix(text, []byte("w,")):
		form = "1," + form
	case bytes.HasPrefix(text, []byte("k,v,s,w")):
		form = "%d,%v,%s,1\n"
	}
	for range h.rng.IntN(4) {
		s := []string{"a", "\"x\ny\"", "\"\"\"\""}[h.rng.IntN(3)]
		more += fmt.Sprintf(form, h.rng.IntN(9), float64(h.rng.IntN(1000))/64, s)
	}
	if h.rng.IntN(3) == 0 {
		more = strings.TrimSuffix(more, "\n")
	}
	switch {
	case bytes.HasSuffix(text, []byte("\n")):
	case bytes.HasSuffix(text, []byte{'"'}) || h.rng.IntN(2) == 0:
		more = "\n" + more
	default:
		more = "z\n" + more // the rest of the last field
	}
	rel, err := filepath.Rel(h.dir, path)
	check(h.t, err)
	h.put(rel, string(text)+more)
}

// writeSmall writes the table d.
func (h *history) writeSmall() {
	text := "k,name\n"
	for k := range 9 {
		if h.rng.IntN(4) > 0 {
			text += fmt.Sprintf("%d,n%d\n", k, h.rng.IntN(3))
		}
	}
	h.put("d.csv", text+"8,n0\n")
}

// put writes a file with a time of its own.
func (h *history) put(name, text string) {
	check(h.t, os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o666))
	h.age(name)
}

// age gives a file a time that no other has. Times tell versions apart, as they do where files are not written within a
// tick of the clock.
func (h *history) age(name string) {
	h.clock = h.clock.Add(time.Second)
	check(h.t, os.Chtimes(filepath.Join(h.dir, name), h.clock, h.clock))
}

// change changes some files.
func (h *history) change() {
	if h.lake != nil {
		h.changeLake()
		return
	}
	for range h.rng.IntN(3) {
		files, err := filepath.Glob(filepath.Join(h.dir, "t", "*"+h.kind))
		check(h.t, err)
		switch n := h.rng.IntN(10); {
		case n < 5 || len(files) == 0:
			h.writeFile("t", h.newName())
		case n < 6 && h.kind == ".csv":
			h.appendTo(files[h.rng.IntN(len(files))])
		case n < 6:
			h.writeFile("u", h.newName())
		case n < 7:
			h.writeFile("t", filepath.Base(files[h.rng.IntN(len(files))]))
		case n < 9:
			check(h.t, os.Remove(files[h.rng.IntN(len(files))]))
		default:
			h.writeSmall()
		}
	}
}

// write writes the result of a statement.
func (h *history) write(statement string, opt plan.Options, path string) error {
	parsed, err := sql.Parse(statement)
	check(h.t, err)
	q, err := plan.Prepare(h.t.Context(), h.plain, parsed, opt)
	if err != nil {
		return err
	}
	defer q.Close()
	rows, err := q.Run(h.t.Context())
	if err != nil {
		return err
	}
	format, err := sink.FormatOf(path)
	check(h.t, err)
	opts := sink.Options{FS: faultfs.Unsynced{FS: vfs.OS}, Format: format}
	return workdir.WriteRows(h.t.Context(), path, q.Schema(), opts, rows)
}

// full returns what a run over all files writes.
func (h *history) full() ([]byte, error) {
	path := filepath.Join(h.dir, "full"+filepath.Ext(h.opt.Output))
	if err := h.write(h.opt.Statement, plan.Options{Tables: h.opt.Tables, Scan: h.opt.Scan, Deterministic: true}, path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// output returns the output; nil where there is none.
func (h *history) output() []byte {
	text, err := os.ReadFile(h.opt.Output)
	if !errors.Is(err, os.ErrNotExist) {
		check(h.t, err)
	}
	return text
}

// step changes files, and runs, with a fault or without.
func (h *history) step(n int) {
	h.change()
	want, wantErr := h.full()
	runs := 1
	h.fsys.FailAt(0)
	switch h.rng.IntN(6) {
	case 0:
		h.fsys.FailAt(1 + h.rng.Int64N(250))
	case 1, 2:
		h.fsys.KillAt(1 + h.rng.Int64N(250))
	case 3:
		runs = 2
	}
	errs := make([]error, runs)
	var work sync.WaitGroup
	for i := range errs {
		work.Go(func() { _, errs[i] = Run(h.t.Context(), h.eng, h.opt) })
	}
	work.Wait()
	for _, err := range errs {
		if err != nil && wantErr == nil && !errors.Is(err, faultfs.ErrInjected) && (runs == 1 || !errors.Is(err, ErrBusy)) {
			h.t.Errorf("step %d: %v", n, err)
		}
	}
	if wantErr == nil {
		h.good = append(h.good, want)
	}
	got := h.output()
	switch {
	case slices.Contains(errs, nil) && wantErr != nil:
		h.t.Errorf("step %d: a run answers, and a full run does not: %v", n, wantErr)
	case slices.Contains(errs, nil):
		h.good = [][]byte{want}
	}
	isGood := func(text []byte) bool { return bytes.Equal(text, got) }
	if got != nil && !slices.ContainsFunc(h.good, isGood) {
		h.t.Errorf("step %d: %v: the output is\n%.2000q\nwant\n%.2000q", n, errs, got, want)
	}
	if open := h.fsys.OpenFiles(); open != 0 {
		h.t.Errorf("step %d: %d files are open", n, open)
	}
}

// Would catch rows that count twice, or are lost, whatever files come, change and go, and wherever runs fail, are killed
// or meet: after each run the output is what a full run writes, to the byte, or what it was.
func TestHistories(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed=%d", seed)
	histories := *historiesFlag
	if histories == 0 {
		histories = 300
		if testing.Short() {
			histories = 40
		}
	}
	for i := range histories {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			h := newHistory(t, rand.New(rand.NewPCG(seed, uint64(i))))
			for n := range 30 {
				h.step(n)
				if t.Failed() {
					t.Fatalf("%s, parts of %d files", h.opt.Statement, h.opt.KeepParts)
				}
			}
			h.end()
		})
	}
}

// end checks what the state has in the end: its packs are whole, and nothing is left beside them once garbage is removed.
func (h *history) end() {
	h.fsys.FailAt(0)
	h.change()
	if _, err := h.full(); err != nil && h.lake == nil { // no file is left
		h.writeFile("t", h.newName())
	}
	_, err := Run(h.t.Context(), h.eng, h.opt)
	check(h.t, err)
	_, err = Verify(h.t.Context(), h.fsys, h.opt.State)
	check(h.t, err)
	_, err = Collect(h.fsys, h.opt.State, 0, false)
	check(h.t, err)
	s, err := ReadStatus(h.fsys, h.opt.State)
	check(h.t, err)
	packs, err := filepath.Glob(filepath.Join(h.opt.State, "parts", "*"))
	check(h.t, err)
	if len(packs) != len(s.Parts) {
		h.t.Errorf("%d files for %d parts", len(packs), len(s.Parts))
	}
	manifests, err := filepath.Glob(filepath.Join(h.opt.State, "manifest", "*"))
	check(h.t, err)
	if len(manifests) != 1 {
		h.t.Errorf("manifests %q", manifests)
	}
}
