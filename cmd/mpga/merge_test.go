package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Would catch partial states that an interrupted or killed run leaves where a merge takes them.
func TestPartialInterrupted(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command("mpga", "agg", "--by", "a", "--agg", "list(b)", "--partial", "-o", filepath.Join(dir, "states"), "-")
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// More than a pipe holds: when it is written, mpga reads.
			if _, err := io.WriteString(stdin, "a,b\n"+strings.Repeat("1,1234567890123456\n", 1<<18)); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Fatal("ended well")
			}
			left, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range left {
				if sig == os.Interrupt || !strings.HasPrefix(e.Name(), ".states.") {
					t.Errorf("left %s", e.Name())
				}
			}
			if out, err := exec.Command("mpga", "merge", filepath.Join(dir, "states")).CombinedOutput(); err == nil {
				t.Errorf("merged: %s", out)
			}
			next := exec.Command("mpga", "agg", "--by", "a", "--partial", "-o", filepath.Join(dir, "states"), "-")
			next.Stdin = strings.NewReader("a\n1\n")
			if out, err := next.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if left, err = os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("after the next run there is %v, %v", left, err)
			}
		})
	}
}
