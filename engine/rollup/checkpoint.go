package rollup

import (
	"maps"
	"slices"
	"time"
)

// savedEvery is how long a run that makes parts of files works for nothing if it is killed.
const savedEvery = 30 * time.Second

// madePart is a part that this run has made of a file.
type madePart struct {
	leaf *node
	part *part
}

// save notes a part that is made, and from time to time publishes a state that has all of these beside what was there
// before: a run after one that was killed does not read their files again. The answer is still that of before. U3, U4.
func (r *run) save(leaf *node, p *part) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = append(r.made, madePart{leaf, p})
	if time.Since(r.saved) < r.saveEvery || len(r.made) == r.wanted {
		return nil
	}
	s := r.newState()
	if r.before != nil {
		s.Sources, s.Total = r.before.Sources, r.before.Total
		s.Parts = slices.Clone(r.before.Parts)
	}
	made := make([]map[string]bool, len(r.tables)) // paths, by table
	for _, m := range r.made {
		if s.Parts = append(s.Parts, *m.part); m.leaf.file == noFile {
			continue
		}
		if made[m.leaf.input] == nil {
			made[m.leaf.input] = map[string]bool{}
		}
		made[m.leaf.input][r.tables[m.leaf.input].Files[m.leaf.file].Path] = true
	}
	for i, t := range r.tables {
		in := t.input
		if t.Read == readParts {
			in.Files = r.filesSaved(i, made[i])
		}
		s.Inputs = append(s.Inputs, in)
	}
	if err := r.dir.publish(s); err != nil {
		return err
	}
	r.dir.removeReplaced(r.generation, nil, s)
	r.generation, r.saved = s.Generation, time.Now()
	r.written = slices.DeleteFunc(r.written, func(p *part) bool {
		return slices.ContainsFunc(r.made, func(m madePart) bool { return m.part == p })
	})
	return nil
}

// filesSaved returns the files of a table, as the state before has them, and those whose parts are made.
func (r *run) filesSaved(input int, made map[string]bool) []file {
	files := make(map[string]file)
	if r.before != nil {
		for _, f := range r.before.Inputs[input].Files {
			files[f.Path] = f
		}
	}
	for _, f := range r.tables[input].Files {
		if made[f.Path] {
			files[f.Path] = f
		}
	}
	list := make([]file, 0, len(files))
	for _, path := range slices.Sorted(maps.Keys(files)) {
		list = append(list, files[path])
	}
	return list
}
