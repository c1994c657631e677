package rollup

import (
	"errors"
	"maps"
	"slices"
	"time"
)

// savedEvery is how long a run that makes parts of files works for nothing if it is killed.
const savedEvery = 30 * time.Second

// madePart is a part that this run has made of files.
type madePart struct {
	node *node
	part *part
}

// save notes a part that is made, and from time to time publishes a state that has all of these beside what was there
// before: a run after one that was killed does not read their files again. The answer is still that of before. U3, U4.
func (r *run) save(n *node, p *part) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = append(r.made, madePart{n, p})
	if time.Since(r.saved) < r.saveEvery || len(r.made) == r.wanted {
		return nil
	}
	s := r.newState()
	if r.before != nil {
		s.Sources, s.Total, s.Tried = r.before.Sources, r.before.Total, r.before.Tried
		s.Parts = slices.Clone(r.before.Parts)
	}
	made := map[string]bool{} // by key: leaves
	for _, m := range r.made {
		s.Parts = append(s.Parts, *m.part)
		m.node.each(func(leaf *node) { made[leaf.key] = true })
	}
	left := map[*file]bool{} // files that have rows without a part
	for _, n := range r.leaves {
		if n.file != noFile && !made[n.key] && r.have[n.key] == nil {
			left[r.fileOf(n)] = true
		}
	}
	for i, t := range r.tables {
		in := t.input
		if t.Read == readParts {
			in.Files = r.filesSaved(i, left)
		}
		s.Inputs = append(s.Inputs, in)
	}
	written := r.written
	r.written = slices.DeleteFunc(slices.Clone(written), func(p *part) bool {
		return slices.ContainsFunc(r.made, func(m madePart) bool { return m.part == p })
	})
	if err := r.dir.publish(s); err != nil {
		if errors.Is(err, errTaken) {
			r.written = written // else the manifest may be there, and name the parts
		}
		return err
	}
	r.dir.removeReplaced(r.generation, nil, s)
	r.generation, r.saved = s.Generation, time.Now()
	return nil
}

// filesSaved returns the files of a table, as the state before has them, and those whose parts are there.
func (r *run) filesSaved(input int, left map[*file]bool) []file {
	files := make(map[string]file)
	if r.before != nil {
		for _, f := range r.before.Inputs[input].Files {
			files[f.Path] = f
		}
	}
	for i := range r.tables[input].Files {
		if f := &r.tables[input].Files[i]; !left[f] {
			files[f.Path] = *f
		}
	}
	list := make([]file, 0, len(files))
	for _, path := range slices.Sorted(maps.Keys(files)) {
		list = append(list, files[path])
	}
	return list
}
