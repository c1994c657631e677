package rollup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/vfs"
)

// segment is rows that were appended to a text file, or what it had at first: from the end of the segment before.
type segment struct {
	End    int64  `json:"end"`    // in bytes
	SHA256 string `json:"sha256"` // of the file up to End
}

// grows says whether a file is one that lines may be appended to, so that the rows before stay what they are: text of
// the file system, as it is, whose rows are all read or an error.
func grows(path string, opt *dataset.Options) bool {
	if _, remote := vfs.ObjectsAt(opt.FS, path); remote || opt.CSV.IgnoreErrors {
		return false
	}
	if e := opt.CSV.Encoding; e != csv.EncodingAuto && e != csv.EncodingUTF8 {
		return false
	}
	return slices.Contains([]string{".csv", ".tsv", ".json", ".jsonl", ".ndjson"}, strings.ToLower(filepath.Ext(path)))
}

// setSegments finds out, of text files that are new or not what they were, whether lines were appended to what they
// had.
func (r *run) setSegments(t *table, before []file) error {
	was := make(map[string]*file, len(before))
	for i := range before {
		was[before[i].Path] = &before[i]
	}
	var read []*file
	for i := range t.Files {
		f := &t.Files[i]
		switch old := was[f.Path]; {
		case old != nil && old.same(*f):
			f.Segments = old.Segments
		case grows(f.Path, &t.scan):
			read = append(read, f)
		}
	}
	r.settle(read)
	for _, f := range read {
		var old []segment
		if before := was[f.Path]; before != nil {
			old = before.Segments
		}
		if err := r.segment(f, old, &t.scan); err != nil {
			return err
		}
	}
	return nil
}

// segment sets the segments of a file, which had some.
func (r *run) segment(f *file, old []segment, opt *dataset.Options) error {
	end := int64(0)
	if len(old) > 0 && old[len(old)-1].End <= f.Bytes {
		end = old[len(old)-1].End
	}
	hashes, isLine, err := r.hash(f.Path, end, f.Bytes)
	if err != nil {
		return err
	}
	f.Segments = []segment{{f.Bytes, hashes[1]}}
	switch {
	case end == 0 || hashes[0] != old[len(old)-1].SHA256:
		return nil
	case end == f.Bytes: // it was touched
		f.Segments = old
		return nil
	case !isLine:
		return nil
	}
	first, err := dataset.Beginning(f.Path, end, *opt)
	if err != nil {
		return nil // what is wrong with it, reading all of it tells
	}
	all, err := dataset.Beginning(f.Path, f.Bytes, *opt)
	if err == nil && all != "" && all == first {
		f.Segments = slices.Concat(old, f.Segments)
	}
	return nil
}

// hash returns the hashes of the first bytes of a file, up to an offset and up to another one, and whether a line ends
// at the first.
func (r *run) hash(path string, first, second int64) (hashes [2]string, isLine bool, err error) {
	of, err := r.FS.Open(path)
	if err != nil {
		return hashes, false, err
	}
	defer func() { err = errors.Join(err, of.Close()) }()
	sum, last := sha256.New(), new(lastByte)
	from := int64(0)
	for i, to := range []int64{first, second} {
		if _, err := io.CopyN(io.MultiWriter(sum, last), io.NewSectionReader(of, from, to-from), to-from); err != nil {
			return hashes, false, err
		}
		if hashes[i] = hex.EncodeToString(sum.Sum(nil)); i == 0 {
			isLine = bytes.Equal(*last, []byte{'\n'})
		}
		from = to
	}
	return hashes, isLine, nil
}

// lastByte is the last byte that was written.
type lastByte []byte

// Write implements io.Writer.
func (l *lastByte) Write(text []byte) (int, error) {
	if len(text) > 0 {
		*l = append((*l)[:0], text[len(text)-1])
	}
	return len(text), nil
}

// isGrown says whether lines were appended to what a file had.
func (f *file) isGrown(old *file) bool {
	n := len(old.Segments)
	return n > 0 && n < len(f.Segments) && slices.Equal(f.Segments[:n], old.Segments)
}

// rangeOf returns the bytes of a segment.
func (f *file) rangeOf(segment int) dataset.Range {
	of := dataset.Range{To: f.Segments[segment].End}
	if segment > 0 {
		of.From = f.Segments[segment-1].End
	}
	return of
}
