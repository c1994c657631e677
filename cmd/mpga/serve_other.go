//go:build !unix

package main

// restrictNewFiles does nothing where files have no modes.
func restrictNewFiles() (restore func()) { return func() {} }
