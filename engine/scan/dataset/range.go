package dataset

import (
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
)

// Range is bytes [From, To) of a text file, whose rows are read.
type Range = textfile.Range

// Beginning describes what the first bytes of a text file, up to a size, say of all of its rows, but for types: two
// that are equal read a row in one way. It is "" of a file whose rows are not found without all that is before them.
func Beginning(path string, size int64, opt Options) (text string, err error) {
	names, fsys := show(opt.FS, []string{path})
	opt.FS, opt.Ranges = fsys, map[string]Range{names[0]: {To: size}}
	mem := reserve.New(reserve.GoHeap, opt.Budget)
	defer mem.DropAll()
	var in decode.Input
	err = decode.Guard(func() (err error) {
		in, err = openOne(names[0], nil, &opt, &textfile.Samples{Memory: mem, Sizes: opt.sizes})
		return err
	})
	if err != nil {
		return "", err
	}
	file, ok := in.(interface {
		Beginning() string
		ReadsRanges() bool
	})
	if !ok || !file.ReadsRanges() {
		return "", nil
	}
	return file.Beginning(), nil
}
