package rollup

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mpga/mpga/internal/vfs"
)

// Would catch a part for each of many small files, a file of a bundle that is read though nothing changed, one whose old
// rows count, and files in bundles that are to have parts of their own.
func TestBundles(t *testing.T) {
	const days = 60
	parts := func(change func(o *Options)) (Options, *Status) {
		t.Helper()
		o := daily(t, vfs.OS, dailySum, days)
		change(&o)
		_, err := Run(t.Context(), open(t, vfs.OS, 2), o)
		check(t, err)
		want(t, o, dailyAnswer(days))
		s, err := ReadStatus(vfs.OS, o.State)
		check(t, err)
		return o, s
	}
	leaves := func(s *Status) (n int) {
		for _, p := range s.Parts {
			if p.Level == 0 && p.Files == 1 {
				n++
			}
		}
		return n
	}
	// Hashes of names end bundles: of 60 files 20 parts are made, with a deviation of 6.
	o, bundled := parts(func(*Options) {})
	if len(bundled.Parts) >= days*9/10 || leaves(bundled) >= days*9/10 {
		t.Errorf("%d parts for %d files, %d of a file", len(bundled.Parts), days, leaves(bundled))
	}
	if _, s := parts(func(o *Options) { o.OnChange = OnChangeFail }); leaves(s) != days {
		t.Errorf("%d parts of a file, where a change is refused that reads others", leaves(s))
	}
	if _, s := parts(func(o *Options) { o.KeepParts = 7 }); leaves(s) < 7 {
		t.Errorf("%d parts of a file, where 7 are kept", leaves(s))
	}
	if _, s := parts(func(o *Options) { o.bundled = 50 }); leaves(s) != days { // a file has more than 25 B
		t.Errorf("%d parts of a file, where files are large", leaves(s))
	}

	eng := open(t, vfs.OS, 2)
	r, err := Run(t.Context(), eng, o)
	check(t, err)
	if r.FilesRead+r.Again != 0 {
		t.Errorf("nothing changed: %+v", r)
	}
	dir := filepath.Dir(o.State)
	for day := 0; day < days; day += 7 {
		path := filepath.Join(dir, "t", fmt.Sprintf("%03d.csv", day))
		text, err := os.ReadFile(path)
		check(t, err)
		check(t, os.WriteFile(path, []byte("k,v\n0,1000\n"), 0o666))
		e, err := Explain(t.Context(), eng, o)
		check(t, err)
		r, err := Run(t.Context(), eng, o)
		check(t, err)
		if r.Changed == 0 || r.FilesRead != r.Again+r.Changed || r.FilesRead > 2*bundleFiles || len(e.Reads) != r.FilesRead {
			t.Errorf("day %d: %+v, explained as %d files", day, r, len(e.Reads))
		}
		h := &history{t: t, plain: eng, dir: dir, kind: ".csv", opt: o}
		full, err := h.full()
		check(t, err)
		want(t, o, string(full))
		check(t, os.WriteFile(path, text, 0o666))
	}
	_, err = Run(t.Context(), eng, o)
	check(t, err)
	want(t, o, dailyAnswer(days))
}
