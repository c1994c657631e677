package redact

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// Would catch a secret that is shown, and names and texts that are changed though they have none.
func TestURL(t *testing.T) {
	for name, want := range map[string]string{
		"":                            "",
		"dir/x.csv":                   "dir/x.csv",
		"dir/a@b?x=1#2.csv":           "dir/a@b?x=1#2.csv",
		"s3://bucket/key.parquet":     "s3://bucket/key.parquet",
		"s3://bucket/part-?.parquet":  "s3://bucket/part-?.parquet",
		"s3://bucket/y=?/a#b@c.csv":   "s3://bucket/y=?/a#b@c.csv",
		"https://host/x.csv":          "https://host/x.csv",
		"https://host:8080/p@1/x.csv": "https://host:8080/p@1/x.csv",
		"https://[::1]:80/x":          "https://[::1]:80/x",
		"https://[::1]/x@y":           "https://[::1]/x@y",
		"https://u:p@host/x":          "https://***@host/x",
		"https://u@host":              "https://***@host",
		"https://u:p@q@host:1/x":      "https://***@host:1/x",
		"https://u:p/q@host/x":        "https://***@host/x",
		"https://u:p?q@host/x?s=1":    "https://***",
		"https://u:p#q@host/x":        "https://***",
		"https://host:pass/x":         "https://***",
		"https://host/x?a=1&b=2":      "https://host/x?a=***&b=***",
		"https://host/x?token":        "https://host/x?***",
		"https://host/x?a=1;b&=c":     "https://host/x?a=***;***&***",
		"https://host/x?a=b=c?d=e":    "https://host/x?a=***",
		"https://host?a=1":            "https://host?a=***",
		"https://host/x#token":        "https://host/x#***",
		"https://host/x?a=1#token":    "https://host/x?a=***#***",
		"https://p/https://u:p@h/x":   "https://p/https://***@h/x",
		"HTTPS://u:p@host/x?sig=1":    "HTTPS://***@host/x?sig=***",
		"s3://u:p@bucket/key":         "s3://***@bucket/key",
		"s3://b/x.csv?sig=1&a=b;c":    "s3://b/x.csv?sig=***&a=***;***",
		"az://c/x?sv=1&sig=a%2Bb%3D":  "az://c/x?sv=***&sig=***",
		"grpc+tls://u:p@h:4317":       "grpc+tls://***@h:4317",
		"http:/u:p@h/x":               "http:/***@h/x",
		"s3:///u:p@h/x":               "s3:///***@h/x",
		"c:/dir/a@b?x=1":              "c:/dir/a@b?x=1",
	} {
		if got := URL(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
		if again := URL(URL(name)); again != want {
			t.Errorf("%q, twice: %q, want %q", name, again, want)
		}
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 'a?b=c', x@y FROM t":                                    "SELECT 'a?b=c', x@y FROM t",
		"SELECT 1 FROM 'https://u:p w''q@h/x?sig=a b''c' WHERE x = 'd'": "SELECT 1 FROM 'https://***@h/x?sig=***' WHERE x = 'd'",
		`Get "https://u:p\"q@h/x?s=1": EOF`:                             `Get "https://***@h/x?s=***": EOF`,
		"https://h/x?s=1: reading 8 B: no (https://h/y?s=2).":           "https://h/x?s=***: reading 8 B: no (https://h/y?s=***).",
		"--table=t=https://u:p@h/x s3://b/k":                            "--table=t=https://***@h/x s3://b/k",
		"read_csv('https://h/x?s=1', delim = ';')":                      "read_csv('https://h/x?s=***', delim = ';')",
		"'https://h/x?s=1":                                              "'https://h/x?s=***",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if again := Text(Text(text)); again != want {
			t.Errorf("%q, twice: %q, want %q", text, again, want)
		}
	}
}

// R1, R2. Random users, passwords, values and fragments of all characters that they may have,
// escaped and not.
func TestRandomSecrets(t *testing.T) {
	const seed = 11
	rng := rand.New(rand.NewPCG(seed, 1))
	word := func(characters string) string {
		b := []byte("SECRET")
		for range rng.IntN(6) {
			b = append(b, characters[rng.IntN(len(characters))])
		}
		return string(append(b, "SECRET"...))
	}
	for range 20_000 {
		name := []string{"https", "http", "s3", "gs", "az", "grpc"}[rng.IntN(6)] + "://"
		if rng.IntN(2) == 0 {
			name += word("abc123%!$&*()-_=+;:.,~|^{}[] ") + ":" + word("abc123%!$&*()-_=+;:.,~@/?#|^{}[] ") + "@"
		}
		name += "host.example:8080/dir/x.csv"
		for i := range rng.IntN(4) {
			name += []string{"?", "&"}[min(i, 1)] + "name=" + word("abc123%!$*()-_=+:.,~@/?|^{}[] ")
		}
		for _, got := range []string{URL(name), Text("FROM '" + name + "' WHERE"), Text(fmt.Sprintf("Get %q: EOF", name))} {
			if strings.Contains(got, "SECRET") || Text(got) != got || !strings.Contains(got, "***") && !strings.Contains(got, "host.example:8080/dir/x.csv") {
				t.Fatalf("%q: %q, seed %d", name, got, seed)
			}
		}
	}
}

// Would catch two files that a reader of a text takes for one.
func TestNames(t *testing.T) {
	names := []string{"x.csv", "https://h/get?id=1", "https://h/get?id=2", "x.csv", "https://h/get?id=1", "https://u:p@h/get?id=1", "https://h/get?id=3"}
	want := []string{"x.csv", "https://h/get?id=***", "https://h/get?id=***#2", "x.csv", "https://h/get?id=***", "https://***@h/get?id=***", "https://h/get?id=***#3"}
	if got := Names(names); !slices.Equal(got, want) || !slices.Equal(Names(got), want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Would catch an error that shows a secret, or that callers do not recognize any more.
func TestError(t *testing.T) {
	request := &url.Error{Op: "Get", URL: "https://u:p@h/x?sig=SECRET", Err: fs.ErrNotExist}
	for _, c := range []struct {
		err  error
		want string
	}{
		{request, "file does not exist"},
		{fmt.Errorf("reading: %w", request), `reading: Get "https://***@h/x?sig=***": file does not exist`},
	} {
		if got := Error(c.err); got.Error() != c.want || !errors.Is(got, fs.ErrNotExist) || !errors.As(got, new(*url.Error)) {
			t.Errorf("%v, want %s", got, c.want)
		}
	}
	if err := errors.New("plain"); Error(err) != err || Error(nil) != nil {
		t.Error("an error without secrets is not returned as it is")
	}
}

func FuzzText(f *testing.F) {
	f.Add("FROM 'https://u:p@h/x?sig=1#2' x")
	f.Fuzz(func(t *testing.T, text string) {
		once := Text(text)
		if !strings.Contains(text, ":/") && once != text {
			t.Errorf("%q: %q", text, once)
		}
		if again := Text(once); again != once {
			t.Errorf("%q: %q, then %q", text, once, again)
		}
	})
}
