//go:build cgo

package sql

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// starWords are the words that may stand behind *, in the order in which they may.
var starWords = []string{"exclude", "replace", "rename"}

// starred is what stands behind a *: the parser is told of the expressions of REPLACE as further items.
type starred struct {
	Star
	replaced int // expressions of REPLACE
}

// isStarWord says whether a word of starWords stands at an index.
func (s *script) isStarWord(i int, word string) bool {
	return s.isWord(i, word) && (s.token(i+1).Token == pg.Token_ASCII_40 || word == "exclude" && isName(s.token(i+1)))
}

// isName says whether a token is a name.
func isName(t *pg.ScanToken) bool {
	return t.Token == pg.Token_IDENT || t.Token == pg.Token_UIDENT || t.KeywordKind == pg.KeywordKind_UNRESERVED_KEYWORD ||
		t.KeywordKind == pg.KeywordKind_COL_NAME_KEYWORD
}

// star returns what is parsed in place of * and of what stands behind it up to the expressions of REPLACE.
func (s *script) star(i int) (text string, taken int) {
	before := s.token(i - 1).Token
	inColumns := before == pg.Token_ASCII_40 && s.isColumns(i-2) || before == pg.Token_ASCII_46 && s.inColumns(i-2)
	isItem := isStarItem(before) || s.marks[int(s.token(i-1).Start)] == markPivot
	isWord := func(word string) bool { return s.isStarWord(i+1, word) }
	if !inColumns && (!isItem || before == pg.Token_ASCII_40) || !slices.ContainsFunc(starWords, isWord) {
		return "", 1
	}
	of := &starred{}
	s.stars[int(s.tokens[i].Start)] = of
	next := i + 1
	if s.isStarWord(next, "exclude") {
		next = s.excluded(of, next+1)
	}
	if inColumns && s.isStarWord(next, "replace") {
		s.columnsReplaced(next)
	} else if s.isStarWord(next, "replace") {
		s.replaces[int(s.tokens[next].Start)] = of
	} else if s.isStarWord(next, "rename") {
		next = s.renamed(of, next+1)
	}
	return "*", next - i
}

// excluded reads a name, or names in parentheses, and returns the index behind them.
func (s *script) excluded(of *starred, i int) int {
	if s.token(i).Token != pg.Token_ASCII_40 {
		return s.excludedName(of, i)
	}
	for i++; ; i++ {
		if !isName(s.token(i)) {
			return s.closed(len(s.tokens))
		}
		if i = s.excludedName(of, i); s.token(i).Token != pg.Token_ASCII_44 {
			break
		}
	}
	return s.closed(i)
}

// excludedName reads a column's name, behind the table's perhaps, and returns the index behind it.
func (s *script) excludedName(of *starred, i int) int {
	path := []string{s.name(s.token(i))}
	for i++; s.token(i).Token == pg.Token_ASCII_46 && isName(s.token(i+1)); i += 2 {
		path = append(path, s.name(s.token(i+1)))
	}
	of.Exclude = append(of.Exclude, path)
	return i
}

// renamed reads the names of RENAME, from its parenthesis on, and returns the index behind them.
func (s *script) renamed(of *starred, i int) int {
	for i++; isName(s.token(i)) && s.token(i+1).Token == pg.Token_AS && isName(s.token(i+2)); i++ {
		of.Rename = append(of.Rename, [2]string{s.name(s.token(i)), s.name(s.token(i + 2))})
		if i += 3; s.token(i).Token != pg.Token_ASCII_44 {
			break
		}
	}
	return s.closed(i)
}

// closed returns the index behind a parenthesis, which must be there.
func (s *script) closed(i int) int {
	if t := s.token(i); t.Token != pg.Token_ASCII_41 && s.failed == nil {
		const want = "syntax error behind *: want EXCLUDE (name, ...), REPLACE (expression AS name, ...) " +
			"or RENAME (name AS other, ...)"
		s.failed = errorAt(s.text, int(t.Start), want)
	}
	return i + 1
}

// replace returns what is parsed in place of REPLACE: a comma, behind which its expressions are items, without their
// parentheses.
func (s *script) replace(i int) (text string, taken int) {
	of := s.replaces[int(s.tokens[i].Start)]
	of.replaced = 1
	depth := 0
	for at := i + 2; at < len(s.tokens); at++ {
		switch s.tokens[at].Token {
		case pg.Token_ASCII_40, pg.Token_ASCII_91, tokenOpenBrace:
			depth++
		case pg.Token_ASCII_93, tokenCloseBrace:
			depth--
		case pg.Token_ASCII_44:
			if depth == 0 {
				of.replaced++
			}
		case pg.Token_ASCII_41:
			if depth--; depth < 0 {
				s.closes[int(s.tokens[at].Start)] = of
				return ",", 1
			}
		}
	}
	s.closed(len(s.tokens))
	return ",", 1
}

// close returns what is parsed in place of the parenthesis that closes REPLACE, and of RENAME behind it.
func (s *script) close(i int) (text string, taken int) {
	next := i + 1
	if s.isStarWord(next, "rename") {
		next = s.renamed(s.closes[int(s.tokens[i].Start)], next+1)
	}
	return " ", next - i
}

// starOf returns what stands behind the * of an item that begins at a place; nil where nothing does.
func (p *statements) starOf(at int) *starred {
	i, ok := p.at[int32(at)]
	if !ok {
		return nil
	}
	for p.token(i).Token != pg.Token_ASCII_42 && i < len(p.tokens) {
		i++
	}
	return p.stars[int(p.token(i).Start)]
}

// takeReplaced takes the items that are the expressions of REPLACE from the front of a list of items.
func (p *statements) takeReplaced(it *Item, of *starred, items []Item) {
	star := of.Star
	it.Star = &star
	for _, replaced := range items {
		if replaced.Expr == nil || replaced.Name == "" {
			p.fail(replaced.At, "REPLACE wants expressions with names of columns: REPLACE (upper(a) AS a)")
		}
		star.Replace = append(star.Replace, replaced)
	}
}
