//go:build linux && !race

package stream

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The code of the program leaves the resident set, and the program goes on.
func TestReleaseProgram(t *testing.T) {
	name, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Skip(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	var code int64
	for line := range strings.Lines(string(maps)) {
		var begin, end uintptr
		if _, err := fmt.Sscanf(line, "%x-%x r-xp", &begin, &end); err != nil || !strings.HasSuffix(line, " "+name+"\n") {
			continue
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, begin, end-begin, unix.MADV_POPULATE_READ); errno != 0 {
			t.Skip("the system maps nothing in advance: ", errno)
		}
		code += int64(end - begin)
	}
	before := ResidentBytes()
	ReleaseProgram()
	if after := ResidentBytes(); code == 0 || after >= before {
		t.Errorf("%d of %d B are resident still; the code has %d", after, before, code)
	}
}
