package main

import (
	"context"

	"github.com/mpga/mpga/engine/objects"
	"github.com/mpga/mpga/stream"
)

type filesKey struct{}

// withFiles gives a command its file system: that of the system, and objects of stores by their URLs. The
// function gives back what it holds.
func withFiles(ctx context.Context) (_ context.Context, end func()) {
	files, err := objects.New(ctx, stream.OS, objects.Options{})
	if err != nil {
		panic(err) // the defaults are valid
	}
	return context.WithValue(ctx, filesKey{}, files), func() { _ = files.Close() }
}

// filesOf returns the file system of a command.
func filesOf(ctx context.Context) stream.FS {
	if files, ok := ctx.Value(filesKey{}).(stream.FS); ok {
		return files
	}
	return stream.OS
}
