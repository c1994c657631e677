//go:build cgo

package sql

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// behindComma are the tokens before which a comma ends a list, and begins no further element.
var behindComma = []pg.Token{0, pg.Token_ASCII_41, pg.Token_ASCII_93, tokenCloseBrace, pg.Token_ASCII_59, pg.Token_FROM,
	pg.Token_SELECT, pg.Token_WHERE, pg.Token_GROUP_P, pg.Token_HAVING, pg.Token_WINDOW, pg.Token_ORDER, pg.Token_LIMIT,
	pg.Token_OFFSET, pg.Token_FETCH, pg.Token_UNION, pg.Token_INTERSECT, pg.Token_EXCEPT}

// beforeElement are the tokens behind which a list has no element yet.
var beforeElement = []pg.Token{0, pg.Token_ASCII_40, pg.Token_ASCII_44, pg.Token_ASCII_91, tokenOpenBrace,
	pg.Token_SELECT, pg.Token_FROM, pg.Token_BY}

// endsList says whether a list has ended before the token at an index: a word of a clause stands there, and no name
// that is such a word and has an error of its own.
func (s *script) endsList(i int) bool {
	switch t, next := s.token(i).Token, s.token(i+1).Token; {
	case !slices.Contains(behindComma, t):
		return false
	case t == pg.Token_GROUP_P, t == pg.Token_ORDER:
		return next == pg.Token_BY
	case s.token(i).KeywordKind == pg.KeywordKind_RESERVED_KEYWORD:
		return next != pg.Token_ASCII_44 && next != pg.Token_FROM && next != pg.Token_AS
	}
	return true
}

// dropWords takes commas behind the last elements of lists out of the tokens, and ARRAY before a list in brackets.
func (s *script) dropWords() {
	kept := make([]*pg.ScanToken, 0, len(s.tokens))
	for i, t := range s.tokens {
		isLast := t.Token == pg.Token_ASCII_44 && s.endsList(i+1) && !slices.Contains(beforeElement, s.token(i-1).Token)
		isArray := t.Token == pg.Token_ARRAY && s.token(i+1).Token == pg.Token_ASCII_91
		if !isLast && !isArray {
			s.at[t.Start] = len(kept)
			kept = append(kept, t)
		}
	}
	s.tokens = kept
}
