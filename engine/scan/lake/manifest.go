package lake

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/predicate"
	"github.com/mpga/mpga/engine/scan/parquet"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/vfs"
)

// readers is how many manifests are read at the same time.
const readers = 8

// Contents of files.
const (
	contentData = iota
	contentPositions
	contentEqual
)

// icebergReader reads the manifests of a snapshot.
type icebergReader struct {
	table  *Table
	fsys   vfs.FS
	meta   *icebergMetadata
	leaves map[int]leafColumn // by number
	naming parquet.Naming
}

// leafColumn is a column that is no struct, with its name in the table's schema.
type leafColumn struct {
	*Column
	name      string
	isTop     bool
	isBounded bool // by what the metadata say of it
}

// manifest is an entry of a list of manifests.
type manifest struct {
	path     string
	spec     int
	sequence int64
	deletes  bool
}

// dataFile is an entry of a manifest: a file of data or of deletes.
type dataFile struct {
	content   int64
	path      string
	format    string
	rows      int64
	bytes     int64
	sequence  int64
	spec      int
	fields    []icebergField
	partition map[int]any // by the number of the field of the spec
	key       string      // of spec and partition
	nulls     map[int]int64
	low, high map[int][]byte
	equal     []int  // numbers of the columns of equality deletes
	of        string // the data file of deletes, where they have one
	offset    int64  // of a deletion vector
	size      int64  // of a deletion vector, with what is around it
}

func newIcebergReader(t *Table, fsys vfs.FS, m *icebergMetadata) *icebergReader {
	r := &icebergReader{table: t, fsys: fsys, meta: m, leaves: map[int]leafColumn{}}
	named := map[string]int{}
	eachLeaf(t.Columns, nil, func(name string, c *Column) {
		named[name]++
		isTop := firstOf(t.Columns, func(top *Column) bool { return top.ID == c.ID }) != nil
		r.leaves[c.ID] = leafColumn{Column: c, name: name, isTop: isTop}
	})
	for id, c := range r.leaves {
		c.isBounded = !c.isUUID && named[c.name] == 1
		r.leaves[id] = c
	}
	r.naming = r.namingByID()
	return r
}

// locate returns the path of a file: a table that has moved is read where it is.
func (r *icebergReader) locate(uri string) string {
	if rest, ok := strings.CutPrefix(uri, strings.TrimRight(r.meta.Location, "/")+"/"); ok && r.meta.Location != "" {
		return join(r.table.Root, rest)
	}
	return locate(r.table.Root, uri)
}

// read takes the files of a snapshot.
func (r *icebergReader) read(ctx context.Context, state *icebergState) error {
	if state.KeyID != nil {
		return fmt.Errorf("not supported: an encrypted table")
	}
	manifests, err := r.manifests(state)
	if err != nil {
		return err
	}
	files := make([][]dataFile, len(manifests))
	workers, ctx := spawn.WithContext(ctx)
	workers.SetLimit(readers)
	for i := range manifests {
		workers.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			files[i], err = r.manifest(&manifests[i])
			return err
		})
	}
	if err := workers.Wait(); err != nil {
		return err
	}
	all := slices.Concat(files...)
	slices.SortStableFunc(all, func(a, b dataFile) int { return strings.Compare(a.path, b.path) })
	index := newDeleteIndex(r, all)
	for i := range all {
		if all[i].content != contentData {
			continue
		}
		f, err := r.file(&all[i])
		if err != nil {
			return fmt.Errorf("%s: %w", all[i].path, err)
		}
		if err := index.add(&f, &all[i]); err != nil {
			return err
		}
		r.table.Files = append(r.table.Files, f)
	}
	return nil
}

// manifests reads the list of manifests.
func (r *icebergReader) manifests(state *icebergState) (all []manifest, err error) {
	for _, path := range state.Manifests {
		all = append(all, manifest{path: r.locate(path)})
	}
	if state.ManifestList == "" {
		return all, nil
	}
	path := r.locate(state.ManifestList)
	content, err := read(r.fsys, path)
	if err != nil {
		return nil, Expired(err, "the list of manifests")
	}
	err = readAvro(content, func(_ *avroFile, m map[string]any) error {
		name, ok := m["manifest_path"].([]byte)
		if !ok {
			return fmt.Errorf("%w: a manifest without a path", errDamaged)
		}
		if m["key_metadata"] != nil {
			return fmt.Errorf("not supported: an encrypted manifest")
		}
		spec, _ := m["partition_spec_id"].(int64)
		sequence, _ := m["sequence_number"].(int64)
		content, _ := m["content"].(int64)
		all = append(all, manifest{r.locate(string(name)), int(spec), sequence, content != contentData})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// entryDeleted is the status of an entry that is no file of the snapshot.
const entryDeleted = 2

// manifest reads the entries of a manifest.
func (r *icebergReader) manifest(m *manifest) (files []dataFile, err error) {
	content, err := read(r.fsys, m.path)
	if err != nil {
		return nil, Expired(err, "a manifest")
	}
	fields, err := r.meta.spec(m.spec)
	if err != nil {
		return nil, err
	}
	var names map[int]string // of the fields of partitions, in the file
	err = readAvro(content, func(f *avroFile, entry map[string]any) error {
		if names == nil {
			names = partitionNames(f.schema)
		}
		if status, _ := entry["status"].(int64); status == entryDeleted {
			return nil
		}
		of, ok := entry["data_file"].(map[string]any)
		if !ok {
			return fmt.Errorf("%w: an entry without a file", errDamaged)
		}
		file, err := newDataFile(of)
		if err != nil {
			return err
		}
		file.spec, file.fields, file.sequence = m.spec, fields, m.sequence
		if sequence, ok := entry["sequence_number"].(int64); ok {
			file.sequence = sequence
		}
		if file.content == contentData != !m.deletes {
			return fmt.Errorf("%w: %s is not of the kind of its manifest", errDamaged, file.path)
		}
		partition, _ := of["partition"].(map[string]any)
		file.partition = map[int]any{}
		for id, name := range names {
			file.partition[id] = partition[name]
		}
		file.key = partitionKey(m.spec, file.partition)
		file.path = r.locate(file.path)
		if file.of != "" {
			file.of = r.locate(file.of)
		}
		files = append(files, file)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	return files, nil
}

// partitionNames returns the names of the fields of partitions in a manifest, by their numbers.
func partitionNames(t *avroType) map[int]string {
	names := map[int]string{}
	for _, f := range t.fields {
		for _, of := range f.of.fields {
			if f.name != "data_file" || of.name != "partition" {
				continue
			}
			for _, field := range of.of.fields {
				names[field.id] = field.name
			}
		}
	}
	return names
}

// partitionKey returns a text that is the same for the same partition.
func partitionKey(spec int, values map[int]any) string {
	text, err := json.Marshal(values)
	if err != nil { // of NaN or infinity
		text = fmt.Appendf(nil, "%v", values)
	}
	return fmt.Sprintf("%d %s", spec, text)
}

// newDataFile reads a file of an entry.
func newDataFile(of map[string]any) (f dataFile, err error) {
	number := func(name string) int64 {
		n, _ := of[name].(int64)
		return n
	}
	text := func(name string) string {
		b, _ := of[name].([]byte)
		return string(b)
	}
	f = dataFile{content: number("content"), path: text("file_path"), format: text("file_format"),
		rows: number("record_count"), bytes: number("file_size_in_bytes"), of: text("referenced_data_file"),
		offset: number("content_offset"),
		size:   number("content_size_in_bytes"), nulls: map[int]int64{}}
	if f.path == "" || f.rows < 0 || f.bytes < 0 {
		return f, fmt.Errorf("%w: a file %q of %d rows and %d B", errDamaged, f.path, f.rows, f.bytes)
	}
	if of["key_metadata"] != nil {
		return f, fmt.Errorf("not supported: %s is encrypted", f.path)
	}
	for id, n := range pairs(of["null_value_counts"]) {
		if n, ok := n.(int64); ok {
			f.nulls[id] = n
		}
	}
	f.low, f.high = bytesOf(of["lower_bounds"]), bytesOf(of["upper_bounds"])
	ids, _ := of["equality_ids"].([]any)
	for _, id := range ids {
		if id, ok := id.(int64); ok {
			f.equal = append(f.equal, int(id))
		}
	}
	return f, nil
}

// pairs returns a map with numbers as keys, which Avro has as an array of records.
func pairs(value any) map[int]any {
	all := map[int]any{}
	items, _ := value.([]any)
	for _, item := range items {
		of, _ := item.(map[string]any)
		if key, ok := of["key"].(int64); ok {
			all[int(key)] = of["value"]
		}
	}
	return all
}

func bytesOf(value any) map[int][]byte {
	all := map[int][]byte{}
	for id, v := range pairs(value) {
		if b, ok := v.([]byte); ok {
			all[id] = b
		}
	}
	return all
}

// file makes a file of the table of an entry.
func (r *icebergReader) file(d *dataFile) (f File, err error) {
	if !strings.EqualFold(d.format, "parquet") {
		return f, fmt.Errorf("not supported: files of the format %s; only Parquet is read", strings.ToLower(d.format))
	}
	f = File{Path: d.path, Rows: d.rows, live: d.rows, Bytes: d.bytes, Naming: r.naming,
		Bounds: map[string]predicate.Bounds{}, Lacking: map[string]any{}}
	for id, c := range r.leaves {
		if c.isTop && c.Default != nil {
			f.Lacking[c.name] = c.Default
		}
		if !c.isBounded {
			continue
		}
		b := predicate.Bounds{Low: boundOf(d.low[id], c.Type), High: boundOf(d.high[id], c.Type)}
		if nulls, ok := d.nulls[id]; ok {
			b.NoNulls, b.AllNulls = nulls == 0, nulls == d.rows && d.rows > 0
		}
		b.Check()
		f.Bounds[c.name] = b
	}
	var buckets []bucket
	for _, field := range d.fields {
		c, ok := r.leaves[cmp.Or(field.Source, first(field.Sources))]
		if !ok || len(field.Sources) > 1 || !c.isBounded {
			continue
		}
		value, known := d.partition[field.ID]
		if !known {
			continue
		}
		name, width := transformOf(field.Transform)
		f.Bounds[c.name] = narrowed(f.Bounds[c.name], partitionBounds(field.Transform, value, c.Type))
		if n, ok := value.(int64); ok && name == "bucket" {
			buckets = append(buckets, bucket{c, n, width})
		}
		if v := avroValue(value, c.Type); name == "identity" && c.isTop && v != nil {
			if constant, ok := constantOf(v, c.Type); ok {
				f.Lacking[c.name] = constant
			}
		}
	}
	if len(buckets) > 0 {
		f.Excludes = func(column string, t *predicate.Term) bool {
			return slices.ContainsFunc(buckets, func(b bucket) bool { return b.excludes(column, t) })
		}
	}
	return f, nil
}

// bucket is a partition by the hash of a column.
type bucket struct {
	leafColumn
	number, of int64
}

// excludes says whether a term is TRUE for no value of the bucket.
func (b *bucket) excludes(column string, t *predicate.Term) bool {
	if column != b.name || t.Is != predicate.Equal {
		return false
	}
	for i := range t.Values {
		if n, ok := bucketOf(&t.Values[i], b.Type, b.of); !ok || n == b.number {
			return false
		}
	}
	return true
}

// narrowed returns bounds that both hold.
func narrowed(a, b predicate.Bounds) predicate.Bounds {
	if a.Low == nil || b.Low != nil && b.Low.Compare(a.Low) > 0 {
		a.Low = b.Low
	}
	if a.High == nil || b.High != nil && b.High.Compare(a.High) < 0 {
		a.High = b.High
	}
	a.NoNulls, a.AllNulls = a.NoNulls || b.NoNulls, a.AllNulls || b.AllNulls
	a.Check()
	return a
}

func first(of []int) int {
	if len(of) == 0 {
		return 0
	}
	return of[0]
}

// namingByID matches columns of files by their numbers. Files without numbers are matched by the table's mapping of
// names.
func (r *icebergReader) namingByID() parquet.Naming {
	columns := r.table.Columns
	return func(fields []arrow.Field) ([]arrow.Field, error) {
		if slices.ContainsFunc(fields, hasID) {
			return named(fields, columns, byID), nil
		}
		text, ok := r.meta.Properties["schema.name-mapping.default"]
		if !ok {
			return nil, fmt.Errorf("the columns of the file have no numbers, and the table maps no names to them " +
				"(schema.name-mapping.default)")
		}
		var of []nameMapping
		if err := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&of); err != nil {
			return nil, fmt.Errorf("%w: schema.name-mapping.default: %w", errDamaged, err)
		}
		return named(numbered(fields, of), columns, byID), nil
	}
}

// hasID says whether a field, or a field within it, has a number.
func hasID(f arrow.Field) bool {
	if _, ok := fieldID(f); ok {
		return true
	}
	of, ok := f.Type.(arrow.NestedType)
	return ok && slices.ContainsFunc(of.Fields(), hasID)
}

// nameMapping gives columns with one of some names a number.
type nameMapping struct {
	ID     int           `json:"field-id"`
	Names  []string      `json:"names"`
	Fields []nameMapping `json:"fields"`
}

// numbered returns fields with the numbers of a mapping.
func numbered(fields []arrow.Field, of []nameMapping) []arrow.Field {
	out := slices.Clone(fields)
	for i, f := range fields {
		for _, m := range of {
			if !slices.Contains(m.Names, f.Name) {
				continue
			}
			out[i].Metadata = arrow.NewMetadata([]string{fieldIDKey}, []string{fmt.Sprint(m.ID)})
			switch t := f.Type.(type) {
			case *arrow.StructType:
				out[i].Type = arrow.StructOf(numbered(t.Fields(), m.Fields)...)
			case *arrow.ListType:
				out[i].Type = arrow.ListOfField(renamed(t.ElemField(), "element", m.Fields))
			case *arrow.MapType:
				value := renamed(t.ItemField(), "value", m.Fields)
				out[i].Type = arrow.MapOfFields(renamed(t.KeyField(), "key", m.Fields), value)
			}
		}
	}
	return out
}

// renamed is numbered of a part whose name in mappings is fixed.
func renamed(f arrow.Field, name string, of []nameMapping) arrow.Field {
	was := f.Name
	f.Name = name
	f = numbered([]arrow.Field{f}, of)[0]
	f.Name = was
	return f
}
