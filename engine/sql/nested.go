//go:build cgo

package sql

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/internal/expr"
)

// Nested values are parsed as calls and lists of PostgreSQL's SQL:
//
//	[a, b]                      ARRAY[a, b]
//	{'a': 1}, MAP {'a': 1}      "{"('a', 1), "map {"('a', 1)
//	lambda x, y: x + y          "lambda"(ARRAY[x, y], x + y)
//	[x + 1 for x in l if x > 1] "[for"(x + 1, ARRAY[x], l, x > 1)
//	f(x)[1], f(x).a             (f(x))[1], (f(x)).a
//	l[1:5:2], l[::-1]           l[1:5]['step':2], l[:]['step':-1]
//	x::STRUCT(a INTEGER)        x::"nested type"

// The functions that nested values are parsed as, and what stands for types and steps.
const (
	structCall        = "{" // of names and values in turns
	mapCall           = "map {"
	lambdaCall        = "lambda"
	comprehensionCall = "[for"

	typeName = "nested type"
	stepWord = "step"
)

// nestedValues notes what is parsed in place of the words and brackets of nested values.
func (s *script) nestedValues() {
	s.pair()
	for i, t := range s.tokens {
		switch {
		case t.Token == pg.Token_ASCII_91 && s.opensList(i):
			s.comprehension(i)
			if s.token(i-1).Token == pg.Token_IN_P && s.swapped[int(s.token(i-1).Start)] == "" {
				s.wrap(i, s.partner(i)+1)
			}
		case t.Token == pg.Token_IN_P && s.token(i+1).Token == pg.Token_IDENT && s.swapped[int(t.Start)] == "":
			end := i + 2
			for s.token(end).Token == pg.Token_ASCII_46 {
				end += 2
			}
			if s.token(end).Token != pg.Token_ASCII_40 {
				s.wrap(i+1, end)
			}
		case t.Token == pg.Token_ASCII_46 && s.isMethod(i):
			s.method(i)
		case t.Token == pg.Token_ASCII_46:
			s.wrapOperand(i)
		case s.isWord(i, "map") && s.token(i+1).Token == tokenOpenBrace:
			s.swapped[int(t.Start)] = " "
			s.swapped[int(s.tokens[i+1].Start)] = `"` + mapCall + `"(`
		case s.isWord(i, "lambda"):
			s.lambda(i)
		case s.token(i+1).Token == pg.Token_ASCII_40 && (s.isWord(i, "struct") || s.isWord(i, "map")) &&
			(s.token(i-1).Token == pg.Token_TYPECAST || s.token(i-1).Token == pg.Token_AS):
			if typ, end, ok := s.nestedType(i); ok {
				s.types[int(t.Start)] = typed{typ, end - i}
			}
		}
	}
}

// typed is a nested type that is written with its parts.
type typed struct {
	typ   expr.Type
	taken int // tokens
}

// pair finds which brackets belong together.
func (s *script) pair() {
	s.partners = map[int]int{}
	var open []int
	for i, t := range s.tokens {
		switch t.Token {
		case pg.Token_ASCII_40, pg.Token_ASCII_91, tokenOpenBrace:
			open = append(open, i)
		case pg.Token_ASCII_41, pg.Token_ASCII_93, tokenCloseBrace:
			if last := len(open) - 1; last >= 0 {
				s.partners[i], s.partners[open[last]] = open[last], i
				open = open[:last]
			}
		}
	}
}

// partner returns the index of the bracket that belongs to the one at an index, or of the end of the text.
func (s *script) partner(i int) int {
	if p, ok := s.partners[i]; ok {
		return p
	}
	return len(s.tokens)
}

// isMethod says whether the point at an index stands before a function of what stands before the point, which is more
// than a name.
func (s *script) isMethod(i int) bool {
	name := s.token(i + 1) // any word of the grammar, too: left, right
	if !isName(name) && name.KeywordKind == pg.KeywordKind_NO_KEYWORD || s.token(i+2).Token != pg.Token_ASCII_40 {
		return false
	}
	for isName(s.token(i-1)) && s.token(i-2).Token == pg.Token_ASCII_46 { // a field of a value
		i -= 2
	}
	switch s.token(i - 1).Token {
	case pg.Token_SCONST, pg.Token_ASCII_41, pg.Token_ASCII_93, tokenCloseBrace:
		return true
	}
	return false
}

// method notes that a.f(b) is parsed as f(a, b).
func (s *script) method(i int) {
	first := s.operandStart(i - 1)
	if first < 0 {
		return
	}
	s.open(first, i, `"`+strings.ToLower(s.name(s.token(i+1)))+`"(`)
	s.swapped[int(s.token(i).Start)], s.swapped[int(s.token(i+1).Start)] = " ", " "
	if s.swapped[int(s.token(i+2).Start)] = ","; s.token(i+3).Token == pg.Token_ASCII_41 {
		s.swapped[int(s.token(i+2).Start)] = " "
	}
}

// operandStart returns the index of the first token of the operand that ends at an index, or -1.
func (s *script) operandStart(i int) int {
	first := i
	switch s.token(i).Token {
	case pg.Token_ASCII_41:
		if first = s.partner(i); first >= i {
			return -1
		}
		if s.isCalled(first - 1) {
			first--
		}
	case pg.Token_ASCII_93:
		if first = s.partner(i); first >= i {
			return -1
		}
		if !s.opensList(first) {
			return s.operandStart(first - 1)
		}
	case tokenCloseBrace:
		if first = s.partner(i); first >= i {
			return -1
		}
		if s.isWord(first-1, "map") {
			first--
		}
	}
	if s.token(first-1).Token == pg.Token_ASCII_46 {
		return s.operandStart(first - 2)
	}
	return first
}

// opening is a text that is parsed before an operand, and the index of the token behind what it opens.
type opening struct {
	text string
	end  int
}

// open notes what is parsed before an operand; what ends last comes first.
func (s *script) open(from, end int, text string) {
	at := int(s.token(from).Start)
	s.openings[at] = append(s.openings[at], opening{text, end})
	slices.SortStableFunc(s.openings[at], func(a, b opening) int { return b.end - a.end })
}

// insertOpenings puts what open has noted before the operands.
func (s *script) insertOpenings() {
	for at, list := range s.openings {
		for _, o := range list {
			s.inserted[at] += o.text
		}
	}
}

// wrap puts parentheses around tokens.
func (s *script) wrap(from, to int) {
	s.open(from, to, "(")
	if to >= len(s.tokens) {
		s.tail += ")"
		return
	}
	at := int(s.tokens[to].Start)
	s.inserted[at] = ")" + s.inserted[at]
}

// opensList says whether the [ at an index begins a list, and no subscript and no type of lists.
func (s *script) opensList(i int) bool {
	before := s.token(i - 1)
	switch before.Token {
	case pg.Token_SCONST, pg.Token_ASCII_41, pg.Token_ASCII_93, pg.Token_IDENT, pg.Token_PARAM, tokenCloseBrace,
		pg.Token_END_P:
		return false
	}
	if slices.Contains(beforeOperand, strings.ToLower(s.word(before))) {
		return true
	}
	kind := before.KeywordKind
	return kind == pg.KeywordKind_NO_KEYWORD || kind == pg.KeywordKind_RESERVED_KEYWORD
}

// wrapOperand puts parentheses around the call, list or struct before an index, where PostgreSQL's parser takes no [
// and no field without them.
func (s *script) wrapOperand(i int) {
	first := s.partner(i - 1)
	switch s.token(i - 1).Token {
	case pg.Token_SCONST:
		first = i - 1
	case pg.Token_ASCII_41:
		if first--; !s.isCalled(first) {
			return
		}
		first = s.operandStart(i - 1) // of a.f(b) its a
	case pg.Token_ASCII_93:
		if !s.opensList(first) {
			return
		}
	case tokenCloseBrace:
		if s.isWord(first-1, "map") {
			first--
		}
	default:
		return
	}
	if first >= 0 && first < i {
		s.wrap(first, i)
	}
}

// lambda notes how a lambda is parsed that begins at an index.
func (s *script) lambda(i int) {
	before := s.token(i - 1).Token
	if before != pg.Token_ASCII_40 && before != pg.Token_ASCII_44 || s.isColumns(i-2) {
		return
	}
	colon := i + 1
	for isName(s.token(colon)) && s.token(colon+1).Token == pg.Token_ASCII_44 {
		colon += 2
	}
	if colon++; !isName(s.token(colon-1)) || s.token(colon).Token != pg.Token_ASCII_58 {
		return
	}
	s.swapped[int(s.tokens[i].Start)] = `"` + lambdaCall + `"(ARRAY[`
	s.swapped[int(s.tokens[colon].Start)] = "],"
	end := s.elementEnd(colon + 1)
	at := int(s.token(end).Start)
	s.inserted[at] = ")" + s.inserted[at]
}

// elementEnd returns the index of the comma or the bracket that ends the element of a list that begins at an index.
func (s *script) elementEnd(i int) int {
	for ; i < len(s.tokens); i++ {
		switch s.tokens[i].Token {
		case pg.Token_ASCII_40, pg.Token_ASCII_91, tokenOpenBrace:
			i = s.partner(i)
		case pg.Token_ASCII_41, pg.Token_ASCII_93, tokenCloseBrace, pg.Token_ASCII_44:
			return i
		}
	}
	return len(s.tokens)
}

// comprehension notes how [a for x in list if b] is parsed, where the [ at an index begins one.
func (s *script) comprehension(i int) {
	end := s.partner(i)
	words := map[pg.Token]string{pg.Token_FOR: ", ARRAY[", pg.Token_IN_P: "],", pg.Token_IF_P: ","}
	next := pg.Token_FOR
	for k := i + 1; k < end && next != 0; k++ {
		switch t := s.tokens[k]; t.Token {
		case pg.Token_ASCII_40, pg.Token_ASCII_91, tokenOpenBrace:
			k = s.partner(k)
		case next:
			if next == pg.Token_FOR {
				s.swapped[int(s.tokens[i].Start)] = `"` + comprehensionCall + `"(`
				s.swapped[int(s.token(end).Start)] = ")"
			}
			s.swapped[int(t.Start)] = words[next]
			next = map[pg.Token]pg.Token{pg.Token_FOR: pg.Token_IN_P, pg.Token_IN_P: pg.Token_IF_P}[next]
		}
	}
}

// nestedType reads a type that begins at an index, and returns the index behind it.
func (s *script) nestedType(i int) (typ expr.Type, end int, ok bool) {
	word := strings.ToLower(s.name(s.token(i)))
	hasParts := s.token(i+1).Token == pg.Token_ASCII_40
	switch {
	case hasParts && (word == "struct" || word == "map"):
		var names []string
		var parts []expr.Type
		for i++; s.token(i).Token == pg.Token_ASCII_40 || s.token(i).Token == pg.Token_ASCII_44; {
			if i++; word == "struct" {
				names = append(names, s.name(s.token(i)))
				i++
			}
			var part expr.Type
			if part, i, ok = s.nestedType(i); !ok {
				return typ, i, false
			}
			parts = append(parts, part)
		}
		if typ, ok = expr.NestedOf(names, parts); !ok || s.token(i).Token != pg.Token_ASCII_41 {
			return typ, i, false
		}
	default:
		var params []int
		if hasParts {
			for i++; s.token(i).Token == pg.Token_ASCII_40 || s.token(i).Token == pg.Token_ASCII_44; i += 2 {
				n, err := strconv.Atoi(s.word(s.token(i + 1)))
				if err != nil {
					return typ, i, false
				}
				params = append(params, n)
			}
		}
		var err error
		if typ, err = expr.ParseType(word, params...); err != nil {
			return typ, i, false
		}
	}
	for i++; s.token(i).Token == pg.Token_ASCII_91 && s.token(i+1).Token == pg.Token_ASCII_93; i += 2 {
		typ = expr.ListOf(typ)
	}
	return typ, i, true
}

// list reads [a, b].
func (p *statements) list(list *pg.A_ArrayExpr) *expr.Expr {
	p.take(list, "elements")
	return p.call("list_value", list.GetLocation(), list.GetElements()...)
}

// row reads (a, b).
func (p *statements) row(row *pg.RowExpr) *expr.Expr {
	p.take(row, "args", "row_format")
	return p.call("row", row.GetLocation(), row.GetArgs()...)
}

// nestedCall reads what structs, maps, lambdas and comprehensions are parsed as; nil of other calls.
func (p *statements) nestedCall(call *pg.FuncCall, name string) *expr.Expr {
	at, args := p.offset(call.GetLocation()), call.GetArgs()
	switch name {
	case structCall, mapCall, lambdaCall, comprehensionCall:
		p.take(call, "funcname", "args")
	case "struct_pack", "struct_insert", "struct_update":
		if len(args) > 0 && args[len(args)-1].GetNamedArgExpr() != nil {
			p.take(call, "funcname", "args")
			return p.named(at, name, args)
		}
		return nil
	}
	if last := len(args) - 1; name == UnnestCall && last > 0 && args[last].GetNamedArgExpr() != nil {
		p.take(call, "funcname", "args")
		return callAt(at, name, p.unnested(args))
	}
	switch name {
	case structCall:
		of := callAt(at, "struct_pack")
		for i, node := range args {
			if ref := node.GetColumnRef(); ref != nil && i%2 == 0 {
				of.Args = append(of.Args, expr.Constant(p.columnRef(ref).Name))
			} else {
				of.Args = append(of.Args, p.expr(node))
			}
		}
		return of
	case mapCall:
		keys, values := callAt(at, "list_value"), callAt(at, "list_value")
		for i, x := range p.exprs(args) {
			if i%2 == 0 {
				keys.Args = append(keys.Args, x)
			} else {
				values.Args = append(values.Args, x)
			}
		}
		return callAt(at, "map", keys, values)
	case lambdaCall:
		return p.lambdaOf(at, args[0], p.expr(args[1]))
	case comprehensionCall:
		return p.comprehended(at, args)
	}
	return nil
}

// named reads the arguments name := value of struct_pack, and of its kin.
func (p *statements) named(at int, name string, args []*pg.Node) *expr.Expr {
	of := callAt(at, name)
	for _, node := range args {
		arg := node.GetNamedArgExpr()
		if arg == nil {
			of.Args = append(of.Args, p.expr(node))
			continue
		}
		p.take(arg, "name", "arg")
		of.Args = append(of.Args, expr.Constant(arg.GetName()), p.expr(arg.GetArg()))
	}
	return of
}

// lambdaOf returns the lambda whose parameters a list names, and whose names body still has as columns.
func (p *statements) lambdaOf(at int, list *pg.Node, body *expr.Expr) *expr.Expr {
	p.take(list.GetAArrayExpr(), "elements")
	of := &expr.Expr{Op: expr.OpLambda, At: at}
	for _, node := range list.GetAArrayExpr().GetElements() {
		name := p.columnRef(node.GetColumnRef()).Name
		p.localsMade++
		local := &expr.Expr{Op: expr.OpLocal, Name: name, Value: p.localsMade, At: at}
		of.Args = append(of.Args, local)
		body = body.Replace(func(x *expr.Expr) *expr.Expr {
			switch {
			case x.Op != expr.OpColumn:
				return nil
			case x.Path == nil && strings.EqualFold(x.Name, name):
				return local
			case x.Path == nil || !strings.EqualFold(x.Path[0], name):
				return nil
			}
			return fieldsOf(local, x.Path[1:])
		})
	}
	of.Args = append(of.Args, body)
	return of
}

// fieldsOf returns the field that a path leads to from a value.
func fieldsOf(x *expr.Expr, path []string) *expr.Expr {
	for _, name := range path {
		x = callAt(x.At, "array_extract", x, expr.Constant(name))
	}
	return x
}

// comprehended reads [a for x in list if b].
func (p *statements) comprehended(at int, args []*pg.Node) *expr.Expr {
	if len(args) < 3 || len(args) > 4 || args[1].GetAArrayExpr() == nil {
		p.fail(at, "syntax error: want [a for x in list] or [a for x in list if condition]")
	}
	list := p.expr(args[2])
	if len(args) == 4 {
		list = callAt(at, "list_filter", list, p.lambdaOf(at, args[1], p.expr(args[3])))
	}
	return callAt(at, "list_transform", list, p.lambdaOf(at, args[1], p.expr(args[0])))
}
