package job

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// holder is what the lock's file says of the process that holds it, for processes that cannot get
// it.
type holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
}

const lockName = "lock"

// takeLock keeps other processes from running a job by a file in the folder of its state, until the
// file is closed. The file stays: others would not see a lock on a file that was removed. J4.
func takeLock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := fillLock(path, file); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// fillLock locks a file and writes to it who holds the lock.
func fillLock(path string, file *os.File) error {
	switch taken, err := tryLock(file); {
	case err != nil:
		return fmt.Errorf("%s: lock: %w", path, err)
	case !taken:
		return lockedError(path, file)
	}
	host, _ := os.Hostname() // empty where it is not known
	text, err := json.Marshal(holder{os.Getpid(), host, time.Now().UTC().Truncate(time.Second)})
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.WriteAt(append(text, '\n'), 0)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// lockedError names the process that holds the lock.
func lockedError(path string, file *os.File) error {
	text := make([]byte, 4096)
	n, _ := file.ReadAt(text, 0)
	var h holder
	if json.Unmarshal(text[:n], &h) != nil {
		return fmt.Errorf("%w: another process holds %s", ErrLocked, path)
	}
	return fmt.Errorf("%w: process %d on %s holds %s since %s", ErrLocked, h.PID, h.Host, path,
		h.Started.Format(time.RFC3339))
}
