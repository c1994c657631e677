//go:build !cgo || !linux

package main

// startedClosed reports whether a standard descriptor was closed when the process started, which
// the Go runtime hides here: it opens /dev/null in its place.
func startedClosed(int) bool { return false }

// startedClosedKnown says that startedClosed does not tell.
const startedClosedKnown = false
