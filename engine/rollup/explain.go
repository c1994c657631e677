package rollup

import (
	"context"
	"slices"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/spawn"
)

// Explanation tells what a run would do, and why.
type Explanation struct {
	State      string   `json:"state"`      // the directory
	Generation int64    `json:"generation"` // of the state; 0 where there is none
	Version    string   `json:"version"`    // of the program that wrote it
	Files      int      `json:"files"`      // of the tables that have a part for each file
	Reads      []Read   `json:"reads"`      // files whose parts would be made
	Whole      []Whole  `json:"whole"`      // tables that are read whole, or joined to the groups
	Gone       []string `json:"gone"`       // files whose rows would be taken back
	Merges     []Merge  `json:"merges"`     // parts that would be made of parts
}

// Read is a file that would be read.
type Read struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"` // that are read
	Why   string `json:"why"`
}

// Whole is a table that is read whole.
type Whole struct {
	Files   int    `json:"files"`
	Bytes   int64  `json:"bytes"`
	Late    bool   `json:"late"`              // it is joined to the groups
	Changed string `json:"changed,omitempty"` // what makes all parts new; "" where the table is what it was
}

// Merge is a part that would be made of parts.
type Merge struct {
	Level int    `json:"level"`
	Parts int    `json:"parts"`
	First string `json:"first"` // path of its first file
	Last  string `json:"last"`
}

// Explain tells what Run would do: nothing is written. An error is one that Run would give, too. Output may be "".
func Explain(ctx context.Context, eng *engine.Engine, o Options) (e *Explanation, err error) {
	o.EnsureDefaults()
	if o.Output == "" {
		o.Output = "-"
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	r := &run{Options: &o, eng: eng, dir: openDir(o.FS, o.State)}
	r.dir.Budget = eng.Budget()
	err = spawn.Call(func() error {
		if err := r.begin(ctx); err != nil {
			return err
		}
		e = r.explanation()
		return nil
	})
	return e, err
}

// explanation tells what the run would do.
func (r *run) explanation() *Explanation {
	e := &Explanation{State: r.dir.Root, Generation: r.generation, Files: r.report.Files, Reads: []Read{},
		Whole: []Whole{}, Gone: []string{}, Merges: []Merge{}}
	if r.before != nil {
		e.Version = r.before.Version
	}
	for i, t := range r.tables {
		switch d := &r.differences[i]; t.Read {
		case readParts:
			e.Gone = append(e.Gone, d.gone...)
		case readWhole, readLate:
			whole := Whole{Files: len(t.Files), Bytes: t.bytes(), Late: t.Read == readLate}
			if r.before != nil && d.isAny() && !whole.Late {
				whole.Changed = r.cause()
			}
			e.Whole = append(e.Whole, whole)
		}
	}
	eachFile(r.missing(r.roots), func(leaf *node) {
		f := r.fileOf(leaf)
		read := Read{f.Path, f.Bytes, r.why(leaf, f.Path)}
		if f.Segments != nil {
			of := f.rangeOf(leaf.part)
			read.Bytes = of.To - of.From
		}
		e.Reads = append(e.Reads, read)
	})
	r.eachMerge(func(n *node) {
		m := Merge{Level: n.level, Parts: len(n.members)}
		n.each(func(leaf *node) {
			if leaf.file == noFile {
				return
			}
			m.Last = r.fileOf(leaf).Path
			if m.First == "" {
				m.First = m.Last
			}
		})
		e.Merges = append(e.Merges, m)
	})
	return e
}

// isAny says whether the files of the table are not what they were.
func (d *difference) isAny() bool { return len(d.added)+len(d.changed)+len(d.grown)+len(d.gone) > 0 }

// why says why a file is read.
func (r *run) why(leaf *node, path string) string {
	switch d := &r.differences[leaf.input]; {
	case r.before == nil:
		return "there is no state"
	case r.isAgain(leaf):
		return "again: " + r.cause()
	case slices.Contains(d.grown, path):
		return "lines were appended"
	case slices.Contains(d.changed, path):
		return "it has changed"
	}
	return "it is new"
}

// eachMerge calls a function with the parts of the tree that a run would make of parts, but for totals.
func (r *run) eachMerge(visit func(*node)) {
	var below func(n *node)
	below = func(n *node) {
		if r.have[n.key] != nil || n.members == nil || r.isBundle(n) {
			return
		}
		for _, m := range n.members {
			below(m)
		}
		visit(n)
	}
	for _, n := range r.roots {
		below(n)
	}
}
