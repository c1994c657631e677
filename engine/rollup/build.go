package rollup

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/spawn"
)

// makeLeaves returns the leaves of all files, and the one of no rows before them. U5.
func (r *run) makeLeaves() (list []*node) {
	base := []any{stateFormat, r.meaningHash, r.partitions, r.query}
	for i, t := range r.tables {
		if t.Read == readParts || t.Read == readWhole {
			base = append(base, i, t.Read, t.meaning())
		}
		if t.Read == readWhole {
			base = append(base, t.Files)
		}
	}
	all := newKey(base...)
	list = []*node{{key: newKey("none", all), input: r.stem, file: noFile}}
	for i, t := range r.tables {
		if t.Read != readParts {
			continue
		}
		for n, f := range t.Files {
			if f.Segments == nil {
				list = append(list, &node{key: newKey("file", all, i, f), input: i, file: n})
			}
			for k, of := range f.Segments {
				key := newKey("segment", all, i, f.Path, f.rangeOf(k), of)
				list = append(list, &node{key: key, input: i, file: n, part: k})
			}
		}
	}
	return list
}

// missing returns the parts that have to be made of files for some parts: leaves and bundles.
func (r *run) missing(parts []*node) (list []*node) {
	for _, n := range parts {
		switch {
		case r.have[n.key] != nil:
		case n.members == nil || r.isBundle(n):
			list = append(list, n)
		default:
			list = append(list, r.missing(n.members)...)
		}
	}
	return list
}

// build makes the parts that the state lacks.
func (r *run) build(ctx context.Context) error {
	missing := r.missing(r.roots)
	if err := r.checkAgain(missing); err != nil {
		return err
	}
	eachFile(missing, func(*node) { r.report.FilesRead++ })
	r.settle(r.toRead(missing))
	made := make([]*part, len(missing))
	r.wanted, r.saved = len(missing), time.Now()
	var group spawn.Group
	group.SetLimit(max(min(r.eng.Threads(), filesAtOnce), 1))
	for i, n := range missing {
		group.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			if made[i], err = r.aggregate(ctx, n); err != nil {
				return err
			}
			return r.save(n, made[i])
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, p := range made {
		r.have[p.Key] = p
		r.report.RowsRead += p.Rows
	}
	for _, n := range r.roots {
		if err := r.ensure(ctx, n); err != nil {
			return err
		}
	}
	return r.choose(ctx)
}

// filesAtOnce bounds how many files are aggregated at the same time: a file of one row group keeps one thread busy.
const filesAtOnce = 8

// checkAgain tells of files that did not change and are read once more, since a part of theirs was not kept or a table
// that is read whole has changed.
func (r *run) checkAgain(missing []*node) error {
	var first string
	eachFile(missing, func(leaf *node) {
		if !r.isAgain(leaf) {
			return
		}
		if r.report.Again++; first == "" {
			first = r.fileOf(leaf).Path
		}
	})
	if r.report.Again == 0 {
		return nil
	}
	if r.OnChange == OnChangeFail {
		return fmt.Errorf("%w: %s; %d files that did not change would be read again, %s first: allow it with "+
			"--on-change rebuild", ErrChanged, r.cause(), r.report.Again, first)
	}
	r.eng.Warn("a roll-up reads files again that did not change", "why", r.cause(), "files", r.report.Again)
	return nil
}

// isAgain says whether a leaf is of rows that did not change: of a file that did not, or of what it had before lines
// were appended.
func (r *run) isAgain(leaf *node) bool {
	f, d := r.fileOf(leaf), &r.differences[leaf.input]
	return d.kept[f.Path] || leaf.part < len(f.Segments)-1 && slices.Contains(d.grown, f.Path)
}

// cause names what has changed.
func (r *run) cause() string {
	for i, t := range r.tables {
		d := &r.differences[i]
		switch {
		case len(d.changed) > 0:
			return d.changed[0] + " has changed"
		case len(d.grown) > 0 && t.Read == readWhole:
			return d.grown[0] + " has grown"
		case len(d.gone) > 0:
			return d.gone[0] + " has gone"
		case len(d.added) > 0 && t.Read == readWhole:
			return d.added[0] + " is new in a table that is read whole"
		}
	}
	return "the parts beside a new file were not kept"
}

// ensure makes a part of its members, unless it is there.
func (r *run) ensure(ctx context.Context, n *node) error {
	if r.have[n.key] != nil {
		return nil
	}
	for _, m := range n.members {
		if err := r.ensure(ctx, m); err != nil {
			return err
		}
	}
	return r.merge(ctx, n, n.members)
}

// merge makes a part of parts that are there.
func (r *run) merge(ctx context.Context, n *node, of []*node) (err error) {
	packs := make([]workdir.Pack, len(of))
	made := &part{Key: n.key, Level: n.level, Full: r.fullOf(of)}
	for i, m := range of {
		from := r.have[m.key]
		packs[i] = from.pack()
		made.Files, made.Rows = made.Files+from.Files, made.Rows+from.Rows
		if made.First == "" {
			made.First = from.First
		}
		if from.Last != "" {
			made.Last = from.Last
		}
	}
	p, err := r.dir.OpenPacks(ctx, r.eng.CreateTemp, packs, 0, r.partitions-1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	r.report.Merged++
	r.have[n.key] = made
	return r.write(made, func(opt partial.Options) (engine.Stats, error) {
		return r.eng.MergePartial(ctx, p.Sources, opt)
	})
}

// sourcesMost is how many parts an answer is made of where they could be merged to one that is much smaller, or has
// smallTotal bytes, which take less time than to ask for many parts.
const (
	sourcesMost = 5
	smallTotal  = 1 << 20
	behindShare = 8 // a total that is larger is made anew where parts behind it have an eighth of its bytes
)

// choose sets the parts that the answer is made of: the roots of the tree, or a total of the first files and the parts
// of the others, where groups come again so that the total is much smaller than the roots. Whether it is, the merges so
// far tell, or else a total that is made each time that the files have doubled.
func (r *run) choose(ctx context.Context) error {
	r.sources = r.roots
	last := r.lastTotal()
	isSmall := last != nil && r.isSmall(last[0])
	if isSmall {
		r.sources, r.total = last, r.before.Total
	}
	isNear := isSmall && r.bytes(last[:1]) > smallTotal && behindShare*r.bytes(last[1:]) < r.bytes(last[:1])
	if r.before != nil {
		r.tried = r.before.Tried
	}
	tries := !isSmall && len(r.leaves) >= 2*r.tried
	if len(r.sources) <= sourcesMost || isNear || !isSmall && !tries && !r.shrinks(last == nil) {
		return nil
	}
	total := newTotal(r.leaves)
	if r.have[total.key] == nil {
		if err := r.merge(ctx, total, r.sources); err != nil {
			return err
		}
	}
	r.tried = len(r.leaves)
	if isSmall || r.isSmall(total) || r.shrinks(last == nil) {
		r.sources, r.total = []*node{total}, len(r.leaves)
	}
	return nil
}

// isSmall says whether a total that is there is much smaller than the roots, or small.
func (r *run) isSmall(total *node) bool {
	bytes := r.bytes([]*node{total})
	return 2*bytes < r.bytes(r.roots) || bytes <= smallTotal
}

// lastTotal returns the total that the state has, and parts of the leaves behind it; nil where it has none, the files
// of the total are not the first ones any more, or a leaf behind it is in no part that is there.
func (r *run) lastTotal() []*node {
	if r.before == nil || r.before.Total == 0 || r.before.Total > len(r.leaves) {
		return nil
	}
	list := []*node{newTotal(r.leaves[:r.before.Total])}
	at, isAll := 0, true // how many leaves are before a part
	var behind func(n *node)
	behind = func(n *node) {
		switch size := len(n.leaves()); {
		case at+size <= r.before.Total:
			at += size
		case at >= r.before.Total && r.have[n.key] != nil:
			list, at = append(list, n), at+size
		case n.members == nil:
			isAll = false
		default:
			for _, m := range n.members {
				behind(m)
			}
		}
	}
	for _, n := range r.roots {
		behind(n)
	}
	if !isAll || r.have[list[0].key] == nil {
		return nil
	}
	return list
}

// bytes returns the bytes of parts that are there.
func (r *run) bytes(parts []*node) (sum int64) {
	for _, n := range parts {
		sum += r.have[n.key].Bytes
	}
	return sum
}

// shrinks says whether groups come again: merged parts are nearer to the largest of their members than to all of
// these together, as far as these are there. unknown is what to say where nothing is merged.
func (r *run) shrinks(unknown bool) bool {
	var before, after int64 // beyond the largest members
	var visit func(n *node)
	visit = func(n *node) {
		isAll := n.members != nil && r.have[n.key] != nil
		for _, m := range n.members {
			visit(m)
			isAll = isAll && r.have[m.key] != nil
		}
		if !isAll {
			return
		}
		largest := int64(0)
		for _, m := range n.members {
			largest = max(largest, r.have[m.key].Bytes)
		}
		before, after = before+r.bytes(n.members)-largest, after+r.have[n.key].Bytes-largest
	}
	for _, n := range r.roots {
		visit(n)
	}
	return 2*after < before || before == 0 && unknown
}

// aggregate makes a leaf, or a bundle, of its files.
func (r *run) aggregate(ctx context.Context, n *node) (made *part, err error) {
	made = &part{Key: n.key, Level: n.level, Full: make([][]int, len(r.tables))}
	leaves := n.leaves()
	input, isNone := leaves[0].input, leaves[0].file == noFile
	var own, read []file
	if !isNone {
		for _, leaf := range leaves {
			own = append(own, *r.fileOf(leaf))
		}
		made.First, made.Last = own[0].Path, own[len(own)-1].Path
		if leaves[0].part == 0 {
			made.Files = len(own)
		}
		read = append(read, own...)
	}
	of := plan.Part{First: isNone}
	q, err := r.prepare(ctx, func(i int) (source scan.Source, err error) {
		t := r.tables[i]
		switch {
		case i == input && isNone:
			columns, err := t.Known.Columns()
			if err != nil {
				return nil, err
			}
			of.Table = scan.Batches(columns, nil)
			return of.Table, nil
		case i == input:
			if len(own) == 1 {
				t = t.only(own[0], leaves[0].part)
			}
			if of.Table, err = r.open(ctx, t, own...); err == nil {
				made.Full[i] = fullOf(of.Table)
			}
			return of.Table, err
		case t.Read == readWhole:
			read = append(read, t.Files...)
			return r.open(ctx, t, t.Files...)
		}
		source, err = shapeOf(t)
		if t.Read == readParts {
			of.Others = append(of.Others, source)
		}
		return source, err
	})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	if err := r.writeGroups(ctx, q, of, made); err != nil {
		return nil, err
	}
	for _, f := range read {
		if err := checkSame(r.FS, f); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// writeGroups writes the states of a part of a table, whose aggregation must be the state's.
func (r *run) writeGroups(ctx context.Context, q *plan.Query, of plan.Part, made *part) error {
	parts, err := q.PartsOf(of.Table)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStatement, err)
	}
	g := parts.Grouping(ctx, of)
	defer g.Close()
	if same, err := sameQuery(r.query, g.Query); err != nil || !same {
		return errors.Join(err, fmt.Errorf("%w: the aggregation of %s is %s, and the state's %s; %s", ErrOther,
			made.First, g.Query.String(), r.query.String(), r.dir.remedy()))
	}
	return r.write(made, func(opt partial.Options) (stats engine.Stats, err error) {
		stats, err = g.Partial(ctx, opt)
		made.Rows = stats.RowsRead
		return stats, err
	})
}

// fullOf returns the columns of a table that surely have no NULL.
func fullOf(table scan.Source) []int {
	columns := []int{}
	for i, c := range table.Stats().Columns {
		if c.NoNulls {
			columns = append(columns, i)
		}
	}
	return columns
}

// fullOf returns, by table, the columns that surely have no NULL in the files of some parts: in all of them that have a
// file of the table. It is nil of a table without one.
func (r *run) fullOf(parts []*node) [][]int {
	full := make([][]int, len(r.tables))
	for _, n := range parts {
		for i, columns := range r.have[n.key].Full {
			switch {
			case columns == nil:
			case full[i] == nil:
				full[i] = append([]int{}, columns...) // not nil, where it is empty
			default:
				full[i] = slices.DeleteFunc(full[i], func(c int) bool { return !slices.Contains(columns, c) })
			}
		}
	}
	return full
}

// shape is the columns of a table, and what is known of NULLs in them.
type shape struct {
	scan.Source
	stats scan.Stats
}

// Stats implements scan.Source.
func (s *shape) Stats() scan.Stats { return s.stats }

// shapeOf returns the columns of a table.
func shapeOf(t *table) (scan.Source, error) {
	columns, err := t.Known.Columns()
	if err != nil {
		return nil, err
	}
	return scan.Shape(columns), nil
}

// only returns the table with a segment of a file alone.
func (t *table) only(f file, segment int) *table {
	if len(f.Segments) < 2 {
		return t
	}
	part := *t
	part.scan.Ranges = map[string]dataset.Range{f.Path: f.rangeOf(segment)}
	return &part
}

// open opens some files of a table by the columns that the table had; errOutdated where it has others now.
func (r *run) open(ctx context.Context, t *table, files ...file) (scan.Source, error) {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Path
	}
	source, err := dataset.Open(ctx, names, t.scan)
	if err == nil || ctx.Err() != nil || t.Known.Lake != nil {
		return source, err
	}
	all := make([]string, len(t.Files))
	for i, f := range t.Files {
		all[i] = f.Path
	}
	fresh := t.scan
	fresh.Known = nil
	_, known, otherErr := dataset.OpenKnown(ctx, all, fresh)
	if otherErr == nil && !r.asksColumns && !bytes.Equal(known.Schema, t.Known.Schema) {
		return nil, errOutdated
	}
	return nil, err
}

// errOutdated marks new files with other columns than the table had: what it has now is to be asked of all files.
var errOutdated = errors.New("the table has other columns")

// takeBack removes the packs of a run that has failed, which no manifest names.
func (r *run) takeBack() {
	for _, p := range r.written {
		_ = r.dir.FS.Remove(r.dir.Path(p.name())) // it may not be there; what cannot be removed Collect finds
	}
}

// write writes the pack of a part, under a name that no other attempt has.
func (r *run) write(p *part, make func(partial.Options) (engine.Stats, error)) (err error) {
	spool := workdir.NewSpool(r.eng.CreateTemp, r.partitions)
	defer func() { err = errors.Join(err, spool.Close()) }()
	stats, err := make(partial.Options{Partitions: r.partitions, Run: p.Key, Create: spool.Create})
	if err != nil {
		return err
	}
	p.Groups = stats.Groups
	p.Blobs, p.Bytes = spool.Sizes()
	sum := sha256.New()
	if err := spool.CopyTo(sum); err != nil {
		return err
	}
	p.SHA256 = hex.EncodeToString(sum.Sum(nil))
	var attempt [8]byte
	rand.Read(attempt[:]) // never fails
	p.Pack = p.SHA256[:16] + "." + hex.EncodeToString(attempt[:])
	r.mu.Lock()
	r.written = append(r.written, p)
	r.mu.Unlock()
	if err := r.dir.Write(p.name(), spool.CopyTo); err != nil {
		return err
	}
	return r.dir.Copies.Keep(p.name(), p.Bytes, spool.CopyTo)
}

// kept returns the parts that the state keeps: the roots and what the answer is made of, and members of parts that have
// one of the newest files.
func (r *run) kept() (parts []part) {
	isKept := map[string]bool{}
	add := func(n *node) {
		if p := r.have[n.key]; p != nil && !isKept[n.key] {
			isKept[n.key] = true
			parts = append(parts, *p)
		}
	}
	for _, n := range r.sources {
		add(n)
	}
	var visit func(n *node, above bool)
	visit = func(n *node, above bool) { // above: the part that has it is kept
		wanted := above && n.file == noFile && n.members == nil
		n.each(func(leaf *node) {
			wanted = wanted || leaf.file != noFile && r.isNewest[r.fileOf(leaf).Path]
		})
		if wanted {
			add(n)
		}
		for _, m := range n.members {
			visit(m, wanted)
		}
	}
	for _, n := range r.roots {
		add(n)
		for _, m := range n.members {
			visit(m, true)
		}
	}
	return parts
}

// newest returns the paths of the files that were changed last, KeepParts of them.
func (r *run) newest() map[string]bool {
	var files []file
	for _, t := range r.tables {
		if t.Read == readParts {
			files = append(files, t.Files...)
		}
	}
	slices.SortStableFunc(files, func(a, b file) int { return b.Modified.Compare(a.Modified) })
	if r.KeepParts > 0 {
		files = files[:min(r.KeepParts, len(files))]
	}
	paths := make(map[string]bool, len(files))
	for _, f := range files {
		paths[f.Path] = true
	}
	return paths
}
