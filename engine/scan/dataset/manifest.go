package dataset

import (
	"bufio"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/vfs"
)

// manifestTypes are the types that the columns of key=value folders had when they were written, by name.
type manifestTypes map[string]arrow.DataType

// foldersTypes returns the types that the manifests beside the folders of all files agree on.
func foldersTypes(fsys vfs.FS, names []string) (agreed manifestTypes) {
	seen := make(map[string]bool)
	for _, name := range names {
		root, ok := foldersRoot(name)
		if !ok || seen[root] {
			continue
		}
		types := readManifest(fsys, root+vfs.ManifestName)
		for key, typ := range agreed {
			if types[key] == nil || !arrow.TypeEqual(types[key], typ) {
				delete(agreed, key)
			}
		}
		if len(seen) == 0 {
			agreed = types
		}
		seen[root] = true
	}
	return agreed
}

// foldersRoot returns the path before the first key=value folder of a file, with a slash at its end. URLs with a query
// are names of one file, and have none.
func foldersRoot(name string) (root string, ok bool) {
	if withoutQuery(name) != name {
		return "", false
	}
	path := filepath.ToSlash(name)
	for at := 0; ; {
		end := strings.IndexByte(path[at:], '/')
		if end < 0 {
			return "", false
		}
		if key, _, isPair := strings.Cut(path[at:at+end], "="); isPair && key != "" {
			return path[:at], true
		}
		at += end + 1
	}
}

// readManifest returns the types of the columns that a manifest names as folders; nil where there is no manifest, none
// that may be read, or a file of another program that has its name.
func readManifest(fsys vfs.FS, name string) manifestTypes {
	if info, err := fsys.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	file, err := fsys.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	var (
		keys    []string
		columns []struct{ Name, Type string }
	)
	d := json.NewDecoder(bufio.NewReader(file))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		var into any = new(json.RawMessage)
		switch key {
		case "partition_by":
			into = &keys
		case "schema":
			into = &columns
		}
		if key == "files" { // the longest part, which comes last
			break
		}
		if err := d.Decode(into); err != nil {
			return nil
		}
	}
	types := make(manifestTypes)
	for _, key := range keys {
		for _, c := range columns {
			if typ := folderTypeOf(c.Type); c.Name == key && typ != nil {
				types[key] = typ
			}
		}
	}
	return types
}

// plainFolderTypes are the types without parameters that values of folders may have.
var plainFolderTypes = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean, arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64, arrow.BinaryTypes.String,
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
}

// folderTypeOf returns the type that Arrow writes as a text; nil where no values of folders have it.
func folderTypeOf(text string) arrow.DataType {
	for _, typ := range plainFolderTypes {
		if typ.String() == text {
			return typ
		}
	}
	switch text {
	case arrow.BinaryTypes.LargeString.String(), arrow.BinaryTypes.StringView.String():
		return arrow.BinaryTypes.String
	}
	name, parameters, _ := strings.Cut(text, "(")
	var precision, scale int32
	n, _ := fmt.Sscanf(parameters, "%d, %d)", &precision, &scale)
	if n == 2 && strings.HasPrefix(name, "decimal") && 0 <= scale && scale <= precision {
		if typ, err := arrow.NewDecimalType(arrow.DECIMAL128, precision, scale); err == nil {
			return typ
		}
	}
	moment, ok := strings.CutPrefix(text, "timestamp[")
	unit, zone, _ := strings.Cut(strings.TrimSuffix(moment, "]"), ", tz=")
	for of := arrow.Second; ok && of <= arrow.Nanosecond; of++ {
		if of.String() == unit {
			return &arrow.TimestampType{Unit: of, TimeZone: zone}
		}
	}
	return nil
}
