//go:build cgo

package sql

import (
	"math"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mpga/mpga/internal/expr"
)

// setsOfRowsMax bounds the set operations of a text.
const setsOfRowsMax = 400

// setKinds are the kinds of set operations by the parser's names.
var setKinds = map[pg.SetOperation]SetKind{
	pg.SetOperation_SETOP_UNION: Union, pg.SetOperation_SETOP_INTERSECT: Intersect, pg.SetOperation_SETOP_EXCEPT: Except,
}

// setTokens are the words between the statements of set operations.
var setTokens = []pg.Token{pg.Token_UNION, pg.Token_INTERSECT, pg.Token_EXCEPT}

// setOperation reads UNION, INTERSECT or EXCEPT into the FROM of a statement. A chain of UNION is one operation.
func (p *statements) setOperation(s *Select, stmt *pg.SelectStmt) {
	o := &SetOperation{Kind: setKinds[stmt.GetOp()], All: stmt.GetAll()}
	s.Items, s.From = []Item{{}}, o
	if o.Kind == Union && !o.All {
		s.Distinct, o.All = true, true
	}
	var behind []*pg.SelectStmt // the last first
	for of := stmt; ; {
		clauses := []protoreflect.Name{"op", "all", "larg", "rarg"}
		if of == stmt {
			clauses = append(clauses, endClauses...)
		}
		p.take(of, clauses...)
		behind = append(behind, of.GetRarg())
		at, byName := p.setWord(of.GetRarg())
		if of == stmt {
			o.At, o.ByName = at, byName
		}
		left := of.GetLarg()
		if _, leftByName := p.setWord(left.GetRarg()); o.Kind != Union || left.GetOp() != stmt.GetOp() ||
			left.GetAll() != stmt.GetAll() || leftByName != o.ByName || hasEnd(left) {
			behind = append(behind, left)
			break
		}
		of = left
	}
	slices.Reverse(behind)
	for _, of := range behind {
		o.Queries = append(o.Queries, p.statement(of, p.ctes))
	}
}

// hasEnd says whether clauses stand around a set operation.
func hasEnd(stmt *pg.SelectStmt) bool {
	return stmt.GetWithClause() != nil || stmt.GetSortClause() != nil || stmt.GetLimitCount() != nil ||
		stmt.GetLimitOffset() != nil
}

// setWord returns the place of the word before the second statement of a set operation, and whether BY NAME stands
// behind the word: the parser does not tell. It is the last such word before the first of the statement's places.
func (p *statements) setWord(second *pg.SelectStmt) (at int, byName bool) {
	if second == nil {
		return 0, false
	}
	first := p.firstToken(second)
	for i := first; i >= 0; i-- {
		if slices.Contains(setTokens, p.tokens[i].Token) {
			at := int(p.tokens[i].Start)
			return at, p.marks[at] == markByName
		}
	}
	return 0, false
}

// firstToken returns the index of the first token that a message has a place of.
func (p *statements) firstToken(m proto.Message) int {
	first := math.MaxInt32
	eachMessage(m.ProtoReflect(), func(m protoreflect.Message) bool {
		f := m.Descriptor().Fields().ByName("location")
		if f == nil || m.Get(f).Int() < 0 || !m.Has(f) { // -1 is no place
			return true
		}
		if i, ok := p.at[int32(p.offset(int32(m.Get(f).Int())))]; ok {
			first = min(first, i)
		}
		return true
	})
	return min(first, len(p.tokens)-1)
}

// values reads VALUES. Where a value is no constant, each row is a statement without FROM of a UNION ALL.
func (p *statements) values(lists []*pg.Node) From {
	v := &Values{}
	parts, isConst := 0, true
	around, subqueries := p.subqueries, make([][]*Select, len(lists))
	for i, node := range lists {
		p.look()
		p.subqueries = nil
		row := p.exprs(node.GetList().GetItems())
		subqueries[i] = p.subqueries
		if i == 0 {
			v.At = max(row[0].At, 0)
		}
		if len(row) != len(lists[0].GetList().GetItems()) {
			p.fail(max(row[0].At, 0), "VALUES: row %d has %d values, and the first one %d", i+1, len(row), len(v.Rows[0]))
		}
		if parts += len(row); parts > ItemsMax {
			p.fail(v.At, "not supported: VALUES of more than %d values", ItemsMax)
		}
		for _, x := range row {
			notHere := func(x *expr.Expr) bool { return x.Op == expr.OpAggregate || x.Op == expr.OpWindow }
			if of := x.First(notHere); of != nil {
				p.fail(max(of.At, v.At), "not supported: %s in VALUES", of)
			}
			reads := func(x *expr.Expr) bool { return x.Op == expr.OpSubquery || x.Op == expr.OpColumn }
			isConst = isConst && x.First(reads) == nil
		}
		v.Rows = append(v.Rows, row)
	}
	p.subqueries = around
	if isConst {
		return v
	}
	union := &SetOperation{At: v.At, Kind: Union, All: true}
	for i, row := range v.Rows {
		q := &Select{Text: p.text, subqueries: subqueries[i]}
		for c, x := range row {
			q.Items = append(q.Items, Item{Expr: x, Name: ValuesColumn(c), At: x.At})
		}
		for _, below := range q.subqueries {
			q.height = max(q.height, below.height+1)
		}
		union.Queries = append(union.Queries, q)
	}
	return union
}
