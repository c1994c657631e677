package jsonpath

import (
	"slices"
	"testing"
)

// Would catch values that a path with * leaves out, or finds in what has none.
func TestFindAll(t *testing.T) {
	const text = ` {"a": [1, {"b": "x"} , []], "*": {"b": 2}} `
	for path, want := range map[string][]string{
		"$.a[*]": {"1", `{"b": "x"}`, "[]"}, "$.*.b": {"2"}, "$.a[*].b": {`"x"`}, "$.*": {`[1, {"b": "x"} , []]`, `{"b": 2}`},
		"$[*]": nil, "$.a.*": nil, "$.z[*]": nil, "$.a[1].*": {`"x"`}, "$.a[*][*]": nil,
	} {
		p, err := ParsePath(path)
		if err != nil || !p.IsMany() {
			t.Fatal(path, err)
		}
		var got []string
		if err := FindAll(text, p, func(v string) { got = append(got, v) }); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", path, got, err, want)
		}
		if _, _, err := Find(text, p); err == nil {
			t.Errorf("%s: Find takes a path of several values", path)
		}
		if err := FindAll("{", p, func(string) {}); err == nil {
			t.Errorf("%s: a text that is no JSON is taken", path)
		}
	}
}

// Would catch lines that are not as deep as their members.
func TestAppendPretty(t *testing.T) {
	const want = "{\n    \"a\": [\n        1,\n        {}\n    ],\n    \"b\": \"x\"\n}"
	if got := string(AppendPretty(nil, `{"a" : [1 , { } ],"b":"x"} `)); got != want {
		t.Errorf("got %s", got)
	}
}
