package rollup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/vfs"
)

// file is a file, and what tells whether it is still the same.
type file struct {
	dataset.Identity
	Changed time.Time `json:"changed,omitzero"` // by the file system, which no program sets; zero where it is not known

	// Segments are the rows that have a part each, of a text file that lines may be appended to; nil of another file,
	// which has one part.
	Segments []segment `json:"segments,omitempty"`
}

// same says whether a file has the content that it had.
func (f file) same(other file) bool { return f.Same(other.Identity) && f.Changed.Equal(other.Changed) }

// table is a table of the statement, as the run finds it.
type table struct {
	input
	scan   dataset.Options
	named  []string      // what the statement names: patterns
	source scan.Source   // of the plan; nothing reads it
	reads  []arrow.Field // columns that the statement reads, in the order of the table
}

// meaning returns what the parts of the table are made of besides its files: the columns that the statement reads.
func (t *table) meaning() []string {
	var list []string
	for _, f := range t.reads {
		list = append(list, fmt.Sprintf("%q %s %v", f.Name, f.Type, f.Nullable))
	}
	if t.Known.Lake != nil {
		reads := func(name string) bool {
			return slices.ContainsFunc(t.reads, func(f arrow.Field) bool { return f.Name == name })
		}
		list = append(list, t.Known.Lake.ColumnsMeaning(reads))
	}
	return list
}

// bytes returns the bytes of the files.
func (t *table) bytes() (sum int64) {
	for _, f := range t.Files {
		sum += f.Bytes
	}
	return sum
}

// look returns the file of a path as it is now.
func look(fsys vfs.FS, path string) (file, error) {
	info, err := fsys.Stat(path)
	if err != nil {
		return file{}, err
	}
	f := file{Identity: dataset.NewIdentity(path, info)}
	if _, remote := vfs.ObjectsAt(fsys, path); !remote {
		f.Changed, _ = vfs.ChangeTime(info)
	}
	return f, nil
}

// list returns the files of patterns as they are now; known is the state of the table of Delta or Iceberg that they
// name, and nil where they name files.
func list(ctx context.Context, patterns []string, opt dataset.Options) (known *dataset.Known, files []file, err error) {
	known, identities, err := dataset.KnowLake(ctx, patterns, opt)
	if err == nil && known == nil {
		identities, err = dataset.Identities(ctx, patterns, opt)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, id := range identities {
		if strings.Contains(id.Path, redact.Hidden) {
			return nil, nil, fmt.Errorf("%w: %s has parameters or a user, which do not go into a state", ErrStatement, id.Path)
		}
		f := file{Identity: id}
		if _, remote := vfs.ObjectsAt(opt.FS, id.Path); !remote && known == nil {
			if f, err = look(opt.FS, id.Path); err != nil {
				return nil, nil, err
			}
		}
		files = append(files, f)
	}
	return known, files, nil
}

// freshFor is how long a file that was changed is not read: clocks of file systems tick a few milliseconds apart, and a
// second change within a tick, behind the reader, would show in no time.
const freshFor = 20 * time.Millisecond

// toRead returns the files of some parts, and of tables that are read whole.
func (r *run) toRead(parts []*node) (files []*file) {
	eachFile(parts, func(leaf *node) { files = append(files, r.fileOf(leaf)) })
	for _, t := range r.tables {
		if t.Read == readWhole {
			for i := range t.Files {
				files = append(files, &t.Files[i])
			}
		}
	}
	return files
}

// settle waits until a change of files would show.
func (r *run) settle(files []*file) {
	var last time.Time
	for _, f := range files {
		if f.Changed.After(last) {
			last = f.Changed
		}
	}
	if age := time.Since(last); age >= 0 && age < r.fresh {
		time.Sleep(r.fresh - age)
	}
}

// checkSame refuses a file that was changed while it was read.
func checkSame(fsys vfs.FS, then file) error {
	if then.Meaning != "" { // tables of Delta and Iceberg write no file twice
		return nil
	}
	now, err := look(fsys, then.Path)
	if err == nil && !now.same(then) {
		err = fmt.Errorf("%s was changed while the roll-up read it: run again when it is whole", then.Path)
	}
	return err
}

// difference is how the files of a table differ from what they were.
type difference struct {
	added, changed, grown, gone []string // paths
	kept                        map[string]bool
}

// compare compares the files of a table with what they were.
func compare(before, now []file) (d difference) {
	was := make(map[string]file, len(before))
	for _, f := range before {
		was[f.Path] = f
	}
	d.kept = make(map[string]bool, len(now))
	for _, f := range now {
		old, there := was[f.Path]
		delete(was, f.Path)
		switch {
		case !there:
			d.added = append(d.added, f.Path)
		case !f.same(old) && f.isGrown(&old):
			d.grown = append(d.grown, f.Path)
		case !f.same(old) && (len(f.Segments) == 0 || !slices.Equal(f.Segments, old.Segments)):
			d.changed = append(d.changed, f.Path)
		default:
			d.kept[f.Path] = true
		}
	}
	for _, f := range before {
		if _, left := was[f.Path]; left {
			d.gone = append(d.gone, f.Path)
		}
	}
	return d
}
