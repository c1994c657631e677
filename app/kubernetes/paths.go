package kubernetes

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/mpga/mpga/engine/distributed"
)

// checkMounts refuses claims that are mounted at one place.
func checkMounts(volumes []Volume) error {
	at := map[string]bool{tempDir: true}
	var errs []error
	for _, v := range volumes {
		if at[v.Path] {
			errs = append(errs, fmt.Errorf("volume %s: something else is mounted at %s", v.Claim, v.Path))
		}
		at[v.Path] = true
	}
	return errors.Join(errs...)
}

// isURL says whether a path of a plan is of an object, which pods see as every machine does.
func isURL(path string) bool { return strings.Contains(path, "://") }

// mountOf returns the volume that holds a path: of mounts within each other the innermost. nil is none.
func (o *Options) mountOf(path string) *Volume {
	var found *Volume
	for i := range o.Volumes {
		v := &o.Volumes[i]
		if strings.HasPrefix(path, v.Path+"/") && (found == nil || len(v.Path) > len(found.Path)) {
			found = v
		}
	}
	return found
}

// checkPaths refuses paths of the plan that pods do not see, or cannot write to. K5.
func (o *Options) checkPaths(p *distributed.Plan) error {
	var errs []error
	check := func(what, file string, written bool) {
		if isURL(file) {
			return
		}
		switch v := o.mountOf(file); {
		case v == nil:
			errs = append(errs, fmt.Errorf("%s %q is a path of this machine, and no --volume holds it: "+
				"give --volume CLAIM:%s of a claim whose files the pods find there, or plan with URLs",
				what, file, path.Dir(file)))
		case written && v.ReadOnly:
			errs = append(errs, fmt.Errorf("%s %q is written, and --volume %s:%s:ro is read only", what, file, v.Claim, v.Path))
		}
	}
	for _, f := range p.AllFiles() {
		if check("input", f.Path, false); len(errs) > 0 {
			break // thousands of files may lie there
		}
	}
	check("work directory", p.Work, true)
	check("output", p.Output.Path, true)
	return errors.Join(errs...)
}

// stores returns the schemes of the plan's URLs.
func stores(p *distributed.Plan) map[string]bool {
	found := make(map[string]bool)
	note := func(path string) {
		if scheme, _, ok := strings.Cut(path, "://"); ok {
			found[scheme] = true
		}
	}
	for _, f := range p.AllFiles() {
		note(f.Path)
	}
	note(p.Work)
	note(p.Output.Path)
	return found
}
