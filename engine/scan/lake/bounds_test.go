package lake

import (
	"encoding/json"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// Would catch a bound that is a double's, and lies within the values.
func TestBoundsOfDecimals(t *testing.T) {
	of := &arrow.Decimal128Type{Precision: 20, Scale: 6}
	for text, isKnown := range map[string]bool{"12345678901234.566": false, "1234.5": true, "-1": true, "0.1234567": false} {
		if got := jsonValue(json.RawMessage(text), of, false); (got != nil) != isKnown {
			t.Errorf("%s: %v", text, got)
		}
	}
	if jsonValue(json.RawMessage("9223372036854775807"), arrow.PrimitiveTypes.Int64, false) == nil {
		t.Error("an integer is exact")
	}
}

// Would catch a bound of one column that is taken for another's of its name.
func TestBoundsOfOneName(t *testing.T) {
	f := File{}
	f.addStats(`{"numRecords":1,"minValues":{"a.b":1,"a":{"b":2}},"maxValues":{"a.b":1,"a":{"b":2}}}`, []Column{
		{Name: "a.b", Type: arrow.PrimitiveTypes.Int64},
		{Name: "a", Type: arrow.StructOf(arrow.Field{Name: "b", Type: arrow.PrimitiveTypes.Int64}),
			Parts: []Column{{Name: "b", Type: arrow.PrimitiveTypes.Int64}}},
	})
	if b := f.Bounds["a.b"]; b.Low != nil || b.High != nil {
		t.Errorf("%+v", b)
	}
}

// Would catch a table whose directory is not found from the name of its metadata.
func TestRootOf(t *testing.T) {
	for dir, want := range map[string]string{
		"": "..", "metadata/": ".", "a/metadata/": "a", "/a/metadata/": "/a", "s3://b/t/metadata/": "s3://b/t", "ametadata/": "ametadata",
	} {
		if got := rootOf(dir); got != want {
			t.Errorf("%q: %q, want %q", dir, got, want)
		}
	}
}

// Would catch fields without a number that have the number -1.
func TestFieldID(t *testing.T) {
	for text, want := range map[string]bool{"-1": false, "0": true, "7": true} {
		f := arrow.Field{Metadata: arrow.NewMetadata([]string{fieldIDKey}, []string{text})}
		if _, ok := fieldID(f); ok != want {
			t.Errorf("%s: %v", text, ok)
		}
	}
}
