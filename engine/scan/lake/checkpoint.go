package lake

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/vfs"
)

// checkpointColumns are the columns of a checkpoint that are read, by their places in takeRow.
var checkpointColumns = []string{"add.path", "add.partitionValues", "add.size", "add.stats",
	"add.deletionVector.storageType", "add.deletionVector.pathOrInlineDv", "add.deletionVector.offset",
	"add.deletionVector.sizeInBytes", "add.deletionVector.cardinality",
	"metaData.schemaString", "metaData.partitionColumns", "metaData.configuration", "metaData.format.provider",
	"protocol.minReaderVersion", "protocol.readerFeatures", "sidecar.path"}

// takeCheckpoint takes the actions of a checkpoint, and of the sidecars that it names.
func (l *log) takeCheckpoint(ctx context.Context, fsys vfs.FS, dir string, c *checkpoint) error {
	for _, name := range c.parts {
		path := join(dir, name)
		if strings.HasSuffix(name, ".json") {
			if err := l.takeJSON(fsys, path); err != nil {
				return err
			}
		} else if err := l.takeParquet(ctx, fsys, path); err != nil {
			return err
		}
	}
	sidecars := l.sidecars
	l.sidecars = nil
	for _, name := range sidecars {
		if err := l.takeParquet(ctx, fsys, locate(join(dir, "_sidecars"), name)); err != nil {
			return err
		}
	}
	if len(l.sidecars) > 0 {
		return fmt.Errorf("%w: a sidecar of a checkpoint names others", errDamaged)
	}
	return nil
}

func (l *log) takeParquet(ctx context.Context, fsys vfs.FS, path string) error {
	err := eachBatch(ctx, fsys, path, checkpointColumns, func(columns []arrow.Array) error {
		for row := range rowsOf(columns) {
			l.takeRow(columns, row)
		}
		return nil
	})
	return Expired(err, "a checkpoint of the log")
}

// rowsOf returns how many rows columns have, some of which may be nil.
func rowsOf(columns []arrow.Array) int {
	for _, c := range columns {
		if c != nil {
			return c.Len()
		}
	}
	return 0
}

// takeRow takes the action of a row, whose columns are checkpointColumns.
func (l *log) takeRow(c []arrow.Array, row int) {
	if path, ok := text(c[0], row); ok {
		add := &deltaAdd{Path: path, PartitionValues: texts(c[1], row)}
		add.Size, _ = number(c[2], row)
		add.Stats, _ = text(c[3], row)
		if storage, ok := text(c[4], row); ok {
			v := &deltaVector{Storage: storage}
			v.Path, _ = text(c[5], row)
			v.Offset, _ = number(c[6], row)
			v.Size, _ = number(c[7], row)
			v.Cardinality, _ = number(c[8], row)
			add.Vector = v
		}
		l.take(&action{Add: add})
	}
	if schema, ok := text(c[9], row); ok {
		m := &deltaMetadata{Schema: schema, PartitionColumns: listed(c[10], row), Configuration: texts(c[11], row)}
		m.Format.Provider, _ = text(c[12], row)
		l.take(&action{Metadata: m})
	}
	if reader, ok := number(c[13], row); ok {
		l.take(&action{Protocol: &deltaProtocol{Reader: int(reader), Features: listed(c[14], row)}})
	}
	if path, ok := text(c[15], row); ok {
		l.sidecars = append(l.sidecars, path)
	}
}
