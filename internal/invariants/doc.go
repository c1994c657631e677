// Package invariants has the checks that are too costly for users. `go test -tags invariants` turns
// them on; without the tag, Enabled is a constant, and all functions are empty and cost nothing.
//
//	Enabled, Checkf    what must hold: the numbered invariants of the packages' docs (A1, M2, T1 ...)
//	Sometimes          rare paths, each of which the tests of its package must reach at least once
//	CloseChecker       owners of memory, files and streams, which must be closed once
//	Race, Fewer        how many cases tests have under the race detector
//	Run                runs the tests of a package, and fails on rare paths and owners that were forgotten
//
// Sometimes and CloseChecker follow Antithesis' assertions of the same name and Pebble's package
// invariants.
package invariants
