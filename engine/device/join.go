package device

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/joins"
)

// JoinAlgorithms returns the names of the joins that may be asked for. The first, auto, asks for none.
func JoinAlgorithms() []string {
	names := []string{joinAuto}
	for _, a := range joins.Algorithms() {
		names = append(names, a.String())
	}
	return names
}

// joinAuto is the name of no join in particular.
const joinAuto = "auto"

// ValidJoinAlgorithm returns what is wrong with the name of a join beside the name of a device; nil where nothing is.
func ValidJoinAlgorithm(name, device string) error {
	is, err := parseJoin(name)
	if err == nil && is.named && device == "cpu" {
		err = knob.Errorf("%q runs on a device, and %s is \"cpu\"", name, knob.Name("engine.Device"))
	}
	return err
}

// joinChoice is Options.JoinAlgorithm, parsed.
type joinChoice struct {
	named     bool
	algorithm joins.Algorithm
}

func parseJoin(name string) (c joinChoice, err error) {
	if name == "" || name == joinAuto {
		return c, nil
	}
	c.named = true
	c.algorithm, err = joins.Parse(name)
	if err != nil {
		err = fmt.Errorf("%w; or %s", err, joinAuto)
	}
	return c, err
}

// JoinAlgorithm returns the join that was asked for; "" where none was.
func (d *Devices) JoinAlgorithm() string {
	if !d.join.named {
		return ""
	}
	return d.join.algorithm.String()
}

// JoinColumn is a column of one side of a join, of values of 4, 8 or 16 bytes.
type JoinColumn struct {
	Bytes  int
	Values []byte
	Valid  []byte // a bitmap, least bit first; nil where no value is NULL
}

// JoinSide is rows in the host's memory. No key is NULL.
type JoinSide struct {
	Rows    int
	Keys    []byte // Rows * Join.KeyBytes
	Columns []JoinColumn
}

// rowBytes returns how many bytes a row takes on the link.
func (s *JoinSide) rowBytes(keyBytes int) int64 {
	bytes := keyBytes
	for _, c := range s.Columns {
		bytes += c.Bytes
		if c.Valid != nil {
			bytes++ // an eighth of it
		}
	}
	return int64(bytes)
}

// Join is a join of two sides that fit a device together:
//
//	sides -> pinned memory -> device: transformed, matched, materialised (package joins) -> pinned memory -> JoinedRows
type Join struct {
	IsSemi       bool // rows of the probe side with a partner are wanted, once each; else pairs
	KeyBytes     int  // 4 or 8
	Build, Probe JoinSide
	MostBytes    int64 // of the host's memory, that pairs may take
}

// JoinedRows is the pairs of a join, by column: where they are more than there is room for, their number alone.
type JoinedRows struct {
	Pairs, Room int64
	// of all pairs, and of the columns of the sides; none of the build side, where Join.IsSemi
	Build, Probe []JoinedColumn
}

// JoinedColumn is a column of pairs.
type JoinedColumn struct {
	Values, Valid *memory.Buffer // Valid is nil where no value is NULL
}

// Release gives the memory of the columns back.
func (r *JoinedRows) Release() {
	for _, columns := range [][]JoinedColumn{r.Build, r.Probe} {
		for _, c := range columns {
			c.Values.Release()
			if c.Valid != nil {
				c.Valid.Release()
			}
		}
	}
	r.Build, r.Probe = nil, nil
}

// MovesColumn reports whether the join that was asked for brings a column of values of some bytes to its pairs, as the
// n-th of its side, from 0.
func (d *Devices) MovesColumn(bytes int, hasNulls bool, n int) bool {
	switch {
	case n >= kernels.ColumnsMax-1: // a side's keys may move with its columns
		return false
	case d.join.algorithm == joins.SMJTR:
		return (bytes == 4 || bytes == 8) && !hasNulls
	}
	return bytes == 4 || bytes == 8 || bytes == 16
}

// What joins take of a device: half of its memory, in areas in which one stream each joins two sides.
const (
	joinMemoryMin = 4 << 20
	joinShare     = 2
	joinAreas     = 3
	joinAreaMax   = 2 << 30
	joinPinnedMax = 128 << 20 // of an area
	// An area has this many times the bytes of its pinned memory, where sides come from: for the sides, as they come and
	// transformed, what the match takes, and as many pairs as there is room for beside that.
	joinAreaShare = 8
)

// joinArea is a part of a device's memory in which two sides are joined, and the pinned memory by which they come. One
// goroutine at a time has it.
type joinArea struct {
	device kernels.Device
	bytes  int64
	pinned int64

	stream kernels.Stream // nil before the first join
	memory kernels.Buffer
	host   kernels.Pinned
}

// newJoinAreas returns areas of devices, not opened yet, and the bytes of pinned memory of each. Joins may take some
// bytes of each device, and some of pinned memory for each.
func newJoinAreas(list []kernels.Device, bytes, pinned int64) (chan *joinArea, int64) {
	areas := make(chan *joinArea, joinAreas*len(list))
	bytes = min(bytes/joinAreas, joinAreaMax)
	pinned = min(bytes/joinAreaShare, joinPinnedMax, pinned/(2*joinAreas))
	for range joinAreas {
		for _, dev := range list {
			areas <- &joinArea{device: dev, bytes: bytes, pinned: pinned}
		}
	}
	return areas, pinned
}

// open takes what the area has of the device.
func (a *joinArea) open() (err error) {
	if a.stream != nil {
		return nil
	}
	if a.memory, err = a.device.Alloc(a.bytes); err != nil {
		return err
	}
	if a.host, err = a.device.AllocPinned(a.pinned); err == nil {
		a.stream, err = a.device.NewStream()
	}
	if err != nil {
		err = errors.Join(err, a.close())
	}
	return err
}

// close gives everything back.
func (a *joinArea) close() (err error) {
	if a.stream != nil {
		err = a.stream.Close()
	}
	if a.host != nil {
		err = errors.Join(err, a.host.Free())
	}
	if a.memory != nil {
		err = errors.Join(err, a.memory.Free())
	}
	a.stream, a.host, a.memory = nil, nil, nil
	return err
}

// closeJoinAreas closes the areas of a set, which nobody uses.
func (s *deviceSet) closeJoinAreas() (err error) {
	for range cap(s.areas) {
		err = errors.Join(err, (<-s.areas).close())
	}
	return err
}

// JoinBytes returns how many bytes both sides of a join may take together, or why there is no device.
func (d *Devices) JoinBytes(ctx context.Context) (int64, error) {
	set, err := d.get(ctx)
	if err != nil {
		return 0, err
	}
	defer d.put(set, nil)
	return set.joinBytes, nil
}

// Rows returns how many rows of the probe side are joined at once, in a device's memory that has room for some bytes of
// both sides (JoinBytes); 0 where there is no room beside the build side.
func (j *Join) Rows(bytes int64) int {
	parts := int64(2*(len(j.Build.Columns)+len(j.Probe.Columns)) + 3) // keys, values, bitmaps, and the status
	left := bytes - parts*joinAlignment - j.Build.rowBytes(j.KeyBytes)*int64(j.Build.Rows)
	return int(max(left, 0) / j.Probe.rowBytes(j.KeyBytes))
}

// Join joins two sides, which are in the caller's memory. wait is called with functions that wait for the device.
func (d *Devices) Join(
	ctx context.Context, wait func(ctx context.Context, f func()) error, mem memory.Allocator, j *Join,
) (rows *JoinedRows, err error) {
	set, err := d.get(ctx)
	if err != nil {
		return nil, err
	}
	var a *joinArea
	take := func() {
		select {
		case a = <-set.areas:
		case <-ctx.Done():
		}
	}
	if err = wait(ctx, take); err == nil && a == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if a != nil {
			set.areas <- a
		}
		d.put(set, nil)
		return nil, err
	}
	r := &joining{devices: d, area: a, Join: j, wait: wait}
	rows, err = r.run(ctx, mem)
	if r.late == nil {
		set.areas <- a
		d.put(set, err)
	} else { // the area is the driver's until it answers
		d.silence(err, func() {
			r.late()
			set.areas <- a
			d.put(set, err)
		})
	}
	if err != nil {
		err = fmt.Errorf("join algorithm %v: %w", d.join.algorithm, err)
	}
	return rows, err
}

// joining is a join in an area.
type joining struct {
	*Join
	devices *Devices
	area    *joinArea
	wait    func(ctx context.Context, f func()) error
	late    func() // waits for a driver that did not answer; nil where it did

	used   int64 // bytes of the area
	copies []kernels.Copy
	pinned int64 // bytes of the area's pinned memory
}

// ask has the driver do something, and waits for it as long as drivers are waited for.
func (r *joining) ask(ctx context.Context, f func() error) (err error) {
	waited := r.wait(ctx, func() {
		_, r.late, err = kernels.Await(r.devices.wait(), func() (struct{}, error) { return struct{}{}, f() }, nil)
	})
	if err == nil {
		err = waited
	}
	return err
}

// take returns a part of the area.
func (r *joining) take(bytes int64) kernels.Span {
	at := kernels.Span{Buffer: r.area.memory, Offset: r.used}
	r.used += alignJoin(bytes)
	return at
}

// joinAlignment is the alignment of parts of an area.
const joinAlignment = 256

func alignJoin(n int64) int64 { return (n + joinAlignment - 1) &^ (joinAlignment - 1) }

// put copies bytes to pinned memory, and plans their copy to the device.
func (r *joining) put(bytes []byte) kernels.Span {
	at := r.take(int64(len(bytes)))
	if len(bytes) == 0 {
		return at
	}
	host := r.area.host.Bytes()[r.pinned : r.pinned+int64(len(bytes))]
	copy(host, bytes)
	r.pinned += alignJoin(int64(len(bytes)))
	r.copies = append(r.copies, kernels.Copy{Device: at, Host: host})
	return at
}

// side brings a side.
func (r *joining) side(s *JoinSide) joins.Side {
	to := joins.Side{Count: int64(s.Rows), Keys: r.put(s.Keys[:s.Rows*r.KeyBytes])}
	for _, c := range s.Columns {
		column := joins.Column{Bytes: c.Bytes, Values: r.put(c.Values[:s.Rows*c.Bytes])}
		if c.Valid != nil {
			column.Valid = r.put(c.Valid[:kernels.MatchedBytes(int64(s.Rows))])
		}
		to.Columns = append(to.Columns, column)
	}
	return to
}

// room takes room for the columns of a side in a number of pairs.
func (r *joining) room(columns []joins.Column, pairs int64) []joins.Column {
	var to []joins.Column
	for _, c := range columns {
		column := joins.Column{Bytes: c.Bytes, Values: r.take(pairs * int64(c.Bytes))}
		if c.Valid.Buffer != nil {
			column.Valid = r.take(kernels.MatchedBytes(pairs))
		}
		to = append(to, column)
	}
	return to
}

// pairBytes returns how many bytes the columns of a pair take.
func (r *joining) pairBytes() (bytes int64) {
	if !r.IsSemi {
		bytes = r.Build.rowBytes(0)
	}
	return bytes + r.Probe.rowBytes(0)
}

func (r *joining) run(ctx context.Context, mem memory.Allocator) (*JoinedRows, error) {
	if err := r.ask(ctx, r.area.open); err != nil {
		return nil, err
	}
	q := &joins.Query{Algorithm: r.devices.join.algorithm, KeyBytes: r.KeyBytes}
	if r.IsSemi {
		q.Kind = joins.Semi
	}
	q.Build, q.Probe = r.side(&r.Build), r.side(&r.Probe)
	out := &joins.Output{Status: r.take(kernels.JoinStatusBytes)}
	properties := r.area.device.Properties()
	const scratch = 8 // bytes of a pair: its rows
	parts := int64(2*(len(q.Build.Columns)+len(q.Probe.Columns)) + 4)
	left := r.area.bytes - r.used - q.Scratch(properties, 0) - parts*joinAlignment
	out.Capacity = min(left/(r.pairBytes()+scratch), r.MostBytes/max(r.pairBytes(), 1))
	if out.Capacity <= 0 {
		return nil, knob.Errorf("%s of a device's memory, a part of %s, have no room for %s and %s rows",
			humanize.IBytes(uint64(r.area.bytes)), knob.Name("engine.DeviceMemoryLimit"),
			humanize.Comma(int64(r.Build.Rows)), humanize.Comma(int64(r.Probe.Rows)))
	}
	if !r.IsSemi {
		out.Build = r.room(q.Build.Columns, out.Capacity)
	}
	out.Probe = r.room(q.Probe.Columns, out.Capacity)
	status := r.area.host.Bytes()[r.area.pinned-kernels.JoinStatusBytes:]
	err := r.ask(ctx, func() error {
		stream := r.area.stream
		err := stream.CopyBatch(r.copies)
		if err == nil {
			err = q.Enqueue(stream, properties, out, r.take(0))
		}
		if err == nil {
			err = stream.Copy(kernels.Copy{Device: out.Status, Host: status, Out: true})
		}
		return r.end(err)
	})
	if err != nil {
		return nil, err
	}
	rows := &JoinedRows{Pairs: int64(binary.LittleEndian.Uint64(status)), Room: out.Capacity}
	if rows.Pairs > rows.Room {
		return rows, nil
	}
	if rows.Build, err = r.fetch(ctx, mem, out.Build, rows.Pairs); err == nil {
		rows.Probe, err = r.fetch(ctx, mem, out.Probe, rows.Pairs)
	}
	if err != nil {
		rows.Release()
		return nil, err
	}
	return rows, nil
}

// end waits for the stream's work.
func (r *joining) end(err error) error {
	event, failed := r.area.stream.Record()
	if failed != nil {
		return errors.Join(err, failed)
	}
	return errors.Join(err, event.Wait(), event.Close())
}

// fetch copies columns of a number of pairs, and returns what it has with an error, too.
func (r *joining) fetch(
	ctx context.Context, mem memory.Allocator, columns []joins.Column, pairs int64,
) (to []JoinedColumn, err error) {
	for _, c := range columns {
		values, err := r.fetchBytes(ctx, mem, c.Values, pairs*int64(c.Bytes))
		made := JoinedColumn{Values: values}
		if err == nil && c.Valid.Buffer != nil {
			made.Valid, err = r.fetchBytes(ctx, mem, c.Valid, bitutil.BytesForBits(pairs))
		}
		to = append(to, made)
		if err != nil {
			return to, err
		}
	}
	return to, nil
}

// fetchBytes copies bytes of the device to a buffer, which it returns with an error, too.
func (r *joining) fetchBytes(
	ctx context.Context, mem memory.Allocator, from kernels.Span, bytes int64,
) (*memory.Buffer, error) {
	buffer := memory.NewResizableBuffer(mem)
	buffer.Resize(int(bytes))
	for at := int64(0); at < bytes; {
		host := r.area.host.Bytes()[:min(bytes-at, r.area.pinned)]
		err := r.ask(ctx, func() error {
			return r.end(r.area.stream.Copy(kernels.Copy{Device: from.At(at), Host: host, Out: true}))
		})
		if err != nil {
			return buffer, err
		}
		at += int64(copy(buffer.Bytes()[at:], host))
	}
	return buffer, nil
}
