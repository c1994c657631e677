package dataset

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/vfs"
)

// Identity tells whether a file is still the same, with the same content.
type Identity struct {
	Path     string    `json:"path"` // a URL without user, password and values of parameters
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
	ETag     string    `json:"etag,omitzero"` // of an object store

	// Meaning is another where a table of Delta or Iceberg takes other rows from the file: one of lake.Table.Meanings.
	Meaning string `json:"meaning,omitzero"`
}

// NewIdentity returns the identity of a file of which the file system tells info.
func NewIdentity(path string, info fs.FileInfo) Identity {
	id := Identity{Path: redact.URL(path), Bytes: info.Size(), Modified: info.ModTime()}
	if object, ok := info.(interface{ ETag() string }); ok {
		id.ETag = object.ETag()
	}
	return id
}

// Same reports whether both are the same file with the same content, as far as can be told without
// reading it: by the ETag of a store, or else by the time of its last change.
func (id Identity) Same(other Identity) bool {
	if id.Path != other.Path || id.Bytes != other.Bytes || id.ETag != other.ETag || id.Meaning != other.Meaning {
		return false
	}
	return id.ETag != "" || id.Modified.Equal(other.Modified)
}

// listing is a file system that notes the objects that its lists have.
type listing struct {
	vfs.FS
	vfs.Objects
	seen map[string]vfs.Object
}

// List implements vfs.Objects.
func (l *listing) List(prefix string) ([]vfs.Object, error) {
	found, err := l.Objects.List(prefix)
	for _, o := range found {
		l.seen[o.Name] = o
	}
	return found, err
}

// Identities lists the files that Open would read, in that order, without opening them. Standard
// input has no identity, and is an error.
func Identities(ctx context.Context, patterns []string, opt Options) ([]Identity, error) {
	opt.EnsureDefaults()
	var listed map[string]vfs.Object
	if objects, ok := opt.FS.(vfs.Objects); ok {
		listed = map[string]vfs.Object{}
		opt.FS = &listing{opt.FS, objects, listed}
	}
	table, err := opt.lakeTable(ctx, patterns)
	if err != nil {
		return nil, err
	}
	var names, meanings []string
	if table == nil {
		names, err = opt.find(ctx, patterns)
	} else {
		for _, f := range table.Files {
			names = append(names, f.Path)
		}
		meanings = table.Meanings(table.ColumnsMeaning(func(string) bool { return true }))
	}
	if err != nil {
		return nil, err
	}
	shown := redact.Names(names)
	list := make([]Identity, len(names))
	for i, name := range names {
		if name == decode.StdinName {
			return nil, errors.New("standard input (-) cannot be told from other input")
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if o, ok := listed[name]; ok && o.ETag != "" {
			list[i] = Identity{Path: shown[i], Bytes: o.Size, Modified: o.Modified, ETag: o.ETag}
		} else {
			info, err := opt.FS.Stat(name)
			if err != nil {
				return nil, redact.Error(err)
			}
			list[i] = NewIdentity(shown[i], info)
		}
		if table != nil {
			list[i].Meaning = meanings[i]
		}
	}
	return list, nil
}
