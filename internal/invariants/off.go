//go:build !invariants

package invariants

// Enabled says that costly checks run.
const Enabled = false

// Checkf panics unless an invariant holds. Calls stand under `if Enabled`: the arguments may cost.
func Checkf(holds bool, format string, args ...any) {}

// Sometimes notes that a rare path was reached. The path is a string constant, and one call of the
// package has it.
func Sometimes(path string) {}

// CloseChecker is a field of an owner that must be closed once. The zero value is closed by no one.
type CloseChecker struct{}

// Open notes that the owner, described by what, must be closed; a second call does nothing.
func (*CloseChecker) Open(what string) {}

// Close notes that the owner is closed. The second call panics.
func (*CloseChecker) Close() {}

// CheckOpen panics if the owner has been closed.
func (*CloseChecker) CheckOpen() {}

// Run runs the tests of a package, which TestMain passes, and returns the exit code.
func Run(tests interface{ Run() int }) int { return tests.Run() }
