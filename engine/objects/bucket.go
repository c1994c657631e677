package objects

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/mpga/mpga/stream"
)

// bucketObject is an object of a bucket.
type bucketObject struct {
	bucket *blob.Bucket
	key    string
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

// Upload implements stream.Objects.
func (f *FS) Upload(name string) (stream.Upload, error) {
	s, err := f.storeOf(name)
	if err != nil {
		return nil, err
	}
	object, ok := s.(*bucketObject)
	if !ok {
		return nil, fmt.Errorf("%s: %w: https is read only; write to s3://, gs:// or az://", name, errors.ErrUnsupported)
	}
	ctx, cancel := context.WithCancel(f.ctx)
	w, err := object.bucket.NewWriter(ctx, object.key, &blob.WriterOptions{BufferSize: partBytes, MaxConcurrency: partsAtOnce, ContentType: "application/octet-stream"})
	if err != nil {
		cancel()
		return nil, problem("writing it", name, err)
	}
	return &upload{fs: f, name: name, writer: w, cancel: cancel}, nil
}

// upload is a multipart upload.
type upload struct {
	fs     *FS
	name   string
	writer *blob.Writer
	cancel context.CancelFunc
}

func (u *upload) Write(b []byte) (int, error) {
	n, err := u.writer.Write(b)
	return n, problem("writing it", u.name, err)
}

// Commit implements stream.Upload.
func (u *upload) Commit() error {
	defer u.cancel()
	u.fs.forget(u.name)
	return problem("writing it", u.name, u.writer.Close())
}

// Abort implements stream.Upload. A writer whose context has ended drops what it has sent.
func (u *upload) Abort() error {
	u.cancel()
	_ = u.writer.Close()
	return nil
}
