package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine/objects"
	"github.com/mpga/mpga/internal/vfs"
)

// fileFlags say how servers are asked for files.
type fileFlags struct {
	timeout time.Duration
	files   *objects.FS // nil before start
}

func (f *fileFlags) register(flags *pflag.FlagSet) {
	flags.DurationVar(&f.timeout, "http-timeout", 30*time.Second, "give a request up when a server has sent nothing for a `TIME` as 90s or 5m; it is tried once more")
}

// start gives a command its file system: the files of the system, and objects of stores by their
// URLs.
func (f *fileFlags) start(ctx context.Context) (err error) {
	if f.timeout <= 0 {
		return usagef("--http-timeout %s: want a time such as 30s or 5m", f.timeout)
	}
	f.files, err = objects.New(ctx, vfs.OS, objects.Options{Timeout: f.timeout, Logger: slog.Default()})
	return err
}

// end gives back what the file system holds.
func (f *fileFlags) end() {
	if f.files != nil {
		_ = f.files.Close()
	}
}

// filesOf returns the file system of a command.
func filesOf(ctx context.Context) vfs.FS {
	if files := observerOf(ctx).files.files; files != nil {
		return files
	}
	return vfs.OS
}
