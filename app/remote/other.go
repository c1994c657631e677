//go:build !linux

package remote

import (
	"context"
	"errors"
)

var errLinux = errors.New("a process that stays between commands needs Linux")

// Do is for Linux.
func Do(context.Context, Options, []string, ...int) (code int, err error) { return 0, errLinux }

// Serve is for Linux.
func Serve(context.Context, ServeOptions) error { return errLinux }

// List is for Linux.
func List() ([]Status, error) { return nil, errLinux }

// Stop is for Linux.
func Stop(context.Context) (stopped int, err error) { return 0, errLinux }
