package device

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/kernels"
)

// Size is how many rows and groups the input is expected to have; -1 where that is not known. More groups than High
// are unlikely.
type Size struct{ Rows, Groups, High int64 }

// suits returns the layout of the query on a device, or why the CPU is to aggregate, as far as that
// is known without a look at the input. It opens no device.
func (q *Query) suits() (layout *Layout, err error) {
	if q.Groups {
		return nil, errGroups
	}
	layout, err = q.newLayout()
	if err == nil && q.Devices.named() {
		err = q.lacks(layout)
	}
	if err == nil && layout.parts != nil && q.CPU.Run().Dense() {
		err = errNotOnDevice(
			fmt.Sprintf("%v, and the CPU has a group for every key, so that partitions are of no use",
				layout.parts))
	}
	if err == nil && !q.Devices.Asked() {
		err = q.mayBeWorth(layout)
	}
	return layout, err
}

// errGroups leaves the memory of devices to the query that makes groups: that query has more rows than the query of
// its groups, which begins first.
const errGroups = errNotOnDevice("its rows are the groups of another step, to which devices are left")

// newLayout returns the layout of the query on a device, or why there is none. Where devices do not decode the input
// for groups of their own, and have a condition or a join that leaves rows out, they decode it for the CPU.
func (q *Query) newLayout() (*Layout, error) {
	l, err := q.newGroupsLayout()
	if q.Devices.named() || err == nil && l.notDecoded == nil {
		return l, err
	}
	why := err
	if err == nil {
		why = l.notDecoded
	}
	rows, unsuited := q.newDecodedLayout(why)
	switch {
	case unsuited == nil:
		return rows, nil
	case l != nil && errors.Is(unsuited, scan.ErrUndecided):
		l.notDecoded = unsuited
	}
	return l, err
}

// newDecodedLayout returns the layout of rows that devices decode for the CPU, which aggregates them for the
// reason why, or an error that says why there is none.
func (q *Query) newDecodedLayout(why error) (*Layout, error) {
	if slices.ContainsFunc(q.Bound.Args, func(a rowdata.Arg) bool { return a.Encoding == rowdata.Position }) {
		return nil, errors.New("a device does not know the places of rows")
	}
	var fields []arrow.Field
	for i := range q.Bound.Columns {
		c := &q.Bound.Columns[i]
		if c.Numbered {
			return nil, fmt.Errorf("column %q is numbered by the CPU", c.Name)
		}
		fields = append(fields, arrow.Field{Name: c.Name, Type: c.Type, Nullable: true})
	}
	l := newRowsLayout(q, &RowsQuery{Query: q.Query, Devices: q.Devices, Splits: q.Splits, Passed: q.Passed,
		Schema: arrow.NewSchema(fields, nil), Allocator: q.Allocator,
		Code: func(_ *rowcode.Builder, columns []rowcode.Value) ([]rowcode.Value, error) { return columns, nil }}, why)
	if l.notDecoded != nil {
		return nil, l.notDecoded
	}
	for i := range l.rows.texts { // strings that may come once each would cross twice, and the CPU would number them all
		if l.rows.texts[i].numbers != nil && q.Interners[i] == nil {
			return nil, fmt.Errorf("strings of %q may come once each", q.Bound.Columns[i].Name)
		}
	}
	return l, nil
}

// newGroupsLayout returns the layout of groups on a device, or why there is none. Devices number the
// strings of keys where they decode the input; otherwise they do no more than partition such keys,
// unless the user asked for an algorithm: then the host numbers the strings.
func (q *Query) newGroupsLayout() (*Layout, error) {
	switch {
	case q.Bound.Keys.Words == 0:
		return q.newOneGroupLayout()
	case !hasStrings(q.Bound):
		return q.newOtherLayout(nil)
	}
	l, err := newStringLayout(q)
	if err == nil {
		if l.setDecoder(q); l.notDecoded == nil || q.Devices.named() { // the host numbers what devices do not decode
			return l, nil
		}
		err = l.notDecoded
	}
	return q.newOtherLayout(err)
}

// newOneGroupLayout returns the layout of a query without keys. Its rows have one key on a device.
// A device that does not decode them is no faster than the CPU, to which they are near.
func (q *Query) newOneGroupLayout() (*Layout, error) {
	l, err := newFoldLayout(q.Bound, &q.Bound.Keys, q.Rows, nil)
	if err != nil || l.shape.Sorts() {
		return nil, errOneGroup
	}
	l.shape.KeyBytes = 4
	l.setDecoder(q)
	switch {
	case errors.Is(l.notDecoded, scan.ErrUndecided):
		return nil, errNotOnDevice(fmt.Sprintf("%v; whether devices decode its rows %v", errOneGroup, l.notDecoded))
	case l.notDecoded != nil:
		return nil, errNotOnDevice(fmt.Sprintf("%v, and devices do not decode its rows: %v", errOneGroup, l.notDecoded))
	}
	return l, nil
}

const errOneGroup = errNotOnDevice("there is one group")

// newOtherLayout returns the layout of the query where devices number no strings; or why they do not
// decode its files, if that is known.
func (q *Query) newOtherLayout(notDecoded error) (*Layout, error) {
	l, err := newLayout(q.Bound, q.Rows)
	if err != nil {
		return nil, err
	}
	if l.notDecoded = notDecoded; notDecoded == nil {
		l.setDecoder(q)
	}
	return l, nil
}

// setDecoder notes how devices decode the pages of a query's files, or why they do not.
func (l *Layout) setDecoder(q *Query) {
	l.decoder, l.notDecoded = q.newDecoder(l)
}

const (
	// A GPU is not used for fewer rows than this, whatever they are: the CPU takes a few
	// milliseconds.
	autoRowsMin = 1_000_000

	// A GPU is not used with a memory limit below this: 0.4 GB are resident with a context and a
	// ring (H200, driver 580).
	autoMemoryMin = 1 << 30
)

// mayBeWorth returns why a device, if the user did not ask for it, would save no time however fast
// it is and however many groups there are.
func (q *Query) mayBeWorth(layout *Layout) error {
	rows := q.Rows
	switch {
	case q.Once && errors.Is(layout.notDecoded, scan.ErrUndecided):
		return errNotOnDevice(fmt.Sprintf("whether one saves time %v", scan.ErrUndecided))
	case q.Once:
		return errNotOnDevice("the input can be read once, and not again if a device fails")
	case rows >= 0 && rows < autoRowsMin:
		return errNotOnDevice(fmt.Sprintf("%d rows are too few", rows))
	case q.Devices.memory < autoMemoryMin:
		return errNotOnDevice(fmt.Sprintf("of a memory limit of %s a device's driver takes too much",
			humanize.IBytes(uint64(q.Devices.memory))))
	}
	err := q.Devices.possible()
	if err != nil || rows < 0 {
		return err
	}
	err = q.endsFirst(q.Devices.rates.cpuTimeMost(rows, q.Workers))
	if err != nil && !q.Devices.Opened() && layout.decoder != nil {
		q.Devices.missed(q.decoding(layout.decoder).saves(rows))
	}
	return err
}

// measure returns the size that a forecast expects of the input, or why a device would save no time
// for such an input, or less time than its opening takes. Devices that the user asked for need no
// forecast.
func (q *Query) measure(layout *Layout, forecast func() (Size, error)) (size Size, err error) {
	if q.Devices.Asked() {
		return size, nil
	}
	if layout.filters() {
		return Size{Rows: -1, Groups: 1, High: -1}, q.paysToDecode(layout.decoder)
	}
	if size, err = forecast(); err != nil {
		return size, err
	}
	size.Groups = max(size.Groups, 1)
	switch {
	case size.Rows < 0:
		err = errNotOnDevice("the number of rows is not known")
	case size.Rows < autoRowsMin:
		err = errSlower(fmt.Sprintf("about %s rows are too few", humanize.Comma(size.Rows)))
	case !q.Devices.Opened():
		err = q.paysToOpen(layout, size)
	}
	return size, err
}

// filters reports whether devices decode rows of which a condition leaves some, few as a rule: then decoding is what
// takes the time, and what it takes is known without a look at the rows. Of large strings nothing tells what a
// comparison takes.
func (l *Layout) filters() bool {
	if l.notDecoded != nil || l.decoder.count == nil {
		return false
	}
	text := int64(0)
	for i := range l.decoder.of.Columns {
		text += l.decoder.of.Columns[i].StringBytes
	}
	return l.decoder.rows >= autoRowsMin && float64(text) <= l.decoder.rowBytes/2
}

// decoding compares the CPU with devices that decode rows.
func (q *Query) decoding(of *decoder) comparison {
	return q.Devices.rates.compareDecoding(of.rows, of.rowBytes, q.Workers, q.Devices.rates.fastestLink())
}

// paysToDecode returns why devices that the user has not asked for are not to decode rows. Where they would have saved
// time, had they been open, that is noted.
func (q *Query) paysToDecode(of *decoder) error {
	c, d := q.decoding(of), q.Devices
	saved := c.saves(of.rows)
	switch {
	case d.Asked():
		return nil
	case !c.deviceWins():
		return errSlower(c.reason)
	case !d.Opened() && saved < d.rates.opens():
		d.missed(saved)
		return errSlower(fmt.Sprintf("a device is expected to save %v, less than it takes to open: %s",
			saved.Round(time.Millisecond), c.reason))
	}
	return nil
}

// endsFirst returns an error where the CPU, which is expected to take so long, has ended before
// devices are open, or, where they are, before they have begun with a query.
func (q *Query) endsFirst(cpu time.Duration) error {
	until, what := q.Devices.rates.opens(), "open"
	if q.Devices.Opened() {
		until, what = deviceStart, "start"
	}
	if cpu >= until {
		return nil
	}
	return errSlower(fmt.Sprintf("the CPU is expected to take %v, no longer than a device takes to %s",
		cpu.Round(time.Millisecond), what))
}

// paysToOpen returns an error where devices, which are not open, would save less time for an input of
// such a size than their opening takes.
func (q *Query) paysToOpen(layout *Layout, size Size) error {
	if err := q.endsFirst(q.Devices.rates.cpuTime(size.Rows, size.Groups, q.Workers)); err != nil {
		return err
	}
	c := q.compare(layout, size, q.Devices.rates.fastestLink())
	saved := c.saves(size.Rows)
	if saved >= q.Devices.rates.opens() {
		return nil
	}
	return errSlower(fmt.Sprintf("a device is expected to save %v, less than it takes to open: %s",
		max(saved, 0).Round(time.Millisecond), c.reason))
}

// worth returns the rates by which a device saves time for an input of such a size, or an error
// with the rates by which it does not. Both are empty where the user asked for devices. worth opens
// the devices if they are not open.
func (q *Query) worth(ctx context.Context, layout *Layout, size Size) (rates string, err error) {
	if q.Devices.Asked() {
		return "", nil
	}
	if layout.filters() { // which measure has asked
		return q.decoding(layout.decoder).reason, nil
	}
	devices := q.Devices
	set, err := devices.get(ctx)
	if err != nil {
		return "", err
	}
	defer func() { devices.put(set, err) }()
	link, err := q.Devices.rates.link(set.list[0].Properties().UUID, func() (float64, error) {
		return devices.linkSpeed(set)
	})
	if err != nil {
		return "", err
	}
	c := q.compare(layout, size, link*float64(len(set.list)))
	if !c.deviceWins() {
		return "", errSlower(c.reason)
	}
	return c.reason, nil
}

// compare compares the CPU with devices, to which rows come at some bytes a second.
func (q *Query) compare(layout *Layout, size Size, link float64) comparison {
	part := 1.0
	if layout.parts != nil {
		part = scatterPart
	}
	return q.Devices.rates.compare(size.Rows, layout.crossing(size.Rows), size.Groups, q.Workers, link, part)
}

// open opens the devices if they are not open, and returns a coprocessor and the rates by which
// devices were chosen (see worth); or why the CPU is to aggregate.
func (q *Query) open(ctx context.Context, layout *Layout, size Size) (c *coprocessor, rates string, err error) {
	if err = q.stringsAreFew(layout, size); err != nil {
		return nil, "", err
	}
	if rates, err = q.worth(ctx, layout, size); err != nil {
		return nil, "", err
	}
	c, err = newCoprocessor(ctx, q, layout)
	if errors.Is(err, errNoRoom) && !q.Devices.named() { // other layouts partition for the CPU
		if layout, err = q.newOtherLayout(err); err == nil {
			c, err = newCoprocessor(ctx, q, layout)
		}
	}
	return c, rates, err
}

// stringsRatio is how many rows a string must have on average for devices to number the strings of the only key.
// Each new string crosses the link, and the host numbers it, in the time in which it aggregates stringsRatio rows.
const stringsRatio = 20

// stringsAreFew returns why devices are not to number the strings of a key, of an input that is expected to have such a
// size. Where there are other keys, groups say nothing of strings.
func (q *Query) stringsAreFew(layout *Layout, size Size) error {
	if layout.strings == nil || q.Devices.named() || len(layout.bound.KeyColumns) > 1 ||
		size.Rows < autoRowsMin || size.High*stringsRatio <= size.Rows {
		return nil
	}
	return errNotOnDevice(fmt.Sprintf("up to %s strings in %s rows differ, too many to be numbered",
		humanize.Comma(size.High), humanize.Comma(size.Rows)))
}

// errNoRoom is why devices do not number strings.
var errNoRoom = errors.New("the device's memory has no room for pages of strings")

// isFatal reports whether a device cannot be used after an error. After a bug nobody knows what the
// device still does.
func isFatal(err error) bool {
	return errors.Is(err, kernels.ErrDeviceLost) || errors.Is(err, kernels.ErrTimeout) || errors.Is(err, spawn.ErrInternal)
}
