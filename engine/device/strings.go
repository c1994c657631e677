package device

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/threads"
	"github.com/mpga/mpga/stream"
)

// isNumbered reports whether devices have numbers of a column of strings: it is a key, or an argument with numbers.
func (l *Layout) isNumbered(column int) bool {
	return slices.Contains(l.bound.KeyColumns, column) ||
		slices.ContainsFunc(l.columns, func(c layoutColumn) bool { return c.column == column && c.numbers != nil })
}

// hasStrings reports whether a query has strings that the CPU does not number: keys without a dictionary, or arguments.
func hasStrings(b *rowdata.Bound) bool {
	return len(b.Keys.Longs) > 0 || slices.ContainsFunc(b.Args, func(a rowdata.Arg) bool { return isString(b, &a) })
}

// isString reports whether an argument is a column of strings as they are.
func isString(b *rowdata.Bound, a *rowdata.Arg) bool {
	return a.Column >= 0 && a.Encoding != rowdata.Hashed && b.Columns[a.Column].Kind == rowdata.Bytes
}

// newStringLayout returns the layout of a query whose keys or arguments have numbers on devices in place of strings
// that the CPU's have, or why devices cannot aggregate so. All rows come to devices as pages.
func newStringLayout(q *Query) (*Layout, error) {
	b, keys := q.Bound, &q.Bound.Keys
	numbers := slices.Clone(q.Interners)
	number := func(column int) {
		if numbers[column] == nil {
			numbers[column] = new(encode.Interner)
		}
	}
	for k, column := range b.KeyColumns {
		if b.Keys.Fields[k].Kind == rowdata.Bytes {
			number(column)
		}
	}
	for a := range b.Args {
		if isString(b, &b.Args[a]) {
			number(b.Args[a].Column)
		}
	}
	if len(keys.Longs) > 0 {
		numbered := b.NumberedKeys()
		keys = &numbered
	}
	l, err := newFoldLayout(b, keys, q.Rows, numbers)
	if err != nil || len(b.Keys.Longs) == 0 {
		return l, err
	}
	l.strings = make([]*encode.Interner, len(keys.Fields))
	for k, column := range b.KeyColumns {
		if b.Keys.Fields[k].Kind == rowdata.Bytes {
			l.strings[k] = numbers[column]
		}
	}
	return l, nil
}

// stringKeys returns n keys of a device with strings in place of their numbers, as the CPU packs them.
// The strings are valid as long as the layout.
func (l *Layout) stringKeys(buf, keys []uint64, n int) []uint64 {
	from, to := l.keys.Words, l.bound.Keys.Words
	buf = rowdata.Grow(buf, n*to)
	clear(buf)
	for k := range l.keys.Fields {
		device, cpu := &l.keys.Fields[k], &l.bound.Keys.Fields[k]
		if in := l.strings[k]; in != nil {
			writeStrings(buf[cpu.Word:], to, keys[device.Word:n*from], from, device, in.Strings())
			continue
		}
		moveBits(buf[cpu.Word:], to, cpu.Shift, keys[device.Word:n*from], from, device.Shift, device.Mask())
		if device.Kind == rowdata.Int128 {
			moveBits(buf[cpu.Word+1:], to, 0, keys[device.Word+1:n*from], from, 0, math.MaxUint64)
		}
		if device.NullBit >= 0 {
			moveBits(buf[cpu.NullWord:], to, uint8(cpu.NullBit), keys[device.NullWord:n*from], from, uint8(device.NullBit), 1)
		}
	}
	return buf
}

// writeStrings writes strings to out in place of the numbers that a field of keys has. A key takes
// `words` words of keys, and outWords words of out.
func writeStrings(out []uint64, outWords int, keys []uint64, words int, f *rowdata.KeyField, strings *encode.Strings) {
	shift, mask, null := f.Shift&63, f.Mask(), rowdata.NullBytes()
	for at, to := 0, 0; at < len(keys); at, to = at+words, to+outWords {
		v := null
		if code := keys[at] >> shift & mask; code != 0 {
			v = strings.At(code)
		}
		out[to], out[to+1] = v[0], v[1]
	}
}

// moveBits adds some bits of a word of each key to a word of the same key in out. A key takes words
// words of keys, and outWords words of out.
func moveBits(out []uint64, outWords int, outShift uint8, keys []uint64, words int, shift uint8, mask uint64) {
	outShift, shift = outShift&63, shift&63
	for at, to := 0, 0; at < len(keys); at, to = at+words, to+outWords {
		out[to] |= keys[at] >> shift & mask << outShift
	}
}

// numberedKeys returns n of the CPU's keys as devices pack them; the inverse of stringKeys. known is false
// for keys with a string that no device has met.
func (l *Layout) numberedKeys(keys []uint64, n int) (numbered []uint64, known []bool) {
	known = slices.Repeat([]bool{true}, n)
	numbered, _ = l.packNumbers(keys, n,
		func(k int, codes []uint64, strings []rowdata.Bytes2, isNull func(int) bool) error {
			l.strings[k].Find(codes, strings)
			for i, code := range codes {
				known[i] = known[i] && (code != 0 || isNull(i))
			}
			return nil
		})
	return numbered, known
}

// numberKeys is numberedKeys for keys whose strings get numbers where they have none.
func (l *Layout) numberKeys(keys []uint64, n int) ([]uint64, error) {
	return l.packNumbers(keys, n, func(k int, codes []uint64, strings []rowdata.Bytes2, isNull func(int) bool) error {
		return numberValid(codes, l.strings[k], strings, func(i int) bool { return !isNull(i) })
	})
}

// packNumbers packs n of the CPU's keys as devices do. number writes the numbers of the strings of a key.
func (l *Layout) packNumbers(
	keys []uint64, n int, number func(k int, codes []uint64, strings []rowdata.Bytes2, isNull func(int) bool) error,
) ([]uint64, error) {
	from, to := l.bound.Keys.Words, l.keys.Words
	numbered := make([]uint64, n*to)
	strings, codes := make([]rowdata.Bytes2, n), make([]uint64, n)
	for k := range l.keys.Fields {
		device, cpu := &l.keys.Fields[k], &l.bound.Keys.Fields[k]
		if l.strings[k] != nil {
			for i := range n {
				strings[i] = *rowdata.AsBytes2(keys[i*from+cpu.Word : i*from+cpu.Word+2])
				if cpu.IsNull(keys[i*from : (i+1)*from]) {
					strings[i] = rowdata.Bytes2{}
				}
			}
			isNull := func(i int) bool { return cpu.IsNull(keys[i*from : (i+1)*from]) }
			if err := number(k, codes, strings, isNull); err != nil {
				return nil, err
			}
		}
		for i := range n {
			key, out := keys[i*from:(i+1)*from], numbered[i*to:(i+1)*to]
			code := codes[i]
			switch {
			case l.strings[k] == nil:
				code = key[cpu.Word] >> cpu.Shift & cpu.Mask()
			case cpu.IsNull(key):
				code = 0
			}
			out[device.Word] |= code << device.Shift
			if device.Kind == rowdata.Int128 {
				out[device.Word+1] = key[cpu.Word+1]
			}
			if device.NullBit >= 0 {
				out[device.NullWord] |= key[cpu.NullWord] >> cpu.NullBit & 1 << device.NullBit
			}
		}
	}
	return numbered, nil
}

// numberValid writes the numbers of the strings that are valid, and numbers strings that have none.
func numberValid(codes []uint64, in *encode.Interner, strings []rowdata.Bytes2, isValid func(int) bool) error {
	some, rows := make([]rowdata.Bytes2, 0, len(strings)), make([]int, 0, len(strings))
	for i, s := range strings {
		if isValid(i) {
			some, rows = append(some, s), append(rows, i)
		}
	}
	numbers := make([]uint64, len(some))
	if err := in.Numbers(numbers, some, 0); err != nil {
		return err
	}
	for j, i := range rows {
		codes[i] = numbers[j]
	}
	return nil
}

// stageStrings writes the numbers of n strings, of two words each, to a device's column. valid is
// nil where no string is NULL; the number of a NULL is anything.
func stageStrings(out []byte, in *encode.Interner, words []uint64, n int, valid []uint8) error {
	codes := make([]uint64, n)
	isValid := func(i int) bool { return valid == nil || valid[i] != 0 }
	if err := numberValid(codes, in, rowdata.View[rowdata.Bytes2](words)[:n], isValid); err != nil {
		return err
	}
	rowdata.Narrow[uint32](out, codes)
	return nil
}

// stringsShare: the strings that have numbers on devices take no more than this part of the memory
// limit.
const stringsShare = 16

// limitStrings returns an error where the strings that the host has numbered take more memory than they may.
func (q *Query) limitStrings(l *Layout) error {
	if !l.numbered {
		return nil
	}
	in, bytes := slices.Clone(l.strings), int64(0)
	for i := range l.columns {
		in = append(in, l.columns[i].numbers)
	}
	for i, of := range in {
		if of != nil && !slices.Contains(in[:i], of) {
			bytes += of.Bytes()
		}
	}
	if most := q.Devices.memory / stringsShare; bytes > most {
		return q.refuse(errNotOnDevice(fmt.Sprintf("the strings that differ take more than %s, 1/%d of %s",
			humanize.IBytes(uint64(most)), stringsShare, knob.Name("engine.MemoryLimit"))))
	}
	return nil
}

// number numbers strings, for devices. It returns false where they cannot be numbered: the CPU is to
// read them.
func (d *decoder) number(ctx context.Context, strings *stream.NewStrings, numbers []uint32) (ok bool, err error) {
	count := int64(strings.Len())
	before, bytes := d.numbered()
	if d.full.Load() || bytes+count*stringBytes+int64(strings.Bytes()) > d.devices.query.Devices.memory/stringsShare {
		d.full.Store(true)
		return false, nil
	}
	if !d.areFew(ctx, before+count, count) {
		d.full.Store(true)
		return false, context.Cause(ctx)
	}
	var refused atomic.Bool
	group, ctx := spawn.WithContext(ctx)
	group.SetLimit(d.devices.query.Workers)
	for from := 0; from < strings.Len(); from += numberStep {
		group.Go(func() error {
			th := threads.New(d.devices.query.Threads)
			if err := th.Take(ctx); err != nil {
				return err
			}
			defer th.Give()
			if !d.numberSome(strings, from, min(from+numberStep, strings.Len()), numbers) {
				refused.Store(true)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil || refused.Load() {
		return false, err
	}
	if after, _ := d.numbered(); count >= againMin && after-before < count/2 && d.again.Add(1) >= againMax {
		d.full.Store(true) // the devices have no room for the strings, which cross the link for each tile
	}
	return true, nil
}

// areFew reports whether a sample of the input says that the columns have few strings. strings counts the strings of
// all columns, ofTile the strings that a tile brings. The sample is made while devices work; it is waited for where
// strings is at least stringsMany, and until it is there strings are few.
func (d *decoder) areFew(ctx context.Context, strings, ofTile int64) bool {
	if d.devices.layout.rows != nil { // which nobody groups by them
		return ofTile < sampleMin && strings < stringsMany
	}
	if ofTile >= sampleMin || strings >= stringsMany {
		d.sampling.Do(func() { d.sample(ctx) })
	}
	if strings >= stringsMany {
		select {
		case <-d.sampled:
		case <-ctx.Done():
			return false
		}
	}
	select {
	case <-d.sampled:
		return !d.areMany()
	default:
		return true
	}
}

// sample begins to look at a sample of each column of strings with numbers.
func (d *decoder) sample(ctx context.Context) {
	spawn.Go(func() error {
		for i := range d.strings {
			of := &d.strings[i]
			if of.numbers == nil {
				continue
			}
			var err error
			if of.expected, err = d.devices.query.Strings(ctx, of.column); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) {
		d.notSampled = err // the CPU takes the rows; an error of the input is its own
		close(d.sampled)
		if d.areMany() {
			d.full.Store(true)
		}
	})
}

// areMany reports whether a column has more strings than devices are to number: more than a sample has let expect, or
// than the rows allow. Where many strings come once, and a few again and again, a sample knows the few. A sample of
// filtered rows has the rows that pass, and strings of all rows get numbers. Requires: sampled is closed.
func (d *decoder) areMany() bool {
	if d.notSampled != nil {
		return true
	}
	return slices.ContainsFunc(d.strings, func(of stringsColumn) bool {
		e := of.expected
		if of.numbers == nil || e.Rows < 0 {
			return false
		}
		most := e.Groups + e.Groups/beyondForecast
		if d.count != nil {
			passed := float64(max(d.kept.Load(), 1)) / float64(max(d.asked.Load(), 1))
			most = min(int64(float64(most)/passed), d.rows/stringsRatio)
		}
		tooMany := of.rare && e.Groups*stringsRatio > e.Rows && e.Groups > stringsMany
		return tooMany || int64(of.numbers.Len()) > max(most, stringsMany)
	})
}

// endSample waits for the sample, if there is one. Requires: the run is released.
func (d *decoder) endSample() error {
	d.sampling.Do(func() { close(d.sampled) })
	<-d.sampled
	if errors.Is(d.notSampled, spawn.ErrInternal) {
		return d.notSampled
	}
	return nil
}

const (
	stringsMany    = 1 << 18 // strings of all tiles take longer to be numbered than a sample takes to be read
	sampleMin      = 1 << 14 // new strings of one tile: there may be many more
	beyondForecast = 2       // half as many strings may come beside the expected strings
)

// Devices decode no more once againMax tiles have each listed at least againMin strings that mostly
// had numbers already.
const (
	againMin = 1 << 16
	againMax = 16
)

// numbered returns how many strings have numbers, and how many bytes they take.
func (d *decoder) numbered() (count, bytes int64) {
	for i := range d.strings {
		if in := d.strings[i].numbers; in != nil {
			count += int64(in.Len())
			bytes += in.Bytes()
		}
	}
	return count, bytes
}

// numberStep strings are numbered at once by one worker.
const numberStep = 16 << 10

// numberSome numbers the strings from one to another. It returns false where one is not UTF-8 and must be,
// or there is no number left: the CPU, which reads them, says so.
func (d *decoder) numberSome(strings *stream.NewStrings, from, to int, numbers []uint32) bool {
	byColumn := make([]struct {
		strings []rowdata.Bytes2
		places  []int
	}, len(d.strings))
	for i := from; i < to; i++ {
		column, s := strings.At(i)
		if d.strings[column].text && !utf8.Valid(s) {
			return false
		}
		of := &byColumn[column]
		of.strings = append(of.strings, rowdata.ToBytes2(s))
		of.places = append(of.places, i)
	}
	codes := make([]uint64, to-from)
	for column := range byColumn {
		of := &byColumn[column]
		if len(of.strings) == 0 {
			continue
		}
		if d.strings[column].numbers.Numbers(codes[:len(of.strings)], of.strings, strings.Len()-to) != nil {
			return false
		}
		for i, place := range of.places {
			numbers[place] = uint32(codes[i])
		}
	}
	return true
}

// stringBytes is what a string takes at most to have a number, beside its bytes: two words, and two slots.
const stringBytes = 32
