package knob

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func flag(n Name) string {
	return map[Name]string{"a.Limit": "--limit", "a.Dir": "--dir", "a.X.Rows": "--rows", "a.Y.Rows": "--rows"}[n]
}

// hidden shows what it wraps by As alone.
type hidden struct{ err error }

func (h hidden) Error() string        { return h.err.Error() }
func (h hidden) As(target any) bool   { return errors.As(h.err, target) }
func (h hidden) Is(target error) bool { return errors.Is(h.err, target) }

// Would catch an option that keeps its field's name, a user's text that is taken for an option, and
// a cause that is lost.
func TestReword(t *testing.T) {
	limit := Errorf("%s (%d) must be 1: %w", Name("a.Limit"), 5, fs.ErrInvalid)
	for _, c := range []struct {
		err        error
		text, want string
	}{
		{limit, "Limit (5) must be 1: invalid argument", "--limit (5) must be 1: invalid argument"},
		{fmt.Errorf("Limit.csv: %w", limit), "Limit.csv: Limit (5) must be 1: invalid argument", "Limit.csv: --limit (5) must be 1: invalid argument"},
		{errors.Join(fs.ErrInvalid, fmt.Errorf("x: %w", limit)), "invalid argument\nx: Limit (5) must be 1: invalid argument", "invalid argument\nx: --limit (5) must be 1: invalid argument"},
		{Errorf("raise %s: %w", Name("a.Dir"), limit), "raise Dir: Limit (5) must be 1: invalid argument", "raise --dir: --limit (5) must be 1: invalid argument"},
		{errors.Join(Errorf("%s is 0", Name("a.X.Rows")), fs.ErrInvalid, Errorf("%s is 0", Name("a.Y.Rows"))), "X.Rows is 0\ninvalid argument\nY.Rows is 0", "--rows is 0\ninvalid argument"},
		{hidden{limit}, "Limit (5) must be 1: invalid argument", "--limit (5) must be 1: invalid argument"},
		{fmt.Errorf("no column Limit: %w", fs.ErrInvalid), "no column Limit: invalid argument", "no column Limit: invalid argument"},
	} {
		got := Reword(c.err, flag)
		if c.err.Error() != c.text || got.Error() != c.want || !errors.Is(got, fs.ErrInvalid) {
			t.Errorf("%q is reworded to %q, want %q", c.err, got, c.want)
		}
		if again := Reword(got, func(Name) string { return "other" }); again.Error() != c.want {
			t.Errorf("%q is reworded again, to %q", got, again)
		}
	}
	if Reword(nil, flag) != nil {
		t.Error("no error became an error")
	}
}

// shown is a text that says what it refers to when it is asked.
type shown struct{ text *string }

func (s shown) String() string { return *s.text }

// Would catch an error that reads its arguments again when it is worded: they may have changed, or be bytes of a
// file that is no longer mapped.
func TestErrorfKeepsNothing(t *testing.T) {
	field, text := []byte("abc"), "before"
	inner := fmt.Errorf("within %w", Errorf("%s at %q", Name("a.Dir"), field))
	err := Errorf("%q, %v, %[3]s and %[3]q: %[4]w, \x00", field, shown{&text}, Name("a.Limit"), inner)
	copy(field, "xyz")
	text = "after"
	want := "\"abc\", before, --limit and \"--limit\": within --dir at \"abc\", \x00"
	if got := Reword(err, flag).Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if want := "\"abc\", before, Limit and \"Limit\": within Dir at \"abc\", \x00"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}
