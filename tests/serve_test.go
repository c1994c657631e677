package tests

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// served is a running `mpga serve` with the table flights.
type served struct {
	cmd     *exec.Cmd
	address string // of Arrow Flight SQL
	log     chan string
	ended   chan error
}

// startServer starts `mpga serve`, which is ended with the test unless the test does so.
func startServer(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{log: make(chan string, 1), ended: make(chan error, 1)}
	const table = "flights=testdata/flights-2001.parquet"
	args = append([]string{"serve", "--table", table, "--listen", "localhost:0", "--temp-dir", t.TempDir()}, args...)
	s.cmd = exec.Command(buildCommand(t), args...)
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	go func() {
		var text []byte
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			text = append(append(text, lines.Bytes()...), '\n')
			if m := servedAddress.FindSubmatch(lines.Bytes()); m != nil {
				address <- string(m[1])
			}
		}
		s.log <- string(text)
		s.ended <- s.cmd.Wait()
	}()
	t.Cleanup(func() { s.end(t) })
	select {
	case s.address = <-address:
	case text := <-s.log:
		t.Fatalf("the server has ended: %s", text)
	case <-time.After(time.Minute):
		t.Fatal("the server does not listen")
	}
	return s
}

var servedAddress = regexp.MustCompile(`msg="clients are served" address=(\S+)`)

// end ends the server with the signal of who stops services, and returns its log.
func (s *served) end(t *testing.T) (log string) {
	t.Helper()
	if s.cmd == nil {
		return ""
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	select {
	case log = <-s.log:
	case <-time.After(time.Minute):
		t.Error("the server does not end")
		_ = s.cmd.Process.Kill()
		log = <-s.log
	}
	if err := <-s.ended; err != nil {
		t.Errorf("the server: %v\n%s", err, log)
	}
	s.cmd = nil
	return log
}

// certificates are files of PEM: an authority, and what it has signed for a server at localhost and
// for a client.
type certificates struct{ ca, server, serverKey, client, clientKey string }

func newCertificates(t *testing.T) certificates {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sign := func(name string, serial int64, parent *x509.Certificate, by *ecdsa.PrivateKey) (
		of *x509.Certificate, key *ecdsa.PrivateKey, certPath, keyPath string,
	) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		of = &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			BasicConstraintsValid: true, IsCA: parent == nil,
			KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
		if parent == nil {
			parent, by = of, key
		}
		der, err := x509.CreateCertificate(rand.Reader, of, parent, &key.PublicKey, by)
		if err != nil {
			t.Fatal(err)
		}
		text, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return of, key, write(name+".pem", "CERTIFICATE", der), write(name+".key", "PRIVATE KEY", text)
	}
	var c certificates
	ca, key, path, _ := sign("authority", 1, nil, nil)
	c.ca = path
	_, _, c.server, c.serverKey = sign("server", 2, ca, key)
	_, _, c.client, c.clientKey = sign("client", 3, ca, key)
	return c
}

// tokenFile returns a file of a token, and the token.
func tokenFile(t *testing.T) (path, token string) {
	t.Helper()
	path, token = filepath.Join(t.TempDir(), "tokens"), "0123456789abcdef0123"
	if err := os.WriteFile(path, []byte("anna "+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, token
}
