package sink

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/vfs"
)

// ManifestName is the name of a directory's manifest. Readers of the directory pass over it, as
// over all names that begin with an underscore.
const ManifestName = vfs.ManifestName

// Manifest lists the files of a directory and the columns of its rows. It is the last file written.
// Two runs with equal results write equal manifests.
type Manifest struct {
	Version     int              `json:"version"`         // 1
	Query       string           `json:"query,omitempty"` // its URLs without secrets
	Plan        string           `json:"plan,omitempty"`  // id of the plan of a distributed run that wrote the files
	Format      Format           `json:"format"`
	Rows        int64            `json:"rows"`
	Bytes       int64            `json:"bytes"` // of the files
	PartitionBy []string         `json:"partition_by,omitempty"`
	Schema      []ManifestColumn `json:"schema"` // of the result, the columns of PartitionBy included
	Files       []ManifestFile   `json:"files"`  // sorted by path

	// Changes are what runs with Options.Update have changed, the last run first.
	Changes []ManifestChanges `json:"changes,omitempty"`
}

// ManifestColumn is a column of the result.
type ManifestColumn struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // as Arrow writes it
	Nullable bool   `json:"nullable"`
}

// ManifestFile is a file of a directory.
type ManifestFile struct {
	Path   string `json:"path"` // within the directory, with slashes
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"` // in hexadecimal; "" without Options.Manifest
}

const manifestVersion = 1

func newManifest(schema *arrow.Schema, opt *Options, files []ManifestFile) *Manifest {
	m := &Manifest{Version: manifestVersion, Query: redact.Text(opt.Query), Plan: opt.Plan,
		Format: opt.Format, PartitionBy: opt.PartitionBy, Files: []ManifestFile{}}
	for _, f := range schema.Fields() {
		m.Schema = append(m.Schema, ManifestColumn{f.Name, f.Type.String(), f.Nullable})
	}
	m.Files = append(m.Files, files...)
	slices.SortFunc(m.Files, func(a, b ManifestFile) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range m.Files {
		m.Rows += f.Rows
		m.Bytes += f.Bytes
	}
	return m
}

func (m *Manifest) text() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // queries have < and >
	encoder.SetIndent("", "  ")
	err := encoder.Encode(m)
	return b.Bytes(), err
}
