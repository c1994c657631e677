package rollup

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/nearest"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/vfs"
)

func init() { plan.Rollups = openTable }

// rollupTable is a roll-up that a statement reads: the result of the roll-up's statement, of groups by some of its
// keys.
//
//	packs -> MergePartial, Regroup -> states by fewer keys -> Merge -> groups, NULL for other keys -> Finish, InOrder
//
// Where groups stay as they are, the packs are merged at once.
type rollupTable struct {
	eng   *engine.Engine
	dir   stateDir
	of    plan.Rollup
	state *state

	statement *sql.Select // of the roll-up

	query *plan.Query   // of the roll-up's statement
	read  *arrow.Schema // what its aggregation reads
	made  *arrow.Schema // of all groups: all keys, then the aggregates
	names []string      // of all keys
	keys  []int         // that the groups have, of the state's query, ascending
}

// openTable opens a roll-up behind FROM.
func openTable(ctx context.Context, eng *engine.Engine, of plan.Rollup, opt dataset.Options) (scan.Source, error) {
	fsys := opt.FS
	if fsys == nil {
		fsys = vfs.OS
	}
	t := &rollupTable{eng: eng, of: of}
	root := strings.TrimRight(of.Dir, "/")
	t.dir = stateDir{workdir.Dir{FS: fsys, Root: root, Damaged: ErrDamaged, Budget: eng.Budget()}}
	var err error
	if t.state, _, err = t.dir.current(); err != nil {
		return nil, t.explain(err)
	}
	if t.state == nil {
		return nil, fmt.Errorf("%w: %s has no state of a roll-up: mpga rollup makes one", fs.ErrNotExist, of.Dir)
	}
	parts, err := t.plan(ctx)
	if err != nil {
		return nil, err
	}
	if parts.HasSets() && (of.By != nil || of.Filter != "") {
		return nil, fmt.Errorf("%w: the roll-up %s has several grouping sets: rollup('%s') reads all of them, and WHERE "+
			"chooses; by and filter are for a roll-up of the finest", ErrStatement, of.Dir, of.Dir)
	}
	if parts.HasGroupsAbove() && (of.By != nil || of.Filter != "") {
		return nil, fmt.Errorf("%w: the roll-up %s has groups of groups: rollup('%s') reads them, and WHERE chooses; "+
			"by and filter are for a roll-up whose groups are its answer", ErrStatement, of.Dir, of.Dir)
	}
	if err := t.setKeys(); err != nil {
		return nil, err
	}
	if of.Filter != "" {
		_, release, err := t.filter(ctx)
		if err != nil {
			return nil, err
		}
		release()
	}
	told := &plan.RolledUp{Of: of, Keys: t.names, Statement: t.statement}
	if parts.HasSets() || parts.HasGroupsAbove() {
		told = nil // there are no coarser groups
	}
	return parts.Source("roll-up "+of.Dir, told, t.groups), nil
}

// plan plans the statement of the roll-up for groups that are there.
func (t *rollupTable) plan(ctx context.Context) (*plan.Parts, error) {
	s := t.state
	var err error
	if t.statement, err = sql.Parse(s.Statement); err != nil {
		return nil, err
	}
	tables := make(map[string]plan.Table)
	for _, name := range s.Tables {
		tables[name] = plan.Table{Files: []string{name}}
	}
	shapes, stem, err := t.shapes()
	if err != nil {
		return nil, err
	}
	q, err := plan.Prepare(ctx, t.eng, t.statement, plan.Options{
		Tables: tables, Overflow: s.Query.Overflow, Deterministic: s.Query.Deterministic, OneStep: true,
		TimeZone:    s.TimeZone,
		SetsInParts: true,
		Open: func(context.Context, []string, dataset.Options) (scan.Source, error) {
			if len(shapes) == 0 {
				return nil, fmt.Errorf("%w: its statement reads other tables than it did: %s", ErrOther, t.dir.remedy())
			}
			first := shapes[0]
			shapes = shapes[1:]
			return first, nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("the statement of the roll-up %s: %w", t.of.Dir, err)
	}
	t.query = q
	defer q.Close() // until it runs
	parts, err := q.PartsOf(stem)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStatement, err)
	}
	g := parts.Grouping(ctx, plan.Part{})
	defer g.Close()
	t.read, t.made, t.names = g.Source.Schema(), parts.Groups(), parts.KeyNames()
	if same, err := sameQuery(s.Query, g.Query); err != nil || !same {
		return nil, errors.Join(err, fmt.Errorf("%w: %s was made by mpga %s, whose plan has the aggregation %s, and this "+
			"one has %s: %s", ErrOther, t.dir.Root, s.Version, s.Query.String(), g.Query.String(), t.dir.remedy()))
	}
	return parts, nil
}

// shapes returns the columns of the statement's tables, in the order in which it opens them, and which of them is the
// first that has a part for each file. Any of them may be NULL: a key that coarser groups lack is.
func (t *rollupTable) shapes() (list []scan.Source, stem scan.Source, err error) {
	for i := range t.state.Inputs {
		in := &t.state.Inputs[i]
		if in.Read == readLate {
			return nil, nil, fmt.Errorf("%w: the statement of %s joins a table to its groups: read what mpga rollup has "+
				"written", ErrStatement, t.of.Dir)
		}
		columns, err := in.Known.Columns()
		if err != nil {
			return nil, nil, err
		}
		fields := columns.Fields()
		for k := range fields {
			fields[k].Nullable = true
		}
		meta := columns.Metadata()
		list = append(list, scan.Shape(arrow.NewSchema(fields, &meta)))
		if in.Read == readParts && stem == nil {
			stem = list[i]
		}
	}
	return list, stem, nil
}

// setKeys finds the keys that the groups have.
func (t *rollupTable) setKeys() error {
	for i := range t.names {
		if t.of.By == nil {
			t.keys = append(t.keys, i)
		}
	}
	for _, name := range t.of.By {
		at := slices.IndexFunc(t.names, func(n string) bool { return strings.EqualFold(n, name) })
		if at < 0 {
			return fmt.Errorf("by: %s is no key of the roll-up %s%s; there are %s", name, t.of.Dir,
				nearest.Offer(name, t.names), cmp.Or(strings.Join(t.names, ", "), "none"))
		}
		if !slices.Contains(t.keys, at) {
			t.keys = append(t.keys, at)
		}
	}
	slices.Sort(t.keys)
	if len(t.keys) == 0 && len(t.state.Query.Aggregates) == 0 {
		return fmt.Errorf("by: the roll-up %s has no aggregates, so that its groups are keys: name one of %s", t.of.Dir,
			strings.Join(t.names, ", "))
	}
	return nil
}

// filter binds the condition of the keys.
func (t *rollupTable) filter(ctx context.Context) (scan.RowFilter, func(), error) {
	fields := slices.Clone(t.made.Fields()[:len(t.names)])
	for i := range fields {
		fields[i].Name, fields[i].Nullable = t.names[i], true
	}
	f, release, err := plan.NewFilter(ctx, t.eng, arrow.NewSchema(fields, nil), t.of.Filter)
	var text *sql.Error
	if errors.As(err, &text) {
		err = fmt.Errorf("filter: %s; the keys are %s", text.Message, strings.Join(t.names, ", "))
	}
	return f, release, err
}

// groups makes the groups of the newest state. Keys that coarser groups lack are NULL.
func (t *rollupTable) groups(ctx context.Context) (rows array.RecordReader, err error) {
	s, _, err := t.dir.current()
	switch {
	case err != nil:
		return nil, err
	case s == nil || s.Meaning != t.state.Meaning:
		return nil, fmt.Errorf("%w: the state of %s was replaced while it was read: run again", ErrOther, t.of.Dir)
	}
	if len(s.Sources) == 0 {
		return nil, fmt.Errorf("%w: the first run of the roll-up %s has not ended", fs.ErrNotExist, t.of.Dir)
	}
	packs := make([]workdir.Pack, len(s.Sources))
	for i, key := range s.Sources {
		at := slices.IndexFunc(s.Parts, func(p part) bool { return p.Key == key })
		if at < 0 {
			return nil, fmt.Errorf("%w: %s names a part that it does not have: %s", ErrDamaged, t.dir.Root, t.dir.remedy())
		}
		packs[i] = s.Parts[at].pack()
	}
	var open closers
	defer func() {
		if err != nil {
			err = errors.Join(t.explain(err), open.Close())
		}
	}()
	p, err := t.dir.OpenPacks(ctx, t.eng.CreateTemp, packs, 0, s.Partitions-1)
	if err != nil {
		return nil, err
	}
	open = append(open, p)
	sources, opt := p.Sources, partial.MergeOptions{Runs: p.Runs}
	if len(t.keys) < len(s.Query.Keys) || t.of.Filter != "" {
		coarser, file, err := t.regroup(ctx, p.Sources, s.Partitions)
		if err != nil {
			return nil, err
		}
		open = append(open, file)
		sources, opt = [][]partial.Blob{coarser}, partial.MergeOptions{}
	}
	if len(t.keys) == 0 { // of no rows, too, there is a group
		none, file, err := t.none(ctx)
		if err != nil {
			return nil, err
		}
		open = append(open, file)
		sources, opt = append(sources, none), partial.MergeOptions{}
	}
	groups, err := t.eng.Merge(ctx, sources, opt)
	if err != nil {
		return nil, err
	}
	return recordreader.New(t.made, func() (arrow.RecordBatch, error) {
		batch, err := recordreader.Owned(groups)
		if batch == nil {
			return nil, t.explain(err)
		}
		defer batch.Release()
		return t.withNulls(batch), nil
	}, func() {
		groups.Release()
		t.query.Close()
		_ = open.Close() // of files that were read
	}), nil
}

// explain says what to do where a run has replaced packs that are read, and about a state that is damaged.
func (t *rollupTable) explain(err error) error {
	switch {
	case err == nil || !errors.Is(err, ErrDamaged) && !workdir.IsDamage(err):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; if a run of the roll-up has replaced it in the meantime, run again; else: %s", err,
			t.dir.remedy())
	}
	return fmt.Errorf("%w; %s", err, t.dir.remedy())
}

// regroup merges states to states by fewer keys, of the groups whose keys the condition is true for. They are in the
// file, which must be closed.
func (t *rollupTable) regroup(
	ctx context.Context, sources [][]partial.Blob, partitions int,
) (blobs []partial.Blob, file vfs.TempFile, err error) {
	by := &partial.Regroup{Keys: t.keys}
	if t.of.Filter != "" {
		f, release, err := t.filter(ctx)
		if err != nil {
			return nil, nil, err
		}
		defer release()
		by.Keep = func(ctx context.Context, keys arrow.RecordBatch) ([]bool, error) { return passing(ctx, f, keys) }
	}
	if len(t.keys) == 0 {
		partitions = 1
	}
	spool := workdir.NewSpool(t.eng.CreateTemp, partitions)
	defer func() { err = errors.Join(err, spool.Close()) }()
	_, err = t.eng.MergePartial(ctx, sources, partial.Options{Partitions: partitions, Create: spool.Create, Regroup: by})
	if err != nil {
		return nil, nil, err
	}
	return t.blobsOf(spool)
}

// none returns the states of a group of no rows.
func (t *rollupTable) none(ctx context.Context) (blobs []partial.Blob, file vfs.TempFile, err error) {
	q := t.state.Query
	q.Keys = nil
	spool := workdir.NewSpool(t.eng.CreateTemp, 1)
	defer func() { err = errors.Join(err, spool.Close()) }()
	opt := partial.Options{Partitions: 1, Create: spool.Create}
	if _, err := t.eng.Partial(ctx, scan.Batches(t.read, nil), q, opt); err != nil {
		return nil, nil, err
	}
	return t.blobsOf(spool)
}

// blobsOf writes the blobs of a spool to a file, which must be closed.
func (t *rollupTable) blobsOf(spool *workdir.Spool) (blobs []partial.Blob, file vfs.TempFile, err error) {
	if file, err = t.eng.CreateTemp(); err != nil {
		return nil, nil, err
	}
	buffered := bufio.NewWriterSize(io.NewOffsetWriter(file, 0), 1<<20)
	if err := cmp.Or(spool.CopyTo(buffered), buffered.Flush()); err != nil {
		return nil, nil, errors.Join(store.NeedTemp(err, 0, 0), file.Close())
	}
	from := func() (io.ReaderAt, io.Closer, error) { return file, io.NopCloser(nil), nil }
	at := int64(0)
	sizes, _ := spool.Sizes()
	for i, n := range sizes {
		pack := "coarser groups of " + t.of.Dir
		blobs = append(blobs, &workdir.Packed{Pack: pack, Number: i, From: from, Offset: at, Bytes: n})
		at += n
	}
	return blobs, file, nil
}

// passing says which rows of a batch pass a filter.
func passing(ctx context.Context, f scan.RowFilter, batch arrow.RecordBatch) ([]bool, error) {
	n := int(batch.NumRows())
	asked := recordreader.Pick(recordreader.Columns(batch.Schema(), f.Columns()), batch, f.Columns())
	defer asked.Release()
	bits := make([]byte, bitutil.BytesForBits(int64(n)))
	if _, err := f.Select(ctx, asked, bits); err != nil {
		return nil, err
	}
	stay := make([]bool, n)
	for i := range stay {
		stay[i] = bitutil.BitIsSet(bits, i)
	}
	return stay, nil
}

// withNulls returns groups as groups of all keys.
func (t *rollupTable) withNulls(batch arrow.RecordBatch) arrow.RecordBatch {
	columns := make([]arrow.Array, 0, t.made.NumFields())
	defer func() { recordreader.ReleaseAll(columns) }()
	for i := range t.state.Query.Keys {
		at := slices.Index(t.keys, i)
		if at < 0 {
			none := array.MakeArrayOfNull(memory.DefaultAllocator, t.made.Field(i).Type, int(batch.NumRows()))
			columns = append(columns, none)
			continue
		}
		batch.Column(at).Retain()
		columns = append(columns, batch.Column(at))
	}
	for _, c := range batch.Columns()[len(t.keys):] {
		c.Retain()
		columns = append(columns, c)
	}
	return array.NewRecordBatch(t.made, columns, batch.NumRows())
}

// closers are closed together.
type closers []io.Closer

// Close implements io.Closer.
func (list closers) Close() (err error) {
	for _, c := range list {
		err = errors.Join(err, c.Close())
	}
	return err
}
