package textfile

import (
	"bytes"
	"cmp"
	stdcsv "encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/vfs"
)

// Rejects takes the rows that are left out of text files because of errors (File.Lenient).
// A row counts once in a scan, however often it is read. The zero value counts. It is safe for
// concurrent use.
type Rejects struct {
	fsys  vfs.FS // where rows are kept until they are written; nil where they are counted alone
	dir   string // of fsys, for a temporary file
	count atomic.Int64
	taken atomic.Int64 // rows without an error
	files atomic.Int64 // that may have rows to reject

	mu      sync.Mutex
	spool   vfs.TempFile // nil before the first row
	end     int64        // of the spool, in bytes
	extents []rejectExtent
}

// rejectExtent is lines of a spool: of rejected rows that follow each other in a part of a file.
type rejectExtent struct {
	file      int   // among the files that are read
	offset    int64 // of the first row in the file
	at, bytes int64 // in the spool
}

// NewRejects returns rejects that keep rows in a temporary file, in a folder of a file system,
// until they are written or closed.
func NewRejects(fsys vfs.FS, tempDir string) *Rejects { return &Rejects{fsys: fsys, dir: tempDir} }

// Count returns how many rows have been left out.
func (r *Rejects) Count() int64 { return r.count.Load() }

// NextFile returns the number of another file.
func (r *Rejects) NextFile() int { return int(r.files.Add(1)) }

// rejectColumns are the columns of a file of rejects.
var rejectColumns = []string{"file", "line", "byte", "column", "value", "reason", "text"}

// WriteFile writes the rows to a file or an object, in the order of the input, whole or not at all, as CSV with the
// columns file, line (from 1), byte (the offset of the row in the text, unpacked and in UTF-8), column,
// value, reason and text. Column and value are empty where the row as a whole is wrong.
func (r *Rejects) WriteFile(fsys vfs.FS, path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.extents, func(a, b rejectExtent) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.offset, b.offset))
	})
	return vfs.WriteAny(fsys, path, func(to io.Writer) error {
		w := stdcsv.NewWriter(to)
		err := w.Write(rejectColumns)
		if w.Flush(); err != nil || w.Error() != nil {
			return errors.Join(err, w.Error())
		}
		for _, e := range r.extents {
			if _, err := io.Copy(to, io.NewSectionReader(r.spool, e.at, e.bytes)); err != nil {
				return err
			}
		}
		return nil
	})
}

// CheckRejectsFile returns an error where a file has something else than rejects, which WriteFile would overwrite.
func CheckRejectsFile(fsys vfs.FS, path string) error {
	f, err := fsys.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	header := strings.Join(rejectColumns, ",") + "\n"
	text, err := io.ReadAll(io.LimitReader(f, int64(len(header))))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if len(text) > 0 && string(text) != header {
		return fmt.Errorf("%s is no file of rejects, and would be overwritten", path)
	}
	return nil
}

// Tell writes the rows to a file, unless its path is empty, and says in a log how many they are, if
// there are any.
func (r *Rejects) Tell(log *slog.Logger, fsys vfs.FS, path string) error {
	of := []any{"rows", r.Count()}
	if path != "" {
		if err := r.WriteFile(fsys, path); err != nil {
			return err
		}
		of = append(of, "rejects", redact.URL(path))
	}
	if r.Count() > 0 {
		log.Warn("rows left out because of errors", of...)
	}
	return nil
}

// Close gives the temporary file back. It may be called again.
func (r *Rejects) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spool == nil {
		return nil
	}
	spool := r.spool
	r.spool, r.extents, r.end = nil, nil, 0
	return spool.Close()
}

// keep adds lines of a part of a file, the first of which is of the row at an offset.
func (r *Rejects) keep(file int, offset int64, lines []byte) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spool == nil {
		if r.spool, err = r.fsys.CreateTemp(r.dir); err != nil {
			return fmt.Errorf("rows that are left out: %w", err)
		}
	}
	if _, err := r.spool.WriteAt(lines, r.end); err != nil {
		return fmt.Errorf("rows that are left out: %w", err)
	}
	r.extents = append(r.extents, rejectExtent{file, offset, r.end, int64(len(lines))})
	r.end += int64(len(lines))
	return nil
}

// leftOut is what all readers of a part of a file have told of rows that are left out: a part is
// read again where a device failed.
type leftOut struct {
	upTo  atomic.Int64 // offset in the text, before which all rows have been told
	taken atomic.Int64 // offset in the text, before which all rows without an error have been counted
}

// rejectLinesMax is how many bytes of lines a reader keeps before it hands them on.
const rejectLinesMax = 64 << 10

// rejecter is a reader's side of Rejects.
type rejecter struct {
	left    *leftOut
	lines   bytes.Buffer // of CSV, not handed on yet
	first   int64        // offset of the first row of lines
	skipped []int64      // offsets of the rows that are left out since the last batch began

	lineAt int64 // an offset in the text
	line   int64 // that lineAt is on, from 1; 0 before it is known
}

// rejected is a row that is left out.
type rejected struct {
	start, end int // in the buffer
	column     string
	value      []byte // of the column
	reason     string
}

// leaveOut tells of a row, unless it has been told of.
func (r *reader) leaveOut(row rejected) error {
	j, offset := &r.rejecter, r.base+int64(row.start)
	j.skipped = append(j.skipped, offset)
	if r.opt.Sample || offset < j.left.upTo.Load() {
		return nil
	}
	j.left.upTo.Store(offset + 1)
	if r.opt.Rejected != nil {
		r.opt.Rejected(1)
	}
	rejects := r.file.Rejects
	if rejects == nil {
		return nil
	}
	rejects.count.Add(1)
	if rejects.fsys == nil {
		return nil
	}
	if j.lines.Len() == 0 {
		j.first = offset
	}
	text := bytes.TrimRight(r.buf[row.start:row.end], "\r\n")
	w := stdcsv.NewWriter(&j.lines)
	fields := []string{
		r.file.Path, strconv.FormatInt(r.lineOf(row.start), 10), strconv.FormatInt(offset, 10),
		row.column, string(row.value), row.reason, string(text),
	}
	if err := w.Write(fields); err != nil {
		return err
	}
	if w.Flush(); j.lines.Len() < rejectLinesMax {
		return w.Error()
	}
	return r.handOn()
}

// countTaken counts the n rows that were split last and not left out, unless they have been counted. The text behind
// them begins at an offset of the buffer.
func (r *reader) countTaken(n, next int) {
	rejects, j := r.file.Rejects, &r.rejecter
	from, to := j.left.taken.Load(), r.base+int64(next)
	if rejects == nil || r.opt.Sample || to <= from {
		return
	}
	splitter := r.splitter.(Lenient)
	for row := n - 1; row >= 0; row-- {
		if r.base+int64(splitter.RowAt(row)) < from {
			n -= row + 1
			break
		}
	}
	j.left.taken.Store(to)
	rejects.taken.Add(int64(n))
}

// handOn hands the lines to the rejects of all readers.
func (r *reader) handOn() error {
	j := &r.rejecter
	if j.lines.Len() == 0 {
		return nil
	}
	defer j.lines.Reset()
	return r.file.Rejects.keep(r.file.Index, j.first, j.lines.Bytes())
}

// lineOf returns the line of an offset of the buffer, which is behind all offsets that were asked
// for.
func (r *reader) lineOf(at int) int64 {
	j := &r.rejecter
	if j.line == 0 || j.lineAt < r.base {
		j.lineAt, j.line = r.base, r.lines+1
	}
	j.line += int64(bytes.Count(r.buf[j.lineAt-r.base:at], newline))
	j.lineAt = r.base + int64(at)
	return j.line
}

// Lenient is a Splitter that can tell of rows that are left out because of errors.
type Lenient interface {
	Splitter

	// RowEnd returns where the row behind that at buf[p:] begins, or -1 where the buffer ends before. A row
	// whose end is not certain ends with a line.
	RowEnd(buf []byte, p int) int

	// RowAt returns where a row begins, of the rows that were split last.
	RowAt(row int) int

	// Move puts a row, of the rows that were split last, in the place of another.
	Move(to, from int)
}

// addOthers adds the rows, of the n that were split last, that have a value of its type in every
// column. It returns how many these are.
func (r *reader) addOthers(rows, n int) (kept int, err error) {
	splitter := r.splitter.(Lenient)
	text := r.buf[:len(r.buf)+fields.Slack]
	wrong := r.findWrong(text, rows, n)
	for row := range n {
		if wrong[row] < 0 {
			splitter.Move(kept, row)
			kept++
			continue
		}
		c, start := r.made[wrong[row]], splitter.RowAt(row)
		c.Point(text, splitter.Fields(wrong[row])[row:row+1], rows)
		err := r.leaveOut(rejected{
			start: start, end: splitter.RowEnd(r.buf, start), value: c.Field(0), reason: c.Mismatch(),
			column: r.file.Fields.Field(r.columns[wrong[row]]).Name,
		})
		if err != nil {
			return 0, err
		}
	}
	for i, c := range r.made {
		if bad := c.Add(text, splitter.Fields(i)[:kept], rows); bad >= 0 {
			return 0, r.valueError(i, bad)
		}
	}
	return kept, nil
}

// findWrong returns, for each of the n rows that were split last, the first column whose value is
// not of its type, or -1. Afterwards the columns have none of these rows.
func (r *reader) findWrong(text []byte, rows, n int) []int {
	wrong := slices.Repeat([]int{-1}, n)
	for i, c := range r.made {
		c.Rewind(rows, n)
		for row := range n {
			if wrong[row] >= 0 {
				continue
			}
			if c.Add(text, r.splitter.Fields(i)[row:row+1], rows) >= 0 {
				wrong[row] = i
			}
			c.Rewind(rows, 1)
		}
	}
	return wrong
}
