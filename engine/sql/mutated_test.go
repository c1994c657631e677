//go:build cgo

package sql

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/internal/sqlscan"
)

// Would catch a panic of what rewrites tokens, on statements that are nearly right: tokens are left out, doubled and
// exchanged.
func TestMutatedStatements(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	texts, rounds := slices.Concat(grammar, copies), 300
	if testing.Short() {
		rounds = 60
	}
	for _, text := range texts {
		var words []string
		for _, token := range sqlscan.Scan(text) {
			words = append(words, token.Text(text))
		}
		for range rounds {
			mutated := slices.Clone(words)
			for range 1 + rng.IntN(3) {
				i, j := rng.IntN(len(mutated)), rng.IntN(len(mutated))
				switch rng.IntN(4) {
				case 0:
					mutated[i], mutated[j] = mutated[j], mutated[i]
				case 1:
					mutated = slices.Insert(mutated, i, mutated[j])
				case 2:
					mutated = mutated[:max(i, 1)]
				default:
					mutated = slices.Delete(mutated, min(i, len(mutated)-1), min(i+1, len(mutated)-1))
				}
			}
			text := strings.Join(mutated, " ")
			if s, err := Parse(text); (s == nil) == (err == nil) {
				t.Errorf("%s: %v, %v", text, s, err)
			}
			if c, err := ParseCopy(text); (c == nil) == (err == nil) {
				t.Errorf("%s: %v, %v", text, c, err)
			}
		}
	}
}
