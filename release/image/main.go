// Command image packs mpga into a container image, an OCI layout in one tar file, without a
// container engine:
//
//	image -binary bin/release/mpga -version 1.2.3 -o mpga-oci.tar
//
// mpga needs the C library, which it loads NVIDIA's driver with. So the image has the C library and
// the certificates of the machine on which the image is made; there is no shell.
package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const (
	loader       = "/lib64/ld-linux-x86-64.so.2"
	libraries    = "/lib/x86_64-linux-gnu"
	certificates = "/etc/ssl/certs/ca-certificates.crt"

	// nobody is the user of the image's processes, as in images that others call nonroot.
	nobody = "65532"
)

// built is the time of all files, so that the same files give the same image.
var built = time.Unix(0, 0)

func main() {
	binary := flag.String("binary", "", "the `file` of mpga")
	version := flag.String("version", "", "of mpga")
	out := flag.String("o", "", "the `file` to write")
	flag.Parse()
	if err := run(*binary, *version, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(binary, version, out string) (err error) {
	image, err := newImage(binary, version)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mpga-image-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return writeLayout(dir, image, version, out)
}

func newImage(binary, version string) (v1.Image, error) {
	system := []file{{name: "tmp", mode: 0o1777, dir: true}, {name: certificates, from: certificates, mode: 0o644}, {name: loader, from: loader, mode: 0o755}}
	needed, err := librariesOf(binary)
	if err != nil {
		return nil, err
	}
	for _, name := range needed {
		system = append(system, file{name: libraries + "/" + name, from: libraries + "/" + name, mode: 0o755})
	}
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	for _, files := range [][]file{system, {{name: "usr/bin/mpga", from: binary, mode: 0o755}}} {
		layer, err := newLayer(files)
		if err != nil {
			return nil, err
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{
		Entrypoint: []string{"/usr/bin/mpga"}, User: nobody,
		Env:    []string{"PATH=/usr/bin", "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility"},
		Labels: map[string]string{"org.opencontainers.image.title": "mpga", "org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "Apache-2.0"},
	}
	return mutate.ConfigFile(image, config)
}

// librariesOf returns the shared libraries that a program is linked with.
func librariesOf(binary string) ([]string, error) {
	f, err := elf.Open(binary)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	needed, err := f.ImportedLibraries()
	return slices.DeleteFunc(needed, func(name string) bool { return name == path.Base(loader) }), err
}

// file is a file or a directory of the image.
type file struct {
	name, from string
	mode       int64
	dir        bool
}

// newLayer returns a layer with files and the directories above them.
func newLayer(files []file) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	made := map[string]bool{".": true}
	for _, f := range files {
		f.name = strings.TrimPrefix(f.name, "/")
		if err := makeParents(w, made, path.Dir(f.name)); err != nil {
			return nil, err
		}
		if f.dir {
			if err := writeDir(w, f.name, f.mode); err != nil {
				return nil, err
			}
			continue
		}
		if err := write(w, f.name, f.mode, f.from); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
}

func makeParents(w *tar.Writer, made map[string]bool, dir string) error {
	if made[dir] {
		return nil
	}
	made[dir] = true
	if err := makeParents(w, made, path.Dir(dir)); err != nil {
		return err
	}
	return writeDir(w, dir, 0o755)
}

func writeDir(w *tar.Writer, name string, mode int64) error {
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode, ModTime: built})
}

// write writes the content of the file from under a name.
func write(w *tar.Writer, name string, mode int64, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: built}); err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}

// writeLayout writes the image's layout into a directory, and the directory into a tar file.
func writeLayout(dir string, image v1.Image, version, out string) error {
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := l.AppendImage(image, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version})); err != nil {
		return err
	}
	if err := check(l, image); err != nil {
		return err
	}
	to, err := os.Create(out)
	if err != nil {
		return err
	}
	w := tar.NewWriter(to)
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return write(w, name, 0o644, filepath.Join(dir, name))
	})
	return errors.Join(err, w.Close(), to.Close())
}

// check reads the image from its layout, and compares its manifest, its configuration and its
// layers with their digests.
func check(l layout.Path, image v1.Image) error {
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	written, err := l.Image(digest)
	if err != nil {
		return err
	}
	return validate.Image(written)
}
