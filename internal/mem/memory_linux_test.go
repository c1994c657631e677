//go:build linux && !race

package mem

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mpga/mpga/internal/spawn"
)

// Would catch a failed mmap that is a panic, which would be taken for a bug or for a corrupt file,
// or one that leaves a lock held or memory counted.
func TestNoMemory(t *testing.T) {
	m := NewMemory(1 << 40)
	defer m.Close()
	err := spawn.Call(func() error {
		m.Alloc(1 << 50)
		return nil
	})
	if !errors.Is(err, ErrNoMemory) || !strings.Contains(err.Error(), "ulimit -v") {
		t.Errorf("%v, want %v", err, ErrNoMemory)
	}
	if errors.Is(err, spawn.ErrInternal) || m.Used() != 0 {
		t.Errorf("%v; %d B are in use", err, m.Used())
	}
	m.Free(m.Alloc(1 << 20))
}

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
