package lake

import (
	"context"
	"errors"
	"strings"

	"github.com/mpga/mpga/internal/vfs"
)

// metadataDir is where Iceberg has its metadata.
const metadataDir = "metadata"

// isMetadata says whether a file of the directory has the metadata of a table.
func isMetadata(name string) bool {
	return strings.HasSuffix(name, ".metadata.json") || strings.HasSuffix(name, ".metadata.json.gz")
}

func (t *Table) openIceberg(ctx context.Context, fsys vfs.FS, opt Options) error { return errors.New("later") }
