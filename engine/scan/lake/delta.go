package lake

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mpga/mpga/internal/vfs"
)

// logDir is where Delta has its log.
const logDir = "_delta_log"

// readerVersionMax is the last protocol of readers: from it on, features are named.
const readerVersionMax = 3

// deltaFeatures are the reader features that are honoured, or that say nothing to readers.
var deltaFeatures = map[string]bool{"columnMapping": true, "deletionVectors": true, "timestampNtz": true,
	"v2Checkpoint": true, "vacuumProtocolCheck": true, "typeWidening": true, "typeWidening-preview": true}

// action is a line of the log. One field is set.
type action struct {
	Add        *deltaAdd      `json:"add"`
	Remove     *deltaAdd      `json:"remove"`
	Metadata   *deltaMetadata `json:"metaData"`
	Protocol   *deltaProtocol `json:"protocol"`
	CommitInfo *struct {
		InCommitTimestamp *int64 `json:"inCommitTimestamp"` // ms
	} `json:"commitInfo"`
	Sidecar *struct {
		Path string `json:"path"`
	} `json:"sidecar"`
}

type deltaAdd struct {
	Path            string             `json:"path"`
	PartitionValues map[string]*string `json:"partitionValues"`
	Size            int64              `json:"size"`
	Stats           string             `json:"stats"`
	Vector          *deltaVector       `json:"deletionVector"`
}

// key tells versions of a file apart: one without its deletion vector, and with each.
func (a *deltaAdd) key() string {
	if a.Vector == nil {
		return unescaped(a.Path)
	}
	return fmt.Sprintf("%s\x00%s%s@%d", unescaped(a.Path), a.Vector.Storage, a.Vector.Path, a.Vector.Offset)
}

type deltaVector struct {
	Storage     string `json:"storageType"`
	Path        string `json:"pathOrInlineDv"`
	Offset      int64  `json:"offset"`
	Size        int64  `json:"sizeInBytes"`
	Cardinality int64  `json:"cardinality"`
}

type deltaMetadata struct {
	Schema           string             `json:"schemaString"`
	PartitionColumns []string           `json:"partitionColumns"`
	Configuration    map[string]*string `json:"configuration"`
	Format           struct {
		Provider string `json:"provider"`
	} `json:"format"`
}

type deltaProtocol struct {
	Reader   int      `json:"minReaderVersion"`
	Features []string `json:"readerFeatures"`
}

// log is the state of a table, by the actions so far.
type log struct {
	metadata *deltaMetadata
	protocol *deltaProtocol
	files    map[string]*deltaAdd
	sidecars []string
	time     *int64 // ms: of the last commit, where it tells
}

// take takes an action.
func (l *log) take(a *action) {
	switch {
	case a.Add != nil:
		l.files[a.Add.key()] = a.Add
	case a.Remove != nil:
		delete(l.files, a.Remove.key())
	case a.Metadata != nil:
		l.metadata = a.Metadata
	case a.Protocol != nil:
		l.protocol = a.Protocol
	case a.Sidecar != nil:
		l.sidecars = append(l.sidecars, a.Sidecar.Path)
	case a.CommitInfo != nil:
		l.time = a.CommitInfo.InCommitTimestamp
	}
}

// takeJSON takes the actions of a file, one after the other.
func (l *log) takeJSON(fsys vfs.FS, path string) error {
	content, err := read(fsys, path)
	if err != nil {
		return Expired(err, "a part of the log")
	}
	d := json.NewDecoder(bytes.NewReader(content))
	for n := 1; ; n++ {
		var a action
		if err := d.Decode(&a); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s, action %d: %w: %w", path, n, errDamaged, err)
		}
		l.take(&a)
	}
}

// commit is a version of the log.
type commit struct {
	version  int64
	modified time.Time
}

// checkpoint is a state of the log as files.
type checkpoint struct {
	version int64
	parts   []string // names
	of      int      // parts that there must be
}

// deltaFiles are the files of a log.
type deltaFiles struct {
	commits     []commit // ascending
	checkpoints []checkpoint
}

var (
	commitName     = regexp.MustCompile(`^(\d{20})\.json$`)
	checkpointName = regexp.MustCompile(`^(\d{20})\.checkpoint` +
		`(?:\.(\d{10})\.(\d{10})|\.[0-9a-fA-F-]{36})?\.(parquet|json)$`)
)

// listLog lists a log.
func listLog(fsys vfs.FS, dir string) (of deltaFiles, err error) {
	entries, err := list(fsys, dir)
	if err != nil {
		return of, err
	}
	for _, e := range entries {
		if m := commitName.FindStringSubmatch(e.name); m != nil {
			n, err := strconv.ParseInt(m[1], 10, 64)
			if err == nil {
				of.commits = append(of.commits, commit{n, e.modified})
			}
		} else if m := checkpointName.FindStringSubmatch(e.name); m != nil {
			of.addCheckpoint(e.name, m)
		}
	}
	return of, nil
}

// addCheckpoint adds a file of a checkpoint, to the part before it where it is one of several.
func (f *deltaFiles) addCheckpoint(name string, m []string) {
	version, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return
	}
	parts := 1
	if m[3] != "" {
		parts, _ = strconv.Atoi(m[3])
	}
	if last := len(f.checkpoints) - 1; parts > 1 && last >= 0 {
		if c := &f.checkpoints[last]; c.version == version && c.of == parts && len(c.parts) < parts {
			c.parts = append(c.parts, name)
			return
		}
	}
	f.checkpoints = append(f.checkpoints, checkpoint{version, []string{name}, parts})
}

// openDelta reads the log of a table up to the version that the options ask for.
func (t *Table) openDelta(ctx context.Context, fsys vfs.FS, opt Options) error {
	if opt.Snapshot != "" {
		return errors.New("a table of Delta has no snapshots with numbers: name a version or a time")
	}
	dir := join(t.Root, logDir)
	files, err := listLog(fsys, dir)
	if err != nil {
		return err
	}
	version, err := files.version(ctx, fsys, dir, opt)
	if err != nil {
		return err
	}
	l, err := files.replay(ctx, fsys, dir, version)
	if err != nil {
		return err
	}
	t.State, t.Pin = fmt.Sprintf("version %d", version), Options{Version: strconv.FormatInt(version, 10)}
	return t.fromLog(l)
}

// last returns the last version.
func (f *deltaFiles) last() (version int64, ok bool) {
	version = -1
	if n := len(f.commits); n > 0 {
		version = f.commits[n-1].version
	}
	for _, c := range f.checkpoints {
		if len(c.parts) == c.of {
			version = max(version, c.version)
		}
	}
	return version, version >= 0
}

// version returns the version that the options ask for.
func (f *deltaFiles) version(ctx context.Context, fsys vfs.FS, dir string, opt Options) (int64, error) {
	last, ok := f.last()
	switch {
	case !ok:
		return 0, fmt.Errorf("%s has no version of a table", logDir)
	case opt.Version != "" && opt.Timestamp != "":
		return 0, errors.New("a version and a timestamp are asked for; name one")
	case opt.Version != "":
		version, err := strconv.ParseInt(opt.Version, 10, 64)
		if err != nil || version < 0 || version > last {
			return 0, fmt.Errorf("there is no version %s; the last is %d", opt.Version, last)
		}
		return version, nil
	case opt.Timestamp == "":
		return last, nil
	}
	at, err := parseTime(opt.Timestamp)
	if err != nil {
		return 0, err
	}
	found, first := int64(-1), time.Time{}
	for i, c := range f.commits {
		made, err := f.time(ctx, fsys, dir, c)
		if err != nil {
			return 0, err
		}
		if i == 0 {
			first = made
		}
		if !made.After(at) {
			found = c.version
		}
	}
	if found < 0 {
		return 0, fmt.Errorf("there is no version of %s or before; the first that the log still has is of %s", opt.Timestamp,
			first.UTC().Format(time.RFC3339Nano))
	}
	return found, nil
}

// time returns when a version was made: what its commit says, or else the time of its file.
func (f *deltaFiles) time(_ context.Context, fsys vfs.FS, dir string, c commit) (time.Time, error) {
	l := &log{files: map[string]*deltaAdd{}}
	if err := l.takeJSON(fsys, join(dir, fmt.Sprintf("%020d.json", c.version))); err != nil {
		return time.Time{}, err
	}
	if l.time != nil {
		return time.UnixMilli(*l.time), nil
	}
	return c.modified, nil
}

// parseTime reads a time of the options.
func parseTime(text string) (time.Time, error) {
	day, clock, _ := strings.Cut(strings.TrimSpace(text), " ")
	if clock == "" {
		day, clock, _ = strings.Cut(day, "T")
	}
	if at, err := time.Parse(time.DateOnly, day); err == nil && clock == "" {
		return at, nil
	}
	for _, form := range []string{"15:04:05.999999999", "15:04"} {
		for _, zone := range []string{"", "Z07:00", "-07", " Z07:00", " -07", " UTC"} {
			if at, err := time.Parse("2006-01-02 "+form+zone, day+" "+clock); err == nil {
				return at, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time, as in 2026-11-30, 2026-11-30 12:00 and 2026-11-30 12:00:00+01", text)
}

// replay returns the state of the log at a version.
func (f *deltaFiles) replay(ctx context.Context, fsys vfs.FS, dir string, version int64) (*log, error) {
	l := &log{files: map[string]*deltaAdd{}}
	next := int64(0)
	for _, c := range slices.Backward(f.checkpoints) {
		if c.version > version || len(c.parts) != c.of {
			continue
		}
		if err := l.takeCheckpoint(ctx, fsys, dir, &c); err != nil {
			return nil, err
		}
		next = c.version + 1
		break
	}
	for _, c := range f.commits {
		if c.version < next || c.version > version {
			continue
		}
		if c.version != next {
			break
		}
		if err := l.takeJSON(fsys, join(dir, fmt.Sprintf("%020d.json", c.version))); err != nil {
			return nil, err
		}
		next++
	}
	if next <= version {
		return nil, fmt.Errorf("version %d of the log is missing, which version %d needs: it has expired, or the log is "+
			"damaged; read a later version", next, version)
	}
	return l, nil
}

// fromLog makes the table of the state of its log.
func (t *Table) fromLog(l *log) error {
	if l.metadata == nil || l.protocol == nil {
		return fmt.Errorf("%w: the log has no protocol or no metadata of the table", errDamaged)
	}
	if err := l.protocol.check(); err != nil {
		return err
	}
	if p := l.metadata.Format.Provider; p != "" && p != "parquet" {
		return fmt.Errorf("not supported: files of the format %s", p)
	}
	mode := ""
	if v := l.metadata.Configuration["delta.columnMapping.mode"]; v != nil && *v != "none" {
		mode = *v
	}
	match, ok := map[string]matcher{"": byName, "name": byPhysical, "id": byID}[mode]
	if !ok {
		return fmt.Errorf("not supported: column mapping by %s", mode)
	}
	var err error
	if t.Columns, err = deltaColumns(l.metadata.Schema, mode != ""); err != nil {
		return err
	}
	naming := naming(t.Columns, match)
	for _, add := range l.files {
		f, err := t.deltaFile(add, l.metadata.PartitionColumns)
		if err != nil {
			return fmt.Errorf("file %s: %w", add.Path, err)
		}
		f.Naming = naming
		t.Files = append(t.Files, f)
	}
	slices.SortFunc(t.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// check refuses what the protocol asks of readers and is not known. L1.
func (p *deltaProtocol) check() error {
	if p.Reader > readerVersionMax {
		return fmt.Errorf("not supported: version %d of the protocol of readers; %d is the last that is known", p.Reader,
			readerVersionMax)
	}
	var unknown []string
	for _, f := range p.Features {
		if !deltaFeatures[f] {
			unknown = append(unknown, f)
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("not supported: the table needs %s of its readers", strings.Join(unknown, ", "))
	}
	return nil
}

// deltaFile makes a file of its action.
func (t *Table) deltaFile(a *deltaAdd, partitions []string) (f File, err error) {
	f = File{Path: locate(t.Root, unescaped(a.Path)), Bytes: a.Size, Rows: -1, live: -1}
	values := map[string]*string{}
	for _, name := range partitions {
		c := firstOf(t.Columns, func(c *Column) bool { return c.Name == name })
		if c == nil {
			return f, fmt.Errorf("%w: the table has no column %q, which is to be a partition", errDamaged, name)
		}
		key := name
		if c.Physical != "" {
			key = c.Physical
		}
		if v := a.PartitionValues[key]; v != nil && *v != "" {
			values[name] = v
		} else {
			values[name] = nil
		}
	}
	f.Texts = values
	f.addStats(a.Stats, t.Columns)
	if f.live = f.Rows; a.Vector == nil {
		return f, nil
	}
	v, err := a.Vector.open(t.Root)
	if err != nil {
		return f, fmt.Errorf("%s, deleted rows: %w", f.Path, err)
	}
	if f.deletes = append(f.deletes, v); f.Rows >= 0 {
		f.live = f.Rows - v.of
	}
	return f, nil
}

// uuidDigits is the length of a UUID to the base of 85.
const uuidDigits = 20

// open finds the bitmap of a deletion vector.
func (d *deltaVector) open(root string) (*vector, error) {
	v := &vector{offset: d.Offset, bytes: d.Size, of: d.Cardinality}
	if d.Size < 0 || d.Size > metadataBytesMax || d.Cardinality < 0 {
		return nil, fmt.Errorf("%w: a deletion vector of %d B for %d rows", errDamaged, d.Size, d.Cardinality)
	}
	switch d.Storage {
	case "i":
		data, err := base85(d.Path)
		if err != nil || int64(len(data)) < d.Size {
			return nil, errors.Join(err, fmt.Errorf("%w: a deletion vector within the log of %d B", errDamaged, d.Size))
		}
		v.inline = data[:d.Size]
	case "u":
		if len(d.Path) < uuidDigits {
			return nil, fmt.Errorf("%w: %q names no deletion vector", errDamaged, d.Path)
		}
		prefix, digits := d.Path[:len(d.Path)-uuidDigits], d.Path[len(d.Path)-uuidDigits:]
		id, err := base85(digits)
		if err != nil {
			return nil, err
		}
		h := hex.EncodeToString(id)
		name := fmt.Sprintf("deletion_vector_%s-%s-%s-%s-%s.bin", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
		if prefix != "" {
			name = prefix + "/" + name
		}
		v.path = join(root, name)
	case "p":
		v.path = locate(root, unescaped(d.Path))
	default:
		return nil, fmt.Errorf("not supported: a deletion vector that is stored as %q", d.Storage)
	}
	return v, nil
}
