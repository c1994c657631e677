//go:build cgo

package plan_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/rules"
	"github.com/mpga/mpga/engine/scan"
)

// Would catch outer joins whose rows without a partner are lost, or made where they are not asked for: by conditions
// that are TRUE for a NULL, by columns that are NULL in pairs, by keys whose NULL equals a NULL, and by columns that are
// read elsewhere.
func TestOuterJoins(t *testing.T) {
	statements := []struct {
		text string
		join string // in the plan
	}{
		{"SELECT l.v, r.s FROM l LEFT JOIN r ON l.k = r.k WHERE r.v > 5", "join: inner"},
		{"SELECT l.v, r.s FROM l LEFT JOIN r ON l.k = r.k WHERE r.v + l.v > 5", "join: inner"},
		{"SELECT l.v, r.s FROM l LEFT JOIN r ON l.k = r.k WHERE r.v IS NOT NULL", "join: inner"},
		{"SELECT l.v, r.s FROM l LEFT JOIN r ON l.k = r.k WHERE NOT r.v BETWEEN 3 AND 9", "join: inner"},
		{"SELECT l.v, r.s FROM l LEFT JOIN r ON l.k = r.k WHERE r.v IN (3, 4, NULL) OR r.v < 2 AND l.v > 1", "join: inner"},
		{"SELECT l.v, r.s FROM l LEFT JOIN r ON l.k = r.k WHERE r.v > 5 OR l.v > 5", "join: left"},
		{"SELECT l.v, r.s FROM l LEFT JOIN r ON l.k = r.k WHERE coalesce(r.v, 9) > 5", "join: left"},
		{"SELECT l.v, r.s FROM l LEFT JOIN r ON l.k = r.k WHERE NOT r.v IS NULL", "join: inner"},
		{"SELECT l.v, r.s FROM l LEFT JOIN r ON l.k = r.k WHERE r.v IS DISTINCT FROM 5", "join: left"},
		{"SELECT l.v, r.s FROM l RIGHT JOIN r ON l.k = r.k WHERE l.v > 5", "join: inner"},
		{"SELECT l.v, r.s FROM l FULL JOIN r ON l.k = r.k WHERE l.v > 5 AND r.v > 5", "join: inner"},
		{"SELECT l.v, r.s FROM l FULL JOIN r ON l.k = r.k WHERE l.v > 5", "join: left"},
		{"SELECT l.v, r.s FROM l FULL JOIN r ON l.k = r.k WHERE r.v < 5", "join: right"},
		{"SELECT k, l.v, r.s FROM l FULL JOIN r USING (k) WHERE k > 5", "join: full"},
		{"SELECT l.v, a.s FROM l LEFT JOIN r a ON l.k = a.k JOIN r b ON a.v = b.v AND b.k < 20", "join: inner"},
		{"SELECT l.v, a.s FROM l LEFT JOIN r a ON l.k = a.k LEFT JOIN r b ON a.v = b.v AND b.k < 20", "join: left"},
		{"SELECT v, count(*) FROM (SELECT l.k, r.v FROM l LEFT JOIN r ON l.k = r.k) GROUP BY v HAVING v > 3", "join: inner"},
		{"SELECT v FROM (SELECT l.k, r.v FROM l LEFT JOIN r ON l.k = r.k UNION ALL SELECT k, v FROM r) WHERE v > 3",
			"join: inner"},
		{"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL", "join: anti"},
		{"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k AND r.v > l.v WHERE r.v IS NULL AND l.v > 2", "join: anti"},
		{"SELECT l.v FROM l LEFT JOIN (SELECT k, CASE WHEN v > 9 THEN v END AS v FROM r) r ON l.k = r.k WHERE r.v IS NULL",
			"join: left"},
		{"SELECT l.v, r.s FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL", "join: left"},
		{"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL AND (r.v IS NULL OR l.v > 5)", "join: left"},
		{"SELECT l.v FROM l LEFT JOIN r ON l.k IS NOT DISTINCT FROM r.k WHERE r.k IS NULL", "join: left"},
		{"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL ORDER BY r.s", "join: left"},
		{"SELECT count(*) FROM l LEFT JOIN r a ON l.k = a.k LEFT JOIN r b ON l.k = b.k WHERE a.k IS NULL AND b.k IS NULL",
			"join: anti"},
		{"SELECT l.v, r.s FROM l LEFT JOIN r ON l.k = r.k WHERE l.k BETWEEN 10 AND 20", "join: left"},
		{"SELECT l.v, r.n FROM l LEFT JOIN (SELECT k, count(*) AS n FROM r GROUP BY k) r ON l.k = r.k WHERE l.k IN (3, 4)",
			"join: left"},
		{"SELECT l.v FROM l WHERE l.k > 30 AND NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)", "join: anti"},
	}
	rng := rand.New(rand.NewPCG(7, 8))
	eng := openEngine(t)
	tables := map[string]plan.Table{
		"l": {Source: source(rng, makeSide(rng, 600, 90, 0.1))},
		"r": {Source: source(rng, makeSide(rng, 200, 60, 0.2))},
	}
	for _, s := range statements {
		rows, plan := checkRule(t, eng, s.text, tables, rules.OuterJoins)
		if rows == 0 {
			t.Errorf("%s: no rows", s.text)
		}
		turned := strings.NewReplacer("join: left", "join: right", "join: right", "join: left").Replace(s.join)
		if !strings.Contains(plan, s.join) && !strings.Contains(plan, turned) {
			t.Errorf("%s: no %s:\n%s", s.text, s.join, plan)
		}
	}
}

// unopened is a source of one split, which cannot be opened.
type unopened struct{ scan.Source }

func (s unopened) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	splits, err := s.Source.Splits(ctx, columns)
	return []scan.Split{unopenedSplit{splits[0]}}, err
}

type unopenedSplit struct{ scan.Split }

func (s unopenedSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	if opt.Sample {
		return s.Split.Open(ctx, opt)
	}
	time.Sleep(5 * time.Millisecond) // meanwhile another thread waits for the split's end
	return nil, errors.New("boom")
}

// Would catch a thread that waits for a split of the probe side that has failed, to read the rows of the build side
// that have no partner.
func TestOuterJoinFails(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	tables := map[string]plan.Table{
		"l": {Source: unopened{source(rng, makeSide(rng, 600, 90, 0.1))}},
		"r": {Source: source(rng, makeSide(rng, 200, 60, 0.2))},
	}
	for _, statement := range []string{
		"SELECT count(*) FROM l RIGHT JOIN r ON l.k = r.k", "SELECT l.v, r.s FROM l FULL JOIN r ON l.k = r.k",
		"SELECT r.s FROM r WHERE EXISTS (SELECT 1 FROM l WHERE l.k = r.k)", "SELECT r.v, l.s FROM r LEFT JOIN l ON l.k = r.k",
		"SELECT r.v, l.s FROM r LEFT JOIN l ON l.k = r.k ORDER BY ALL",
	} {
		if _, _, err := answerCoded(t.Context(), openEngine(t), tables, statement, 0); err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
