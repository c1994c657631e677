package parquet

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/ipc"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/vfs"
)

// File is a Parquet file whose footer has been read. A split of it is a row group.
type File struct {
	path   string
	fsys   vfs.FS
	size   int64                  // bytes of the file
	footer []byte                 // the statistics of groups are slices of it
	meta   *metadata.FileMetaData // all of the footer but its row groups
	groups []rowGroup
	rows   int64 // of all groups
	flat   *delivery.Flat
	leaves []int // by column of flat: the index of its Parquet column; -1 where the column is nested

	elements []listElement // by column of flat
	trees    []*nestedTree // by column of flat; nil of columns that are not nested, and of lists that elements has
	variants []leafRange

	naming Naming              // nil where columns have the names that the file gives them
	kept   [][]decode.RowRange // by row group: the rows that are not deleted; nil where no row of the file is

	cutsPieces atomic.Bool // its writer cuts blocks in pieces: a block has been looked at

	all   func() (*metadata.FileMetaData, error) // decodes the whole footer, for pqarrow, once
	stats func() decode.Stats                    // of all row groups; computes them once
}

// Naming gives the columns of a file other names or types, before the fields of structs are columns: a table names
// columns by numbers that the file has. Types may differ in names within them, in the zone of times, and in how
// large a string may be.
type Naming func(columns []arrow.Field) ([]arrow.Field, error)

// Open reads a file's footer.
func Open(fsys vfs.FS, path string, mem *reserve.Allocator) (*File, error) {
	return OpenNamed(fsys, path, mem, nil)
}

// OpenNamed is Open with other names of columns; nil has the file's.
func OpenNamed(fsys vfs.FS, path string, mem *reserve.Allocator, naming Naming) (*File, error) {
	p := &File{path: path, fsys: fsys, naming: naming}
	return p, decode.ReadFile(fsys, path, func(f vfs.File, size int64) error {
		p.size = size
		return decode.Guard(func() error { return p.readFooter(f, mem) })
	})
}

// DistrustStatistics forgets what a writer says of values that it has written elsewhere: minima, maxima
// and counts in the footer, bounds in page indexes, and Bloom filters. Filters then test every row, and
// minima and maxima are read from the values.
//
// Requires: nothing has been asked of the file.
func (p *File) DistrustStatistics() {
	for _, group := range p.groups {
		for i := range group.chunks {
			chunk := &group.chunks[i]
			chunk.stats, chunk.columnIndex, chunk.bloom = chunkStats{nulls: -1, distinct: -1}, indexLocation{}, 0
		}
	}
}

func (p *File) readFooter(f vfs.File, mem *reserve.Allocator) (err error) {
	if p.footer, err = readFooter(f, p.size, mem); err != nil {
		return fmt.Errorf("not a readable Parquet file: %w", err)
	}
	p.footer, p.variants = repairSchema(p.footer)
	if p.meta, p.groups, err = parseFooter(p.footer); errors.Is(err, errElsewhere) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", decode.ErrFooter, err)
	}
	p.all = sync.OnceValues(func() (*metadata.FileMetaData, error) {
		all, err := metadata.NewFileMetaData(p.footer, nil)
		if err == nil {
			all.SetSourceFileSize(p.size) // by which pqarrow bounds the chunks of parquet-mr before 1.2.9
		}
		return all, err
	})
	p.stats = sync.OnceValue(func() decode.Stats { return p.statsOf(p.allUndeleted()) })
	if err := checkStoredSchema(p.meta.KeyValueMetadata()); err != nil {
		return err
	}
	manifest, err := pqarrow.NewSchemaManifest(p.meta.Schema, p.meta.KeyValueMetadata(), nil)
	if err != nil {
		return err
	}
	fields := make([]arrow.Field, len(manifest.Fields))
	for i, f := range manifest.Fields {
		fields[i] = p.field(&f)
	}
	if p.naming != nil {
		if fields, err = p.naming(fields); err != nil {
			return err
		}
	}
	p.flat = delivery.Flatten(arrow.NewSchema(fields, nil))
	for c, f := range p.columnsOf(manifest) {
		leaf, element := -1, listElement{leaf: -1}
		var tree *nestedTree
		if t, isNested := p.flat.Schema.Field(c).Type.(*nested.Type); isNested {
			tree = newNestedTree(&f, p.typeAt(fields, c), nested.LayoutOf(t.Of))
		} else if len(f.Children) == 0 {
			leaf = f.ColIndex
		} else if _, list := delivery.Element(delivery.Type(f.Field.Type)); list && f.Children[0].ColIndex >= 0 {
			element = listElement{leaf: f.Children[0].ColIndex, slot: int(f.Children[0].LevelInfo.RepeatedAncestorDefLevel)}
		}
		p.leaves, p.elements, p.trees = append(p.leaves, leaf), append(p.elements, element), append(p.trees, tree)
	}
	return p.checkRows()
}

// typeAt returns the type that the fields of the file have for a column of flat.
func (p *File) typeAt(fields []arrow.Field, c int) arrow.DataType {
	path := p.flat.Paths[c]
	t := fields[path[0]].Type
	for _, i := range path[1:] {
		t = t.(*arrow.StructType).Field(i).Type
	}
	return t
}

// columnsOf returns, for each column of flat, what pqarrow's schema says of it.
func (p *File) columnsOf(m *pqarrow.SchemaManifest) []pqarrow.SchemaField {
	columns := make([]pqarrow.SchemaField, len(p.flat.Paths))
	for c, path := range p.flat.Paths {
		columns[c] = m.Fields[path[0]]
		for _, i := range path[1:] {
			columns[c] = columns[c].Children[i]
		}
	}
	return columns
}

// checkRows checks that the rows of the row groups add up to the file's rows: positions rely on it.
// S2.
func (p *File) checkRows() error {
	var rows int64
	for i := range p.groups {
		n := p.groups[i].rows
		if n < 0 || n > decode.RowsMax-rows {
			return fmt.Errorf("%w: row group %d has %d rows", decode.ErrFooter, i, n)
		}
		rows += n
	}
	if rows != p.meta.NumRows && p.meta.NumRows != 0 { // writers have left it at 0
		return fmt.Errorf("%w: the file has %d rows, its row groups have %d", decode.ErrFooter, p.meta.NumRows, rows)
	}
	p.rows = rows
	return nil
}

// checkStoredSchema checks the Arrow schema that many writers put beside Parquet's: pqarrow reads
// it unchecked. S3.
func checkStoredSchema(meta metadata.KeyValueMetadata) error {
	stored := meta.FindValue("ARROW:schema")
	if stored == nil {
		return nil
	}
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(*stored, "="))
	if err != nil {
		return fmt.Errorf("%w: the Arrow schema in it: %w", decode.ErrFooter, err)
	}
	if err := ipc.CheckSchema(text); err != nil {
		return fmt.Errorf("%w: the Arrow schema in it: %w", decode.ErrFooter, err)
	}
	return nil
}

// FooterBytes is what the footer takes in memory, encoded and decoded.
func (p *File) FooterBytes() int64 { return decode.FooterCopies * int64(len(p.footer)) }

// Name returns the path that the file was opened by.
func (p *File) Name() string { return p.path }

// Schema returns the columns of the file, structs flattened.
func (p *File) Schema() *arrow.Schema { return p.flat.Schema }

// Span returns how many positions the rows take: one each.
func (p *File) Span() uint64 { return uint64(p.rows) }

// GroupCount implements decode.Grouped.
func (p *File) GroupCount() int { return len(p.groups) }

// GroupRows implements decode.Grouped.
func (p *File) GroupRows(group int) int64 { return p.groups[group].rows }

// Parts returns a part that reads columns for each row group that has rows.
func (p *File) Parts(_ context.Context, columns []int) (parts []decode.Part, err error) {
	var first uint64
	for i := range p.groups {
		group := &p.groups[i]
		part := &groupPart{file: p, group: i, first: first, numRows: group.rows}
		first += uint64(group.rows)
		left := p.undeleted(i)
		if group.rows == 0 || left.Pruned {
			continue
		}
		for _, c := range columns {
			column, err := p.partColumn(group, c)
			if err != nil {
				return nil, decode.Located(fmt.Errorf("%s, column %q: %w", part.Name(), p.flat.Schema.Field(c).Name, err))
			}
			part.columns = append(part.columns, column)
			part.numBytes += column.bytes
		}
		if left.Ranges != nil {
			part.SetFilter(&decode.GroupFilter{Test: &decode.RowTest{}, Ranges: left.Ranges, Wanted: allOf(columns)})
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// allOf returns the places of all columns of a list.
func allOf(columns []int) []int {
	places := make([]int, len(columns))
	for i := range places {
		places[i] = i
	}
	return places
}

// partColumn looks up and checks the chunk of one column in a row group.
func (p *File) partColumn(group *rowGroup, c int) (column partColumn, err error) {
	if p.trees[c] != nil {
		return p.nestedColumn(group, c)
	}
	leaf := p.leaves[c]
	element, isList := delivery.Element(p.flat.Schema.Field(c).Type)
	if isList {
		leaf = p.elements[c].leaf
	}
	if leaf < 0 {
		return column, errors.New("nested columns cannot be read")
	}
	chunk := &group.chunks[leaf]
	if err := p.checkChunk(chunk); err != nil {
		return column, err
	}
	size := chunk.bytes
	rowBytes := delivery.FixedBytesOf(p.flat.Schema.Field(c).Type)
	if isUUID(p.meta.Schema.Column(leaf)) {
		rowBytes = delivery.UUIDTextBytes
	}
	column = partColumn{field: c, leaf: leaf, bytes: size, rowBytes: max(chunk.unpacked/max(group.rows, 1), rowBytes)}
	if isList {
		if stored := p.meta.Schema.Column(leaf); stored.MaxRepetitionLevel() != 1 || !p.decodes(element, stored, chunk) {
			return column, fmt.Errorf("lists of %s, which are stored as %s, cannot be read", element, stored.PhysicalType())
		}
		column.element = element
		return column, nil
	}
	column.flat = p.readsFlat(c, chunk)
	column.codes = column.flat && p.holdsCodes(c, chunk)
	return column, nil
}

// checkChunk refuses a chunk that cannot be read, or does not lie in the file.
func (p *File) checkChunk(chunk *columnChunk) error {
	if chunk.encrypted {
		return errors.New("encrypted columns cannot be read")
	}
	start, size := chunk.dataStart, chunk.bytes
	if start < 0 || size < 0 || start > p.size || size > p.size-min(start, chunk.start()) {
		return fmt.Errorf("%w: %d B at offset %d of a file of %d B", decode.ErrFooter, size, start, p.size)
	}
	return nil
}

// nestedColumn is partColumn of a column whose values are read of the chunks of several leaves.
func (p *File) nestedColumn(group *rowGroup, c int) (column partColumn, err error) {
	column = partColumn{field: c, tree: p.trees[c]}
	if !column.tree.isWhole() {
		return column, errors.New("a struct without fields cannot be read")
	}
	for i, at := range column.tree.leaves {
		chunk, stored := &group.chunks[at.leaf], p.meta.Schema.Column(at.leaf)
		if err := p.checkChunk(chunk); err != nil {
			return column, err
		}
		if !p.decodes(at.typ, stored, chunk) || stored.MaxDefinitionLevel() > math.MaxUint8 {
			const text = "values of %s within it, which are stored as %s, cannot be read"
			return column, fmt.Errorf(text, at.typ, stored.PhysicalType())
		}
		if column.bytes += chunk.bytes; i == 0 {
			column.leaf = at.leaf
		}
		column.rowBytes += chunk.unpacked/max(group.rows, 1) + 1
	}
	return column, nil
}

// groupPart is a row group.
type groupPart struct {
	file     *File
	group    int
	columns  []partColumn
	filter   *decode.GroupFilter // nil where all rows are needed
	first    uint64              // index in the file of the group's first row
	numRows  int64               // of the group
	numBytes int64               // of the columns in the file; with a filter, the share of its ranges
}

// partColumn is one column chunk.
type partColumn struct {
	field    int   // of the file's schema
	leaf     int   // of the Parquet schema
	bytes    int64 // of the chunk in the file
	rowBytes int64 // of a row in a batch, on average
	flat     bool  // to be read by flatColumn, not by pqarrow
	codes    bool  // to be delivered as dictionary codes; only if flat

	element arrow.DataType // of a list; nil of other columns
	tree    *nestedTree    // of a nested column, whose first leaf is leaf; nil of others
}

func (p *groupPart) Offset() uint64 { return p.first }

// RowsInFile implements decode.GroupPart.
func (p *groupPart) RowsInFile() int64 { return p.numRows }

func (p *groupPart) Rows() int64     { return p.filter.Rows(p.numRows) }
func (p *groupPart) Bytes() int64    { return p.numBytes }
func (p *groupPart) GroupIndex() int { return p.group }
func (p *groupPart) Name() string    { return fmt.Sprintf("%s, row group %d", p.file.path, p.group) }

// batchRows returns how many rows to put in a batch: as many as are wanted, or fewer where rows are
// large.
func (p *groupPart) batchRows(opt *decode.Options) int64 {
	bytes := int64(0)
	for _, c := range p.columns {
		if c.codes {
			bytes += delivery.CodeBytes
		} else {
			bytes += c.rowBytes
		}
	}
	return max(min(int64(opt.BatchRows), opt.BatchBytes/max(bytes, 1)), 1)
}

func (p *groupPart) Open(ctx context.Context, opt decode.Options) (decode.RowReader, error) {
	if len(p.columns) == 0 && p.filter == nil {
		return &decode.RowCounter{Left: p.Rows()}, nil
	}
	if f := p.filter; f != nil && f.Ended != nil && f.Ended() {
		f.Test.For(opt.Sample).Passed.Add(p.numBytes)
		return &decode.RowCounter{}, nil
	}
	f, err := p.openFile()
	if err != nil {
		return nil, err
	}
	r := &groupReader{part: p, file: f, opt: opt, rows: p.numRows, left: p.numRows, batchRows: p.batchRows(&opt)}
	r.window = windowBytes(r.batchRows, opt.BatchBytes/int64(max(len(p.columns), 1)))
	if err := decode.Guard(func() error { return r.open(ctx) }); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if p.filter != nil {
		return newFilteredGroup(r), nil
	}
	return r, nil
}

// openFile opens the file, and says what will be read of it.
func (p *groupPart) openFile() (vfs.File, error) {
	f, err := p.file.fsys.Open(p.file.path)
	if err != nil {
		return nil, err
	}
	if a, ok := f.(vfs.Announcer); ok && p.filter == nil { // a file that takes long to answer
		a.Announce(p.ranges())
	}
	return f, nil
}

// ReadsLate implements decode.GroupPart: of strings that are no codes, and of wide numbers that are
// picked from plain pages.
func (p *groupPart) ReadsLate(column int) bool {
	c := &p.columns[column]
	if !c.flat || c.codes {
		return false
	}
	typ := p.file.flat.Schema.Field(c.field).Type
	if arrow.IsBaseBinary(typ.ID()) {
		return p.file.meta.Schema.Column(c.leaf).PhysicalType() == parquet.Types.ByteArray
	}
	fixed, ok := typ.(arrow.FixedWidthDataType)
	encodings := p.file.groups[p.group].chunks[c.leaf].dataEncodings()
	return ok && fixed.Bytes() == 8 && encodings == setOf(parquet.Encodings.Plain)
}

// ranges returns where the chunks of the columns lie in the file.
func (p *groupPart) ranges() (ranges []vfs.Range) {
	for _, c := range p.columns {
		if c.tree != nil {
			for _, at := range c.tree.leaves {
				chunk := &p.file.groups[p.group].chunks[at.leaf]
				ranges = append(ranges, vfs.Range{Offset: chunk.start(), Bytes: chunk.bytes})
			}
			continue
		}
		ranges = append(ranges, vfs.Range{Offset: p.file.groups[p.group].chunks[c.leaf].start(), Bytes: c.bytes})
	}
	return ranges
}

func (p *groupPart) RowName(row int64) string { return decode.RowOf(p.file.path, int64(p.first)+row) }
