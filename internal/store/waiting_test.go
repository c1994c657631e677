package store

import (
	"maps"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/vfs"
)

// slowFS is a file system whose temporary files are written when the test allows it.
type slowFS struct {
	vfs.FS
	writing chan struct{} // receives when a write begins
	allow   chan struct{} // closed when writes may go on
}

func newSlowFS() slowFS { return slowFS{vfs.OS, make(chan struct{}, 10), make(chan struct{})} }

func (f slowFS) CreateTemp(dir string) (vfs.TempFile, error) {
	file, err := f.FS.CreateTemp(dir)
	return slowTemp{file, f}, err
}

type slowTemp struct {
	vfs.TempFile
	fs slowFS
}

func (f slowTemp) WriteAt(b []byte, offset int64) (int, error) {
	f.fs.writing <- struct{}{}
	<-f.fs.allow
	return f.TempFile.WriteAt(b, offset)
}

// awaitWaiting returns when a goroutine waits in a function, in a state such as sync.Cond.Wait.
func awaitWaiting(function, state string) {
	waits := regexp.MustCompile(`^goroutine \d+ \[` + regexp.QuoteMeta(state))
	for buf := make([]byte, 1<<20); ; runtime.Gosched() {
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if waits.MatchString(stack) && strings.Contains(stack, function) {
				return
			}
		}
	}
}

// slowStore returns a store of one file on a slow file system, with pages of 10 rows in partitions
// 0 and 1.
func slowStore(t *testing.T) (*Store, scatter.Partitions, slowFS) {
	t.Helper()
	fs := newSlowFS()
	s := testStore(t, 64<<20, NewTemp(fs, t.TempDir(), 1<<40))
	s.filesMax = 1
	t.Cleanup(func() {
		if err := s.Close(); err != nil || s.memory.Used() != 0 {
			t.Errorf("closed: %v, %d B in use", err, s.memory.Used())
		}
	})
	p := s.NewPass(1)
	for partition := range 2 {
		if err := putPage(p, partition, rowPages, textPage(s.memory, s.layouts[rowPages], 10*partition, 10)); err != nil {
			t.Fatal(err)
		}
	}
	return s, p, fs
}

// textsOf returns what drain should find of 10 rows.
func textsOf(first int) map[string]int {
	texts := map[string]int{}
	for i := range 10 {
		texts[string(text(first+i, 0))+"|"+string(text(first+i, 2))]++
	}
	return texts
}

// Would catch pages that are lost because their partition is taken while they are on their way to
// the disk.
func TestTakeWaitsForEviction(t *testing.T) {
	s, p, fs := slowStore(t)
	evicted := make(chan error)
	go func() { evicted <- s.Reclaim(1 << 40) }()
	<-fs.writing
	rows := make(chan map[string]int)
	leaving := 0
	if p.(*pass).partitions[1].leaving > 0 {
		leaving = 1
	}
	go func() {
		got, err := drain(t, p, s.layouts[rowPages], leaving)
		if err != nil {
			t.Error(err)
		}
		rows <- got
	}()
	awaitWaiting("store.(*pass).Take", "sync.Cond.Wait")
	close(fs.allow)
	if got := <-rows; !maps.Equal(got, textsOf(10*leaving)) {
		t.Errorf("partition %d: %v", leaving, got)
	}
	if err := <-evicted; err != nil {
		t.Error(err)
	}
}

// Would catch two writers of one file that write to the same place.
func TestWritersOfOneFileTakeTurns(t *testing.T) {
	s, p, fs := slowStore(t)
	evicted := make(chan error)
	go func() { evicted <- s.Reclaim(1) }()
	<-fs.writing
	go func() { evicted <- s.Reclaim(1) }()
	awaitWaiting("store.(*Store).lockFile", "sync.Mutex.Lock")
	close(fs.allow)
	for range 2 {
		if err := <-evicted; err != nil {
			t.Error(err)
		}
	}
	for partition := range 2 {
		got, err := drain(t, p, s.layouts[rowPages], partition)
		if err != nil || !maps.Equal(got, textsOf(10*partition)) {
			t.Errorf("partition %d: %v, %v", partition, got, err)
		}
	}
	if s.Files() != 1 {
		t.Errorf("%d files, want one", s.Files())
	}
}
