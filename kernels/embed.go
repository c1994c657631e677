package kernels

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// embedded holds the machine code of every source for every target, as build/build.py wrote it.
//
//go:embed embedded/kernels.zip
var embedded []byte

// machines are the compute capabilities that there is machine code for; a device of a newer one
// compiles the PTX of ptxCapability when a kernel is first used.
var machines = []int{75, 80, 86, 89, 90, 100, 120}

const ptxCapability = 75

// errNoKernel: there is no machine code of that name.
var errNoKernel = errors.New("this build has no such kernel")

// images are sources' code as it was read, by member of the archive.
var images struct {
	sync.Mutex
	read map[string][]byte
}

// embeddedImage returns what the driver loads to run a kernel on a device: a cubin, or PTX.
func embeddedImage(kernel string, computeCapability int) ([]byte, error) {
	images.Lock()
	defer images.Unlock()
	archive, err := zip.NewReader(bytes.NewReader(embedded), int64(len(embedded)))
	if err != nil {
		return nil, fmt.Errorf("embedded kernels: %w", err)
	}
	prefix := imageTarget(computeCapability) + "/"
	for _, f := range archive.File {
		source, ok := strings.CutPrefix(f.Name, prefix)
		if !ok || !isOf(kernel, source) {
			continue
		}
		if image, ok := images.read[f.Name]; ok {
			return image, nil
		}
		image, err := readMember(f)
		if err != nil {
			return nil, fmt.Errorf("embedded kernels, %s: %w", f.Name, err)
		}
		if images.read == nil {
			images.read = map[string][]byte{}
		}
		images.read[f.Name] = image
		return image, nil
	}
	return nil, fmt.Errorf("%s for compute capability %d: %w", kernel, computeCapability, errNoKernel)
}

// isOf reports whether a kernel is in a source: it has the source's name, or that and a suffix.
func isOf(kernel, source string) bool {
	rest, ok := strings.CutPrefix(kernel, source)
	return ok && (rest == "" || strings.HasPrefix(rest, "_"))
}

// imageTarget names the machine code for a device: of its own capability, or of a lesser one of the
// same generation, which runs on all later ones of it.
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

// readMember ends in a zero byte, as the driver wants of PTX.
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
