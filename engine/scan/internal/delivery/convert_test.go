package delivery

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Would catch an entry of a dictionary that fails though no row has it, a row that has it and does not fail, a NULL
// that is lost on either way, and memory that is not given back.
func TestConvertEntries(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	from, to := &arrow.Decimal128Type{Precision: 38}, &arrow.Decimal128Type{Precision: 38, Scale: 2}
	entries, _, err := array.FromJSON(mem, from, strings.NewReader(`["1", "`+strings.Repeat("9", 38)+`", "-2"]`))
	if err != nil {
		t.Fatal(err)
	}
	defer entries.Release()
	var kept convertedEntries
	defer kept.drop()
	for codes, want := range map[string][]string{"[0, null, 2, 0]": {"1", "(null)", "-2", "1"}, "[2]": {"-2"}, "[null, 1]": nil} {
		indices, _, err := array.FromJSON(mem, arrow.PrimitiveTypes.Int32, strings.NewReader(codes))
		if err != nil {
			t.Fatal(err)
		}
		coded := array.NewDictionaryArray(DictionaryOf(from), indices, entries)
		got, err := kept.convert(mem, coded, to)
		var fit *fitError
		isFit := errors.As(err, &fit)
		switch {
		case want == nil && (!isFit || fit.BatchRow() != 1):
			t.Errorf("%s: the error %v", codes, err)
		case want != nil && err != nil:
			t.Errorf("%s: %v", codes, err)
		case want != nil:
			var texts []string
			for i := range got.Len() {
				texts = append(texts, got.ValueStr(i))
			}
			if !slices.Equal(texts, want) {
				t.Errorf("%s: %q, want %q", codes, texts, want)
			}
			got.Release()
		}
		coded.Release()
		indices.Release()
	}
}

// Would catch a conversion of a slice that begins at another row than its array, and an unsigned number that becomes
// negative.
func TestConvertSlices(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for _, c := range []struct {
		from   arrow.DataType
		values string
		to     arrow.DataType
		want   []string
	}{
		{arrow.PrimitiveTypes.Uint64, "[1, 18446744073709551615, null, 3]", arrow.PrimitiveTypes.Float64, []string{"1.8446744073709552e+19", "(null)"}},
		{arrow.PrimitiveTypes.Int16, "[1, -2, null, 3]", arrow.PrimitiveTypes.Int64, []string{"-2", "(null)"}},
		{arrow.BinaryTypes.String, `["x", "yz", null, "w"]`, arrow.BinaryTypes.LargeString, []string{"yz", "(null)"}},
		{&arrow.FixedSizeBinaryType{ByteWidth: 1}, `["eA==", "eQ==", null, "eg=="]`, arrow.BinaryTypes.LargeBinary, []string{"eQ==", "(null)"}},
		{arrow.FixedWidthTypes.Date32, `["1970-01-01", "1970-01-02", null, "1970-01-03"]`, &arrow.TimestampType{Unit: arrow.Second}, []string{"1970-01-02T00:00:00", "(null)"}},
	} {
		whole, _, err := array.FromJSON(mem, c.from, strings.NewReader(c.values))
		if err != nil {
			t.Fatal(err)
		}
		slice := array.NewSlice(whole, 1, 3)
		got, err := convert(mem, slice, c.to)
		if err != nil {
			t.Fatal(err)
		}
		if texts := []string{got.ValueStr(0), got.ValueStr(1)}; !slices.Equal(texts, c.want) || got.NullN() != 1 {
			t.Errorf("%s to %s: %q, want %q", c.from, c.to, texts, c.want)
		}
		got.Release()
		slice.Release()
		whole.Release()
	}
}
