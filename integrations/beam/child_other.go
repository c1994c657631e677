//go:build !linux

package mpgabeam

import "syscall"

// dieWithParent asks for nothing: only Linux kills a child when its parent dies. Pipelines are
// submitted from other systems, and workers run on Linux.
func dieWithParent() *syscall.SysProcAttr { return nil }
