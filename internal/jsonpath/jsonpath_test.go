package jsonpath

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
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
		"/a/01": "none", "/a/+1": "none", "/a/-0": "none", "/a/0": "1", "$.a[-2]": "1", "$.a[#-0]": "1",
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
	for _, path := range []string{"$a", "$.", "$[x]", "$[1", `$."a`, "$..a", "$[+1]", "$[#--1]", "$[#1]", "$[]", "$[#-]"} {
		if _, err := ParsePath(path); err == nil {
			t.Errorf("%s is taken for a path", path)
		}
	}
}

// merged is RFC 7396 on values of encoding/json.
func merged(value, patch any) any {
	patches, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	made := map[string]any{}
	if members, ok := value.(map[string]any); ok {
		maps.Copy(made, members)
	}
	for key, p := range patches {
		if p == nil {
			delete(made, key)
		} else {
			made[key] = merged(made[key], p)
		}
	}
	return made
}

// contains is Contains of values of encoding/json.
func contains(value, other any) bool {
	if hasAll(value, other) {
		return true
	}
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			if contains(v, other) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, func(v any) bool { return contains(v, other) })
	}
	return false
}

func hasAll(value, other any) bool {
	switch other := other.(type) {
	case map[string]any:
		of, ok := value.(map[string]any)
		for key, want := range other {
			v, has := of[key]
			ok = ok && has && hasAll(v, want)
		}
		return ok
	case []any:
		of, ok := value.([]any)
		for _, want := range other {
			ok = ok && slices.ContainsFunc(of, func(v any) bool { return hasAll(v, want) })
		}
		return ok
	}
	return reflect.DeepEqual(value, other)
}

// Would catch members that are lost or stay in a merge, and values that are taken for others.
func TestMergeAndContains(t *testing.T) {
	decode := func(text string) (v any) {
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return v
	}
	found := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 8))
		var value, patch strings.Builder
		random(rng, &value, 3)
		random(rng, &patch, 2)
		if repeated.MatchString(value.String() + patch.String()) {
			continue
		}
		a, b := strings.TrimSpace(value.String()), strings.TrimSpace(patch.String())
		if got, want := decode(string(Merge(nil, a, b))), merged(decode(a), decode(b)); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s merged with %s: %v, want %v", a, b, got, want)
		}
		got, want := Contains(a, b), contains(decode(a), decode(b))
		if got != want && !strings.ContainsAny(a+b, ".e") {
			t.Fatalf("%s contains %s: %v, want %v", a, b, got, want)
		}
		if got {
			found++
		}
	}
	if found == 0 {
		t.Fatal("no value contains another")
	}
}

// repeated are texts with two keys of an object that may be one.
var repeated = regexp.MustCompile(`(?s)"a"\s*:.*"(a|\\u0061)`)

func TestStructure(t *testing.T) {
	for value, want := range map[string]string{
		`{"a":1,"b":[1,"x"],"c":null,"d":{"e":1.5}}`: `{"a":"UBIGINT","b":["JSON"],"c":"NULL","d":{"e":"DOUBLE"}}`,
		`[{"a":1},{"b":-2},null]`:                    `[{"a":"UBIGINT","b":"BIGINT"}]`,
		`[1,-2]`:                                     `["HUGEINT"]`, `[-2,1.5]`: `["DOUBLE"]`, `[[],[[]]]`: `[[["NULL"]]]`, `{}`: `"JSON"`,
		`[18446744073709551615]`: `["UBIGINT"]`, `[18446744073709551616]`: `["DOUBLE"]`,
		`[-9223372036854775808]`: `["BIGINT"]`, `[-9223372036854775809]`: `["DOUBLE"]`,
	} {
		if got := Structure(value); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
}
