package sql

import (
	"strings"
	"testing"
)

func TestErrorCaret(t *testing.T) {
	a40 := strings.Repeat("a", 40)
	for _, c := range []struct {
		text   string
		offset int
		want   string
	}{
		{"abc", 0, "m\n    abc\n    ^"},
		{"abc", 3, "m\n    abc\n       ^"},
		{"a\tbc\nde", 2, "m\n    a bc\n      ^"},
		{"one\ntwo\nthree", 5, "m\n    two\n     ^"},
		{"one\ntwo", 3, "m\n    one\n       ^"},
		{"数x", 3, "m\n    数x\n      ^"},
		{"é\x1b[31mx", 2, "m\n    é [31mx\n     ^"},
		{a40 + "b" + a40, 40, "m\n    ..." + a40[:35] + "b" + a40[:34] + "...\n    " + strings.Repeat(" ", 38) + "^"},
	} {
		if got := errorAt(c.text, c.offset, "m").Error(); got != c.want {
			t.Errorf("%q at %d: got\n%s\nwant\n%s", c.text, c.offset, got, c.want)
		}
	}
}
