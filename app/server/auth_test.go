package server

import (
	"strings"
	"testing"
)

// Would catch a token that is taken for another's, short ones, and files that are none.
func TestTokens(t *testing.T) {
	tokens, err := ReadTokens(strings.NewReader("# who may\n\nann 0123456789abcdef\n bob   fedcba9876543210\n"))
	if err != nil || !tokens.Asked() {
		t.Fatal(err)
	}
	for token, want := range map[string]string{
		"0123456789abcdef": "ann", "fedcba9876543210": "bob", "0123456789abcdeF": "", "": "", "ann 0123456789abcdef": "", "0123456789abcdef ": "",
	} {
		if name, ok := tokens.Name(token); name != want || ok != (want != "") {
			t.Errorf("%q: %q, %t, want %q", token, name, ok, want)
		}
	}
	for text, want := range map[string]string{
		"":                                       "no token",
		"ann":                                    "line 1: want a name and a token",
		"ann short":                              "line 1: the token of ann has 5 bytes",
		"a 0123456789abcdef\nb 0123456789abcdef": "line 2: a and b have the same token",
		"ann 0123456789abcdef more":              "line 1: want",
	} {
		if _, err := ReadTokens(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if (Tokens{}).Asked() {
		t.Error("no tokens ask for one")
	}
}
