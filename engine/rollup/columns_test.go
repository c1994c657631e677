package rollup

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/vfs"
)

// columnsHistory returns a roll-up of days whose columns change.
func columnsHistory(t *testing.T, statement string, unionByName bool) *history {
	dir := t.TempDir()
	for _, table := range []string{"t", "d"} {
		check(t, os.Mkdir(filepath.Join(dir, table), 0o777))
	}
	h := &history{t: t, dir: dir, eng: open(t, vfs.OS, 2), plain: open(t, vfs.OS, 1), kind: ".csv", opt: Options{
		Statement: statement, State: filepath.Join(dir, "state"), Deterministic: true, bundled: -1, // each file has a part
		Tables: map[string]plan.Table{"t": {Files: []string{filepath.Join(dir, "t")}}, "d": {Files: []string{filepath.Join(dir, "d")}}},
		Output: filepath.Join(dir, "out.csv"), Layout: sink.Options{Format: sink.CSV}, FS: vfs.OS, Version: "test",
	}}
	h.opt.Scan.UnionByName = unionByName
	h.put("d/1.csv", "k,name\n1,one\n2,two\n")
	return h
}

// Would catch a roll-up that stops where columns change that it does not read, one that reads files again for them, and one
// whose answer is not a full run's where the table has columns that the state does not know.
func TestColumnsChange(t *testing.T) {
	const sum = "SELECT k, sum(v) AS s, count(*) AS n FROM t GROUP BY k ORDER BY k"
	const joined = "SELECT name, sum(v) AS s FROM t JOIN d USING (k) GROUP BY name ORDER BY name"
	for _, c := range []struct {
		name      string
		statement string
		byName    bool
		change    func(h *history)
		reads     int    // files that the night reads
		refused   string // part of the error; "" of none
	}{
		{"the oldest day goes, and the others have a column more", sum, false, func(h *history) {
			check(h.t, os.Remove(filepath.Join(h.dir, "t", "1.csv")))
		}, 0, ""},
		{"a column more in a day", sum, true, func(h *history) { h.put("t/4.csv", "w,k,v\nx,1,5\n") }, 1, ""},
		{"a column of another type in a day", sum, false, func(h *history) { h.put("t/4.csv", "k,u,v\n1,0.5,3\n") }, 1, ""},
		{"a column of another type in the first day", sum, false, func(h *history) { h.put("t/0.csv", "k,u,v\n1,text,3\n") }, 1, ""},
		{"other places of columns that are not read", sum, false, func(h *history) { h.put("t/0.csv", "u,k,v\n1,2,3\n") }, 1, ""},
		{"other places of columns that are read", sum, false, func(h *history) { h.put("t/0.csv", "v,u,k\n1,2,3\n") }, 4, ""},
		{"a day more beside a table that is read whole", joined, false, func(h *history) { h.put("t/4.csv", "k,u,v\n1,1,1\n") }, 1, ""},
		{"a column more in a table that is read whole", joined, false, func(h *history) { h.put("d/1.csv", "k,name,z\n1,one,1\n") }, 3, ""},
		{"a column more that all columns are read of", "SELECT sum(COLUMNS(*)) FROM t", true,
			func(h *history) { h.put("t/4.csv", "k,u,v,w\n1,2,3,4\n") }, 0, "t are not what they were: w is new"},
		{"a column that is read has gone", sum, false, func(h *history) {
			for _, day := range []string{"1", "2", "3"} {
				h.put("t/"+day+".csv", "k,u\n1,2\n")
			}
		}, 0, "t are not what they were: v has gone"},
		{"a column that is read has another type", sum, false, func(h *history) { h.put("t/4.csv", "k,u,v\n1,1,0.5\n") }, 0,
			"v was of the type int64, and is of the type float64"},
		{"a name means another column", "SELECT k, sum(v) AS s FROM t WHERE EXISTS (SELECT 1 FROM d WHERE d.k = u) GROUP BY k ORDER BY k",
			false, func(h *history) { h.put("d/1.csv", "k,u\n1,1\n") }, 0, "d are not what they were: u is new"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := columnsHistory(t, c.statement, c.byName)
			more := "w,x,"
			if c.byName {
				more = ""
			}
			h.put("t/1.csv", "k,u,v\n1,1,10\n2,2,20\n")
			for _, day := range []string{"2", "3"} {
				h.put("t/"+day+".csv", more+"k,u,v\n"+strings.Repeat("7,", strings.Count(more, ","))+"1,2,"+day+"\n")
			}
			_, err := Run(t.Context(), h.eng, h.opt)
			check(t, err)
			c.change(h)
			for night := range 2 {
				r, err := Run(t.Context(), h.eng, h.opt)
				if c.refused != "" {
					says(t, "a night", err, ErrOther, c.refused)
					return
				}
				check(t, err)
				want, err := h.full()
				check(t, err)
				if got := string(h.output()); got != string(want) {
					t.Errorf("the output is\n%s\nwant\n%s", got, want)
				}
				if night == 0 && r.FilesRead != c.reads || night == 1 && r.FilesRead > 0 {
					t.Errorf("night %d: %+v, want %d files read", night, r, c.reads)
				}
			}
		})
	}
}

// Would catch files of a table of Delta that are read again for a column that the statement does not read.
func TestColumnsChangeInDelta(t *testing.T) {
	h := columnsHistory(t, "SELECT k, sum(v) AS s FROM t GROUP BY k ORDER BY k", false)
	h.kind, h.rng = ".parquet", rand.New(rand.NewPCG(1, 1))
	h.lake = &deltaTable{dir: filepath.Join(h.dir, "t"), files: map[string]*deltaFile{}}
	for night := range 4 {
		before := h.lake.clone()
		if night%2 == 0 {
			name := h.lake.newName()
			h.lake.files[name] = &deltaFile{rows: h.writeFile("t", name)}
		} else {
			h.lake.isWide = !h.lake.isWide
		}
		h.lake.commit(t, before)
		r, err := Run(t.Context(), h.eng, h.opt)
		check(t, err)
		full, err := h.full()
		check(t, err)
		if got := h.output(); !bytes.Equal(got, full) || r.FilesRead != 1-night%2 {
			t.Errorf("night %d: %+v, and the output is\n%s\nwant\n%s", night, r, got, full)
		}
	}
}
