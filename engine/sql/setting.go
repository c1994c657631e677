package sql

import (
	"context"
	"strings"

	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/sqlscan"
)

// Setting is a statement that sets the time zone of a session: SET TimeZone = 'Europe/Berlin', SET TIME ZONE 'UTC',
// RESET TimeZone.
type Setting struct {
	TimeZone string // "" is the zone that the session began with
}

// IsSet says whether a text begins as a SET or a RESET does.
func IsSet(text string) bool {
	first := sqlscan.First(text)
	return first.Is(text, "set") || first.Is(text, "reset")
}

// ParseSet reads a SET or a RESET. Errors are of type *Error.
func ParseSet(text string) (*Setting, error) {
	var tokens []sqlscan.Token
	for _, t := range sqlscan.Scan(text) {
		if t.Kind != sqlscan.Comment && t.Text(text) != ";" {
			tokens = append(tokens, t)
		}
	}
	at := 1
	word := func(words ...string) bool {
		for _, w := range words {
			if at < len(tokens) && strings.EqualFold(tokens[at].Text(text), w) {
				at++
				return true
			}
		}
		return false
	}
	fail := func(format string, args ...any) (*Setting, error) {
		place := len(text)
		if at < len(tokens) {
			place = tokens[at].Start
		}
		return nil, errorAt(text, place, format, args...)
	}
	word("session", "local", "global")
	isWords := word("time")
	if !isWords && !word("timezone") || isWords && !word("zone") {
		return fail("not supported: SET of anything but TimeZone; the options of a command are flags, as --memory-limit")
	}
	if tokens[0].Is(text, "reset") {
		if at < len(tokens) {
			return fail("want nothing behind RESET TimeZone")
		}
		return &Setting{}, nil
	}
	if !isWords && !word("=", "to") {
		return fail("want = and the name of a zone, as in SET TimeZone = 'Europe/Berlin'")
	}
	if at+1 != len(tokens) {
		return fail("want the name of one zone, as in SET TimeZone = 'Europe/Berlin'")
	}
	name := tokens[at].Value(text)
	if tokens[at].Is(text, "default") || tokens[at].Is(text, "local") && isWords {
		return &Setting{}, nil
	}
	if _, err := expr.InZone(context.Background(), name); err != nil || name == "" {
		return fail("no time zone is named %q; want a name as 'UTC' or 'Europe/Berlin'", name)
	}
	return &Setting{TimeZone: name}, nil
}
