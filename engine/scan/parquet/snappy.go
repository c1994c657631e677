package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// snappyElement parses the head of the element that packed begins with: a literal of n bytes behind
// the head, or, where offset is not 0, a copy of the n bytes that begin offset bytes before the end
// of the output.
func snappyElement(packed []byte) (head, n, offset int, err error) {
	if len(packed) == 0 {
		return 0, 0, 0, errSnappyEnd
	}
	tag := packed[0]
	kind, n := tag&3, int(tag>>2)+1
	numberBytes := [4]int{0, 1, 2, 4}[kind]
	if kind == 0 && n > snappyShortLiteral {
		numberBytes = n - snappyShortLiteral
	}
	head = 1 + numberBytes
	if len(packed) < head {
		return 0, 0, 0, errSnappyEnd
	}
	var bytes [4]byte
	copy(bytes[:], packed[1:head])
	number := int(binary.LittleEndian.Uint32(bytes[:]))
	switch {
	case kind == 0 && numberBytes > 0:
		return head, number + 1, 0, nil
	case kind == 0:
		return head, n, 0, nil
	case kind == 1:
		n, number = 4+int(tag>>2&7), int(tag>>5)<<8|number
	}
	if number == 0 {
		return 0, 0, 0, errSnappyOffset
	}
	return head, n, number, nil
}

// snappyShortLiteral is the longest literal whose length is in the tag.
const snappyShortLiteral = 60

var (
	errSnappyEnd    = errors.New("it ends within an element")
	errSnappyOffset = errors.New("a copy from 0 B before")
)

// snappyBody returns the elements of a block, behind the length that the block begins with.
func snappyBody(packed []byte) []byte {
	_, n := binary.Uvarint(packed)
	return packed[max(n, 0):]
}

// snappyLiteral returns the bytes that a block stands for, where the block is one literal that has
// them all: dictionary codes, packed to bits, hardly ever compress.
func snappyLiteral(packed []byte, size int) ([]byte, bool) {
	body := snappyBody(packed)
	head, n, offset, err := snappyElement(body)
	if err != nil || offset != 0 || n != size || len(body) != head+n {
		return nil, false
	}
	return body[head:], true
}

// decodeSnappyGeneric decodes the elements of a block, which must give len(out) bytes. elements,
// unless it is nil, decodes elements from a place in packed to a place in out as far as it can, and
// returns how far it came in both.
func decodeSnappyGeneric(out, packed []byte, elements func(out, packed []byte, to, from int) (int, int)) error {
	to, from := 0, 0
	for from < len(packed) {
		if elements != nil {
			if to, from = elements(out, packed, to, from); from == len(packed) {
				break
			}
		}
		head, n, offset, err := snappyElement(packed[from:])
		if err != nil {
			return fmt.Errorf("at byte %d: %w", from, err)
		}
		from += head
		switch {
		case n > len(out)-to:
			return fmt.Errorf("at byte %d: %d B more, where %d B are left", from, n, len(out)-to)
		case offset > to:
			return fmt.Errorf("at byte %d: a copy from %d B before byte %d", from, offset, to)
		case offset > 0:
			for end := to + n; to < end; { // a copy may go on in what it has written
				to += copy(out[to:end], out[to-offset:to])
			}
		case n > len(packed)-from:
			return fmt.Errorf("at byte %d: %w", from, errSnappyEnd)
		default:
			to += copy(out[to:], packed[from:from+n])
			from += n
		}
	}
	if to < len(out) {
		return fmt.Errorf("%d B where it says %d B", to, len(out))
	}
	return nil
}
