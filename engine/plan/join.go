package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
)

// joinNode joins rows by a hash table of the build side, whose rows are kept; the rows of the probe side are read
// once, by all threads.
type joinNode struct {
	text             string // for people
	probe, build     sourceNode
	ofProbe, ofBuild *projection // the keys, then the columns of the join
	keys             *rowdata.Bound
	condition        *expr.Program // of the columns of the join; nil for TRUE
	probeAlone       bool          // rows of the probe side without a partner are rows of the join
	isFull           bool          // rows of the build side without a partner are, too
	schema           *arrow.Schema
	stats            []scan.ColumnStats
	described        *joined // of no run
}

// input implements node: the build side is read before.
func (n *joinNode) input() node { return n.probe }

// describeJoin names the kind of a join, its keys and its condition; the side that is kept comes second.
func describeJoin(n *logical.Join, swapped bool) string {
	kind := n.Kind
	if swapped && kind == sql.RightJoin {
		kind = sql.LeftJoin
	}
	var parts []string
	for _, k := range n.Keys {
		if swapped {
			k.Left, k.Right = k.Right, k.Left
		}
		parts = append(parts, fmt.Sprintf("%s = %s", k.Left, k.Right))
	}
	if n.Condition != nil {
		parts = append(parts, n.Condition.String())
	}
	if len(parts) == 0 {
		parts = []string{"all pairs"}
	}
	return strings.ToLower(string(kind)) + ", " + strings.Join(parts, " and ")
}

// rows implements sourceNode.
func (n *joinNode) rows(r *run) scan.Source {
	if r == nil {
		return n.described
	}
	return &joined{node: n, run: r, probe: n.probe.rows(r), built: &r.of(n).built}
}

// join makes the node of a join.
func (p *planner) join(n *logical.Join) (*input, error) {
	left, err := p.source(n.Left, nil)
	if err != nil {
		return nil, err
	}
	right, err := p.source(n.Right, nil)
	if err != nil {
		return nil, err
	}
	probe, build := left, right
	probeColumns, buildColumns := n.Left.Columns(), n.Right.Columns()
	swapped := n.Kind == sql.RightJoin || n.Kind == sql.InnerJoin && isSmaller(left.node.rows(nil), right.node.rows(nil))
	if swapped {
		probe, build, probeColumns, buildColumns = build, probe, buildColumns, probeColumns
	}
	made := &joinNode{
		text: describeJoin(n, swapped), probe: probe.node, build: build.node,
		isFull: n.Kind == sql.FullJoin, probeAlone: n.Kind != sql.InnerJoin,
	}
	var probeKeys, buildKeys []*expr.Expr
	for _, k := range n.Keys {
		if swapped {
			k.Left, k.Right = k.Right, k.Left
		}
		probeKeys, buildKeys = append(probeKeys, k.Left), append(buildKeys, k.Right)
	}
	if made.ofProbe, err = p.side(probe, probeKeys, probeColumns); err != nil {
		return nil, err
	}
	if made.ofBuild, err = p.side(build, buildKeys, buildColumns); err != nil {
		return nil, err
	}
	if made.keys, err = bindKeys(made.ofProbe, made.ofBuild, probe, build, len(n.Keys)); err != nil {
		return nil, err
	}
	in := &input{made, make(map[expr.ID]int)}
	taken := logical.Names{}
	known := make(map[expr.ID]logical.Column)
	for _, c := range n.Columns() {
		known[c.ID] = c
	}
	var fields []arrow.Field
	add := func(columns []logical.Column, from *projection) {
		for i, c := range columns {
			of := known[c.ID]
			f := from.schema.Field(len(n.Keys) + i)
			f.Name, f.Nullable = taken.Unique(of.Name), true
			in.places[c.ID] = len(fields)
			fields, made.stats = append(fields, f), append(made.stats, of.Stats)
		}
	}
	add(probeColumns, made.ofProbe)
	add(buildColumns, made.ofBuild)
	made.schema = arrow.NewSchema(fields, nil)
	made.described = &joined{node: made, probe: probe.node.rows(nil)}
	if n.Condition != nil {
		made.condition, err = expr.BindCondition(p.ctx, expr.Columns{Schema: made.schema, Places: in.places}, n.Condition)
	}
	return in, err
}

// isSmaller says whether a source is known to be smaller than another one.
func isSmaller(a, b scan.Source) bool {
	of, than := a.Stats(), b.Stats()
	if of.Rows >= 0 && than.Rows >= 0 {
		return of.Rows < than.Rows
	}
	return of.Bytes >= 0 && of.Bytes < than.Bytes
}

// side makes the keys and the columns of one side of a join.
func (p *planner) side(in *input, keys []*expr.Expr, columns []logical.Column) (*projection, error) {
	exprs, names := slices.Clone(keys), make([]string, 0, len(keys)+len(columns))
	for i := range keys {
		names = append(names, fmt.Sprintf("key %d", i+1))
	}
	for _, c := range columns {
		exprs, names = append(exprs, c.Expr()), append(names, c.Name)
	}
	return newProjection(p.ctx, in.columns(), names, exprs, nil, true)
}

// bindKeys returns how the keys of both sides are packed; without keys all rows are equal.
func bindKeys(probe, build *projection, ofProbe, ofBuild *input, keys int) (*rowdata.Bound, error) {
	if keys == 0 {
		return &rowdata.Bound{Schema: arrow.NewSchema(nil, nil)}, nil
	}
	var q query.Query
	fields, stats := make([]arrow.Field, keys), make([]scan.ColumnStats, keys)
	for i := range keys {
		a, b := probe.program.Stats(i, ofProbe.stats()), build.program.Stats(i, ofBuild.stats())
		s := &stats[i]
		s.NoNulls = a.NoNulls && b.NoNulls
		if a.HasRange && b.HasRange {
			s.HasRange, s.Min, s.Max = true, min(a.Min, b.Min), max(a.Max, b.Max)
		}
		fields[i] = probe.schema.Field(i)
		q.Keys = append(q.Keys, query.Key{Column: fields[i].Name})
	}
	return rowdata.Bind(q, arrow.NewSchema(fields, nil), stats)
}

// built is the build side of a run, made by the first who asks for the join's rows.
type built struct {
	once sync.Once
	rows *engine.Hashed
	err  error
}

// joined is the source of a join.
type joined struct {
	node  *joinNode
	run   *run // nil of the rows of no run
	probe scan.Source
	built *built
}

// Schema implements scan.Source.
func (s *joined) Schema() *arrow.Schema { return s.node.schema }

// Stats implements scan.Source. Once keeps the engine from reading rows for a forecast while a statement is planned.
func (s *joined) Stats() scan.Stats {
	known := s.probe.Stats()
	return scan.Stats{Rows: -1, Bytes: known.Bytes, Columns: s.node.stats, Once: s.run == nil || known.Once}
}

// Splits implements scan.Source: it makes the build side first.
func (s *joined) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	opt := rowsOptions(s.node.ofProbe, nil)
	splits, err := s.probe.Splits(ctx, opt.Columns)
	if err != nil {
		return nil, err
	}
	if s.run != nil {
		s.built.once.Do(func() { s.built.rows, s.built.err = s.build(ctx) })
		if s.built.err != nil {
			return nil, s.built.err
		}
	}
	schema := columnsOf(s.node.schema, columns)
	ends := &ending{}
	list := make([]scan.Split, 0, len(splits)+1)
	for i, of := range splits {
		list = append(list, &joinedSplit{Split: of, of: s, number: i, schema: schema, columns: columns, ends: ends})
	}
	if s.node.isFull {
		list = append(list, &joinedSplit{of: s, number: len(splits), schema: schema, columns: columns, ends: ends})
	}
	ends.left.Add(len(splits))
	return list, nil
}

// build makes the build side.
func (s *joined) build(ctx context.Context) (*engine.Hashed, error) {
	n := s.node
	return s.run.engine.Hash(ctx, n.build.rows(s.run), engine.HashedOptions{
		RowsOptions: rowsOptions(n.ofBuild, s.run.engine), Keys: n.keys,
	})
}

// ending lets the rows of the build side without a partner wait for the splits of the probe side.
type ending struct{ left sync.WaitGroup }

// joinedSplit has the rows of the join that a split of the probe side gives; or, without a split, the rows of the
// build side that have no partner.
type joinedSplit struct {
	scan.Split
	of      *joined
	number  int
	schema  *arrow.Schema
	columns []int // of the join
	ends    *ending
}

// positionBits is how many positions are left for the rows of one split.
const positionBits = 40

func (s *joinedSplit) Position() uint64 { return uint64(s.number) << positionBits }
func (s *joinedSplit) Rows() int64      { return -1 }

// Bytes implements scan.Split.
func (s *joinedSplit) Bytes() int64 {
	if s.Split == nil {
		return 0
	}
	return s.Split.Bytes()
}

// Name implements scan.Split.
func (s *joinedSplit) Name() string {
	if s.Split == nil {
		return "rows without a partner"
	}
	return s.Split.Name()
}

// Open implements scan.Split.
func (s *joinedSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	r := &joinedReader{ctx: ctx, split: s, hashed: s.of.built.rows, mem: opt.Allocator}
	if s.Split == nil {
		if err := opt.Wait(ctx, s.ends.left.Wait); err != nil {
			return nil, err
		}
		r.Init(s.schema, r.nextAlone, func() {})
		return r, nil
	}
	from, err := s.Split.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	n := s.of.node
	options := rowsOptions(n.ofProbe, s.of.run.engine)
	r.from, r.rows, r.finder = from, options.NewMap(), r.hashed.NewFinder()
	if n.condition != nil {
		r.condition = n.condition.NewEvaluator(opt.Allocator)
	}
	r.Init(s.schema, r.next, func() {
		r.drop()
		if r.condition != nil {
			r.condition.Release()
		}
		r.rows.Release()
		from.Release()
		s.ends.left.Done()
	})
	return r, nil
}

// joinedReader makes rows of a join of the batches of a split.
type joinedReader struct {
	recordreader.Base
	ctx    context.Context
	split  *joinedSplit
	hashed *engine.Hashed
	mem    memory.Allocator

	from      array.RecordReader // owned; nil of rows without a partner
	rows      engine.RowMap      // makes keys and columns of from's batches
	input     arrow.RecordBatch  // last batch of from; nil before the first one
	finder    *engine.Finder
	condition *expr.Evaluator     // nil for TRUE
	ready     []arrow.RecordBatch // made, owned
	alone     int                 // batches of the build side whose rows without a partner were returned
}

// drop gives back what was made and not returned.
func (r *joinedReader) drop() {
	for _, b := range r.ready {
		b.Release()
	}
	r.ready = nil
}

func (r *joinedReader) next() (arrow.RecordBatch, error) {
	for len(r.ready) == 0 {
		var made arrow.RecordBatch
		if r.input != nil {
			err := r.use(func() (err error) {
				made, err = r.rows.Next(r.ctx)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		if made != nil {
			err := r.join(made)
			made.Release()
			if err != nil {
				return nil, err
			}
			continue
		}
		var err error
		if r.input, err = recordreader.Next(r.from); r.input == nil {
			return nil, err
		}
		if err := r.use(func() error { return r.rows.Begin(r.ctx, r.input) }); err != nil {
			return nil, err
		}
	}
	first := r.ready[0]
	r.ready = r.ready[1:]
	return first, nil
}

// use calls a function that works on the input, and says where its error is.
func (r *joinedReader) use(f func() error) error {
	if err := scan.UseBatch(r.input, f); err != nil {
		return scan.Placed(r.from, r.split.Name(), err)
	}
	return nil
}

// joinedRowsMost is how many rows a batch of a join has at most.
const joinedRowsMost = 1 << 14

// join makes the rows of a batch of keys and columns of the probe side.
func (r *joinedReader) join(batch arrow.RecordBatch) error {
	n := r.split.of.node
	var partnered []bool // by row of the batch
	if n.probeAlone {
		partnered = make([]bool, batch.NumRows())
	}
	err := r.finder.Find(batch, joinedRowsMost, func(p *engine.Partners) error {
		if r.condition != nil {
			if err := r.choose(batch, p); err != nil || len(p.Rows) == 0 {
				return err
			}
		}
		for _, row := range p.Rows {
			if partnered == nil {
				break
			}
			partnered[row.Row] = true
		}
		if n.isFull {
			r.hashed.Note(p.Found)
		}
		return r.make(batch, p.Rows, p.Found)
	})
	if err != nil || partnered == nil {
		return err
	}
	var alone, none []gather.Row
	for row, is := range partnered {
		if !is {
			alone, none = append(alone, gather.Row{Row: uint32(row)}), append(none, r.hashed.None())
		}
	}
	if len(alone) == 0 {
		return nil
	}
	invariants.Sometimes("plan: rows of a join without a partner")
	return r.make(batch, alone, none)
}

// make makes a batch of pairs of rows.
func (r *joinedReader) make(batch arrow.RecordBatch, rows, found []gather.Row) error {
	columns, err := r.gather(batch, rows, found, r.split.columns)
	if err != nil {
		return err
	}
	defer releaseAll(columns)
	r.ready = append(r.ready, array.NewRecordBatch(r.split.schema, columns, int64(len(rows))))
	return nil
}

// gather returns columns of the join for pairs of rows.
func (r *joinedReader) gather(batch arrow.RecordBatch, rows, found []gather.Row, columns []int) (
	made []arrow.Array, err error,
) {
	n := r.split.of.node
	keys := len(n.keys.KeyColumns)
	ofProbe := n.ofProbe.schema.NumFields() - keys
	for _, c := range columns {
		var a arrow.Array
		if c < ofProbe {
			a, err = gather.Column(r.mem, []arrow.Array{batch.Column(keys + c)}, rows)
		} else {
			a, err = r.hashed.Column(r.mem, keys+c-ofProbe, found)
		}
		if err != nil {
			releaseAll(made)
			return nil, err
		}
		made = append(made, a)
	}
	return made, nil
}

// choose leaves the pairs for which the condition is TRUE.
func (r *joinedReader) choose(batch arrow.RecordBatch, p *engine.Partners) error {
	read := r.split.of.node.condition.Columns()
	columns, err := r.gather(batch, p.Rows, p.Found, read)
	if err != nil {
		return err
	}
	defer releaseAll(columns)
	rows := len(p.Rows)
	inputs := array.NewRecordBatch(columnsOf(r.split.of.node.schema, read), columns, int64(rows))
	defer inputs.Release()
	bits := make([]byte, (rows+7)/8)
	if _, err := r.condition.Select(r.ctx, 0, inputs, bits); err != nil {
		return err
	}
	kept := 0
	for i := range rows {
		if bits[i/8]>>(i%8)&1 != 0 {
			p.Rows[kept], p.Found[kept] = p.Rows[i], p.Found[i]
			kept++
		}
	}
	p.Rows, p.Found = p.Rows[:kept], p.Found[:kept]
	return nil
}

// nextAlone returns rows of the build side without a partner.
func (r *joinedReader) nextAlone() (arrow.RecordBatch, error) {
	n := r.split.of.node
	keys := len(n.keys.KeyColumns)
	ofProbe := n.ofProbe.schema.NumFields() - keys
	for {
		rows, ok := r.hashed.Alone(r.alone)
		if !ok {
			return nil, nil
		}
		r.alone++
		if len(rows) == 0 {
			continue
		}
		columns := make([]arrow.Array, 0, len(r.split.columns))
		for i, c := range r.split.columns {
			if c < ofProbe {
				columns = append(columns, array.MakeArrayOfNull(memory.DefaultAllocator, r.split.schema.Field(i).Type, len(rows)))
				continue
			}
			a, err := r.hashed.Column(r.mem, keys+c-ofProbe, rows)
			if err != nil {
				releaseAll(columns)
				return nil, err
			}
			columns = append(columns, a)
		}
		made := array.NewRecordBatch(r.split.schema, columns, int64(len(rows)))
		releaseAll(columns)
		return made, nil
	}
}
