package lake

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mpga/mpga/internal/vfs"
)

// metadataDir is where Iceberg has its metadata.
const metadataDir = "metadata"

// formatVersionMax is the last version of the table spec that is known.
const formatVersionMax = 3

// isMetadata says whether a file has the metadata of a table.
func isMetadata(name string) bool {
	return strings.HasSuffix(name, ".metadata.json") || strings.HasSuffix(name, ".metadata.json.gz")
}

// icebergMetadata is the metadata of a table.
type icebergMetadata struct {
	FormatVersion int              `json:"format-version"`
	Location      string           `json:"location"`
	Schema        *icebergSchema   `json:"schema"` // of version 1
	Schemas       []*icebergSchema `json:"schemas"`
	CurrentSchema int              `json:"current-schema-id"`
	Specs         []icebergSpec    `json:"partition-specs"`
	Spec          []icebergField   `json:"partition-spec"` // of version 1
	Snapshots     []icebergState   `json:"snapshots"`
	Current       *int64           `json:"current-snapshot-id"`
	Log           []struct {
		Snapshot int64 `json:"snapshot-id"`
		Time     int64 `json:"timestamp-ms"`
	} `json:"snapshot-log"`
	Properties map[string]string `json:"properties"`
}

type icebergSpec struct {
	ID     int            `json:"spec-id"`
	Fields []icebergField `json:"fields"`
}

// icebergField is a field of a partition.
type icebergField struct {
	Source    int    `json:"source-id"`
	Sources   []int  `json:"source-ids"`
	ID        int    `json:"field-id"`
	Name      string `json:"name"`
	Transform string `json:"transform"`
}

// icebergState is a snapshot.
type icebergState struct {
	ID           int64    `json:"snapshot-id"`
	Time         int64    `json:"timestamp-ms"`
	ManifestList string   `json:"manifest-list"`
	Manifests    []string `json:"manifests"` // of version 1
	Schema       *int     `json:"schema-id"`
	KeyID        *string  `json:"key-id"`
}

// openIceberg reads the metadata of a table, and the files of the snapshot that the options ask for.
func (t *Table) openIceberg(ctx context.Context, fsys vfs.FS, opt Options) error {
	name, err := t.metadataFile(fsys, opt.Version)
	if err != nil {
		return err
	}
	m, err := readMetadata(fsys, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	t.Pin = Options{Version: path.Base(name), Snapshot: opt.Snapshot, Timestamp: opt.Timestamp}
	return t.fromMetadata(ctx, fsys, m, opt)
}

// fromMetadata takes columns and files of the metadata.
func (t *Table) fromMetadata(ctx context.Context, fsys vfs.FS, m *icebergMetadata, opt Options) error {
	if m.FormatVersion < 1 || m.FormatVersion > formatVersionMax {
		return fmt.Errorf("not supported: version %d of the format; 1 to %d are known", m.FormatVersion, formatVersionMax)
	}
	state, err := m.state(opt)
	if err != nil {
		return err
	}
	schema, err := m.schemaOf(state, opt.Snapshot != "" || opt.Timestamp != "")
	if err != nil {
		return err
	}
	if t.Columns, err = icebergColumns(schema.Fields, 0); err != nil {
		return err
	}
	if t.State = "no snapshot"; state == nil {
		return nil
	}
	t.State = fmt.Sprintf("snapshot %d", state.ID)
	return newIcebergReader(t, fsys, m).read(ctx, state)
}

// rootOf returns the directory of a table whose metadata lie in a directory, which ends with a slash, or is "".
func rootOf(dir string) string {
	switch root, ok := strings.CutSuffix(dir, metadataDir+"/"); {
	case dir == "":
		return ".."
	case ok && root == "":
		return "."
	case ok && strings.HasSuffix(root, "/"):
		return strings.TrimSuffix(root, "/")
	}
	return strings.TrimSuffix(dir, "/")
}

var metadataNumber = regexp.MustCompile(`^v?(\d+)[.-]`)

// metadataFile returns the file of the metadata: the one that the hint names, or the one with the highest number.
func (t *Table) metadataFile(fsys vfs.FS, version string) (string, error) {
	if isMetadata(t.Root) {
		if version != "" {
			return "", fmt.Errorf("a file of metadata is a version by itself: leave out the version %s", version)
		}
		file := t.Root
		t.Root = rootOf(strings.TrimSuffix(file, path.Base(file)))
		return file, nil
	}
	dir := join(t.Root, metadataDir)
	entries, err := list(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no directory %s: it is no table of Iceberg", metadataDir)
	}
	if err != nil {
		return "", err
	}
	if version == "" {
		hint, err := read(fsys, join(dir, "version-hint.text"))
		if err == nil {
			version = strings.TrimSpace(string(hint))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	best, number := -1, int64(-1)
	for i, e := range entries {
		m := metadataNumber.FindStringSubmatch(e.name)
		if !isMetadata(e.name) {
			continue
		}
		n := int64(0)
		if m != nil {
			n, _ = strconv.ParseInt(m[1], 10, 64)
		}
		if version != "" {
			if strconv.FormatInt(n, 10) == version && m != nil || e.name == version {
				best = i
			}
		} else if n > number || n == number && e.modified.After(entries[best].modified) {
			best, number = i, n
		}
	}
	switch {
	case best >= 0:
		return join(dir, entries[best].name), nil
	case version != "":
		return "", fmt.Errorf("there is no version %s of the metadata", version)
	}
	return "", fmt.Errorf("%s has no metadata of a table", metadataDir)
}

// readMetadata reads a file of metadata, which may be compressed.
func readMetadata(fsys vfs.FS, name string) (*icebergMetadata, error) {
	content, err := read(fsys, name)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(content, []byte{0x1F, 0x8B}) {
		packed, err := gzip.NewReader(bytes.NewReader(content))
		if err == nil {
			content, err = io.ReadAll(io.LimitReader(packed, metadataBytesMax))
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	m := &icebergMetadata{}
	if err := json.Unmarshal(content, m); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return m, nil
}

// state returns the snapshot that the options ask for; nil where the table has none yet.
func (m *icebergMetadata) state(opt Options) (*icebergState, error) {
	var id int64
	switch {
	case opt.Snapshot != "" && opt.Timestamp != "":
		return nil, errors.New("a snapshot and a timestamp are asked for; name one")
	case opt.Snapshot != "":
		n, err := strconv.ParseInt(opt.Snapshot, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no number of a snapshot; the table has %s", opt.Snapshot, m.states())
		}
		id = n
	case opt.Timestamp != "":
		at, err := parseTime(opt.Timestamp)
		if err != nil {
			return nil, err
		}
		found := false
		for _, l := range m.Log {
			if l.Time <= at.UnixMilli() {
				id, found = l.Snapshot, true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no snapshot of %s or before; the table has %s", opt.Timestamp, m.states())
		}
	case m.Current == nil || *m.Current < 0:
		return nil, nil
	default:
		id = *m.Current
	}
	for i := range m.Snapshots {
		if m.Snapshots[i].ID == id {
			return &m.Snapshots[i], nil
		}
	}
	return nil, fmt.Errorf("snapshot %d is not there, or has expired; the table has %s", id, m.states())
}

// states lists the snapshots for people.
func (m *icebergMetadata) states() string {
	const shown = 5
	var all []string
	for _, s := range m.Snapshots {
		all = append(all, fmt.Sprintf("%d of %s", s.ID, time.UnixMilli(s.Time).UTC().Format(time.RFC3339Nano)))
	}
	switch n := len(all) - shown; {
	case len(all) == 0:
		return "no snapshots"
	case n > 0:
		all = slices.Concat([]string{fmt.Sprintf("%d snapshots, the last of them", len(all))}, all[n:])
	}
	return strings.Join(all, ", ")
}

// schemaOf returns the schema of the table, or, where a snapshot was asked for, of the snapshot.
func (m *icebergMetadata) schemaOf(state *icebergState, isAsked bool) (*icebergSchema, error) {
	id := m.CurrentSchema
	if isAsked && state != nil && state.Schema != nil {
		id = *state.Schema
	}
	for _, s := range m.Schemas {
		if s.ID == id {
			return s, nil
		}
	}
	if len(m.Schemas) == 0 && m.Schema != nil {
		return m.Schema, nil
	}
	return nil, fmt.Errorf("%w: there is no schema %d", errDamaged, id)
}

// spec returns the fields of a partition.
func (m *icebergMetadata) spec(id int) ([]icebergField, error) {
	for _, s := range m.Specs {
		if s.ID == id {
			return s.Fields, nil
		}
	}
	if len(m.Specs) == 0 {
		return m.Spec, nil
	}
	return nil, fmt.Errorf("%w: there is no partition spec %d", errDamaged, id)
}
