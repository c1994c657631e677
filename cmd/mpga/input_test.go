package main

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

func TestColumnTypes(t *testing.T) {
	got, err := columnTypes([]string{"zip=string", "a=b=DECIMAL( 10, 2 )", "n=bigint"})
	if err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]arrow.DataType{
		"zip": arrow.BinaryTypes.String, "a=b": &arrow.Decimal128Type{Precision: 10, Scale: 2}, "n": arrow.PrimitiveTypes.Int64,
	} {
		if !arrow.TypeEqual(got[column], want) {
			t.Errorf("%s: got %v, want %s", column, got[column], want)
		}
	}
	for _, bad := range []string{"", "zip", "=string", "a=", "a=strin", "a=decimal(39,0)", "a=decimal(5,6)", "a=decimal(5)", "a=decimal(5,2)x"} {
		if got, err := columnTypes([]string{bad}); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}
