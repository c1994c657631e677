package jsonpath

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// random writes a random value, with space at times.
func random(rng *rand.Rand, b *strings.Builder, depth int) {
	gap := func() { b.WriteString([]string{"", "", " ", "\n\t"}[rng.IntN(4)]) }
	gap()
	defer gap()
	texts := []string{`"a"`, `""`, `"é \" \\ \n"`, `"\u00e9\ud83d\ude00\ud800"`, "0", "-7", "1.50", "1e3", "18446744073709551615", "true", "null"}
	kind := rng.IntN(4)
	if depth == 0 || kind > 1 {
		b.WriteString(texts[rng.IntN(len(texts))])
		return
	}
	b.WriteByte("{["[kind])
	for i := range rng.IntN(4) {
		if i > 0 {
			b.WriteByte(',')
		}
		if gap(); kind == 0 {
			b.WriteString([]string{`"a"`, `"b c"`, `"\u0061b"`}[rng.IntN(3)])
			gap()
			b.WriteByte(':')
		}
		random(rng, b, depth-1)
	}
	gap()
	b.WriteByte("}]"[kind])
}

// Would catch a text that is taken for JSON or is not though it is, a value that is written with another meaning, and a
// reader that runs over the end of a text.
func TestRandom(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var b strings.Builder
		random(rng, &b, 4)
		text := b.String()
		if rng.IntN(3) == 0 { // damaged
			at := rng.IntN(len(text))
			text = text[:at] + []string{"", "x", ",", "}", `"`, `\`}[rng.IntN(6)] + text[min(at+rng.IntN(2), len(text)):]
		}
		value, ok, err := Find(text, nil)
		var want any
		wantErr := json.Unmarshal([]byte(text), &want)
		if err == nil && !ok || err == nil && wantErr != nil && !strings.Contains(text, ",") || err != nil && wantErr == nil {
			t.Fatalf("%q: error %v, want %v", text, err, wantErr)
		}
		if err != nil || wantErr != nil {
			continue
		}
		made := Append(nil, value)
		var got any
		if err := json.Unmarshal(made, &got); err != nil {
			t.Fatalf("%q: %s: %v", text, made, err)
		}
		if len(Append(nil, string(made))) != len(made) {
			t.Fatalf("%q: %s is not one form", text, made)
		}
	}
}

// Would catch a step that finds another value, and a path that is read as another.
func TestPaths(t *testing.T) {
	const text = `{"a": [1, {"b": "x"}], "": 0, "k.l": null, "a": 2, "3": 4}`
	for path, want := range map[string]string{
		"a": "[1,{\"b\":\"x\"}]", "$.a[1].b": `"x"`, "/a/1/b": `"x"`, "$.a[#-1].b": `"x"`, `$."k.l"`: "null", "k.l": "null",
		"$": "", "$.a[2]": "none", "b": "none", "/3": "4", "$.a[1]": `{"b":"x"}`, "$.a[#-3]": "none", "$.a.b": "none",
	} {
		p, err := ParsePath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		value, ok, err := Find(text, p)
		got := "none"
		if ok {
			got = string(Append(nil, value))
		}
		if err != nil || want != "" && got != want {
			t.Errorf("%s: %s, %v; want %s", path, got, err, want)
		}
	}
	for _, path := range []string{"$a", "$.", "$[x]", "$[1", `$."a`, "$.*"} {
		if _, err := ParsePath(path); err == nil {
			t.Errorf("%s is taken for a path", path)
		}
	}
}
