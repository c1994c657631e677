//go:build race

package invariants

// Race says that the race detector watches.
const Race = true
