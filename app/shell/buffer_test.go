package shell

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/internal/sqlscan"
)

// Lines make the statements that the whole text has, wherever they break.
func TestBuffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	parts := []string{"select ';'", ";", "\n", "\n", " ", "-- a;\n", "/* ;\n */", "'it''s\n;'", `"a""b"`, "$$;\n$$", "x", "1", "'", "*/", "/*", "$"}
	for range 2000 {
		var text strings.Builder
		for range rng.IntN(12) {
			text.WriteString(parts[rng.IntN(len(parts))])
		}
		whole := text.String() + "\n"
		var want []string
		rest := whole
		for end := sqlscan.StatementEnd(rest); end >= 0; end = sqlscan.StatementEnd(rest) {
			want = append(want, strings.TrimSpace(rest[:end]))
			rest = rest[end:]
		}
		var b buffer
		var got []string
		for _, line := range strings.Split(strings.TrimSuffix(whole, "\n"), "\n") {
			for _, statement := range b.add(line) {
				got = append(got, strings.TrimSpace(statement))
			}
		}
		withoutComments := func(list []string) (kept []string) { // which a statement may begin with
			for _, statement := range list {
				words := ""
				for _, token := range sqlscan.Scan(statement) {
					if token.Kind != sqlscan.Comment {
						words += token.Text(statement) + " "
					}
				}
				kept = append(kept, words)
			}
			return kept
		}
		if !slices.Equal(withoutComments(got), withoutComments(want)) {
			t.Fatalf("%q: got %q, want %q", whole, got, want)
		}
		if b.empty() != sqlscan.Empty(rest) && !b.open {
			t.Fatalf("%q: %q is left, empty: %t", whole, rest, b.empty())
		}
	}
}
