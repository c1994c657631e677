//go:build cgo

package sql

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/internal/expr"
)

// collations are the functions that make strings equal which a collation takes for equal; "" of bytes.
var collations = map[string]string{
	"nocase": "lower", "noaccent": "strip_accents", "nfc": "nfc_normalize", "binary": "", "c": "", "posix": "",
}

// compared reads values that are compared with each other. A collation behind one of them, as in a COLLATE NOCASE = b,
// is that of all: in their place the values of its functions are compared.
func (p *statements) compared(nodes []*pg.Node) []*expr.Expr {
	list := make([]*expr.Expr, len(nodes))
	var names []string // of the collations, one behind the other
	for i, node := range nodes {
		if c := node.GetCollateClause(); c != nil {
			p.take(c, "arg", "collname")
			found := words(c.GetCollname())
			if names != nil && !slices.Equal(names, found) {
				p.fail(p.offset(c.GetLocation()), "a comparison has one collation, not %s and %s",
					strings.Join(names, "."), strings.Join(found, "."))
			}
			names, node = found, c.GetArg()
			for _, name := range names {
				if _, ok := collations[strings.ToLower(name)]; !ok {
					const there = "no collation is named %s; there are NOCASE, NOACCENT, NFC, and C of bytes"
					p.fail(p.offset(c.GetLocation()), there, name)
				}
			}
		}
		list[i] = p.expr(node)
	}
	for _, name := range names {
		if fn := collations[strings.ToLower(name)]; fn != "" {
			for i, x := range list {
				list[i] = callAt(x.At, fn, x)
			}
		}
	}
	return list
}
