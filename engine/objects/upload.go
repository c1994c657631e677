package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/vfs"
)

// partBytes is the size of a part of an upload; a store takes 10,000 at most, so 84 GB.
const partBytes = 8 << 20

// partsAtOnce is how many parts of an upload are on their way, while another one is filled.
const partsAtOnce = 2

// Upload begins an object, which appears as a whole once the upload is finished.
func (f *FS) Upload(name string) (vfs.Upload, error) {
	object, err := f.writable(name)
	if err != nil {
		return nil, err
	}
	u := &upload{fs: f, name: name, parts: object.bucket.upload(object.key)}
	u.ctx, u.fail = context.WithCancelCause(f.ctx)
	u.sending.SetLimit(u.parts.atOnce())
	u.used = make(chan []byte, u.parts.atOnce())
	return u, nil
}

// PutNew implements vfs.Objects.
func (f *FS) PutNew(name string, content []byte) error {
	object, err := f.writable(name)
	if err != nil {
		return err
	}
	f.known.Delete(name)
	parts := object.bucket.upload(object.key)
	err = f.retry(f.ctx, writingIt, name, func(ctx context.Context) (int, error) { return 0, parts.putNew(ctx, content) })
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", redact.URL(name), fs.ErrExist)
	}
	return problem(writingIt, name, err)
}

// Copy implements vfs.Objects.
func (f *FS) Copy(from, to string) error {
	target, err := f.writable(to)
	if err != nil {
		return err
	}
	source, err := f.writable(from)
	if err != nil {
		return err
	}
	if source.bucket != target.bucket {
		return unsupported("copy", from)
	}
	f.known.Delete(to)
	const op = "copying it"
	err = f.retry(f.ctx, op, from, func(ctx context.Context) (int, error) {
		return 0, source.bucket.copy(ctx, source.key, target.key)
	})
	if errors.Is(err, errors.ErrUnsupported) {
		return unsupported("copy", from)
	}
	return problem(op, from, err)
}

// writable returns an object that can be written.
func (f *FS) writable(name string) (*bucketObject, error) {
	s, err := f.storeOf(name)
	if err != nil {
		return nil, err
	}
	object, ok := s.(*bucketObject)
	if !ok {
		return nil, fmt.Errorf("%s: %w: https is read only; write to s3://, gs:// or az://",
			redact.URL(name), errors.ErrUnsupported)
	}
	return object, nil
}

// upload is an object that is being written. An object of one part is put whole.
type upload struct {
	fs    *FS
	name  string
	parts parts
	ctx   context.Context // of all requests but the requests of Abort; its cause is the first error
	fail  context.CancelCauseFunc

	filling []byte // the bytes of the part that is not full
	number  int    // of that part
	begun   bool   // the store knows of the upload

	sending spawn.Group // sends parts, parts.atOnce of them at a time
	used    chan []byte // buffers of parts that have been sent
}

func (u *upload) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		if len(u.filling) == partBytes {
			if err := u.send(); err != nil {
				return n, problem(writingIt, u.name, err)
			}
		}
		room := min(len(b), partBytes-len(u.filling))
		u.filling = append(u.filling, b[:room]...)
		n, b = n+room, b[room:]
	}
	return n, problem(writingIt, u.name, context.Cause(u.ctx))
}

// Things that are done to names, as errors have them.
const writingIt, listingThem = "writing it", "listing objects"

// retry does one thing for the upload, as often as it takes. An error ends the upload.
func (u *upload) retry(do func(ctx context.Context) error) error {
	err := u.fs.retry(u.ctx, writingIt, u.name, func(ctx context.Context) (int, error) { return 0, do(ctx) })
	if err != nil {
		u.fail(err)
	}
	return err
}

// send sends the full part, and begins the next one.
func (u *upload) send() error {
	if err := context.Cause(u.ctx); err != nil {
		return err
	}
	if !u.begun {
		if err := u.retry(u.parts.begin); err != nil {
			return err
		}
		u.begun = true
	}
	full, number := u.filling, u.number
	u.sending.Go(func() error {
		defer func() { u.used <- full }() // has room for the parts that are on their way
		return u.retry(func(ctx context.Context) error { return u.parts.part(ctx, number, full) })
	})
	u.filling, u.number = nil, number+1
	select {
	case buffer := <-u.used:
		u.filling = buffer[:0]
	default:
	}
	return nil
}

func (u *upload) Commit() error {
	u.fs.known.Delete(u.name)
	err := u.sending.Wait()
	switch ended := context.Cause(u.ctx); {
	case ended != nil:
		err = ended
	case err != nil:
	case u.begun:
		err = u.retry(func(ctx context.Context) error { return u.parts.commit(ctx, u.number, u.filling) })
	default:
		err = u.retry(func(ctx context.Context) error { return u.parts.put(ctx, u.filling) })
	}
	if err != nil {
		_ = u.Abort()
		return problem(writingIt, u.name, err)
	}
	u.fail(nil)
	return nil
}

// Abort implements vfs.Upload. B1.
func (u *upload) Abort() error {
	u.fail(nil)
	_ = u.sending.Wait() // of parts that are dropped
	if !u.begun {
		return nil
	}
	u.begun = false
	const op = "dropping what was written of it"
	err := u.fs.retry(u.fs.lasting(), op, u.name, func(ctx context.Context) (int, error) { return 0, u.parts.abort(ctx) })
	if err != nil {
		u.fs.opt.Logger.Debug("parts of an object may be left", slog.String("object", redact.URL(u.name)),
			slog.String("error", err.Error()))
	}
	return nil
}
