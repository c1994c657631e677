package cpurun

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Catches a hash of the device that differs from the host's: partitions of one would not be those
// of the other.
func TestHashVectors(t *testing.T) {
	text, err := os.ReadFile("../../partition/testdata/hash_vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	type vector struct {
		line string
		part int // of what hash_all computes
		want uint64
	}
	var vectors []vector
	var input []byte
	offsets := words(0)
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		left, right, ok := strings.Cut(lines.Text(), " = ")
		fields := strings.Fields(left)
		if !ok || fields[0] == "bytes" {
			continue // of the host only
		}
		v := vector{line: lines.Text(), want: parse(t, right)}
		switch fields[0] {
		case "mix64":
			fields[0] = "0" // the seed
		case "mix32":
			v.part = 2
			fields[0] = "0"
		case "words":
			v.part = 1
			fields = fields[1:]
		default:
			t.Fatalf("a vector of %q", fields[0])
		}
		if len(fields) < 2 {
			continue // a key has words
		}
		for _, f := range fields {
			input = binary.LittleEndian.AppendUint64(input, parse(t, f))
		}
		offsets = binary.LittleEndian.AppendUint32(offsets, uint32(len(input)/8))
		vectors = append(vectors, v)
	}
	m := start(t, 1, "testdata/hash.cu")
	out := alloc(t, m, make([]byte, 24*len(vectors)))
	err = m.Launch("hash_all", (len(vectors)+63)/64, 64, 0, long(uint64(alloc(t, m, input))),
		long(uint64(alloc(t, m, offsets))), words(uint32(len(vectors))), long(uint64(out)))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 24*len(vectors))
	if err := m.Read(got, out); err != nil {
		t.Fatal(err)
	}
	for i, v := range vectors {
		if h := binary.LittleEndian.Uint64(got[8*(3*i+v.part):]); h != v.want {
			t.Errorf("%s: %016x", v.line, h)
		}
	}
	if len(vectors) < 50 {
		t.Errorf("only %d vectors", len(vectors))
	}
}

func parse(t *testing.T, hexadecimal string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(hexadecimal, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
