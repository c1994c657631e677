package remote

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// request is what a connection begins with. Its files come with it: the folder and the standard files of the caller,
// then the files of Numbers.
type request struct {
	Ask     string   `json:"ask"`            // askRun or askStatus
	Args    [][]byte `json:"args,omitempty"` // bytes: a file's name need not be UTF-8
	Env     [][]byte `json:"env,omitempty"`
	Umask   int      `json:"umask,omitempty"`
	Closed  []int    `json:"closed,omitempty"`  // standard files that were closed when the caller started
	Numbers []int    `json:"numbers,omitempty"` // of other files that the caller was started with
}

// The words of request.Ask.
const (
	askRun    = "run"
	askStatus = "status"
)

// answer is a line of the process that stays: the status, or whether it takes a call, and then how that ended.
type answer struct {
	Status  *Status `json:"status,omitempty"`
	Taken   bool    `json:"taken,omitempty"`
	Refused string  `json:"refused,omitempty"`
	Code    *int    `json:"code,omitempty"`
}

// endCall is the byte by which a caller asks a call to end.
const endCall = 'e'

const (
	// numbersMax is below the numbers of files that a process that stays opens: it holds the ones from 3 on for its
	// callers, so that /dev/fd/63 is the caller's.
	numbersMax = 256

	filesMax        = 253 // that Linux sends at once
	numbersSentMax  = filesMax - 1 - standardFiles
	requestBytesMax = 64 << 20 // arguments and environment have 6 MiB at most
)

// send sends a request with its files.
func (r *request) send(conn *net.UnixConn, files []int) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	size := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	n, _, err := conn.WriteMsgUnix(size, rights, nil)
	if err == nil && n < len(size) {
		err = io.ErrShortWrite
	}
	if err == nil {
		_, err = conn.Write(text)
	}
	return err
}

// fileNames are the names of the first files of a caller: errors of reads and writes have them, as package os has.
var fileNames = []string{".", "/dev/stdin", "/dev/stdout", "/dev/stderr"}

// receive reads a request and its files, which the caller closes, also after an error.
func receive(conn *net.UnixConn) (r *request, files []*os.File, err error) {
	size, rights := make([]byte, 4), make([]byte, unix.CmsgSpace(4*filesMax))
	n, have, flags, _, err := conn.ReadMsgUnix(size, rights)
	if err != nil {
		return nil, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:have])
	if err != nil {
		return nil, nil, err
	}
	for i := range messages {
		numbers, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return nil, files, err
		}
		for _, fd := range numbers {
			name := "file of a caller"
			if len(files) < len(fileNames) {
				name = fileNames[len(files)]
			}
			files = append(files, os.NewFile(uintptr(fd), name))
		}
	}
	if flags&unix.MSG_CTRUNC != 0 {
		return nil, files, errors.New("files of a caller are lost")
	}
	if _, err := io.ReadFull(conn, size[n:]); err != nil {
		return nil, files, err
	}
	length := binary.LittleEndian.Uint32(size)
	if length > requestBytesMax {
		return nil, files, fmt.Errorf("a request of %d B", length)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(conn, text); err != nil {
		return nil, files, err
	}
	r = new(request)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, files, err
	}
	if r.Ask == askRun && len(files) != standardFiles+1+len(r.Numbers) {
		return nil, files, fmt.Errorf("%d files of a caller", len(files))
	}
	for _, number := range r.Numbers {
		if number < standardFiles || number >= numbersMax {
			return nil, files, fmt.Errorf("file %d of a caller", number)
		}
	}
	return r, files, nil
}

// standardFiles is how many standard files a process has.
const standardFiles = 3

// asBytes and asStrings convert texts of a request.
func asBytes(texts []string) (out [][]byte) {
	for _, text := range texts {
		out = append(out, []byte(text))
	}
	return out
}

func asStrings(texts [][]byte) (out []string) {
	for _, text := range texts {
		out = append(out, string(text))
	}
	return out
}

// inherited returns the numbers of the files behind the standard ones that the process was started with.
func inherited() ([]int, error) {
	names, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, name := range names {
		fd, err := strconv.Atoi(filepath.Base(name))
		if err != nil {
			return nil, err
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if fd >= standardFiles && err == nil && flags&unix.FD_CLOEXEC == 0 { // else the program has opened it
			numbers = append(numbers, fd)
		}
	}
	return numbers, nil
}
