package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// jdbcDriver is Arrow's driver of JDBC, which `make test-clients` fetches.
const jdbcDriver = "../bin/clients/flight-sql-jdbc-driver-18.3.0.jar"

// What Java asks by JDBC is answered: values of all types, parameters, metadata, and several statements
// at once; with and without TLS and tokens. Would catch a type that the driver does not know, and
// calls of the driver that the server does not answer.
func TestServeJava(t *testing.T) {
	java, err := exec.LookPath("java")
	if err != nil {
		t.Skip("there is no java")
	}
	if _, err := os.Stat(jdbcDriver); err != nil {
		t.Skipf("make test-clients fetches the driver: %v", err)
	}
	certs := newCertificates(t)
	tokens, token := tokenFile(t)
	plain := startServer(t)
	safe := startServer(t, "--tls-cert", certs.server, "--tls-key", certs.serverKey, "--token-file", tokens)
	store := filepath.Join(t.TempDir(), "trusted.p12")
	if text, err := exec.Command(filepath.Join(filepath.Dir(java), "keytool"), "-importcert", "-noprompt", "-alias", "mpga", "-file", certs.ca,
		"-keystore", store, "-storetype", "PKCS12", "-storepass", "changeit").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	url := func(s *served, options ...string) string {
		return "jdbc:arrow-flight-sql://" + strings.Replace(s.address, "127.0.0.1", "localhost", 1) + "/?" + strings.Join(options, "&")
	}
	const unchecked, unencrypted = "disableCertificateVerification=true", "useEncryption=false"
	trust := "useSystemTrustStore=false&trustStore=" + store + "&trustStorePassword=changeit"
	cmd := exec.Command(java, "-XX:TieredStopAtLevel=1", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", jdbcDriver,
		"testdata/clients/Client.java",
		url(plain, unencrypted),
		url(plain, unencrypted, "user=anna", "password="+token),
		url(safe, unchecked, "token="+token),
		url(safe, trust, "token="+token),
		url(safe, trust, "user=anna", "password="+token),
		"!"+url(safe, trust),
		"!"+url(safe, trust, "token=0123456789abcdef0124"),
		"!"+url(safe, trust, "user=anna", "password=wrong"),
		"!"+url(safe, "token="+token), // an authority that Java does not know
		"!"+url(safe, unencrypted, "token="+token),
		"!"+url(plain, unchecked),
	)
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	if n := strings.Count(string(text), "\nok "); n < 20 {
		t.Errorf("%d checks were made\n%s", n, text)
	}
}
