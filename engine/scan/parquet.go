package scan

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/internal/vfs"
)

// parquetFile is a Parquet file whose footer has been read. A split of it is a row group.
type parquetFile struct {
	path   string
	fsys   vfs.FS
	size   int64
	footer []byte                 // which statistics are parts of
	meta   *metadata.FileMetaData // all of the footer but its row groups
	groups []rowGroup
	fields *arrow.Schema
	leaves []int // index of the Parquet column of each field; -1 for a nested field

	all func() (*metadata.FileMetaData, error) // the whole footer, for pqarrow, decoded once
}

// openParquet reads a file's footer.
func openParquet(fsys vfs.FS, path string, mem *reserving) (in *parquetFile, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	p := &parquetFile{path: path, fsys: fsys, size: info.Size()}
	if err := guard(func() error { return p.readFooter(f, mem) }); err != nil {
		return nil, locate(path, err)
	}
	return p, nil
}

func (p *parquetFile) readFooter(f vfs.File, mem *reserving) (err error) {
	if p.footer, err = readFooter(f, p.size, mem); err != nil {
		return fmt.Errorf("not a readable Parquet file: %w", err)
	}
	if p.meta, p.groups, err = parseFooter(p.footer); errors.Is(err, errElsewhere) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", errFooter, err)
	}
	p.all = sync.OnceValues(func() (*metadata.FileMetaData, error) { return metadata.NewFileMetaData(p.footer, nil) })
	if err := checkStoredSchema(p.meta.KeyValueMetadata()); err != nil {
		return err
	}
	r, err := file.NewParquetReader(f, file.WithReadProps(parquetProps(memory.DefaultAllocator)), file.WithMetadata(p.meta))
	if err != nil {
		return err
	}
	arrowReader, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	fields := make([]arrow.Field, 0, len(arrowReader.Manifest.Fields))
	for _, f := range arrowReader.Manifest.Fields {
		leaf := -1
		if len(f.Children) == 0 {
			leaf = f.ColIndex
		}
		p.leaves = append(p.leaves, leaf)
		fields = append(fields, *f.Field)
	}
	p.fields = deliveredSchema(arrow.NewSchema(fields, nil))
	return p.checkRows()
}

// checkRows makes sure that row counts add up, which positions rely on. S2.
func (p *parquetFile) checkRows() error {
	var rows int64
	for i := range p.groups {
		n := p.groups[i].rows
		if n < 0 || n > rowsMax-rows {
			return fmt.Errorf("%w: row group %d has %d rows", errFooter, i, n)
		}
		rows += n
	}
	if rows != p.meta.NumRows {
		return fmt.Errorf("%w: the file has %d rows, its row groups have %d", errFooter, p.meta.NumRows, rows)
	}
	return nil
}

// checkStoredSchema checks the Arrow schema that many writers put beside Parquet's, as
// arrowMessages does: pqarrow reads it unchecked. S3.
func checkStoredSchema(meta metadata.KeyValueMetadata) error {
	stored := meta.FindValue("ARROW:schema")
	if stored == nil {
		return nil
	}
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(*stored, "="))
	if err != nil {
		return fmt.Errorf("%w: the Arrow schema in it: %w", errFooter, err)
	}
	if err := checkSchemaMessage(text); err != nil {
		return fmt.Errorf("%w: the Arrow schema in it: %w", errFooter, err)
	}
	return nil
}

func parquetProps(mem memory.Allocator) *parquet.ReaderProperties {
	props := parquet.NewReaderProperties(mem)
	// Pages are read as they are needed, by ReadAt: 2-4 times faster than the whole chunk into fresh
	// memory, and a corrupt chunk length cannot ask for that memory.
	props.BufferedStreamEnabled = true
	return props
}

func (p *parquetFile) name() string          { return p.path }
func (p *parquetFile) schema() *arrow.Schema { return p.fields }
func (p *parquetFile) span() uint64          { return uint64(p.meta.NumRows) }

// groupCount implements grouped.
func (p *parquetFile) groupCount() int { return len(p.groups) }

// groupRows implements grouped.
func (p *parquetFile) groupRows(group int) int64 { return p.groups[group].rows }

func (p *parquetFile) parts(_ context.Context, columns []int) (parts []part, err error) {
	var first uint64
	for i := range p.groups {
		group := &p.groups[i]
		part := &parquetPart{file: p, group: i, first: first, numRows: group.rows}
		first += uint64(group.rows)
		if group.rows == 0 {
			continue
		}
		for _, c := range columns {
			column, err := p.partColumn(group, c)
			if err != nil {
				return nil, fmt.Errorf("%s, column %q: %w", part.name(), p.fields.Field(c).Name, err)
			}
			part.columns = append(part.columns, column)
			part.numBytes += column.bytes
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// partColumn looks up one column of a row group.
func (p *parquetFile) partColumn(group *rowGroup, c int) (column parquetPartColumn, err error) {
	leaf := p.leaves[c]
	if leaf < 0 {
		return column, fmt.Errorf("a %s; nested columns cannot be read", p.fields.Field(c).Type)
	}
	chunk := &group.chunks[leaf]
	if chunk.encrypted {
		return column, errors.New("encrypted columns cannot be read")
	}
	start, size := chunk.dataStart, chunk.bytes
	if start < 0 || size < 0 || start > p.size || size > p.size-min(start, chunk.start()) {
		return column, fmt.Errorf("%w: %d B at offset %d of a file of %d B", errFooter, size, start, p.size)
	}
	column = parquetPartColumn{
		field:    c,
		leaf:     leaf,
		bytes:    size,
		rowBytes: max(chunk.unpacked/max(group.rows, 1), fixedBytesOf(p.fields.Field(c).Type)),
		flat:     p.readsFlat(c, chunk),
	}
	column.codes = column.flat && p.holdsCodes(c, chunk)
	return column, nil
}

// parquetPart is a row group.
type parquetPart struct {
	file     *parquetFile
	group    int
	columns  []parquetPartColumn
	filter   *groupFilter // nil where all rows are needed
	first    uint64       // row of the file that the group's first row is
	numRows  int64
	numBytes int64 // of the columns, compressed
}

// parquetPartColumn is one column chunk.
type parquetPartColumn struct {
	field    int   // of the file's schema
	leaf     int   // of the Parquet schema
	bytes    int64 // compressed
	rowBytes int64 // of a row uncompressed, on average
	flat     bool  // to be read by flatColumn, not by pqarrow
	codes    bool  // to be delivered as dictionary codes; only if flat
}

func (p *parquetPart) offset() uint64  { return p.first }
func (p *parquetPart) rows() int64     { return p.filter.rows(p.numRows) }
func (p *parquetPart) bytes() int64    { return p.numBytes }
func (p *parquetPart) groupIndex() int { return p.group }
func (p *parquetPart) name() string    { return fmt.Sprintf("%s, row group %d", p.file.path, p.group) }

// batchRows is the wanted number of rows, or fewer where rows are large.
func (p *parquetPart) batchRows(opt *readOptions) int64 {
	bytes := int64(0)
	for _, c := range p.columns {
		if c.codes {
			bytes += codeBytes
		} else {
			bytes += c.rowBytes
		}
	}
	return max(min(int64(opt.BatchRows), opt.BatchBytes/max(bytes, 1)), 1)
}

func (p *parquetPart) open(ctx context.Context, opt readOptions) (rowReader, error) {
	if len(p.columns) == 0 && p.rows() >= 0 {
		return &rowCounter{left: p.rows()}, nil
	}
	f, err := p.file.fsys.Open(p.file.path)
	if err != nil {
		return nil, err
	}
	if p.filter == nil {
		announce(f, p.ranges()...)
	}
	r := &parquetReader{
		part:      p,
		file:      f,
		rows:      p.numRows,
		left:      p.numRows,
		batchRows: p.batchRows(&opt),
		window:    windowBytes(p.batchRows(&opt), opt.BatchBytes/int64(max(len(p.columns), 1))),
		threads:   opt.Threads,
		progress:  opt.Progress,
		narrow:    opt.NarrowDecimals,
		mem:       opt.Memory,
	}
	if err := guard(func() error { return r.open(ctx) }); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if p.filter != nil {
		return newFilteredGroup(r), nil
	}
	return r, nil
}

// ranges returns where the columns lie.
func (p *parquetPart) ranges() (ranges []vfs.Range) {
	for _, c := range p.columns {
		ranges = append(ranges, vfs.Range{Offset: p.file.groups[p.group].chunks[c.leaf].start(), Bytes: c.bytes})
	}
	return ranges
}

// announce tells a file that takes long to answer what will be read of it.
func announce(f vfs.File, ranges ...vfs.Range) {
	if a, ok := f.(vfs.Announcer); ok {
		a.Announce(ranges)
	}
}

func (p *parquetPart) rowName(row int64) string { return rowOf(p.file.path, int64(p.first)+row) }
