package server

import (
	"context"
	"errors"
	"io"

	"github.com/mpga/mpga/engine/sink"
)

// Write writes the rows as a file of a format. What has been written when there is an error is no
// whole file.
//
// Requires: the caller holds the rows.
func (k *Kept) Write(ctx context.Context, to io.Writer, format sink.Format) error {
	eng := k.session.server.opt.Engine
	w, err := sink.Create(ctx, "-", k.Schema, sink.Options{
		Format: format, Stdout: to, Allocator: eng.Allocator(), Budget: eng.Budget(),
	})
	if err != nil {
		return err
	}
	if err := k.Page(0, k.Rows, w.Write); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Commit()
}
