package tests

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mpga/mpga/tests/peer/peertest"
)

// What Python asks by ADBC is answered: parameters, metadata, rows that clients send, several results
// at once, polars and pandas; with and without TLS, tokens and certificates.
func TestServePython(t *testing.T) {
	python := cmp.Or(os.Getenv(peertest.Variable), "python3")
	if text, err := exec.Command(python, "-c", "import adbc_driver_flightsql, pyarrow").CombinedOutput(); err != nil {
		t.Skipf("pip install adbc-driver-flightsql pyarrow, or name a Python that has them in %s: %v\n%s", peertest.Variable, err, text)
	}
	certs := newCertificates(t)
	tokens, token := tokenFile(t)
	plain := startServer(t)
	safe := startServer(t, "--tls-cert", certs.server, "--tls-key", certs.serverKey, "--token-file", tokens)
	mutual := startServer(t, "--tls-cert", certs.server, "--tls-key", certs.serverKey, "--tls-client-ca", certs.ca)
	servers, err := json.Marshal(map[string]string{
		"plain": "grpc://" + plain.address, "safe": "grpc+tls://" + safe.address, "mutual": "grpc+tls://" + mutual.address,
		"token": token, "ca": certs.ca, "cert": certs.client, "key": certs.clientKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(python, "testdata/clients/client.py", string(servers)).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	if n := strings.Count(string(text), "ok "); n < 9 {
		t.Errorf("%d checks were made\n%s", n, text)
	}
	for _, s := range []*served{plain, safe, mutual} {
		if log := s.end(t); strings.Contains(log, "level=ERROR") || strings.Contains(log, token) {
			t.Errorf("the log of a server:\n%s", log)
		}
	}
}
