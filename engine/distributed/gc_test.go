package distributed

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// Would catch objects that are removed though they are beside the work directory, are needed, or are of a plan
// that runs again; objects that stay; and a fault that nobody is told of, or that ends the collection.
func TestCollectObjects(t *testing.T) {
	const done, gone = "0000000000000001", "0000000000000002"
	keep := []string{
		"work/" + done + "/" + committedName, "work/" + done + "/" + planFile, "work/notes.txt",
		"work2/" + done + "/" + committedName, "work2/" + done + "/partial/00000." + attemptA + packSuffix,
	}
	drop := []string{
		"work/" + done + "/merge/00000-00003." + attemptA + "/k=1/part-00000.csv", "work/" + done + "/partial/00000." + attemptA + packSuffix,
		"work/" + done + "/sealed/partial.json", "work/" + gone + "/partial/00000." + attemptB + packSuffix,
	}
	for n := range 7 { // a list, the seal, and four removals: each call fails once, and then none
		fsys := newBucket()
		for _, name := range append(slices.Clone(drop), keep...) {
			fsys.put(bucketURL+name, []byte("{}"))
		}
		fsys.calls, fsys.failAt = 0, n
		found, err := Collect(fsys, bucketURL+"work/", time.Hour, true)
		if n > 2 && (err != nil || len(found) != len(drop)) {
			t.Errorf("call %d: %v, %v", n, found, err)
		}
		if len(fsys.objects) != len(keep)+len(drop) {
			t.Errorf("call %d: a dry run has removed objects: %q", n, fsys.names(bucketURL))
		}
		fsys.calls = 0
		found, err = Collect(fsys, bucketURL+"work", time.Hour, false)
		if fired := n > 0 && fsys.calls >= n; fired != (err != nil) || fired && !errors.Is(err, errStore) {
			t.Errorf("call %d of %d: %v", n, fsys.calls, err)
		}
		left := len(keep)
		if err != nil && n > 2 {
			left++ // what could not be removed
		} else if err != nil {
			left += len(drop)
		}
		if got := fsys.names(bucketURL); len(got) != left {
			t.Errorf("call %d, %v: left %q", n, err, got)
		}
		for _, g := range found {
			why := "the plan is committed"
			if strings.Contains(g.Path, gone) {
				why = "no plan is there"
			}
			if g.Bytes != 2 || g.Why != why {
				t.Errorf("%+v, want %s", g, why)
			}
		}
		fsys.failAt = 0
		_, err = Collect(fsys, bucketURL+"work", time.Hour, false)
		check(t, err)
		if got := fsys.names(bucketURL); !slices.Equal(got, keep) {
			t.Errorf("call %d: left %q, want %q", n, got, keep)
		}
	}
}
