package engine_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
)

// Would catch words that no state has and that crash what reads them: checksums tell of damage, not
// of what another program has written.
func TestMergeMutated(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of files, read by one thread")
	}
	seed := newSeed(t)
	eng, err := engine.Open(engine.Options{Threads: 1}) // not checked: half a result is the collector's
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	strange := []uint64{0, 1, 2, 1 << 31, 1 << 32, 1<<64 - 1, 1 << 63, 1<<63 - 1, 1 << 40, 100, 1<<32 - 1, 13}
	for i, c := range grouptest.Cases() {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		c.Query.Deterministic = i%2 == 0
		blobs, err := partialOf(eng, c.Name, scan.Batches(c.Schema, c.Batches()), c.Query, 1)
		if err != nil {
			continue
		}
		head, frame := firstFrame(t, blobs[0].(*memoryBlob).data)
		if frame == nil {
			continue
		}
		rows, stride := binary.LittleEndian.Uint32(frame[8:]), binary.LittleEndian.Uint32(frame[12:])
		if rows > 100 {
			continue // the others have the same words
		}
		payload := framePayload(t, frame)
		for range 5 {
			words := bytes.Clone(payload)
			for range 1 + rng.IntN(3) {
				if len(words) > 0 {
					at := 8 * rng.IntN(len(words)/8)
					binary.LittleEndian.PutUint64(words[at:], binary.LittleEndian.Uint64(words[at:])^strange[rng.IntN(len(strange))])
				}
			}
			_, _ = mergeAll(eng, [][]partial.Blob{{&memoryBlob{c.Name, oneFrame(head, rows, stride, words)}}}, partial.MergeOptions{}, len(c.Query.Keys))
		}
	}
}

// firstFrame returns the header of a blob and its first frame, or nil where there is none.
func firstFrame(t testing.TB, data []byte) (head, frame []byte) {
	t.Helper()
	at := 16 + int(binary.LittleEndian.Uint32(data[8:]))
	if at+36 == len(data) {
		return data[:at], nil
	}
	n := int(binary.LittleEndian.Uint64(data[at+24:]))
	return data[:at], data[at : at+40+n]
}

// framePayload returns the words of a frame.
func framePayload(t testing.TB, frame []byte) []byte {
	t.Helper()
	switch frame[5] {
	case 0:
		return frame[40:]
	case 2:
		return packedPayload(frame[40:], int(binary.LittleEndian.Uint32(frame[8:])), int(binary.LittleEndian.Uint32(frame[12:])))
	}
	words, err := s2.Decode(nil, frame[40:])
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// packedPayload returns the words of packed rows, as FORMAT.md says that they lie there: bit by
// bit.
func packedPayload(packed []byte, rows, stride int) []byte {
	words := make([]byte, 8*rows*stride)
	bits := packed[16*stride:]
	for c := range stride {
		base, width := binary.LittleEndian.Uint64(packed[16*c:]), int(binary.LittleEndian.Uint64(packed[16*c+8:]))
		for row := range rows {
			var v uint64
			for b := range width {
				at := row*width + b
				v |= uint64(bits[at/8]>>(at%8)&1) << b
			}
			binary.LittleEndian.PutUint64(words[8*(row*stride+c):], base+v)
		}
		bits = bits[(width*rows+63)/64*8:]
	}
	return words
}

// FuzzMerge merges a blob of arbitrary words behind right checksums: an answer or an error.
func FuzzMerge(f *testing.F) {
	schema, batches := mixedTable(20)
	eng, err := engine.Open(engine.Options{Threads: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { eng.Close() })
	deterministic := query.Query{Deterministic: true, Aggregates: []query.Aggregate{{Func: query.Avg, Args: []string{"v"}}, {Func: query.Corr, Args: []string{"v", "k"}}}}
	heads := make([][]byte, 2)
	strides := make([]uint32, 2)
	for i, q := range []query.Query{mixedQuery, deterministic} {
		blobs, err := partialOf(eng, "seed", scan.Batches(schema, batches), q, 1)
		if err != nil {
			f.Fatal(err)
		}
		head, frame := firstFrame(f, blobs[0].(*memoryBlob).data)
		heads[i], strides[i] = head, binary.LittleEndian.Uint32(frame[12:])
		f.Add(i == 1, binary.LittleEndian.Uint32(frame[8:]), framePayload(f, frame))
		f.Add(i == 1, uint32(1), make([]byte, 8*strides[i]))
	}
	f.Fuzz(func(t *testing.T, exact bool, rows uint32, words []byte) {
		which := 0
		if exact {
			which = 1
		}
		data := oneFrame(heads[which], rows, strides[which], words[:len(words)/8*8])
		_, _ = mergeAll(eng, [][]partial.Blob{{&memoryBlob{"fuzzed", data}}}, partial.MergeOptions{}, 0)
	})
}

// oneFrame makes a blob of a header and one frame that is not compressed.
func oneFrame(head []byte, rows, stride uint32, payload []byte) []byte {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	data := bytes.Clone(head)
	frame := make([]byte, 40)
	copy(frame, "MPGF\x01")
	binary.LittleEndian.PutUint32(frame[8:], rows)
	binary.LittleEndian.PutUint32(frame[12:], stride)
	binary.LittleEndian.PutUint64(frame[16:], uint64(len(payload)/8))
	binary.LittleEndian.PutUint64(frame[24:], uint64(len(payload)))
	binary.LittleEndian.PutUint32(frame[32:], crc32.Update(crc32.Checksum(frame[:32], castagnoli), castagnoli, payload))
	data = append(append(data, frame...), payload...)
	trailer := make([]byte, 36)
	copy(trailer, "MPGT")
	binary.LittleEndian.PutUint64(trailer[8:], 1)
	binary.LittleEndian.PutUint64(trailer[16:], uint64(rows))
	binary.LittleEndian.PutUint64(trailer[24:], uint64(len(data)))
	binary.LittleEndian.PutUint32(trailer[32:], crc32.Checksum(trailer[:32], castagnoli))
	return append(data, trailer...)
}
