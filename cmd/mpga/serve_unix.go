//go:build unix

package main

import "golang.org/x/sys/unix"

// restrictNewFiles has files that the process makes be the user's alone, until restore is called.
func restrictNewFiles() (restore func()) {
	old := unix.Umask(0o077)
	return func() { unix.Umask(old) }
}
