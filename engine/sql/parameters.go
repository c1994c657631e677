package sql

import (
	"slices"

	"github.com/mpga/mpga/internal/expr"
)

// Replace returns the statement in which another expression stands for each part of its own
// expressions for which f returns one. Derived tables stay as they are.
func (s *Select) Replace(f func(*expr.Expr) *expr.Expr) *Select {
	of := *s
	of.Items = slices.Clone(s.Items)
	for i := range of.Items {
		it := &of.Items[i]
		it.Expr = it.Expr.Replace(f)
		if it.Star != nil {
			star := *it.Star
			star.Replace = slices.Clone(star.Replace)
			for j := range star.Replace {
				star.Replace[j].Expr = star.Replace[j].Expr.Replace(f)
			}
			it.Star = &star
		}
	}
	of.Where, of.Having, of.Qualify = s.Where.Replace(f), s.Having.Replace(f), s.Qualify.Replace(f)
	of.Limit, of.Offset = s.Limit.Replace(f), s.Offset.Replace(f)
	of.GroupBy = slices.Clone(s.GroupBy)
	for i := range of.GroupBy {
		g := &of.GroupBy[i]
		g.Expr = g.Expr.Replace(f)
		g.Sets = slices.Clone(g.Sets)
		for j, set := range g.Sets {
			g.Sets[j] = slices.Clone(set)
			for k, x := range set {
				g.Sets[j][k] = x.Replace(f)
			}
		}
	}
	of.DistinctOn = slices.Clone(s.DistinctOn)
	for i := range of.DistinctOn {
		of.DistinctOn[i] = of.DistinctOn[i].Replace(f)
	}
	of.OrderBy = slices.Clone(s.OrderBy)
	for i := range of.OrderBy {
		of.OrderBy[i].Expr = of.OrderBy[i].Expr.Replace(f)
	}
	return &of
}
