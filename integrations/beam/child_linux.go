package mpgabeam

import "syscall"

// dieWithParent has the kernel kill a child when this process dies, also by SIGKILL or for want of
// memory: a child that went on would hold memory that the next attempt needs. SIGKILL and not
// SIGTERM, since nobody is left to see whether the child obeys. mpga's temporary files have no
// names, and so end with it.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
