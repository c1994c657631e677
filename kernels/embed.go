package kernels

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/mpga/mpga/internal/cubin"
)

// machines are the compute capabilities that there is machine code for; a device of a newer
// capability compiles the PTX of ptxCapability when a kernel is first used. 8.9 has the instructions
// of 8.6, whose code it runs: 0.6 MB less.
var machines = []int{75, 80, 86, 90, 100, 120}

const ptxCapability = 75

// errNoKernel: there is no machine code of that name.
var errNoKernel = errors.New("this build has no such kernel")

// errNoCode says that the program has no machine code at all.
var errNoCode = fmt.Errorf(
	`%w: this program was built without GPU code (import _ "github.com/mpga/mpga/kernels/cuda")`,
	ErrNoDevice)

// images are the parts of the embedded archives that have been read. An archive is for one target.
var images = struct {
	sync.Mutex
	archives map[string]*zip.Reader // by target
	read     map[string][]byte      // machine code by target/source
}{archives: map[string]*zip.Reader{}, read: map[string][]byte{}}

// embeddedImage returns what the driver loads to run a kernel on a device: a cubin, or PTX.
func embeddedImage(kernel string, computeCapability int) ([]byte, error) {
	images.Lock()
	defer images.Unlock()
	target := imageTarget(computeCapability)
	archive, err := archiveOf(target)
	if err != nil {
		return nil, fmt.Errorf("embedded kernels: %w", err)
	}
	for _, f := range archive.File {
		if !isOf(kernel, f.Name) {
			continue
		}
		name := target + "/" + f.Name
		if image, ok := images.read[name]; ok {
			return image, nil
		}
		image, err := readMember(f)
		if err != nil {
			return nil, fmt.Errorf("embedded kernels, %s: %w", name, err)
		}
		images.read[name] = image
		return image, nil
	}
	return nil, fmt.Errorf("%s for compute capability %d: %w", kernel, computeCapability, errNoKernel)
}

// archiveOf returns the archive of a target, which is unpacked once, in some 10 ms.
//
// Requires: images is locked.
func archiveOf(target string) (*zip.Reader, error) {
	if archive, ok := images.archives[target]; ok {
		return archive, nil
	}
	if cubin.Archives == nil {
		return nil, errNoCode
	}
	packed, err := fs.ReadFile(cubin.Archives, target+".zip.zst")
	if err != nil {
		return nil, err
	}
	unpack, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer unpack.Close()
	unpacked, err := unpack.DecodeAll(packed, nil)
	if err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(bytes.NewReader(unpacked), int64(len(unpacked)))
	if err != nil {
		return nil, err
	}
	images.archives[target] = archive
	return archive, nil
}

// isOf reports whether a kernel is in a source: it has the source's name, or that and a suffix.
func isOf(kernel, source string) bool {
	rest, ok := strings.CutPrefix(kernel, source)
	return ok && (rest == "" || strings.HasPrefix(rest, "_"))
}

// imageTarget names the machine code for a device: for its own capability, or for a lesser
// capability of the same generation, whose code runs on all later capabilities of that generation.
func imageTarget(computeCapability int) string {
	best := 0
	for _, m := range machines {
		if m <= computeCapability && m/10 == computeCapability/10 {
			best = m
		}
	}
	if best == 0 {
		return fmt.Sprintf("compute_%d", ptxCapability)
	}
	return fmt.Sprintf("sm_%d", best)
}

// readMember returns a member of an archive with a zero byte behind it, as the driver wants of PTX.
func readMember(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return append(b, 0), r.Close()
}
