package nested

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// Would catch a type that partial states or a plan bring back as another one, and bytes of another process that are no
// value and end in a panic.
func TestNamedTypes(t *testing.T) {
	for _, named := range []*Named{NewNamed(UUID), NewNamed(Bit), NewNamed(TimeTZ), NewNamed(Enum, "a", "it's")} {
		for _, of := range []arrow.DataType{named, arrow.ListOf(named)} {
			typ := NewType(of)
			back, err := Unmarshal(typ.Marshal())
			if err != nil || !arrow.TypeEqual(back, typ) {
				t.Errorf("%s: %v, %v", typ, back, err)
			}
		}
		for _, value := range []string{"", "\x00", "\xff\xff", "\xff\xff\xff", "0123456789ab", "0123456789abcdef"} {
			named.Text(value)
		}
	}
	if got, want := NewNamed(Enum, "a", "it's").String(), "ENUM('a', 'it''s')"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
