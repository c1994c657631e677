package server

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Tokens are the secrets by which clients show who they are, each the token of a name. A server
// without tokens takes everybody who reaches it. The zero value has none.
type Tokens struct {
	names map[[sha256.Size]byte]string // by the digests of the tokens: comparing these tells nothing of a token
}

// tokenBytesMin is the least length of a token: a shorter one can be guessed.
const tokenBytesMin = 16

// ReadTokens reads lines of a name and a token with a space between. Empty lines and lines that
// begin with # are left out.
func ReadTokens(from io.Reader) (Tokens, error) {
	tokens := Tokens{names: make(map[[sha256.Size]byte]string)}
	var errs []error
	lines := bufio.NewScanner(from)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, token, ok := strings.Cut(line, " ")
		token = strings.TrimSpace(token)
		digest := sha256.Sum256([]byte(token))
		switch {
		case !ok || strings.ContainsAny(token, " \t"):
			errs = append(errs, fmt.Errorf("line %d: want a name and a token with a space between", n))
		case len(token) < tokenBytesMin:
			errs = append(errs, fmt.Errorf(
				"line %d: the token of %s has %d bytes, and fewer than %d can be guessed",
				n, name, len(token), tokenBytesMin))
		case tokens.names[digest] != "":
			errs = append(errs, fmt.Errorf("line %d: %s and %s have the same token", n, tokens.names[digest], name))
		default:
			tokens.names[digest] = name
		}
	}
	errs = append(errs, lines.Err())
	if len(tokens.names) == 0 {
		errs = append(errs, errors.New("there is no token"))
	}
	return tokens, errors.Join(errs...)
}

// Asked says whether clients need a token.
func (t Tokens) Asked() bool { return len(t.names) > 0 }

// Name returns whose token it is.
func (t Tokens) Name(token string) (name string, ok bool) {
	name, ok = t.names[sha256.Sum256([]byte(token))]
	return name, ok
}

// CertificateName returns whom the certificate of a client names, which the server has verified; "" without
// one.
func CertificateName(connection *tls.ConnectionState) string {
	if connection == nil || len(connection.VerifiedChains) == 0 {
		return ""
	}
	return connection.VerifiedChains[0][0].Subject.String()
}
