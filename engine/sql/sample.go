//go:build cgo

package sql

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// PostgreSQL's parser takes TABLESAMPLE behind few tables, and no USING SAMPLE. The first becomes a table that is
// joined with the sampled one, in parentheses; the second a last item of SELECT.
const (
	sampleBefore = "CROSS JOIN "
	sampleName   = "sample"
)

// isUsingSample says whether USING SAMPLE begins at an index. ordered says that ORDER BY or LIMIT stands before it.
func (s *script) isUsingSample(i int, ordered bool) bool {
	if s.token(i).Token != pg.Token_USING || !s.isWord(i+1, "sample") || s.token(i+2).Token == 0 {
		return false
	}
	if ordered && s.failed == nil {
		s.failed = errorAt(s.text, int(s.token(i).Start), "USING SAMPLE stands before ORDER BY and LIMIT")
	}
	return true
}

// behindSample are the tokens behind USING SAMPLE that its statement does not end at.
var behindSample = []pg.Token{pg.Token_WHERE, pg.Token_GROUP_P, pg.Token_HAVING, pg.Token_WINDOW}

// orderTokens begin the clauses behind USING SAMPLE.
var orderTokens = []pg.Token{pg.Token_ORDER, pg.Token_LIMIT, pg.Token_OFFSET, pg.Token_FETCH}

// openSampled notes the first tokens of tables that TABLESAMPLE stands behind: a parenthesis comes before them. A
// table's first token stands behind FROM, JOIN, a comma or a parenthesis.
func (s *script) openSampled() {
	for i, t := range s.tokens {
		if t.Token != pg.Token_TABLESAMPLE {
			continue
		}
		s.inserted[int(s.tokens[s.tableBefore(i)].Start)] += "("
	}
}

// tableBefore returns the index of the first token of the table before an index.
func (s *script) tableBefore(i int) int {
	depth := 0
	for ; i > 0; i-- {
		before := s.token(i - 1).Token
		if depth == 0 && slices.Contains(beforeTable, before) {
			break
		}
		switch before {
		case pg.Token_ASCII_41:
			depth++
		case pg.Token_ASCII_40:
			depth--
		}
	}
	return i
}

// sample returns what is parsed in place of TABLESAMPLE, or of SAMPLE behind USING, and how many tokens it replaces.
func (s *script) sample(i int) (text string, taken int) {
	at := int(s.tokens[i].Start)
	of := &Sample{At: at}
	next := s.sampleOf(of, i+1)
	if last, ok := s.sampleEnds[at]; next < 0 || ok && int(s.tokens[next-1].Start) != last {
		if s.failed == nil {
			const want = "want a sample: 10%%, 100 ROWS, bernoulli(10%%), system(10%%) or reservoir(100) [REPEATABLE (seed)], " +
				"or 10%% (bernoulli [, seed])"
			s.failed = errorAt(s.text, at, want)
		}
		return "", 1
	}
	if s.failed == nil {
		s.failed = of.check(s)
	}
	if s.tokens[i].Token == pg.Token_TABLESAMPLE {
		s.samples[at+len(sampleBefore)] = of
		return sampleBefore + `"` + sampleName + `")`, next - i
	}
	s.samples[at] = of
	return "0", next - i
}

// sampleOf reads a sample that begins at an index, and returns the index behind it; -1 where it is none.
func (s *script) sampleOf(of *Sample, i int) int {
	if s.token(i).Token == pg.Token_ICONST || s.token(i).Token == pg.Token_FCONST {
		next := s.sampleSize(of, i)
		if s.token(next).Token != pg.Token_ASCII_40 {
			return next
		}
		of.Method = SampleMethod(strings.ToUpper(s.word(s.token(next + 1))))
		if next += 2; s.token(next).Token == pg.Token_ASCII_44 {
			if !s.sampleSeed(of, next+1) {
				return -1
			}
			next += 2
		}
		if s.token(next).Token != pg.Token_ASCII_41 {
			return -1
		}
		return next + 1
	}
	if s.token(i).Token != pg.Token_ASCII_40 {
		of.Method = SampleMethod(strings.ToUpper(s.word(s.token(i))))
		i++
	}
	if s.token(i).Token != pg.Token_ASCII_40 {
		return -1
	}
	if i = s.sampleSize(of, i+1); s.token(i).Token != pg.Token_ASCII_41 {
		return -1
	}
	if i++; !s.isWord(i, "repeatable") {
		return i
	}
	if s.token(i+1).Token != pg.Token_ASCII_40 || !s.sampleSeed(of, i+2) || s.token(i+3).Token != pg.Token_ASCII_41 {
		return -1
	}
	return i + 4
}

// sampleSize reads a number of rows, or a share of them, and returns the index behind it.
func (s *script) sampleSize(of *Sample, i int) int {
	of.Size = s.word(s.token(i))
	switch {
	case s.token(i+1).Token == pg.Token_ASCII_37, s.isWord(i+1, "percent"):
		of.IsShare = true
		return i + 2
	case s.isWord(i+1, "rows"):
		return i + 2
	}
	return i + 1
}

func (s *script) sampleSeed(of *Sample, i int) bool {
	seed, err := strconv.ParseInt(s.word(s.token(i)), 10, 64)
	of.Seed, of.Seeded = seed, true
	return err == nil && s.token(i).Token == pg.Token_ICONST
}

// check reads the size of the sample, and refuses what no sample is.
func (of *Sample) check(s *script) error {
	var err error
	if of.IsShare {
		of.Share, err = strconv.ParseFloat(of.Size, 64)
	} else {
		of.Rows, err = strconv.ParseInt(of.Size, 10, 64)
	}
	switch {
	case err != nil:
		return errorAt(s.text, of.At, "a sample of %s rows: want a whole number, or a share such as 10%%", of.Size)
	case of.Share > 100:
		return errorAt(s.text, of.At, "a sample of %s%%: want 0%% to 100%%", of.Size)
	case of.Method == "" && of.IsShare:
		of.Method = SystemSample
	case of.Method == "":
		of.Method = ReservoirSample
	case !slices.Contains([]SampleMethod{ReservoirSample, BernoulliSample, SystemSample}, of.Method):
		const text = "no sample is named %s; there are reservoir, bernoulli and system"
		return errorAt(s.text, of.At, text, strings.ToLower(string(of.Method)))
	case of.Method == BernoulliSample && !of.IsShare:
		return errorAt(s.text, of.At, "a bernoulli sample is a share, such as 10%%; a number of rows is a reservoir's")
	}
	return nil
}

// sampled reads the join that TABLESAMPLE was rewritten as; nil of others.
func (p *statements) sampled(e *pg.JoinExpr) From {
	name := e.GetRarg().GetRangeVar()
	of := p.samples[p.offset(name.GetLocation())]
	if name.GetRelname() != sampleName || of == nil || e.GetJointype() != pg.JoinType_JOIN_INNER {
		return nil
	}
	p.take(e, "jointype", "larg", "rarg")
	p.take(name, "relname")
	return &Sampled{Input: p.fromOne(e.GetLarg()), Sample: of}
}

// usingSample takes the last item, where it stands for USING SAMPLE, which is of all that stands behind FROM.
func (p *statements) usingSample(s *Select) {
	last := len(s.Items) - 1
	if last < 0 || p.samples[s.Items[last].At] == nil {
		return
	}
	if it := s.Items[last]; it.Name != "" || it.Expr == nil || it.Expr.Value != int64(0) {
		p.fail(it.At, "USING SAMPLE wants a sample")
	}
	s.From = &Sampled{Input: s.From, Sample: p.samples[s.Items[last].At]}
	s.Items = s.Items[:last]
}
