package objects

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/mpga/mpga/internal/redact"
)

// unreachableError is the error of a request to a server to which there is no way: nobody answers at
// its address, or its name has none.
type unreachableError struct {
	host  string // as the URL has it
	cause error
	known bool // the server has answered before
}

func (e unreachableError) Error() string {
	return fmt.Sprintf("the server %s cannot be reached: %v", e.host, e.cause)
}

func (e unreachableError) Unwrap() error { return e.cause }

// unreachable are errors of the system that a server's address leads nowhere.
var unreachable = []error{syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH}

// noted notes how a request to a server has ended, and returns its error.
func (f *FS) noted(host string, err error) error {
	if err == nil {
		f.reached.Store(host, true)
		return nil
	}
	var name *net.DNSError
	nowhere := errors.As(err, &name) && name.IsNotFound
	for _, code := range unreachable {
		nowhere = nowhere || errors.Is(err, code)
	}
	if !nowhere {
		return err
	}
	_, known := f.reached.Load(host)
	return unreachableError{host: redact.Text(host), cause: err, known: known}
}

// reachHint says which settings name the servers of a scheme.
func reachHint(scheme string) string {
	switch scheme {
	case "s3":
		return "AWS_ENDPOINT_URL, or endpoint_url in AWS_CONFIG_FILE, names a server that is not " +
			"Amazon's; AWS_REGION is part of Amazon's"
	case "gs":
		return "STORAGE_EMULATOR_HOST names a server that is not Google's; a proxy is taken from HTTPS_PROXY"
	case "az":
		return "AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_DOMAIN name the server"
	}
	return "a proxy is taken from HTTPS_PROXY"
}
