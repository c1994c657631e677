package sink

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/vfs"
)

// Made is a file of an output that lies elsewhere.
type Made struct {
	From string       // its path or URL
	File ManifestFile // what it is in the output
}

// filesAdoptedAtOnce bounds the files that are linked, copied by a store, or sent, at the same time.
const filesAdoptedAtOnce = 8

// Assemble makes a directory of files that other calls of Create have written for parts of the rows,
// with a manifest of all of them. The directory is there whole, or not at all (S1). Where the file
// system can, the files take no space of their own, and no bytes of them pass through this program.
func Assemble(path string, schema *arrow.Schema, files []Made, opt Options) error {
	opt.Manifest = true
	if err := settle(path, &opt); err != nil {
		return redact.Error(err)
	}
	t, err := newTree(path, &opt)
	if err != nil {
		return redact.Error(err)
	}
	err = adoptAll(t, schema, files, &opt)
	if err != nil {
		err = errors.Join(err, t.abort())
	} else {
		err = t.commit()
	}
	if err != nil {
		return redact.Error(fmt.Errorf("%s: %w", path, err))
	}
	return nil
}

// adoptAll makes the files of a tree, and the manifest.
func adoptAll(t tree, schema *arrow.Schema, files []Made, opt *Options) error {
	if len(files) > filesMax {
		return fmt.Errorf("%d files, more than %d", len(files), filesMax)
	}
	var group spawn.Group
	group.SetLimit(filesAdoptedAtOnce)
	listed := make([]ManifestFile, len(files))
	for i, f := range files {
		listed[i] = f.File
		if !ours.MatchString(firstOf(f.File.Path)) {
			return fmt.Errorf("%s is no name of a file of an output", f.File.Path)
		}
		group.Go(func() error {
			info, err := opt.FS.Stat(f.From)
			switch {
			case err != nil:
				return err
			case info.Size() != f.File.Bytes:
				return fmt.Errorf("%s has %d B, where %d were written", f.From, info.Size(), f.File.Bytes)
			}
			return t.adopt(f.File.Path, f.From)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return writeManifest(t, newManifest(schema, opt, listed))
}

// RemoveReplaced finishes a directory of objects that an older directory made room for: of a writer that was
// ended behind its manifest, objects of the older one may be left, which are in no file of the manifest.
// Elsewhere there is nothing to do.
func RemoveReplaced(path string, made *Manifest, opt Options) error {
	objects, ok := vfs.ObjectsAt(opt.FS, path)
	if !ok {
		return nil
	}
	path = strings.TrimRight(path, "/")
	list, err := objects.List(path + "/")
	if err != nil {
		return err
	}
	t := &objectTree{objects: objects, fs: opt.FS, path: path, made: []string{path + "/" + ManifestName}}
	for _, f := range made.Files {
		t.made = append(t.made, path+"/"+f.Path)
	}
	for _, o := range list {
		if ours.MatchString(firstOf(strings.TrimPrefix(o.Name, path+"/"))) {
			t.old = append(t.old, o)
		}
	}
	return t.commit()
}
