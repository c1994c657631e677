//go:build !invariants

// Package invariants says whether checks run that are too costly for users: those that poison
// memory given back, or walk a structure to prove it whole. `go test -tags invariants` turns them
// on.
package invariants

// Enabled says that costly checks run.
const Enabled = false
