package stream_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"golang.org/x/sync/errgroup"

	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
	"github.com/mpga/mpga/stream"
)

// encodedInput makes encoded tiles of some ranges of an input's rows.
type encodedInput struct {
	pageRows int
	damaged  bool // some tiles cannot be decoded
	strings  bool // keys are strings, of numbers

	mu   sync.Mutex
	rng  *rand.Rand
	rows map[*stream.Tile][2]int
	some int // tiles that were encoded

	code bool // makes the rows, some of which do not pass
	kept atomic.Int64
}

// keyBase is what the file's values of keys are larger by.
const keyBase = 1000

func (e *encodedInput) decoding(in *input, a *answer) *stream.Decoding {
	key := kernels.KeyPart{Column: kernels.Column{Type: kernels.Int64}, Base: keyBase, Range: math.MaxUint32, NullBit: -1}
	d := &stream.Decoding{
		Columns: []stream.EncodedColumn{{Width: 8, Column: -1}, {Width: 4, Column: 0}, {Width: 8, Column: 1, Nullable: true}},
		Keys:    []stream.EncodedKey{{KeyPart: key, Column: 0}},
		Refuse: func(_ context.Context, t *stream.Tile) error {
			e.mu.Lock()
			rows := e.rows[t]
			e.mu.Unlock()
			a.mu.Lock()
			defer a.mu.Unlock()
			for row := rows[0]; row < rows[1]; row++ {
				s := state{sum: uint64(in.values[row])}
				if !in.sumOnly {
					s.rows = 1
				}
				if !in.sumOnly && in.valid[row] {
					s.low, s.valid = uint64(in.others[row]), 1
				}
				a.take(in.keys[row], s)
			}
			return nil
		},
	}
	if in.sumOnly {
		d.Columns = d.Columns[:2]
	}
	if e.strings {
		d.Columns[0] = stream.EncodedColumn{Width: 4, Column: -1, Strings: true, StringBytes: 16}
		d.Keys[0].Type, d.Keys[0].Base = kernels.Uint32, 1
		d.Number = e.number
	}
	if e.code {
		d.Code = e.assemble(in, len(d.Columns), e.strings)
		d.Filtered = func(_ *stream.Tile, kept int64) { e.kept.Add(kept) }
		for i := range d.Columns {
			c := &d.Columns[i]
			c.Column, c.Nullable, c.Type = -1, true, []kernels.ColumnType{kernels.Int64, kernels.Uint32, kernels.Int64}[i]
			if c.Strings {
				c.Type = kernels.Uint32
			}
		}
	}
	return d
}

// keyLookup has a row for each key of an input as the file has them, in column 0 the key once more, and a row without a
// key.
type keyLookup struct{ keys []int64 }

func newKeyLookup(in *input) *keyLookup {
	l, seen := &keyLookup{keys: []int64{0}}, map[uint64]bool{}
	for _, key := range in.keys {
		if !seen[key] {
			seen[key] = true
			l.keys = append(l.keys, int64(key+keyBase))
		}
	}
	return l
}

func (l *keyLookup) Rows() int64     { return int64(len(l.keys)) }
func (l *keyLookup) IsText(int) bool { return false }

func (l *keyLookup) Words(_ int, first int64, words []int64, valid []byte) error {
	for i := range words {
		words[i], valid[i] = l.keys[first+int64(i)], 1
		if first == 0 && i == 0 {
			valid[i] = 0
		}
	}
	return nil
}

func (l *keyLookup) Strings(int, int64, int, func(i int, s []byte)) error { return nil }

// Marked fails where the key that is NULL has a partner.
func (l *keyLookup) Marked(rows []uint32) {
	if rows[0]&1 != 0 {
		panic("a key that is NULL is marked")
	}
}

// lookupMost is the most keys of a keyLookup, which a small device has memory for.
const lookupMost = 2000

// assemble returns code that leaves out the rows whose keys are below keyBase, which are none of the
// input's, or are in no table of all keys, and computes the values of the others.
func (e *encodedInput) assemble(in *input, columns int, strings bool) *rowcode.Code {
	b := &rowcode.Builder{}
	loads := b.Loads(columns)
	if l := newKeyLookup(in); !strings && len(l.keys) <= lookupMost && e.rng.IntN(2) == 0 {
		row := b.Mark(l, b.Find(l, loads[0]))
		key := b.Fetch(l, row, 0)
		return e.outputs(b, b.Do(rowcode.Not, b.Do(rowcode.IsNull, row)), append([]rowcode.Value{key}, loads[1:]...))
	}
	filter := b.Do(rowcode.LessEqual, b.Int(keyBase), loads[0])
	if strings {
		filter = b.Do(rowcode.Not, b.Do(rowcode.IsNull, loads[0]))
	}
	return e.outputs(b, filter, loads)
}

// outputs returns code that computes the values of rows that pass.
func (e *encodedInput) outputs(b *rowcode.Builder, filter rowcode.Value, in []rowcode.Value) *rowcode.Code {
	less := b.Within(math.MinInt64, math.MaxInt64, rowcode.Sub, in[1], b.Int(5))
	outputs := []rowcode.Value{b.Within(math.MinInt64, math.MaxInt64, rowcode.Add, less, b.Int(5))}
	outputs = append(append(outputs, in[2:]...), in[0])
	code, err := rowcode.Assemble(b.Program(filter, outputs))
	if err != nil {
		panic(err)
	}
	return code
}

// number gives the string of a key the key and 1 more.
func (e *encodedInput) number(_ context.Context, strings *stream.NewStrings, numbers []uint32) (bool, error) {
	for i := range strings.Len() {
		column, s := strings.At(i)
		key, err := strconv.ParseUint(string(s), 10, 32)
		if err != nil || column != 0 {
			return false, fmt.Errorf("string %q of column %d: %w", s, column, err)
		}
		numbers[i] = uint32(key) + 1
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.damaged || e.rng.IntN(10) > 0, nil
}

// room is how many of the input's rows a tile may have.
func (e *encodedInput) room(t *stream.Tile) int {
	if e != nil && e.code {
		return t.Capacity / 4 * 3 // beside rows that do not pass
	}
	return t.Capacity
}

// submit submits a range of rows as an encoded tile. It returns nil where the range is to be submitted
// as it is.
func (e *encodedInput) submit(in *input, r *stream.Run, t *stream.Tile, from, to int) *error {
	if e == nil || r.Decoding() == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rng.IntN(3) == 0 {
		return nil
	}
	if err := e.submitNone(in, r); err != nil {
		return &err
	}
	tile := t.Encode()
	for at := from; at < to; {
		n := min(1+e.rng.IntN(2*e.pageRows), to-at)
		if !e.add(in, tile, at, n) {
			err := errors.New("no room in an encoded tile")
			return &err
		}
		at += n
	}
	e.rows[t] = [2]int{from, to}
	e.some++
	err := r.SubmitEncoded(t)
	return &err
}

// submitNone may submit a tile of which no row passes. Requires: e.mu is held.
func (e *encodedInput) submitNone(in *input, r *stream.Run) error {
	if !e.code || e.strings {
		return nil
	}
	t, err := r.TryTile()
	if t == nil || err != nil {
		return err
	}
	e.rows[t] = [2]int{}
	if !e.add(in, t.Encode(), 0, 0) {
		return errors.New("no room in an encoded tile")
	}
	return r.SubmitEncoded(t)
}

// add adds rows as a page of each column: compressed or not, plain or with codes.
func (e *encodedInput) add(in *input, tile *stream.Encoded, from, n int) bool {
	columns := make([]stream.EncodedPages, 3)
	var keys, values, others []byte
	valid := make([]byte, (n+7)/8)
	for row := from; row < from+n; row++ {
		keys = binary.LittleEndian.AppendUint64(keys, in.keys[row]+keyBase)
		values = binary.LittleEndian.AppendUint32(values, in.values[row])
		if in.valid[row] {
			others = binary.LittleEndian.AppendUint64(others, uint64(in.others[row]))
			valid[(row-from)/8] |= 1 << ((row - from) % 8)
		}
	}
	if e.code && !e.strings && (n == 0 || e.rng.IntN(2) == 0) { // a row that does not pass
		valid = append(valid, make([]byte, (n+8)/8-len(valid))...)
		keys = binary.LittleEndian.AppendUint64(keys, uint64(e.rng.IntN(keyBase)))
		values = binary.LittleEndian.AppendUint32(values, e.rng.Uint32())
		n++
	}
	levels := append(binary.AppendUvarint(nil, uint64(len(valid))<<1|1), valid...)
	prefixed := append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
	if e.damaged && e.rng.IntN(20) == 0 {
		keys = keys[:len(keys)-1]
	}
	ok := e.strings && e.addStrings(tile, &columns[0], in.keys[from:from+n]) ||
		!e.strings && e.addPage(tile, &columns[0], kernels.Page{Rows: uint32(n)}, keys)
	ok = ok && e.addPage(tile, &columns[1], kernels.Page{Rows: uint32(n)}, values)
	ok = ok && (in.sumOnly ||
		e.addPage(tile, &columns[2], kernels.Page{Rows: uint32(n), Levels: kernels.LevelsPrefixed}, append(prefixed, others...)))
	if in.sumOnly {
		columns = columns[:2]
	}
	return ok && tile.Add(int64(n), columns)
}

// addStrings adds the strings of keys: plain, or as codes of a dictionary.
func (e *encodedInput) addStrings(tile *stream.Encoded, to *stream.EncodedPages, keys []uint64) bool {
	var codes, text []byte
	dictionary := map[uint64]uint32{}
	coded := e.rng.IntN(2) == 0
	for _, key := range keys {
		code, known := dictionary[key]
		if !known || !coded {
			code = uint32(len(dictionary))
			dictionary[key] = code
			s := strconv.FormatUint(key, 10)
			text = append(binary.LittleEndian.AppendUint32(text, uint32(len(s))), s...)
		}
		codes = binary.LittleEndian.AppendUint32(codes, code)
	}
	if e.damaged && e.rng.IntN(20) == 0 {
		text = text[:len(text)-1]
	}
	page := kernels.Page{Rows: uint32(len(keys)), Apart: 1, Entries: uint32(len(keys))}
	strings := kernels.StringPage{Most: page.Entries, Bytes: uint32(len(text))}
	if !coded {
		if !e.addPage(tile, to, page, text) {
			return false
		}
		strings.From = to.Pages[0].From
		to.Strings = append(to.Strings, stream.EncodedStrings{StringPage: strings, Unpacked: to.Pages[0].Unpacked})
		return true
	}
	at, memory := tile.Reserve(0, int64(len(text)), 0)
	copy(memory, text)
	strings.From, strings.Most = uint64(at), uint32(len(dictionary))
	to.Strings = append(to.Strings, stream.EncodedStrings{StringPage: strings})
	groups := uint64(len(codes)+31) / 32
	codes = append(binary.AppendUvarint([]byte{32}, groups<<1|1), codes...)
	page.Apart, page.Entries = 0, strings.Most
	return memory != nil && e.addPage(tile, to, page, codes)
}

func (e *encodedInput) addPage(tile *stream.Encoded, to *stream.EncodedPages, page kernels.Page, data []byte) bool {
	packed := data
	var block kernels.Block
	compressed := e.rng.IntN(2) == 0
	if compressed {
		packed = snappy.Encode(nil, data)
		_, head := binary.Uvarint(packed)
		packed = packed[head:]
		if e.damaged && e.rng.IntN(20) == 0 && len(packed) > 0 {
			packed = packed[:len(packed)-1]
		}
		block.Bytes, block.Size = uint32(len(packed)), uint32(len(data))
	}
	at, memory := tile.Reserve(0, int64(len(packed)), 0)
	if memory == nil {
		return false
	}
	copy(memory, packed)
	page.Bytes, page.From = uint32(len(data)), uint64(at)
	if compressed {
		block.From = uint64(at)
		page.From = 0
		to.Blocks = append(to.Blocks, block)
		to.Plain += int64(len(data))
	}
	to.Pages = append(to.Pages, stream.EncodedPage{Page: page, Unpacked: compressed})
	return true
}

// Would catch an encoded tile whose rows are lost, come twice or are wrong, on any route, among tiles
// that are not encoded; and rows of tiles that the device cannot decode.
func TestEncoded(t *testing.T) {
	for _, c := range []struct {
		name     string
		groups   int
		estimate int64
		memory   int64
		pinned   int64
		keyBytes int
		sumOnly  bool
		strings  bool
		code     bool
	}{
		{"few groups", 10, 0, 64 << 20, 0, 4, false, false, false},
		{"more groups than estimated", 3000, 10, 64 << 20, 0, 8, false, false, false},
		{"one table", 3000, 3000, 64 << 20, 0, 8, false, false, false},
		{"packed table", 3000, 3000, 64 << 20, 0, 4, true, false, false},
		{"table and partitions", 30_000, 3000, 6 << 20, 0, 8, false, false, false},
		{"partitions", 30_000, 1 << 24, 8 << 20, 0, 4, false, false, false},
		{"partitions, little pinned memory", 30_000, 1 << 24, 8 << 20, 3 << 20, 8, false, false, false},
		{"few strings", 10, 0, 64 << 20, 0, 4, false, true, false},
		{"strings, packed table", 3000, 3000, 64 << 20, 0, 4, true, true, false},
		{"strings in partitions", 30_000, 1 << 24, 16 << 20, 0, 8, false, true, false},
		{"few groups by code", 10, 0, 64 << 20, 0, 4, false, false, true},
		{"packed table by code", 3000, 3000, 64 << 20, 0, 4, true, false, true},
		{"partitions by code", 30_000, 1 << 24, 16 << 20, 0, 8, false, false, true},
		{"strings by code", 3000, 3000, 64 << 20, 0, 8, false, true, true},
	} {
		for _, damaged := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, damaged %v", c.name, damaged), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(23, uint64(c.groups)))
				in := makeInput(rng, 60_000, c.groups, c.keyBytes, 0)
				in.sumOnly = c.sumOnly
				in.encoded = &encodedInput{
					pageRows: 300, damaged: damaged, strings: c.strings, code: c.code, rng: rng, rows: map[*stream.Tile][2]int{},
				}
				devices := []kernels.Device{openHost(t, hostdevice.Options{MemoryLimit: c.memory, PinnedLimit: c.pinned})}
				defer closeAll(t, devices)
				a, counters, err := run(in, stream.Options{
					Devices: devices, Groups: c.estimate, TileRows: 2000, Ablation: stream.Ablation{Streams: 4}, PinnedLimit: c.pinned,
				}, 3)
				if err != nil {
					t.Fatal(err)
				}
				check(t, in, a)
				switch {
				case counters.Decoded == 0:
					t.Error("no row was decoded")
				case damaged != (counters.Refused > 0):
					t.Errorf("%d rows were refused", counters.Refused)
				case c.code && (in.encoded.kept.Load() != counters.Kept || !c.strings && counters.Kept == counters.Decoded):
					t.Errorf("%d rows passed: %+v", in.encoded.kept.Load(), counters)
				case c.code: // the file has more rows than the input
				case counters.Decoded+counters.Refused > 60_000, counters.Rows+counters.Refused != 60_000:
					t.Errorf("of 60,000 rows %d were decoded, %d refused, %d taken", counters.Decoded, counters.Refused, counters.Rows)
				case counters.BytesEncoded == 0:
					t.Error("no page was copied")
				}
			})
		}
	}
}

// Would catch a tile that makes the table by a stream on which another tile is being decoded: the first
// tile is submitted last, while a later one enters the route.
func TestEncodedOutOfOrder(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	for n := range rounds {
		rng := rand.New(rand.NewPCG(37, uint64(n)))
		in := makeInput(rng, 8000, 3000, 8, 0)
		in.encoded = &encodedInput{pageRows: 300, rng: rng, rows: map[*stream.Tile][2]int{}}
		devices := []kernels.Device{openHost(t, hostdevice.Options{MemoryLimit: 64 << 20})}
		a := newAnswer()
		shape, nullable := in.shape()
		r, err := stream.New(t.Context(), stream.Options{
			Devices: devices, Groups: 3000, TileRows: 2000, Ablation: stream.Ablation{Streams: 4}, Shape: shape, Nullable: nullable,
			TakeRows: a.takeRows(8), TakeStates: a.takeStates(8), Decode: in.encoded.decoding(in, a),
		})
		if err != nil {
			t.Fatal(err)
		}
		var tiles []*stream.Tile
		for from := 0; from < 8000; from += 2000 {
			tile, err := r.Tile(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			step := 2000
			if from == 0 {
				step = 40 // many pages, which take long to enqueue
			}
			for at, encoded := from, tile.Encode(); at < from+2000; at += step {
				if !in.encoded.add(in, encoded, at, step) {
					t.Fatal("no room")
				}
			}
			tiles = append(tiles, tile)
		}
		var group errgroup.Group
		for i, tile := range tiles {
			wait := time.Duration(20*i) * time.Millisecond
			if i == 0 {
				wait = time.Duration(n%40) * 50 * time.Microsecond
			}
			if i == 3 {
				wait = 0
			}
			group.Go(func() error {
				time.Sleep(wait)
				return r.SubmitEncoded(tile)
			})
		}
		err = errors.Join(group.Wait(), r.AwaitDecoded())
		if err == nil {
			err = r.EndInput()
		}
		if err == nil {
			err = r.Process(a.emit(8))
		}
		if err != nil {
			t.Fatal(err)
		}
		check(t, in, a)
		if _, err := r.Release(); err != nil {
			t.Fatal(err)
		}
		closeAll(t, devices)
	}
}

// Would catch an encoded tile that hangs, or hides an error, where a call of the device fails.
func TestEncodedFaults(t *testing.T) {
	boom := errors.New("boom")
	failures := 0
	for n := int64(1); n < 400; n += 7 {
		rng := rand.New(rand.NewPCG(29, uint64(n)))
		in := makeInput(rng, 6000, 500, 8, 0)
		in.encoded = &encodedInput{pageRows: 100, strings: n%3 == 0, code: n%2 == 0, rng: rng, rows: map[*stream.Tile][2]int{}}
		device := openHost(t, hostdevice.Options{MemoryLimit: 64 << 20, Fail: hostdevice.FailNth(n, n%2 == 0, boom)})
		a, _, err := run(in, stream.Options{Devices: []kernels.Device{device}, TileRows: 1000}, 2)
		switch {
		case err == nil:
			check(t, in, a)
		case !errors.Is(err, stream.ErrDevice) || !errors.Is(err, boom):
			t.Fatalf("call %d: %v", n, err)
		default:
			failures++
		}
		if err := device.Close(); err != nil && !errors.Is(err, boom) {
			t.Error(err)
		}
	}
	if failures == 0 {
		t.Error("no call failed")
	}
}
