package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/report"
	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/trace"
)

// socketPathBytesMax is how long the path of a socket may be: Linux has 108 bytes, macOS 104, with
// the zero at the end.
const socketPathBytesMax = 103

// beginPrivate makes the folder of a private server's socket, which nobody but the user can enter,
// and has the command's context end with the standard input: the system closes the other end of that
// when the process ends that started the server, however it ends. leave removes the folder.
func (f *serveFlags) beginPrivate(cmd *cobra.Command) (leave func() error, err error) {
	for _, name := range []string{
		"listen", "http", "allow-files", "uploads", "tls-cert", "tls-key", "tls-client-ca", "token-file",
	} {
		if cmd.Flags().Changed(name) {
			return nil, usagef("--private has a socket of its own, for one user: it does not go with --%s", name)
		}
	}
	const pattern, name = "mpga-", "flight.sock"
	dir, err := os.MkdirTemp("", pattern)
	if err != nil {
		return nil, err
	}
	if len(filepath.Join(dir, name)) > socketPathBytesMax { // of a long TMPDIR
		if err := os.Remove(dir); err != nil {
			return nil, err
		}
		if dir, err = os.MkdirTemp("/tmp", pattern); err != nil {
			return nil, err
		}
	}
	f.listen = []string{"unix:" + filepath.Join(dir, name)}
	f.drainTime = 0 // nobody waits for queries that run
	ctx, cancel := context.WithCancel(cmd.Context())
	in := cmd.InOrStdin()
	spawn.Go(func() error {
		_, err := io.Copy(io.Discard, in)
		return err
	}, func(error) { cancel() })
	cmd.SetContext(ctx)
	return func() error {
		cancel()
		if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}, nil
}

// writeReport writes a page of HTML about a run of a server.
func writeReport(to io.Writer, run server.Status, plan string, record trace.Timeline) error {
	page := report.Page{Query: run.Text, Plan: plan, Timeline: record}
	if run.Error != nil {
		page.Error = run.Error.Error()
	}
	if s := run.Stats; s != nil {
		page.Stats, page.Device = *s, deviceFacts(s.Device)
		if s.Elapsed > 0 {
			page.Facts = statsFacts(*s, nil)
		}
	}
	return page.Write(to)
}
