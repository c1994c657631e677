package plan

import (
	"math"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/knob"
)

// pairsWarned is from how many pairs on a join that compares all of them is worth a warning: a thread compares some
// 6e7 in a second.
const pairsWarned = 1e9

// comparedPairs returns how many pairs a join is taken to compare, by estimates; 0 where keys, or a sorted build side,
// lead to partners, and where LIMIT may end the join. isExact says that the numbers of both sides' rows are known.
func (p *planner) comparedPairs(n *logical.Join, sorted string) (pairs float64, isExact bool) {
	if len(n.Keys) > 0 || sorted != "" || p.limited[n] {
		return 0, false
	}
	left, right := p.estimates.Rows(n.Left), p.estimates.Rows(n.Right)
	return left * right, hasExactRows(n.Left) && hasExactRows(n.Right)
}

// hasExactRows says whether the estimate of a node's rows is their number.
func hasExactRows(n logical.Node) bool {
	switch of := n.(type) {
	case *logical.Scan:
		return of.Source.Stats().Rows >= 0
	case *logical.Project:
		return hasExactRows(of.In)
	case *logical.Join:
		return len(of.Keys) == 0 && of.Condition == nil && of.Nearest == nil && !of.IsOneSided() &&
			hasExactRows(of.Left) && hasExactRows(of.Right)
	}
	return false
}

// noteLimited notes the joins that LIMIT may end: between both, rows are not kept until all are there.
func (p *planner) noteLimited(n logical.Node, isLimited bool) {
	switch of := n.(type) {
	case *logical.Limit:
		isLimited = isLimited || of.Limited || of.IsShare
	case *logical.Aggregate, *logical.Sort, *logical.Window:
		isLimited = false
	case *logical.Join:
		p.limited[of] = isLimited
	case *logical.Shared:
		p.noteLimited(of.Body.Root, isLimited)
	}
	for _, in := range n.Inputs() {
		p.noteLimited(in, isLimited)
	}
}

// checkPairs warns of a join that is taken to compare very many pairs, and refuses one that is known to compare more
// than the engine may.
func (s *joined) checkPairs() error {
	n, eng := s.node, s.run.statement.Engine()
	if n.compared < pairsWarned {
		return nil
	}
	if n.comparedExactly && n.compared > float64(eng.MaxPairs()) {
		return errPairs(eng, n, "compares some "+aboutPairs(n.compared))
	}
	eng.Warn("a join compares all pairs of its rows: no key and no range of its condition leads to partners",
		"join", n.text, "estimate", aboutPairs(n.compared))
	return nil
}

// countPairs adds pairs that are compared, and is an error from a number on.
func (j *joiner) countPairs(pairs int) error {
	n, eng := j.split.node, j.split.run.statement.Engine()
	if n.compared == 0 {
		return nil
	}
	if all := j.split.built.pairs.Add(int64(pairs)); all > eng.MaxPairs() {
		return errPairs(eng, n, "has compared "+humanize.Comma(all)+" pairs")
	}
	return nil
}

// errPairs is the error of a join that compares too many pairs.
func errPairs(eng *engine.Engine, n *joinNode, what string) error {
	const text = "%w: the join (%s) %s of its rows, and %s allows %s; an equality, or a range, of columns of both sides " +
		"in its condition leads to partners"
	return knob.Errorf(text, engine.ErrPairs, n.text, what, knob.Name("engine.MaxPairs"), humanize.Comma(eng.MaxPairs()))
}

// aboutPairs returns a number of pairs in words.
func aboutPairs(pairs float64) string {
	if pairs >= math.MaxInt64/2 {
		return humanize.SI(pairs, "pairs")
	}
	return digits.Counted(rounded(int64(pairs)), "pair")
}
