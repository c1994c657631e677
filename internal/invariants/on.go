//go:build invariants

package invariants

import "fmt"

// Enabled says that costly checks run.
const Enabled = true

// Checkf panics unless an invariant holds. Calls stand under `if Enabled`: the arguments may cost.
func Checkf(holds bool, format string, args ...any) {
	if !holds {
		panic("invariant " + fmt.Sprintf(format, args...))
	}
}
