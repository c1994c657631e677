package expr

import (
	"math"

	"github.com/mpga/mpga/engine/query"
)

// similarities are the functions that compare two strings byte by byte, as DuckDB does.
func similarities() []Function {
	return []Function{
		function("levenshtein", "s, t", "the bytes to insert, delete or exchange to make t of s",
			"levenshtein('duck', 'db')", "3", distance(levenshtein), "editdist3"),
		function("damerau_levenshtein", "s, t", "the same, where two bytes that change places are one step",
			"damerau_levenshtein('duckdb', 'udckbd')", "2", distance(damerau)),
		function("hamming", "s, t", "the places where strings of the same length differ",
			"hamming('duck', 'luck')", "1", hamming, "mismatches"),
		function("jaccard", "s, t", "the bytes that both have, over the bytes that either has",
			"jaccard('duck', 'luck')", "0.6", jaccard),
		operator("jaro_similarity", "jaro_similarity(s, t [, least])", "Jaro's similarity, from 0 to 1; 0 below the least",
			"round(jaro_similarity('duck', 'duckdb'), 2)", "0.89", 2, 3, likeness(jaro)),
		operator("jaro_winkler_similarity", "jaro_winkler_similarity(s, t [, least])",
			"the same, and more where both begin alike",
			"round(jaro_winkler_similarity('duck', 'duckdb'), 2)", "0.93", 2, 3, likeness(jaroWinkler)),
	}
}

// comparedMax bounds the product of the lengths of two strings whose distance is found: seconds.
const comparedMax = 1 << 32

// distance binds a function from two strings to the steps between them.
func distance(steps func(s, t string) int64) binding {
	return func(b *binder, n *node) {
		n.typ, n.fallible = typeOf(Int64), true
		b.want(n, Text, Text)
		n.eval = map2e(n, func(s, t string) (int64, error) {
			if len(t) > 0 && len(s) > comparedMax/len(t) {
				return 0, query.Valuef("%s: strings of %d and %d bytes are too long to compare", n.text, len(s), len(t))
			}
			return steps(s, t), nil
		})
	}
}

func levenshtein(s, t string) int64 {
	row := make([]int64, len(t)+1) // steps from the bytes of s so far to each beginning of t
	for j := range row {
		row[j] = int64(j)
	}
	for i := range len(s) {
		before := row[0]
		row[0]++
		for j := range len(t) {
			exchanged := before
			if s[i] != t[j] {
				exchanged++
			}
			before = row[j+1]
			row[j+1] = min(exchanged, before+1, row[j]+1)
		}
	}
	return row[len(t)]
}

// damerau is the algorithm of Zhao and Sahni (String correction using the Damerau-Levenshtein distance, 2019), with
// rows that begin one place before the first column.
func damerau(s, t string) int64 {
	far := int64(max(len(s), len(t)) + 1)
	row, above, swapped := make([]int64, len(t)+2), make([]int64, len(t)+2), make([]int64, len(t)+2)
	for j := range row {
		row[j], above[j], swapped[j] = int64(j-1), far, far
	}
	row[0] = far
	var lastRow [256]int64 // where a byte was last in s, from 1; -1 before
	fillAll(lastRow[:], -1)
	for i := int64(1); i <= int64(len(s)); i++ {
		row, above = above, row
		lastColumn, cornerOf, corner := int64(-1), row[1], far
		row[1] = i
		for j := int64(1); j <= int64(len(t)); j++ {
			steps := min(above[j], row[j]+1, above[j+1]+1)
			if s[i-1] == t[j-1] {
				lastColumn, swapped[j+1], corner = j, above[j-1], cornerOf
			} else {
				steps = min(above[j]+1, row[j]+1, above[j+1]+1)
				switch up := i - lastRow[t[j-1]]; {
				case j-lastColumn == 1:
					steps = min(steps, swapped[j+1]+up)
				case up == 1:
					steps = min(steps, corner+j-lastColumn)
				}
			}
			cornerOf = row[j+1]
			row[j+1] = steps
		}
		lastRow[s[i-1]] = i
	}
	return row[len(t)+1]
}

func hamming(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Int64), true
	b.want(n, Text, Text)
	n.eval = map2e(n, func(s, t string) (int64, error) {
		if len(s) != len(t) || s == "" {
			return 0, query.Valuef("%s: strings of %d and %d bytes; want some bytes, and as many", n.text, len(s), len(t))
		}
		differ := int64(0)
		for i := range len(s) {
			if s[i] != t[i] {
				differ++
			}
		}
		return differ, nil
	})
}

func jaccard(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Float64), true
	b.want(n, Text, Text)
	n.eval = map2e(n, func(s, t string) (float64, error) {
		if s == "" || t == "" {
			return 0, query.Valuef("%s: an empty string is like no other", n.text)
		}
		var in [256]uint8
		for i := range len(s) {
			in[s[i]] |= 1
		}
		for i := range len(t) {
			in[t[i]] |= 2
		}
		var counts [4]float64
		for _, has := range in {
			counts[has]++
		}
		return counts[3] / (counts[1] + counts[2] + counts[3]), nil
	})
}

// likeness binds a similarity of two strings, which is 0 below a third argument.
func likeness(of func(s, t string) float64) binding {
	return func(b *binder, n *node) {
		n.typ, n.fallible = typeOf(Float64), true
		b.want(n, []TypeID{Text, Text, Float64}[:len(n.args)]...)
		compare := func(s, t string, least float64) (float64, error) {
			if len(t) > 0 && len(s) > comparedMax/len(t) {
				return 0, query.Valuef("%s: strings of %d and %d bytes are too long to compare", n.text, len(s), len(t))
			}
			if like := of(s, t); like >= least {
				return like, nil
			}
			return 0, nil
		}
		if len(n.args) == 3 {
			n.eval = map3f(n, func(_ *Evaluator, s, t string, least float64) (float64, error) { return compare(s, t, least) })
			return
		}
		n.eval = map2e(n, func(s, t string) (float64, error) { return compare(s, t, math.Inf(-1)) })
	}
}

// jaro pairs bytes that are the same and near each other, and counts these pairs and those out of order.
func jaro(s, t string) float64 {
	if s == "" || t == "" {
		return 0
	}
	near := max(max(len(s), len(t))/2-1, 0)
	taken := make([]bool, len(t))
	var paired []byte // of s
	for i := range len(s) {
		for j := max(i-near, 0); j < min(i+near+1, len(t)); j++ {
			if !taken[j] && s[i] == t[j] {
				taken[j] = true
				paired = append(paired, s[i])
				break
			}
		}
	}
	if len(paired) == 0 {
		return 0
	}
	at, moved := 0, 0
	for j := range len(t) {
		if taken[j] {
			if paired[at] != t[j] {
				moved++
			}
			at++
		}
	}
	pairs := float64(len(paired))
	return (pairs/float64(len(s)) + pairs/float64(len(t)) + (pairs-float64(moved/2))/pairs) / 3
}

// jaroWinkler adds to Jaro's similarity for up to four bytes that both begin with.
func jaroWinkler(s, t string) float64 {
	like, same := jaro(s, t), 0
	for same < min(4, len(s), len(t)) && s[same] == t[same] {
		same++
	}
	if like > 0.7 {
		like += float64(same) * 0.1 * (1 - like)
	}
	return like
}
