//go:build cgo

package sql

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// selectFirst puts SELECT before FROM where a statement begins with FROM, as PostgreSQL has it: FROM t SELECT a is
// SELECT a FROM t, and FROM t is SELECT * FROM t. USING SAMPLE becomes an item, the condition of QUALIFY the last one.
func (s *script) selectFirst() {
	isMoved := func(t *pg.ScanToken) bool {
		return t.Token == pg.Token_FROM || t.Token == pg.Token_USING || strings.EqualFold(s.word(t), "qualify")
	}
	if !slices.ContainsFunc(s.tokens, isMoved) {
		return
	}
	stack := []*segment{newSegment()}
	for i, t := range s.tokens {
		top := stack[len(stack)-1]
		switch {
		case t.Token == pg.Token_ASCII_41 && len(stack) > 1:
			stack = s.closeSegment(stack)
			below := stack[len(stack)-1]
			below.tokens = append(below.tokens, t)
			continue
		case slices.Contains(setTokens, t.Token):
			top.finish(s)
			top.done = append(top.done, t)
			continue
		case !top.begun && !isBeforeStatement(t, s, i):
			top.begun = true
			top.isStatement = startsStatement(t.Token) && t.Token != pg.Token_ASCII_40
		}
		top.note(s, i)
		top.tokens = append(top.tokens, t)
		if t.Token == pg.Token_ASCII_40 {
			inner := newSegment()
			inner.begun = slices.Contains(takeFrom, s.token(i-1).Token) // FROM begins no statement there
			stack = append(stack, inner)
		}
	}
	for len(stack) > 1 { // parentheses that are open: an error of the parser
		stack = s.closeSegment(stack)
	}
	stack[0].finish(s)
	s.tokens = stack[0].done
	for i, t := range s.tokens {
		s.at[t.Start] = i
	}
}

// closeSegment puts the tokens of the last segment into the one around it.
func (s *script) closeSegment(stack []*segment) []*segment {
	last := len(stack) - 1
	stack[last].finish(s)
	stack[last-1].tokens = append(stack[last-1].tokens, stack[last].done...)
	return stack[:last]
}

// isBeforeStatement says whether a token may stand before the first word of a statement.
func isBeforeStatement(t *pg.ScanToken, s *script, i int) bool {
	return t.Token == pg.Token_ALL || t.Token == pg.Token_BY || s.marks[int(t.Start)] == markVerb ||
		s.isWord(i, "name") && s.token(i-1).Token == pg.Token_BY ||
		i < 2 && (verbs[strings.ToLower(s.word(t))] != "" || s.isWord(i, "analyze"))
}

// segment is the tokens of a statement between parentheses, or words of set operations.
type segment struct {
	done        []*pg.ScanToken // of statements before
	tokens      []*pg.ScanToken // with the tokens of what is between parentheses
	begun       bool            // its first word has been seen
	isStatement bool            // it begins as a statement does
	ordered     bool            // ORDER BY or LIMIT has been seen

	// Where clauses begin, in tokens; -1 of none: FROM before SELECT, SELECT, what stands behind the items, QUALIFY, and
	// what stands behind that; USING SAMPLE, and what stands behind that.
	from, selected, end, qualify, qualified, sample, sampled int
}

func newSegment() *segment {
	return &segment{from: -1, selected: -1, end: -1, qualify: -1, qualified: -1, sample: -1, sampled: -1}
}

// behindItems are the tokens that may stand behind the items of a statement that begins with FROM, and behind QUALIFY.
var behindItems = []pg.Token{pg.Token_WHERE, pg.Token_GROUP_P, pg.Token_HAVING, pg.Token_ORDER, pg.Token_LIMIT,
	pg.Token_OFFSET, pg.Token_FETCH, pg.Token_WINDOW, pg.Token_ASCII_59}

// beforeName are tokens that a name follows.
var beforeName = []pg.Token{pg.Token_SELECT, pg.Token_ASCII_44, pg.Token_ASCII_46, pg.Token_AS, pg.Token_BY}

// note notes where a clause begins.
func (g *segment) note(s *script, i int) {
	at := len(g.tokens)
	isFrom := s.tokens[i].Token == pg.Token_FROM && s.token(i-1).Token != pg.Token_DISTINCT
	isEnd := slices.Contains(behindItems, s.tokens[i].Token)
	isQualify := s.isWord(i, "qualify") && s.tokens[i].Token == pg.Token_IDENT && (g.end >= 0 || g.from >= 0) &&
		!slices.Contains(beforeName, s.token(i-1).Token) && !slices.Contains(beforeTable, s.token(i-1).Token)
	isSample := g.sample < 0 && s.isUsingSample(i, g.ordered)
	g.ordered = g.ordered || slices.Contains(orderTokens, s.tokens[i].Token)
	if isEnd && g.sample >= 0 && g.sampled < 0 {
		if g.sampled = at; slices.Contains(behindSample, s.tokens[i].Token) && s.failed == nil {
			const before = "USING SAMPLE stands behind WHERE, GROUP BY, HAVING and WINDOW, and before ORDER BY"
			s.failed = errorAt(s.text, int(g.tokens[g.sample].Start), before)
		}
	}
	if isSample && (g.from >= 0 || g.selected >= 0) {
		g.sample = at
	}
	switch {
	case !g.isStatement, g.sample >= 0 && g.sample < at: // behind USING SAMPLE no clause is moved
	case isFrom && g.from < 0 && g.selected < 0:
		g.from = at
	case s.tokens[i].Token == pg.Token_SELECT && g.selected < 0:
		g.selected, g.qualify, g.qualified = at, -1, -1
	case isQualify && (g.end >= 0 || g.selected < 0) && g.qualify < 0:
		g.qualify = at
	case (isEnd || isFrom || isQualify || isSample) && g.selected >= 0 && g.end < 0:
		if g.end = at; isQualify {
			g.qualify = at
		}
	case (isEnd || isSample) && g.qualify >= 0 && g.qualified < 0:
		g.qualified = at
	}
}

// takeSample takes USING SAMPLE from the tokens.
func (g *segment) takeSample(s *script) []*pg.ScanToken {
	if g.sample < 0 || !g.isStatement {
		return nil
	}
	if g.sampled < 0 {
		g.sampled = len(g.tokens)
	}
	sample := slices.Clone(g.tokens[g.sample:g.sampled])
	s.marks[int(sample[0].Start)], s.marks[int(sample[1].Start)] = markSample, markSample
	s.sampleEnds[int(sample[1].Start)] = int(sample[len(sample)-1].Start)
	g.tokens = slices.Concat(g.tokens[:g.sample], g.tokens[g.sampled:])
	g.end, g.qualified = min(g.end, len(g.tokens)), min(g.qualified, len(g.tokens))
	return sample
}

// finish puts the clauses of the statement in order.
func (g *segment) finish(s *script) {
	if g.end < 0 {
		g.end = len(g.tokens)
	}
	if g.qualified < 0 {
		g.qualified = len(g.tokens)
	}
	items := g.takeSample(s)
	hasItems := items != nil || g.qualify >= 0
	end := g.end
	if g.selected >= 0 {
		items = slices.Concat(g.tokens[g.selected:end], items)
	} else {
		end = max(g.from, 0)
	}
	behind := g.tokens[end:]
	if g.qualify >= 0 {
		behind = slices.Concat(g.tokens[end:g.qualify], g.tokens[g.qualified:])
		condition := g.tokens[g.qualify:g.qualified]
		items = slices.Concat(items, condition)
		s.marks[int(condition[0].Start)] = markQualify
		if len(condition) > 1 {
			s.qualified[int(condition[1].Start)] = true
		}
	}
	switch {
	case g.from >= 0 && g.selected > g.from:
		g.tokens = slices.Concat(g.tokens[:g.from], items, g.tokens[g.from:g.selected], behind)
	case g.from >= 0 && g.selected < 0:
		g.tokens = slices.Concat(g.tokens[:g.from], items, behind)
		s.marks[int(g.tokens[g.from].Start)] = markSelectAll
	case hasItems && g.selected >= 0:
		g.tokens = slices.Concat(g.tokens[:g.selected], items, behind)
	}
	done := append(g.done, g.tokens...)
	*g = *newSegment()
	g.done = done
}
