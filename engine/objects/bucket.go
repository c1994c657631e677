package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// bucket is a bucket of a store, or a container. A method makes one attempt: FS.retry makes the
// others. It is safe for concurrent use.
type bucket interface {
	// stat returns the version of an object; an error is fs.ErrNotExist where there is no object.
	stat(ctx context.Context, key string) (version, error)

	// open asks for n bytes of an object from an offset on. It returns them with the size of the
	// whole object.
	open(ctx context.Context, key string, offset int64, n int) (body io.ReadCloser, size int64, err error)

	// list returns objects whose keys have a prefix, most of them at most, and a token for the next
	// call, which is "" after the last object. The first call's token is "".
	list(ctx context.Context, prefix, token string, most int) (page []listed, next string, err error)

	remove(ctx context.Context, key string) error

	// copy gives the bytes of an object to another key, or returns errors.ErrUnsupported.
	copy(ctx context.Context, from, to string) error

	// upload returns what writes an object. It asks the store for nothing yet.
	upload(key string) parts
}

// listed is an object of a list.
type listed struct {
	key string
	version
}

// parts writes an object: put writes a small object whole; begin, part and commit write a large
// object. Calls may be repeated after an error. The object appears with put or commit. B1.
type parts interface {
	put(ctx context.Context, whole []byte) error

	// putNew is put for an object that nobody has written; else fs.ErrExist.
	putNew(ctx context.Context, whole []byte) error
	begin(ctx context.Context) error

	// part sends partBytes. The parts of an object are numbered from 0 on; atOnce of them may be on
	// their way.
	part(ctx context.Context, number int, b []byte) error
	atOnce() int

	// commit sends the last part, of partBytes or fewer, and makes the object visible.
	//
	// Requires: the parts before it have been sent.
	commit(ctx context.Context, number int, last []byte) error

	// abort drops the parts that have been sent.
	abort(ctx context.Context) error
}

// contentType is the media type of the objects that are written.
const contentType = "application/octet-stream"

// bucketObject is an object of a bucket.
type bucketObject struct {
	bucket bucket
	key    string
}

func (o *bucketObject) stat(ctx context.Context) (version, error) { return o.bucket.stat(ctx, o.key) }

func (o *bucketObject) read(ctx context.Context, b []byte, off int64, v version) (n int, err error) {
	body, size, err := o.bucket.open(ctx, o.key, off, len(b))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, finalError{fmt.Errorf("%w: it is gone (%w)", errChanged, err)}
	} else if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	if err := v.checkSize(size); err != nil {
		return 0, err
	}
	return io.ReadFull(body, b)
}
