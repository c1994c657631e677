//go:build cgo && linux

package main

/*
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

// What the Go runtime reserves of address space when it starts, and its heap and threads. On 2
// cores the runtime ends in a fatal error and status 2 with 1.3 GB, and a query has no thread with
// 1.6 GB.
static const unsigned long long kAddressSpaceMin = 1792ULL << 20;

static int closed[3];

// Runs before the Go runtime, which opens /dev/null in place of a closed descriptor, and could not
// tell of too little address space by an exit status of its own.
__attribute__((constructor)) static void before_go(void) {
	for (int fd = 0; fd < 3; fd++) {
		closed[fd] = fcntl(fd, F_GETFD) < 0 && errno == EBADF;
	}
	struct rlimit limit;
	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
		return;
	}
	mallopt(M_ARENA_MAX, 1); // of 64 MiB of address space each
	if (limit.rlim_cur < kAddressSpaceMin) {
		dprintf(2, "mpga: the limit of address space (ulimit -v) is %llu KiB, and the program needs "
			"%llu KiB to start; raise it\n",
			(unsigned long long)limit.rlim_cur >> 10, kAddressSpaceMin >> 10);
		_exit(1);
	}
}

static int was_closed(int fd) { return closed[fd]; }
*/
import "C"

// startedClosed reports whether a standard descriptor, 0 to 2, was closed when the process started.
func startedClosed(fd int) bool { return C.was_closed(C.int(fd)) != 0 }

// startedClosedKnown says that startedClosed tells, and that a limit of address space is looked at.
const startedClosedKnown = true
