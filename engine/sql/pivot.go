//go:build cgo

package sql

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// PostgreSQL has no PIVOT and no UNPIVOT. Both are parsed as a statement behind FROM whose first item is marked:
//
//	UNPIVOT t ON a, b INTO NAME n VALUE v              SELECT * FROM (SELECT 0, a, b FROM t)
//	t UNPIVOT (v FOR n IN (a, b))                      (SELECT 0, a, b FROM t)
//	PIVOT t ON c IN (1, 2) USING sum(x) GROUP BY k     SELECT * FROM (SELECT 0, c, 1, 2, sum(x) FROM t GROUP BY k)
//	t PIVOT (sum(x) FOR c IN (1, 2) GROUP BY k)        (SELECT 0, sum(x), c, 1, 2 FROM t GROUP BY k)

// pivotsMax bounds the words PIVOT and UNPIVOT of a text. L2.
const pivotsMax = 50

// pivotWords rewrites PIVOT and UNPIVOT.
func (s *script) pivotWords() error {
	for range pivotsMax {
		i := slices.IndexFunc(s.tokens, func(t *pg.ScanToken) bool { return s.isPivot(t) && s.pivots[int(t.Start)] == nil })
		if i < 0 {
			return nil
		}
		isUnpivot := slices.Index(pivotNames, strings.ToLower(s.word(s.tokens[i]))) >= slices.Index(pivotNames, "unpivot")
		w := &pivoting{s: s, word: s.tokens[i], of: &Pivot{At: int(s.tokens[i].Start), IsUnpivot: isUnpivot}}
		s.pivots[w.of.At] = w.of
		if !w.behindTable(i) {
			w.asStatement(i)
		}
		if s.failed != nil {
			return s.failed
		}
		clear(s.at) // without the words that are parsed no more
		for i, t := range s.tokens {
			s.at[t.Start] = i
		}
	}
	return errorAt(s.text, 0, "not supported: more than %d words PIVOT and UNPIVOT", pivotsMax-1)
}

// pivotNames are PIVOT, UNPIVOT and their other names.
var pivotNames = []string{"pivot", "pivot_wider", "unpivot", "pivot_longer"}

func (s *script) isPivot(t *pg.ScanToken) bool {
	return t.Token == pg.Token_IDENT && slices.Contains(pivotNames, strings.ToLower(s.word(t)))
}

// pivoting rewrites a PIVOT or UNPIVOT.
type pivoting struct {
	s    *script
	word *pg.ScanToken
	of   *Pivot
	made []*pg.ScanToken // in the order of the statement that is parsed
}

func (w *pivoting) fail(t *pg.ScanToken, format string, args ...any) {
	if w.s.failed == nil {
		w.s.failed = errorAt(w.s.text, int(t.Start), format, args...)
	}
}

// find returns the index of the first of some tokens from one index to another, in no parentheses, or -1. It ends at
// the parenthesis that closes the statement.
func (w *pivoting) find(from, to int, tokens ...pg.Token) int {
	depth := 0
	for i := from; i < to; i++ {
		t := w.s.tokens[i].Token
		switch {
		case depth == 0 && slices.Contains(tokens, t):
			return i
		case t == pg.Token_ASCII_40, t == pg.Token_ASCII_91:
			depth++
		case t == pg.Token_ASCII_41, t == pg.Token_ASCII_93:
			if depth--; depth < 0 {
				return -1
			}
		}
	}
	return -1
}

// pivotEnds are the tokens behind a statement that begins with PIVOT or UNPIVOT.
var pivotEnds = []pg.Token{pg.Token_ORDER, pg.Token_LIMIT, pg.Token_OFFSET, pg.Token_FETCH, pg.Token_UNION,
	pg.Token_INTERSECT, pg.Token_EXCEPT, pg.Token_ASCII_59, pg.Token_ASCII_41}

// asStatement rewrites a statement that begins with the word; a word without ON is a name.
func (w *pivoting) asStatement(i int) {
	s := w.s
	before := s.token(i - 1).Token
	isFirst := i == 0 || slices.Contains([]pg.Token{pg.Token_ASCII_40, pg.Token_ASCII_41, pg.Token_ALL}, before) ||
		slices.Contains(setTokens, before) || i <= 2 && verbs[strings.ToLower(s.word(s.tokens[0]))] != ""
	end := w.find(i+1, len(s.tokens), pivotEnds...)
	if end < 0 {
		end = len(s.tokens)
	}
	on := w.find(i+1, end, pg.Token_ON)
	if !isFirst || on < 0 {
		return
	}
	group, clauses := end, end
	if w.of.IsUnpivot {
		if into := w.find(on+1, end, pg.Token_INTO); into >= 0 {
			clauses = into
			isNamed := s.isWord(into+1, "name") && isName(s.token(into+2)) && s.isWord(into+3, "value") && into+5 == end
			if !isNamed || !isName(s.token(into+4)) {
				w.fail(s.tokens[into], "not supported: this INTO; want INTO NAME name VALUE name")
			}
			w.of.Name, w.of.Value = s.name(s.token(into+2)), s.name(s.token(into+4))
		}
		w.part(on+1, clauses)
	} else {
		if at := w.find(on+1, end, pg.Token_GROUP_P); at >= 0 {
			group, clauses = at, at
		}
		using := w.find(on+1, clauses, pg.Token_USING)
		if using < 0 {
			using = clauses
		}
		for at := on + 1; at < using && s.failed == nil; at++ {
			if next, isAsked := w.asked(at, using); isAsked {
				at = next
				continue
			}
			at = w.values(at, using)
			if at < using && s.tokens[at].Token != pg.Token_ASCII_44 {
				w.fail(s.tokens[at], "syntax error in PIVOT: want a comma behind IN (...)")
			}
		}
		w.aggregates(using+1, clauses)
	}
	w.finish(i, i+1, on, group, end, end, "SELECT * FROM (SELECT ")
}

// behindTable rewrites a word behind a table. It returns false where the word is not there.
func (w *pivoting) behindTable(i int) bool {
	s := w.s
	open := i + 1
	isNulls := s.isWord(open, "include") || s.isWord(open, "exclude")
	if w.of.IsUnpivot && isNulls && s.token(open+1).Token == pg.Token_NULLS_P {
		w.of.WithNulls = s.isWord(open, "include")
		open += 2
	}
	if s.token(open).Token != pg.Token_ASCII_40 {
		return false
	}
	closes := w.find(open+1, len(s.tokens), pg.Token_ASCII_41)
	behind := w.find(open+1, max(closes, 0), pg.Token_FOR)
	if behind < 0 {
		return false
	}
	group := closes
	if w.of.IsUnpivot {
		in := behind + 2
		if !isName(s.token(behind-1)) || behind-1 != open+1 || !isName(s.token(behind+1)) ||
			s.token(in).Token != pg.Token_IN_P ||
			s.token(in+1).Token != pg.Token_ASCII_40 || w.find(in+2, closes, pg.Token_ASCII_41) != closes-1 {
			w.fail(s.tokens[i], "not supported: this UNPIVOT; want UNPIVOT (value FOR name IN (column, ...))")
			return true
		}
		w.of.Name, w.of.Value = s.name(s.token(behind+1)), s.name(s.token(behind-1))
		w.part(in+2, closes-1)
	} else {
		w.of.First = true
		w.aggregates(open+1, behind)
		if at := w.find(behind+1, closes, pg.Token_GROUP_P); at >= 0 {
			group = at
		}
		for at := behind + 1; at < group && s.failed == nil; {
			at = w.values(at, group)
		}
	}
	first := s.tableBefore(i)
	w.finish(first, first, i, group, closes, closes+1, "(SELECT ")
	return true
}

// part adds items to what is parsed, behind a comma unless they are the first.
func (w *pivoting) part(from, to int) {
	if from >= to {
		w.fail(w.s.token(from), "syntax error: %s wants expressions here", strings.ToUpper(w.s.word(w.word)))
		return
	}
	first := w.s.tokens[from]
	if len(w.made) > 0 {
		w.s.inserted[int(first.Start)] += ", "
	}
	for _, t := range w.s.tokens[from:to] {
		w.s.plain[int(t.Start)] = true
	}
	w.made = append(w.made, w.s.tokens[from:to]...)
}

// items counts expressions between commas.
func (w *pivoting) items(from, to int) int {
	n := 1
	for at := w.find(from, to, pg.Token_ASCII_44); at >= 0; at = w.find(at+1, to, pg.Token_ASCII_44) {
		n++
	}
	return n
}

// aggregates adds what stands behind USING.
func (w *pivoting) aggregates(from, to int) {
	if from <= to {
		w.part(from, to)
		w.of.Aggregates = w.items(from, to)
	}
}

// asked adds an expression without values, and returns the index behind it; isAsked is false of another one.
func (w *pivoting) asked(from, to int) (next int, isAsked bool) {
	in := w.find(from, to, pg.Token_IN_P)
	if next = w.find(from, to, pg.Token_ASCII_44); next < 0 {
		next = to
	}
	if from >= next || in >= 0 && in < next {
		return from, false
	}
	w.part(from, next)
	w.of.On = append(w.of.On, 0)
	return next, true
}

// values adds an expression and the values behind its IN, and returns the index behind them.
func (w *pivoting) values(from, to int) int {
	in := w.find(from, to, pg.Token_IN_P)
	next := w.find(from, to, pg.Token_ASCII_44)
	if in < 0 || next >= 0 && next < in || w.s.token(in+1).Token != pg.Token_ASCII_40 {
		const why = "not supported: PIVOT without its values, which are columns of the result; write %s IN (value, ...)"
		w.fail(w.s.token(from), why, w.s.word(w.s.token(from)))
		return to
	}
	closes := w.find(in+2, to, pg.Token_ASCII_41)
	first := w.s.token(in + 2).Token
	if closes < 0 || first == pg.Token_FROM {
		w.fail(w.s.token(in+2), "not supported: PIVOT with this behind IN; write the values, or SELECT")
		return to
	}
	if !w.isPlain(from, in, pg.Token_ASCII_40) && from < in { // of g % 2 IN (0, 1) DuckDB takes all for the expression
		w.fail(w.s.token(from), "PIVOT: want a column, a call or an expression in parentheses before IN")
	}
	w.part(from, in)
	if first == pg.Token_SELECT {
		w.part(in+1, closes+1) // in its parentheses
		for _, t := range w.s.tokens[in+1 : closes+1] {
			delete(w.s.plain, int(t.Start)) // its FROM may name files
		}
		w.of.On = append(w.of.On, 1)
		return closes + 1
	}
	w.part(in+2, closes)
	w.of.On = append(w.of.On, w.items(in+2, closes))
	return closes + 1
}

// isPlain says whether tokens that stand in no parentheses are names, with points, or some further tokens.
func (w *pivoting) isPlain(from, to int, further ...pg.Token) bool {
	depth := 0
	for _, t := range w.s.tokens[min(from, to):to] {
		if t.Token == pg.Token_ASCII_41 {
			depth--
			continue
		}
		if depth == 0 && !isName(t) && t.Token != pg.Token_ASCII_46 && !slices.Contains(further, t.Token) {
			return false
		}
		if t.Token == pg.Token_ASCII_40 {
			depth++
		}
	}
	return from < to
}

// finish puts the tokens in their order: those before index at, the word, what is parsed of it, the table, GROUP BY
// up to an index, and those from index next on.
func (w *pivoting) finish(at, table, tableEnd, group, groupEnd, next int, head string) {
	s := w.s
	if s.failed != nil {
		return
	}
	if table == tableEnd || !w.isPlain(table, tableEnd, pg.Token_AS, pg.Token_SCONST, pg.Token_ASCII_40) {
		const want = "not supported: %s of this; want a table, a file in quotes, or a statement in parentheses"
		w.fail(w.word, want, strings.ToUpper(s.word(w.word)))
		return
	}
	if group < groupEnd && !w.isPlain(group+2, groupEnd, pg.Token_ASCII_44) {
		w.fail(s.tokens[group], "not supported: GROUP BY of %s takes names of columns alone", strings.ToUpper(s.word(w.word)))
		return
	}
	of := s.tokens[table:tableEnd]
	if of[0].Token == pg.Token_SCONST {
		s.files[int(of[0].Start)] = true
	}
	s.inserted[int(w.word.Start)] += head
	s.inserted[int(of[0].Start)] = " FROM " + s.inserted[int(of[0].Start)]
	if next < len(s.tokens) {
		s.inserted[int(s.tokens[next].Start)] = ")" + s.inserted[int(s.tokens[next].Start)]
	} else {
		s.tail = ")" + s.tail
	}
	s.marks[int(w.word.Start)] = markPivot
	s.tokens = slices.Concat(s.tokens[:at], []*pg.ScanToken{w.word}, w.made, of, s.tokens[group:groupEnd], s.tokens[next:])
}

// pivot takes the first item of a statement that PIVOT or UNPIVOT was rewritten as.
func (p *statements) pivot(s *Select) {
	if len(s.Items) < 2 || p.pivots[s.Items[0].At] == nil || p.marks[s.Items[0].At] != markPivot {
		return
	}
	if it := s.Items[0]; it.Name != "" || it.Expr == nil || it.Expr.Value != int64(0) {
		p.fail(it.At, "not supported: this PIVOT")
	}
	s.Pivot, s.Items = p.pivots[s.Items[0].At], s.Items[1:]
}
