//go:build cgo

package sql

import (
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// parametersMax bounds the parameters of a statement. L2.
const parametersMax = 10_000

// add appends a token.
func (s *script) add(t *pg.ScanToken) {
	s.at[t.Start] = len(s.tokens)
	s.tokens = append(s.tokens, t)
}

// addOperator appends an operator's token, or the tokens that it is made of where it has a ?, which
// is a parameter: the scanner takes =? and ?-? for operators.
func (s *script) addOperator(t *pg.ScanToken) error {
	word, at := s.word(t), t.Start
	if !strings.Contains(word, "?") {
		s.add(t)
		return nil
	}
	for i, part := range strings.Split(word, "?") {
		if i > 0 {
			s.add(&pg.ScanToken{Start: at, End: at + 1, Token: pg.Token_PARAM})
			at++
		}
		signs, err := pg.Scan(part)
		if err != nil {
			return scanError(s.text, s.code, err)
		}
		for _, sign := range signs.GetTokens() {
			s.add(&pg.ScanToken{Start: at + sign.Start, End: at + sign.End, Token: sign.Token, KeywordKind: sign.KeywordKind})
		}
		at += int32(len(part))
	}
	return nil
}

// isQuestion says whether a token is a parameter that is written ?.
func (s *script) isQuestion(t *pg.ScanToken) bool {
	return t.Token == pg.Token_PARAM && s.word(t) == "?"
}

// countParameters notes the largest number of a parameter, and refuses statements in which some
// have numbers and others none.
func (s *script) countParameters() error {
	questions := 0
	for _, t := range s.tokens {
		if t.Token != pg.Token_PARAM {
			continue
		}
		if s.isQuestion(t) {
			questions++
		} else if n, err := strconv.Atoi(s.word(t)[1:]); err != nil || n < 1 || n > parametersMax {
			return errorAt(s.text, int(t.Start), "%s: parameters are numbered from $1 to $%d", s.word(t), parametersMax)
		} else {
			s.numbered = max(s.numbered, n)
		}
		if s.numbered > 0 && questions > 0 {
			return errorAt(s.text, int(t.Start), "not supported: parameters with numbers, as $1, beside parameters without, as ?")
		}
		if questions > parametersMax {
			return errorAt(s.text, int(t.Start), "not supported: more than %d parameters", parametersMax)
		}
	}
	return nil
}
