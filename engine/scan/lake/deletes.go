package lake

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/parquet"
	"github.com/mpga/mpga/internal/vfs"
)

// OpenFile finishes the opening of a data file: it leaves out the rows that are deleted.
func (f *File) OpenFile(ctx context.Context, fsys vfs.FS, file *parquet.File) error {
	var rows []int64
	var err error
	for _, d := range f.deletes {
		if rows, err = d.rows(ctx, fsys, rows, int64(file.Span())); err != nil {
			return fmt.Errorf("%s, deleted rows: %w", f.Path, err)
		}
	}
	slices.Sort(rows)
	return file.Delete(rows)
}

// deleteIndex finds the deletes of data files.
type deleteIndex struct {
	r         *icebergReader
	vectors   map[string]*dataFile   // by data file
	positions []*positions           // of any data files
	equal     map[string][]*dataFile // by partition
}

func newDeleteIndex(r *icebergReader, all []dataFile) *deleteIndex {
	x := &deleteIndex{r: r, vectors: map[string]*dataFile{}, equal: map[string][]*dataFile{}}
	for i := range all {
		d := &all[i]
		switch {
		case d.content == contentPositions && strings.EqualFold(d.format, "puffin"):
			x.vectors[d.of] = d
		case d.content == contentPositions:
			x.positions = append(x.positions, &positions{of: d, r: r})
		case d.content == contentEqual:
			key := d.key
			if len(d.fields) == 0 {
				key = "" // deletes without a partition are of all
			}
			x.equal[key] = append(x.equal[key], d)
		}
	}
	return x
}

// add adds the deletes of a data file.
func (x *deleteIndex) add(f *File, d *dataFile) error {
	if v := x.vectors[d.path]; v != nil && v.sequence >= d.sequence {
		if v.size < 2*wordBytes || v.size > metadataBytesMax {
			return fmt.Errorf("%s: %w: a deletion vector of %d B", v.path, errDamaged, v.size)
		}
		f.deletes = append(f.deletes, &vector{path: v.path, offset: v.offset, bytes: v.size - 2*wordBytes, of: v.rows})
		f.live = f.Rows - v.rows
	} else {
		for _, p := range x.positions {
			isOther := p.of.of != "" && p.of.of != d.path || p.of.spec == d.spec && p.of.key != d.key
			if p.of.sequence >= d.sequence && !isOther {
				f.deletes = append(f.deletes, &positionsOf{p, d.path})
				f.live = -1
			}
		}
	}
	byColumns := map[string]*equality{} // by numbers of columns
	for _, e := range slices.Concat(x.equal[""], x.equal[d.key]) {
		if e.sequence <= d.sequence {
			continue
		}
		for _, id := range e.equal {
			if c, ok := x.r.leaves[id]; ok && c.Default != nil {
				return fmt.Errorf("not supported: deletes by values of column %q, which has a default", c.name)
			}
		}
		key := fmt.Sprint(e.equal)
		if byColumns[key] == nil {
			byColumns[key] = &equality{data: d.path, columns: e.equal}
			f.deletes = append(f.deletes, byColumns[key])
			f.live = -1
		}
		byColumns[key].files = append(byColumns[key].files, e.path)
	}
	return nil
}

// positions is a file of deleted rows, which is read once for all data files that it names.
type positions struct {
	of *dataFile
	r  *icebergReader

	mu   sync.Mutex
	rows map[string][]int64 // by data file; nil before it is read
}

// positionsOf are the deleted rows of one data file.
type positionsOf struct {
	*positions
	data string
}

// String implements deletes.
func (p *positionsOf) String() string { return p.of.path }

// rows implements deletes.
func (p *positionsOf) rows(ctx context.Context, fsys vfs.FS, to []int64, limit int64) ([]int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.positions.rows == nil {
		if err := p.read(ctx, fsys); err != nil {
			return nil, Expired(err, "a file of deletes")
		}
	}
	for _, n := range p.positions.rows[p.data] {
		if n >= limit {
			return nil, fmt.Errorf("%w: %s deletes row %d of %s, which has %d", errDamaged, p.of.path, n, p.data, limit)
		}
	}
	return append(to, p.positions.rows[p.data]...), nil
}

// read reads the file.
// Requires: p.mu is held.
func (p *positions) read(ctx context.Context, fsys vfs.FS) error {
	if err := checkParquet(p.of); err != nil {
		return err
	}
	all, last, data := map[string][]int64{}, "", ""
	err := eachBatch(ctx, fsys, p.of.path, []string{"file_path", "pos"}, func(c []arrow.Array) error {
		if c[0] == nil || c[1] == nil {
			return fmt.Errorf("%w: %s has no columns file_path and pos", errDamaged, p.of.path)
		}
		for row := range rowsOf(c) {
			name, _ := text(c[0], row)
			if name != last {
				last, data = name, p.r.locate(name)
			}
			n, ok := number(c[1], row)
			if !ok || n < 0 {
				return fmt.Errorf("%w: %s deletes row %d of %s", errDamaged, p.of.path, n, data)
			}
			all[data] = append(all[data], n)
		}
		return nil
	})
	if err == nil {
		p.rows = all
	}
	return err
}

// checkParquet refuses files of deletes of other formats.
func checkParquet(d *dataFile) error {
	if !strings.EqualFold(d.format, "parquet") {
		return fmt.Errorf("not supported: deletes in the format %s, as in %s", strings.ToLower(d.format), d.path)
	}
	return nil
}
