package distributed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/vfs"
)

// explainDamage makes an ErrDamaged of an error of a blob that another attempt would find again, and says
// what to remove. What a plan lacks that was committed in the meantime is no damage: an attempt ends at once.
func (t *Tasks) explainDamage(err error) error {
	damaged := errors.Is(err, ErrDamaged)
	if !damaged && workdir.IsDamage(err) {
		damaged, err = true, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if !damaged {
		return err
	}
	if before, other := t.remembered(); other == nil && before != nil {
		return fmt.Errorf("the plan was committed while the task ran, and nobody needs its files: %s", err)
	}
	return fmt.Errorf("%w; remove %s, and plan again", err, t.Plan.Work)
}

// checkRows refuses files of merges that are not what was written: of another size, and, of files, of another
// checksum. A store keeps the checksums of objects itself, and one list tells all sizes. R6.
func (t *Tasks) checkRows(ctx context.Context, merges []manifest) error {
	var objects map[string]int64 // sizes, by path; nil of files
	if _, remote := t.work.Objects(); remote {
		list, err := t.work.List(StageMerge, "")
		if err != nil {
			return err
		}
		objects = make(map[string]int64, len(list))
		for _, o := range list {
			objects[t.work.Path(StageMerge+"/"+o.Name)] = o.Bytes
		}
	}
	var group spawn.Group
	group.SetLimit(manifestsAtOnce)
	for i := range merges {
		for _, f := range merges[i].Files {
			path := t.work.Path(merges[i].name() + "/" + f.Path)
			if objects != nil {
				if err := checkObject(path, f, objects); err != nil {
					return err
				}
				continue
			}
			group.Go(func() error {
				if err := ctx.Err(); err != nil {
					return context.Cause(ctx)
				}
				return t.checkFile(path, f)
			})
		}
	}
	return group.Wait()
}

// checkObject refuses an object of rows that is not listed with its size.
func checkObject(path string, want sink.ManifestFile, sizes map[string]int64) error {
	bytes, ok := sizes[path]
	if !ok {
		return fmt.Errorf("%w: rows of a merge are missing: %s", ErrDamaged, path)
	}
	return checkSize(path, bytes, want)
}

// checkSize refuses a file of another size than was written.
func checkSize(path string, bytes int64, want sink.ManifestFile) error {
	if bytes != want.Bytes {
		return fmt.Errorf("%w: %s has %d B, where %d were written", ErrDamaged, path, bytes, want.Bytes)
	}
	return nil
}

// checkFile refuses a file of rows that is not what was written.
func (t *Tasks) checkFile(path string, want sink.ManifestFile) error {
	info, err := t.FS.Stat(path)
	if err == nil {
		err = checkSize(path, info.Size(), want)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: rows of a merge are missing: %w", ErrDamaged, err)
	}
	if err != nil || want.SHA256 == "" {
		return err
	}
	sum, err := fileSum(t.FS, path)
	if err == nil && sum != want.SHA256 {
		err = fmt.Errorf("%w: %s has the SHA-256 %s, where %s was written", ErrDamaged, path, sum, want.SHA256)
	}
	return err
}

// fileSum returns the SHA-256 of a file, in hexadecimal.
func fileSum(fsys vfs.FS, path string) (sum string, err error) {
	file, err := fsys.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
