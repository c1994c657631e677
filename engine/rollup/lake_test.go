package rollup

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/vfs"
)

// deltaTable is a table of Delta in a folder, which a test writes.
type deltaTable struct {
	dir     string
	version int
	files   map[string]*deltaFile // of the last version, by name
	names   int                   // files that were ever written: none is written twice
	isWide  bool                  // the table has a column more, which its files lack
	wasWide bool                  // isWide of the last version
}

// deltaFile is a data file of a table.
type deltaFile struct {
	rows    int
	deleted []int // numbers of rows, ascending
}

const (
	deltaProtocol = `{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],"writerFeatures":["deletionVectors"]}}`
	deltaColumns  = `{"metaData":{"id":"t","format":{"provider":"parquet"},"schemaString":%q,"partitionColumns":[],"configuration":{}}}`
	deltaSchema   = `{"type":"struct","fields":[{"name":"k","type":"long","nullable":true,"metadata":{}},
		{"name":"v","type":"double","nullable":true,"metadata":{}},{"name":"s","type":"string","nullable":true,"metadata":{}}]}`
)

// newName returns the name of a file that there never was.
func (d *deltaTable) newName() string {
	d.names++
	return fmt.Sprintf("part-%05d.parquet", d.names)
}

// vectorText returns rows as an inlined deletion vector: a bitmap of one container of Roaring's portable form, in Z85.
func vectorText(rows []int) (text string, size int) {
	const magic, cookie = 1681511377, 12346
	out := binary.LittleEndian.AppendUint32(nil, magic)
	out = binary.LittleEndian.AppendUint64(out, 1)
	for _, word := range []uint32{0, cookie, 1, uint32(len(rows)-1) << 16, 16} {
		out = binary.LittleEndian.AppendUint32(out, word)
	}
	for _, row := range rows {
		out = binary.LittleEndian.AppendUint16(out, uint16(row))
	}
	size = len(out)
	for len(out)%4 != 0 {
		out = append(out, 0)
	}
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
	for ; len(out) > 0; out = out[4:] {
		word, five := binary.BigEndian.Uint32(out), make([]byte, 5)
		for i := range five {
			five[4-i] = digits[word%85]
			word /= 85
		}
		text += string(five)
	}
	return text, size
}

// commit writes the next version.
func (d *deltaTable) commit(t *testing.T, before map[string]*deltaFile) {
	var actions []string
	if d.version == 0 {
		actions = append(actions, deltaProtocol)
	}
	if d.version == 0 || d.isWide != d.wasWide {
		schema := deltaSchema
		if d.isWide {
			schema = strings.Replace(schema, "[{", `[{"name":"w","type":"long","nullable":true,"metadata":{}},{`, 1)
		}
		d.wasWide, actions = d.isWide, append(actions, fmt.Sprintf(deltaColumns, schema))
	}
	action := func(of string, path string, f *deltaFile) string {
		values := map[string]any{"path": path, "size": 1, "modificationTime": 1, "dataChange": true, "partitionValues": map[string]string{}}
		if len(f.deleted) > 0 {
			text, size := vectorText(f.deleted)
			values["deletionVector"] = map[string]any{"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": size,
				"cardinality": len(f.deleted)}
		}
		info, err := os.Stat(filepath.Join(d.dir, path))
		check(t, err)
		values["size"] = info.Size()
		line, err := json.Marshal(map[string]any{of: values})
		check(t, err)
		return string(line)
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if f := d.files[name]; f == nil || !slices.Equal(f.deleted, before[name].deleted) {
			actions = append(actions, action("remove", name, before[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		if f := before[name]; f == nil || !slices.Equal(f.deleted, d.files[name].deleted) {
			actions = append(actions, action("add", name, d.files[name]))
		}
	}
	log := filepath.Join(d.dir, "_delta_log")
	check(t, os.MkdirAll(log, 0o777))
	name := filepath.Join(log, fmt.Sprintf("%020d.json", d.version))
	check(t, os.WriteFile(name, []byte(strings.Join(actions, "\n")+"\n"), 0o666))
	d.version++
}

// clone returns a copy of the files.
func (d *deltaTable) clone() map[string]*deltaFile {
	files := map[string]*deltaFile{}
	for name, f := range d.files {
		files[name] = &deltaFile{rows: f.rows, deleted: slices.Clone(f.deleted)}
	}
	return files
}

// changeLake makes the next version of the table t, and sometimes changes the small table: files are added, removed and
// compacted, and rows deleted.
func (h *history) changeLake() {
	d := h.lake
	before := d.clone()
	for range h.rng.IntN(3) {
		names := slices.Sorted(maps.Keys(d.files))
		switch n := h.rng.IntN(10); {
		case n < 5 || len(names) == 0:
			name := d.newName()
			d.files[name] = &deltaFile{rows: h.writeFile("t", name)}
		case n < 7:
			f := d.files[names[h.rng.IntN(len(names))]]
			if row := h.rng.IntN(f.rows); !slices.Contains(f.deleted, row) {
				f.deleted = append(f.deleted, row)
				slices.Sort(f.deleted)
			}
		case n < 8:
			delete(d.files, names[h.rng.IntN(len(names))])
		case n < 9: // compaction
			h.compact(names[:min(2, len(names))])
		case h.rng.IntN(2) == 0:
			d.isWide = !d.isWide
		default:
			h.writeSmall()
		}
	}
	d.commit(h.t, before)
}

// compact puts files without deleted rows in one.
func (h *history) compact(names []string) {
	d, rows := h.lake, 0
	var paths []string
	for _, name := range names {
		if len(d.files[name].deleted) > 0 {
			return
		}
		rows += d.files[name].rows
		paths = append(paths, filepath.Join(d.dir, name))
	}
	name := d.newName()
	of := plan.Options{Tables: map[string]plan.Table{"files": {Files: paths}}}
	check(h.t, h.write("SELECT * FROM files", of, filepath.Join(d.dir, name)))
	for _, name := range names {
		delete(d.files, name)
	}
	d.files[name] = &deltaFile{rows: rows}
}

// Would catch rows of another state of a table, deleted rows that count, and files that are read though their rows are
// known: the roll-up goes through the states of tables that others wrote, to and fro, and its answer is a full run's.
func TestLakes(t *testing.T) {
	tables, err := filepath.Glob("../plan/testdata/lake/*")
	check(t, err)
	if len(tables) < 4 {
		t.Fatalf("tables %q", tables)
	}
	for _, table := range tables {
		t.Run(filepath.Base(table), func(t *testing.T) {
			dir := t.TempDir()
			at := filepath.Join(dir, "t")
			check(t, os.CopyFS(at, os.DirFS(table)))
			states := lakeStates(t, at)
			h := &history{t: t, dir: dir, eng: open(t, vfs.OS, 2), plain: open(t, vfs.OS, 2), kind: ".csv", opt: Options{
				Statement: "SELECT k, count(*) AS n, sum(id) AS si, first(id) AS f, last(id) AS l, list(id) AS li, median(id) AS m " +
					"FROM t GROUP BY k ORDER BY k",
				Tables: map[string]plan.Table{"t": {Files: []string{at}}}, State: filepath.Join(dir, "state"), Deterministic: true,
				Output: filepath.Join(dir, "out.csv"), Layout: sink.Options{Format: sink.CSV}, FS: vfs.OS, Version: "test",
			}}
			remote := h.opt // of the same table, in a store
			remote.FS, remote.State = &dirStore{FS: vfs.OS, dir: dir}, storeURL+"remote"
			remote.Tables = map[string]plan.Table{"t": {Files: []string{storeURL + "t"}}}
			for i, n := range []int{0, 1, len(states) - 1, len(states) - 1, 0, len(states) - 1} {
				states[n]()
				r, err := Run(t.Context(), h.eng, h.opt)
				check(t, err)
				full, err := h.full()
				check(t, err)
				if got := h.output(); !bytes.Equal(got, full) {
					t.Errorf("run %d: state %d is\n%s\nwant\n%s", i, n, got, full)
				}
				_, err = Run(t.Context(), h.eng, remote)
				check(t, err)
				if got := h.output(); !bytes.Equal(got, full) {
					t.Errorf("run %d in a store: state %d is\n%s\nwant\n%s", i, n, got, full)
				}
				if i == 3 && r.FilesRead+r.Changed+r.Gone != 0 {
					t.Errorf("a table that is what it was: %+v", r)
				}
			}
		})
	}
}

// lakeStates returns functions that make a table one of its states, in order.
func lakeStates(t *testing.T, dir string) (states []func()) {
	logs, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*"))
	check(t, err)
	if len(logs) > 0 {
		texts := map[string][]byte{}
		for _, name := range logs {
			texts[name], err = os.ReadFile(name)
			check(t, err)
		}
		for n := range 4 {
			states = append(states, func() {
				for name, text := range texts {
					check(t, os.RemoveAll(name))
					if filepath.Base(name) <= fmt.Sprintf("%020d.z", n) {
						check(t, os.WriteFile(name, text, 0o666))
					}
				}
			})
		}
		return states
	}
	found, err := filepath.Glob(filepath.Join(dir, "metadata", "*.metadata.json"))
	check(t, err)
	text, err := os.ReadFile(found[0])
	check(t, err)
	var metadata map[string]any
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber()
	check(t, numbers.Decode(&metadata))
	for _, snapshot := range metadata["snapshots"].([]any) {
		id := snapshot.(map[string]any)["snapshot-id"]
		states = append(states, func() {
			metadata["current-snapshot-id"] = id
			text, err := json.Marshal(metadata)
			check(t, err)
			check(t, os.WriteFile(found[0], text, 0o666))
		})
	}
	return states
}

// Would catch an option that says nothing of a table of Delta or Iceberg, and a snapshot that has expired without a word.
func TestLakeRefusals(t *testing.T) {
	dir, err := filepath.Abs("../plan/testdata/lake/delta_parts")
	check(t, err)
	eng := open(t, vfs.OS, 1)
	for _, c := range []struct {
		statement string
		keep      int
		want      string
	}{
		{"SELECT count(*) FROM '" + dir + "'", 3, "leave rows out by WHERE"},
		{"SELECT count(*) FROM delta_scan('" + dir + "', version := 9)", 0, "there is no version 9; the last is 3"},
	} {
		state := filepath.Join(t.TempDir(), "state")
		_, err := Run(t.Context(), eng, Options{Statement: c.statement, KeepDays: c.keep, State: state, Output: "-", FS: vfs.OS})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.statement, err, c.want)
		}
	}
}
