package workdir

import (
	"errors"

	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/store"
)

// IsDamage says whether the bytes of a blob are not what was written, or of another plan or state.
func IsDamage(err error) bool {
	if errors.Is(err, partial.ErrMismatch) {
		return true
	}
	var blob *partial.BlobError
	if !errors.As(err, &blob) {
		return false // a temporary file of this process may be damaged, too
	}
	for _, class := range []error{store.ErrCorrupt, store.ErrVersion, scan.ErrCorrupt, rowdata.ErrCorruptState} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}
