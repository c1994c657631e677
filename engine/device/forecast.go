package device

import (
	"context"
	"errors"
	"fmt"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/stream"
)

// Forecast is what devices would do, or why the CPU would.
type Forecast struct {
	Algorithm  string // that was asked for, and what it does; "" where none was
	Devices    string // names; "" when the CPU works alone
	Reason     string // why it does; or of the route and its kernel
	Rates      string // of the machine: they chose devices that were not asked for
	Route      string // "aggregate each tile", "one table" or "partitions"; "" when the first tile will tell
	TileRows   int
	Partitions int    // 0 where rows would not be scattered
	NotDecoded string // why devices would not decode the pages of files; "" where they would
	Undecided  bool   // whether they would is known once the statement runs
	Patient    bool   // readers would wait for a tile where none is free, and decode nothing
	Alone      bool   // devices would make all groups, as far as the rows of a group are as many as of others
}

// sortRoom is how many times the rows of a group a device sorts at once where it is expected to sort all groups:
// groups share partitions, and some have more rows than others.
const sortRoom = 4

// foretell says what devices would do with an input of such a size, or why they would do nothing.
func (q *Query) foretell(ctx context.Context, input Size) (*Forecast, error) {
	layout, err := q.suits()
	if err != nil {
		return nil, err
	}
	size, err := q.measure(layout, func() (Size, error) { return input, nil })
	if err != nil {
		return nil, err
	}
	if err = q.stringsAreFew(layout, input); err != nil {
		return nil, err
	}
	rates, err := q.worth(ctx, layout, size)
	if err != nil {
		return nil, err
	}
	set, err := q.Devices.get(ctx)
	if err != nil {
		return nil, err
	}
	notDecoded := ""
	undecided := errors.Is(layout.notDecoded, scan.ErrUndecided)
	if layout.notDecoded != nil && !undecided {
		notDecoded = layout.notDecoded.Error()
	}
	f := &Forecast{NotDecoded: notDecoded, Undecided: undecided, Patient: q.Devices.named(),
		Devices: describeDevices(set.list), Reason: "the groups of the first tile will tell",
		Rates: rates}
	if algorithm, method := q.method(); algorithm != "" {
		f.Algorithm = algorithm + ": " + method
	}
	switch {
	case layout.shape.KeyBytes == 0 && len(layout.shape.Folds) == 0:
		f.Reason = errOneGroup.Error()
	case input.Groups >= 0:
		opt := q.streamOptions(set, layout)
		if opt.Groups == 0 {
			opt.Groups = input.Groups
		}
		var foretold stream.Forecast
		if foretold, err = stream.Foretell(opt); err == nil {
			f.Route, f.Reason, f.TileRows, f.Partitions = foretold.Route.String(), foretold.Reason,
				foretold.TileRows, foretold.Partitions
			f.Alone = foretold.SortRows == 0 || foretold.SortRows >= sortRoom*input.Rows/max(input.Groups, 1)
			if why := layout.forCPU(); why != nil {
				f.Alone, f.Reason = false, why.Error()
			}
		}
	}
	q.Devices.put(set, err)
	return f, err
}

// String returns the forecast as a line of text.
func (f *Forecast) String() string {
	chosen := ""
	if f.Rates != "" {
		chosen = "; chosen by the machine's rates: " + f.Rates
	}
	switch {
	case f.Devices == "":
		return "none, " + f.Reason
	case f.Route == "":
		return f.Devices + "; " + f.Reason + chosen
	}
	to := f.Route
	switch {
	case f.Partitions > 0:
		to = digits.Counted(int64(f.Partitions), "partition")
	case f.Route == stream.RouteAggregate.String():
		to = "groups, each by itself"
	}
	return fmt.Sprintf("%s, tiles of %s to %s: %s", f.Devices,
		digits.Counted(int64(f.TileRows), "row"), to, f.Reason) + chosen
}
