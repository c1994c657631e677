//go:build invariants

package invariants

// Enabled says that costly checks run.
const Enabled = true
