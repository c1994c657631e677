package rollup

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/internal/vfs"
)

// Would catch dates that are read out of other numbers, and dates that are not seen.
func TestDateOf(t *testing.T) {
	for path, want := range map[string]string{
		"in/2026-11-30.csv": "2026-11-30", "in/20261130.parquet": "2026-11-30", "in/2026/11/30/x.csv": "2026-11-30",
		"s3://b/year=2026/month=3/day=7/part-0.parquet": "2026-03-07", "2025-01-01/2026-11-30_part.csv": "2026-11-30",
		"in/day=2026-02-28/x": "2026-02-28", "log.2024_02_29": "2024-02-29", "in/2026-13-01.csv": "",
		"in/12345678901.csv": "",
		"in/x.csv":           "", "in/2026-11.csv": "", "20260101-20260102.csv": "2026-01-02", "in/00000101.csv": "",
	} {
		got := ""
		if date, ok := dateOf(path); ok {
			got = date.Format(time.DateOnly)
		}
		if got != want {
			t.Errorf("%s has the date %q, want %q", path, got, want)
		}
	}
}

// Would catch files that are kept too long or too short, and a table without dates that loses files.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) { check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666)) }
	put("names.csv", "k,name\n1,one\n")
	check(t, os.Mkdir(filepath.Join(dir, "t"), 0o777))
	for _, day := range []string{"2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"} {
		put("t/"+day+".csv", "k,v\n1,1\n")
	}
	o := Options{
		Statement: "SELECT name, count(*) AS n FROM t JOIN names USING (k) GROUP BY name",
		Tables: map[string]plan.Table{"t": {Files: []string{filepath.Join(dir, "t")}},
			"names": {Files: []string{filepath.Join(dir, "names.csv")}}},
		State: filepath.Join(dir, "state"), Output: filepath.Join(dir, "out.csv"), FS: vfs.OS, Version: "test", KeepDays: 3,
		bundled: -1, // files that share a part are read again where one of them went
	}
	eng := open(t, vfs.OS, 1)
	for _, step := range []struct {
		change             func()
		files, left, added int
		gone               int
		answer             string
	}{
		{func() {}, 3, 1, 3, 0, "name,n\none,3\n"},
		{func() { put("t/2026-03-04.csv", "k,v\n1,1\n") }, 2, 3, 1, 2, "name,n\none,2\n"},
		{func() { o.KeepDays = 5 }, 4, 1, 2, 0, "name,n\none,4\n"},
		{func() { o.KeepDays = 0 }, 5, 0, 1, 0, "name,n\none,5\n"},
	} {
		step.change()
		r, err := Run(t.Context(), eng, o)
		check(t, err)
		if r.Files != step.files || r.LeftOut != step.left || r.Added != step.added || r.Gone != step.gone || r.Again != 0 {
			t.Errorf("keep %d: %+v", o.KeepDays, r)
		}
		want(t, o, step.answer)
	}
	put("t/other.csv", "k,v\n1,1\n")
	o.KeepDays = 3
	_, err := Run(t.Context(), eng, o)
	says(t, "a file without a date", err, ErrStatement, "other.csv has none")
}
