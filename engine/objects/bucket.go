package objects

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/vfs"
)

// bucketObject is an object of a bucket.
type bucketObject struct {
	bucket    *blob.Bucket
	host, key string
}

func (o *bucketObject) stat(ctx context.Context) (version, error) {
	a, err := o.bucket.Attributes(ctx, o.key)
	if err != nil {
		return version{}, final(err)
	}
	return version{size: a.Size, tag: hex.EncodeToString(a.MD5), modified: a.ModTime}, nil
}

func (o *bucketObject) read(ctx context.Context, b []byte, off int64, v version) (n int, err error) {
	r, err := o.bucket.NewRangeReader(ctx, o.key, off, int64(len(b)), nil)
	if err != nil {
		if gcerrors.Code(err) == gcerrors.NotFound {
			return 0, finalError{fmt.Errorf("%w: it is gone (%w)", errChanged, err)}
		}
		return 0, final(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := v.checkSize(r.Size()); err != nil {
		return 0, err
	}
	return io.ReadFull(r, b)
}

const (
	// partBytes is the size of a part of an upload; a store takes 10,000 at most, so 84 GB.
	partBytes = 8 << 20

	// partsAtOnce is how many parts of an upload are in memory, and on their way.
	partsAtOnce = 2
)

// Upload implements vfs.Objects.
func (f *FS) Upload(name string) (vfs.Upload, error) {
	s, err := f.storeOf(name)
	if err != nil {
		return nil, err
	}
	object, ok := s.(*bucketObject)
	if !ok {
		return nil, fmt.Errorf("%s: %w: https is read only; write to s3://, gs:// or az://", redact.URL(name), errors.ErrUnsupported)
	}
	scheme, _, _ := strings.Cut(name, "://")
	bucket, err := f.bucket(scheme, object.host, true)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", redact.URL(name), err)
	}
	ctx, cancel := context.WithCancel(f.withTries(f.ctx))
	from, to := io.Pipe()
	u := &upload{fs: f, name: name, to: to, cancel: cancel, done: make(chan struct{})}
	options := &blob.WriterOptions{BufferSize: partBytes, MaxConcurrency: partsAtOnce, ContentType: "application/octet-stream"}
	spawn.Go(func() error { return bucket.Upload(ctx, object.key, from, options) }, func(err error) {
		u.err = err
		_ = from.CloseWithError(cmp.Or(err, io.ErrClosedPipe))
		close(u.done)
	})
	return u, nil
}

// upload is a multipart upload. The store's library reads what is written from a pipe: a blob.Writer of Azure panics
// when it is closed after an error.
type upload struct {
	fs     *FS
	name   string
	to     *io.PipeWriter
	cancel context.CancelFunc
	done   chan struct{} // closed when the library has ended
	err    error         // of the library; read when done is closed
}

func (u *upload) Write(b []byte) (int, error) {
	n, err := u.to.Write(b)
	return n, problem("writing it", u.name, err)
}

// Commit implements vfs.Upload.
func (u *upload) Commit() error {
	defer u.cancel()
	u.fs.forget(u.name)
	_ = u.to.Close()
	<-u.done
	return problem("writing it", u.name, u.err)
}

// Abort implements vfs.Upload. A library whose context has ended drops what it has sent. B1.
func (u *upload) Abort() error {
	u.cancel() // first: to a library without an error, the end of the pipe is that of the object
	_ = u.to.CloseWithError(context.Canceled)
	<-u.done
	return nil
}
