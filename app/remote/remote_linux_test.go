package remote

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Would catch a folder that others can enter, that is another user's, or that a link leads to.
func TestCheckFolder(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(path string) error
		want string // part of the error; "" for none
	}{
		{"private", func(path string) error { return os.Mkdir(path, 0o700) }, ""},
		{"open", func(path string) error { return os.Mkdir(path, 0o755) }, "has the mode 0755"},
		{"file", func(path string) error { return os.WriteFile(path, nil, 0o700) }, "is no folder"},
		{"link", func(path string) error { return os.Symlink(filepath.Dir(path), path) }, "is no folder"},
		{"another's", func(path string) error {
			if os.Geteuid() != 0 {
				return os.Symlink("/", path) // which is another user's, behind a link
			}
			if err := os.Mkdir(path, 0o700); err != nil {
				return err
			}
			return os.Chown(path, 12345, 12345)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "mpga")
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			err := makeFolder(path)
			switch {
			case c.name == "another's" && err == nil, c.name == "private" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// Would catch a name that differs between two processes that start alike, and one that does not tell apart what a
// library reads once, or another version.
func TestSocketName(t *testing.T) {
	name := func(version string) string {
		t.Helper()
		name, err := socketName(version)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	before := name("v1")
	t.Setenv("AWS_REGION", "eu-central-1") // read for each command
	if name("v1") != before {
		t.Error("the name is another one the second time")
	}
	if name("v2") == before {
		t.Error("versions have one name")
	}
	for _, variable := range []string{"CUDA_VISIBLE_DEVICES", "TZ", "https_proxy", "GOGC"} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, "another")
			if name("v1") == before {
				t.Error("the name does not tell")
			}
		})
	}
}

// pair returns both ends of a connection.
func pair(t *testing.T) (*net.UnixConn, *net.UnixConn) {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var conns [2]*net.UnixConn
	for i, fd := range ends {
		f := os.NewFile(uintptr(fd), "socket")
		conn, err := net.FileConn(f)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		t.Cleanup(func() { conn.Close() })
		conns[i] = conn.(*net.UnixConn)
	}
	return conns[0], conns[1]
}

// Would catch arguments that are not UTF-8 and come as something else, files in another order, and a request that
// takes another number of the process's files.
func TestRequest(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fd := int(file.Fd())
	args := []string{"sql", "", "a\xffb", strings.Repeat("x", 1<<20)}
	for _, c := range []struct {
		name    string
		request request
		files   int
		ok      bool
	}{
		{"a call", request{Ask: askRun, Args: asBytes(args), Umask: 0o22}, 4, true},
		{"a file more", request{Ask: askRun, Args: asBytes(args), Umask: 0o22, Numbers: []int{63}}, 5, true},
		{"a file that is not sent", request{Ask: askRun, Numbers: []int{63}}, 4, false},
		{"no files", request{Ask: askRun}, 0, false},
		{"a standard file twice", request{Ask: askRun, Numbers: []int{2}}, 5, false},
		{"a file of the process's own", request{Ask: askRun, Numbers: []int{numbersMax}}, 5, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			to, from := pair(t)
			sent := make(chan error, 1)
			go func() { sent <- c.request.send(to, slices.Repeat([]int{fd}, c.files)) }()
			got, files, err := receive(from)
			closeFiles(files)
			if (err == nil) != c.ok || len(files) != c.files {
				t.Fatalf("%d files, %v", len(files), err)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			if c.ok && (!slices.Equal(asStrings(got.Args), args) || got.Umask != 0o22) {
				t.Errorf("%d arguments, umask %o", len(got.Args), got.Umask)
			}
		})
	}
}

// Would catch a process that ends, or waits, because of what is no request.
func TestNoRequest(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "a part of a size": "\x01", "a size alone": "\x05\x00\x00\x00",
		"no JSON": "\x03\x00\x00\x00{}}", "too much": string(binary.LittleEndian.AppendUint32(nil, requestBytesMax+1)),
	} {
		t.Run(name, func(t *testing.T) {
			to, from := pair(t)
			if _, err := io.WriteString(to, text); err != nil {
				t.Fatal(err)
			}
			to.Close()
			if _, files, err := receive(from); err == nil || len(files) > 0 {
				t.Errorf("%d files, %v", len(files), err)
			}
		})
	}
}

// Would catch variables of one caller that the next one has, too.
func TestSetEnv(t *testing.T) {
	before := os.Environ()
	t.Setenv("MPGA_TEST_OLD", "1")
	t.Setenv("MPGA_TEST_BOTH", "1")
	t.Setenv("MPGA_TEST_NEW", "") // so that it is what it was when the test ends
	want := append(slices.Clone(before), "MPGA_TEST_BOTH=2", "MPGA_TEST_NEW=a=b", "=odd", "odd")
	if err := setEnv(want); err != nil {
		t.Fatal(err)
	}
	got := os.Environ()
	slices.Sort(got)
	want = want[:len(want)-2]
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
