package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mpga/mpga/app/server"
)

// securityFlags say whom a server trusts.
type securityFlags struct {
	cert     string
	key      string
	clientCA string
	tokens   string
}

func (f *securityFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.cert, "tls-cert", "", "encrypt connections with the certificate in `FILE`, as PEM, and --tls-key")
	flags.StringVar(&f.key, "tls-key", "", "key of --tls-cert in `FILE`, as PEM")
	flags.StringVar(&f.clientCA, "tls-client-ca", "",
		"take only clients whose certificate an authority in `FILE`, as PEM, has signed")
	flags.StringVar(&f.tokens, "token-file", "",
		"take only clients with a bearer token of `FILE`, whose lines are a name and a token")
}

// secrets are what the files of the flags hold.
type secrets struct {
	tls    *tls.Config // nil without a certificate
	tokens server.Tokens
}

// scheme returns the scheme of URLs of the server.
func (s *secrets) scheme() string {
	if s.tls != nil {
		return "https"
	}
	return "http"
}

// load reads the files.
func (f *securityFlags) load() (s secrets, err error) {
	if f.tokens != "" {
		file, err := os.Open(f.tokens)
		if err != nil {
			return s, usagef("--token-file: %w", err)
		}
		defer file.Close()
		if s.tokens, err = server.ReadTokens(file); err != nil {
			return s, usagef("--token-file %s: %w", f.tokens, err)
		}
	}
	switch {
	case (f.cert == "") != (f.key == ""):
		return s, usagef("--tls-cert and --tls-key go together")
	case f.cert == "" && f.clientCA != "":
		return s, usagef("--tls-client-ca needs --tls-cert and --tls-key")
	case f.cert == "":
		return s, nil
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return s, usagef("--tls-cert, --tls-key: %w", err)
	}
	s.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if f.clientCA == "" {
		return s, nil
	}
	text, err := os.ReadFile(f.clientCA)
	if err != nil {
		return s, usagef("--tls-client-ca: %w", err)
	}
	s.tls.ClientCAs, s.tls.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !s.tls.ClientCAs.AppendCertsFromPEM(text) {
		return s, usagef("--tls-client-ca %s: there is no certificate in it", f.clientCA)
	}
	return s, nil
}

// openListeners listens at all addresses, or at none.
func openListeners(addresses []string) (list []net.Listener, err error) {
	for _, address := range addresses {
		l, err := openListener(address)
		if err != nil {
			for _, open := range list {
				err = errors.Join(err, open.Close())
			}
			return nil, fmt.Errorf("--listen: %w", err)
		}
		list = append(list, l)
	}
	return list, nil
}

// openListener listens at an address: of TCP, or, behind unix:, at a path. What a server that was
// killed has left at the path is replaced; only the user may connect there.
func openListener(address string) (net.Listener, error) {
	path, ok := strings.CutPrefix(address, "unix:")
	if !ok {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return nil, usagef("%q: want host:port, :port or unix:/path", address)
		}
		return net.Listen("tcp", address)
	}
	path = strings.TrimPrefix(path, "//")
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if c, err := net.Dial("unix", path); err == nil {
			_ = c.Close()
			return nil, fmt.Errorf("%s: another server listens there", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
		slog.Info("a socket that nobody listens at is replaced", "path", path)
	}
	old := restrictNewFiles()
	l, err := net.Listen("unix", path)
	old()
	return l, err
}

// shownAddress returns the address at which a listener listens, as clients write it.
func shownAddress(asked string, l net.Listener) string {
	if strings.HasPrefix(asked, "unix:") {
		return asked
	}
	return l.Addr().String()
}
