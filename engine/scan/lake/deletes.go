package lake

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/parquet"
	"github.com/mpga/mpga/internal/vfs"
)

// OpenFile finishes the opening of a data file: it leaves out the rows that are deleted.
func (f *File) OpenFile(ctx context.Context, fsys vfs.FS, file *parquet.File) error {
	var rows []int64
	var err error
	for _, d := range f.deletes {
		if rows, err = d.rows(fsys, rows, int64(file.Span())); err != nil {
			return err
		}
	}
	slices.Sort(rows)
	return file.Delete(rows)
}

// deleteIndex finds the deletes of data files.
type deleteIndex struct {
	r         *icebergReader
	vectors   map[string]*dataFile   // by data file
	positions []*dataFile            // of any data files
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
			x.positions = append(x.positions, d)
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
			if p.sequence >= d.sequence && (p.of == "" || p.of == d.path) && mayName(p, d) {
				f.deletes = append(f.deletes, &positions{path: p.path, of: d.path, r: x.r})
				f.live = -1
			}
		}
	}
	for _, e := range slices.Concat(x.equal[""], x.equal[d.key]) {
		if e.sequence > d.sequence {
			return fmt.Errorf("not supported: deletes by equality, as in %s", e.path)
		}
	}
	return nil
}

// filePathID is the number of the column of paths in files of positions.
const filePathID = 2147483546

// mayName says whether a file of positions may name a data file, by its bounds and its partition.
func mayName(p, d *dataFile) bool {
	if p.spec == d.spec && p.key != d.key {
		return false
	}
	return true
}

// positions are deleted rows of one data file, in a file of positions.
type positions struct {
	path string
	of   string // the data file, as the table's paths are
	r    *icebergReader
}

// rows implements deletes.
func (p *positions) rows(fsys vfs.FS, to []int64, limit int64) ([]int64, error) {
	err := eachBatch(context.Background(), fsys, p.path, []string{"file_path", "pos"}, func(c []arrow.Array) error {
		if c[0] == nil || c[1] == nil {
			return fmt.Errorf("%w: %s has no columns file_path and pos", errDamaged, p.path)
		}
		last, isOurs := "", false
		for row := range rowsOf(c) {
			name, _ := text(c[0], row)
			if name != last {
				last, isOurs = name, p.r.locate(name) == p.of
			}
			if !isOurs {
				continue
			}
			n, ok := number(c[1], row)
			if !ok || n < 0 || n >= limit {
				return fmt.Errorf("%w: %s deletes row %d of %s, which has %d", errDamaged, p.path, n, p.of, limit)
			}
			to = append(to, n)
		}
		return nil
	})
	return to, expired(err, "a file of deletes")
}
