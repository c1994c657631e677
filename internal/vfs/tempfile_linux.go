package vfs

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Discard implements TempFile, where the file system can.
func (f osTempFile) Discard(offset, n int64) {
	_ = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, n)
}

// createTemp creates a file without a name; where the file system has no such files, it removes the
// name. The space comes back when the file is closed, also by the end of the process.
func createTemp(dir string) (TempFile, error) {
	f, err := os.OpenFile(dir, unix.O_TMPFILE|os.O_RDWR, 0o600)
	if err == nil {
		return osTempFile{newFile(f)}, nil
	}
	f, err = os.CreateTemp(dir, "mpga-spill-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return osTempFile{newFile(f)}, nil
}

// lockCreated locks a new file until it is closed. It reports whether the file is still there. On a
// file system without locks no file is taken for abandoned.
func lockCreated(f *os.File) bool {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return true
	}
	return isLinked(f)
}

// isLinked says whether an open file has a name; so does a file of which the system does not tell.
func isLinked(f *os.File) bool {
	var s unix.Stat_t
	return unix.Fstat(int(f.Fd()), &s) != nil || s.Nlink > 0
}

// abandonedAfter is how long nobody has written to a file that counts as abandoned, where other
// machines may not see the file's lock.
const abandonedAfter = 24 * time.Hour

// removeAbandoned removes a file that nobody has locked. On a file system that several machines may
// share, the file must be old, too.
func removeAbandoned(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() ||
		isShared(f) && time.Since(info.ModTime()) < abandonedAfter {
		return err
	}
	if !isLinked(f) { // another process has removed the file since it was opened, and may have made the next
		return nil
	}
	return os.Remove(name)
}

// isShared says whether a file may be on a file system of a network, where each machine may have
// locks of its own.
func isShared(f *os.File) bool {
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
		return true
	}
	switch s.Type {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC,
		unix.AFS_SUPER_MAGIC, unix.CODA_SUPER_MAGIC, unix.V9FS_MAGIC, unix.FUSE_SUPER_MAGIC,
		unix.OCFS2_SUPER_MAGIC, lustreMagic, gpfsMagic:
		return true
	}
	return false
}

// Types of file systems that the kernel's own headers do not have.
const (
	lustreMagic = 0x0BD00BD0
	gpfsMagic   = 0x47504653
)

func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		err = errors.ErrUnsupported // an old kernel, or a file system that cannot
	}
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

// IsFull reports whether a disk or a quota is used up.
func IsFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// FreeBytes returns how many bytes a file may take on the file system of a directory.
func FreeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(s.Bavail) * s.Bsize, nil
}

// OpenFilesMax returns how many files the process may have open, or 0 where the system does not
// say.
func OpenFilesMax() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(limit.Cur, math.MaxInt32))
}

// ChangeTime returns when a file or what the system knows of it was last changed. No program sets
// it. It is not known of files of other file systems.
func ChangeTime(info fs.FileInfo) (changed time.Time, known bool) {
	stat, known := info.Sys().(*syscall.Stat_t)
	if known {
		changed = time.Unix(stat.Ctim.Unix())
	}
	return changed, known
}
