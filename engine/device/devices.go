package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
	"github.com/mpga/mpga/stream"
)

// choice is Options.Device, parsed.
type choice struct {
	kind      string // "auto", "cpu", "cuda", "host"
	ordinals  []int  // of cuda; none is the first
	hostBytes int64  // of the host's
}

// parseDevice reads cpu, auto, cuda, cuda:0,1 or host:256MiB.
func parseDevice(text string) (choice, error) {
	kind, rest, has := strings.Cut(text, ":")
	c := choice{kind: kind}
	switch {
	case (kind == "auto" || kind == "cpu" || kind == "cuda") && !has:
		return c, nil
	case kind == "cuda":
		for _, part := range strings.Split(rest, ",") {
			n, err := strconv.ParseUint(strings.TrimSpace(part), 10, 16)
			if err != nil || slices.Contains(c.ordinals, int(n)) {
				return c, fmt.Errorf("%q: want different numbers of devices, as in cuda:0,1", text)
			}
			c.ordinals = append(c.ordinals, int(n))
		}
		return c, nil
	case kind == "host" && has:
		n, err := humanize.ParseBytes(rest)
		if err != nil || n < hostBytesMin || n > hostBytesMax {
			return c, fmt.Errorf("%q: want a size from 1 MiB to 1 TiB, as in host:256MiB", text)
		}
		c.hostBytes = int64(n)
		return c, nil
	}
	return c, fmt.Errorf("%q: want auto, cpu, cuda, cuda:0,1 or host:256MiB", text)
}

// Valid returns what is wrong with Options.Device; nil where nothing is.
func Valid(name string) error {
	_, err := parseDevice(name)
	return err
}

// A device of the host is a GPU's double in plain Go, to try and test the route of a GPU with.
const (
	hostBytesMin = 1 << 20
	hostBytesMax = 1 << 40
)

// Devices are the devices of an engine, opened when the first query could use a device.
//
//   - D3 (silence): a driver that does not answer holds up only who needs its answer, and nobody
//     for longer than the timeout: no lock is held while a driver is called. What a late answer
//     brings is given back.
type Devices struct {
	choice choice
	limit  int64 // of a device's memory, 0 for what is free
	pinned int64 // of pinned memory, of each
	log    *slog.Logger
	knobs  testknobs.Device
	memory int64 // limit of the process
	count  int   // of devices that will be opened
	link   bool  // measure it

	algorithm stream.Algorithm
	ablation  stream.Ablation
	join      joinChoice

	timeout atomic.Int64 // nanoseconds, for what drivers are asked: D3

	mu      sync.Mutex
	current *deviceSet    // nil before they are opened
	reason  error         // why there is none
	opening chan struct{} // closed when they are open, or there is a reason; nil while nobody opens them
	began   time.Time     // when drivers were asked to open devices; zero while nobody opens devices
	closed  bool          // by Close: what opens later is closed
	closing chan struct{} // closed once every set of devices that is of no use is closed; nil before the first

	rates *rates // nil of the CPU alone

	savings atomic.Int64 // nanoseconds that queries would have saved on devices, which were not open

	broken atomic.Pointer[error] // a bug that no query was told of: of closing, or of giving memory back
}

// possible returns why there is no device to open, as far as that is known without a driver's
// answer.
func (d *Devices) possible() error {
	if d.choice.hostBytes > 0 {
		return nil
	}
	return cmp.Or(d.whyNone(), kernels.Possible())
}

// linkBytes is how many bytes a measurement of a link copies. A device with less memory copies
// fewer.
const linkBytes = 16 << 20

// measureLink returns how many bytes a second the link to a device moves, on average of the
// devices; 0 where Options.MeasureLink does not ask. A device that fails here fails at its first
// query, too, which returns the error.
func (d *Devices) measureLink(list []kernels.Device) float64 {
	if !d.link {
		return 0
	}
	var sum float64
	for _, dev := range list {
		free, _, err := dev.Memory()
		var speed float64
		if err == nil {
			speed, err = kernels.LinkSpeed(dev, min(linkBytes, free/2))
		}
		if err != nil {
			d.log.Debug("the link is not measured", slog.Any("error", err))
			return 0
		}
		sum += speed
	}
	return sum / float64(len(list))
}

// linkSpeed measures the link to the first device of a set, in bytes a second. Requires: the caller
// has the set.
func (d *Devices) linkSpeed(s *deviceSet) (float64, error) {
	d.retain(s)
	speed, late, err := kernels.Await(d.wait(),
		func() (float64, error) { return kernels.LinkSpeed(s.list[0], linkBytes) }, nil)
	if late == nil {
		d.put(s, nil)
		return speed, err
	}
	err = fmt.Errorf("measuring the link: %w", err)
	d.silence(err, func() {
		late()
		d.put(s, nil)
	})
	return 0, err
}

// memoryOf returns how many bytes of the memory of each device queries can have.
func (d *Devices) memoryOf(list []kernels.Device) int64 {
	least := int64(math.MaxInt64)
	if d.limit > 0 {
		least = d.limit
	}
	for _, dev := range list {
		free, _, err := dev.Memory()
		if err != nil { // the first query will be told
			free = dev.Properties().MemoryBytes
		}
		least = min(least, free)
	}
	return least
}

func (d *Devices) openAll() ([]kernels.Device, error) {
	switch {
	case d.choice.kind == "cpu":
		return nil, errNotOnDevice("the device is the CPU")
	case d.choice.hostBytes > 0:
		time.Sleep(d.knobs.Opens)
		var list []kernels.Device
		for range d.count {
			dev, err := hostdevice.Open(hostdevice.Options{
				MemoryLimit: d.choice.hostBytes, PinnedLimit: d.pinned, Fail: d.knobs.Fail, BytesPerSecond: d.knobs.BytesPerSecond,
			})
			if err != nil {
				return nil, err
			}
			list = append(list, dev)
		}
		return list, nil
	}
	ordinals := d.choice.ordinals
	if len(ordinals) == 0 {
		ordinals = []int{0}
	}
	var list []kernels.Device
	for _, n := range ordinals {
		dev, err := kernels.Open(kernels.Options{Ordinal: n, MemoryLimit: d.limit, PinnedLimit: d.pinned})
		if err != nil {
			for _, opened := range list {
				err = errors.Join(err, opened.Close())
			}
			return nil, err
		}
		list = append(list, dev)
	}
	return list, nil
}

// pinnedShare is the part of the memory limit that may be pinned, by all devices together.
const pinnedShare = 2

// Options say which devices an engine has, and how much of their memory queries may take.
type Options struct {
	Device      string // the name, as engine.Options.Device has it
	DeviceLimit int64  // bytes of a device's memory; 0 for what is free
	MemoryLimit int64  // bytes of the process
	MeasureLink bool   // tell in Stats how fast the links are
	Algorithm   string // the name, as engine.Options.Algorithm has it
	Ablation    stream.Ablation
	Join        string // the name, as engine.Options.JoinAlgorithm has it
	Log         *slog.Logger
	Knobs       testknobs.Device
}

// hostTimeout is how long a device of the CPU may take for an answer: it computes beside other work, and there is no
// driver that may fall silent.
const hostTimeout = time.Hour

// New returns the devices of an engine. The first query that could use devices opens them.
func New(o Options) (*Devices, error) {
	choice, err := parseDevice(o.Device)
	if err != nil {
		return nil, err
	}
	algorithm, err := stream.ParseAlgorithm(o.Algorithm)
	if err != nil {
		return nil, err
	}
	join, err := parseJoin(o.Join)
	if err != nil {
		return nil, err
	}
	if (algorithm != stream.Auto || join.named) && choice.kind == "auto" {
		choice.kind = "cuda"
	}
	knobs := o.Knobs
	if choice.kind == "host" {
		knobs.Timeout = cmp.Or(knobs.Timeout, hostTimeout)
	}
	d := &Devices{
		choice: choice, limit: o.DeviceLimit, memory: o.MemoryLimit, log: o.Log, link: o.MeasureLink,
		algorithm: algorithm, ablation: o.Ablation, join: join, knobs: knobs,
	}
	d.timeout.Store(int64(cmp.Or(knobs.Timeout, kernels.TimeoutDefault)))
	d.count = max(len(choice.ordinals), 1)
	if choice.kind == "host" {
		d.count = max(knobs.Count, 1)
	}
	d.pinned = cmp.Or(knobs.PinnedBytes, o.MemoryLimit/pinnedShare/int64(d.count))
	switch {
	case knobs.AutoHostBytes > 0 && choice.kind == "auto":
		d.choice.hostBytes = knobs.AutoHostBytes
		d.rates = newRates("", o.Log)
	case choice.kind == "auto" || choice.kind == "cuda":
		d.rates = newRates(ratesFile(), o.Log)
	case choice.kind == "host":
		d.rates = newRates("", o.Log) // of no machine
	}
	if d.rates != nil && knobs.CPUSlower > 0 {
		d.rates.seen.Decode *= knobs.CPUSlower
		for i := range d.rates.seen.CPU {
			d.rates.seen.CPU[i] *= knobs.CPUSlower
		}
	}
	return d, nil
}

// SetTimeout changes how long drivers are waited for, for tests.
func (d *Devices) SetTimeout(timeout time.Duration) { d.timeout.Store(int64(timeout)) }

// wait returns how long drivers are waited for: D3.
func (d *Devices) wait() time.Duration { return time.Duration(d.timeout.Load()) }

// Asked reports whether the user asked for devices, and not for whatever is fastest.
func (d *Devices) Asked() bool { return d.choice.kind != "auto" }

// Ready reports whether devices are asked for, or open.
func (d *Devices) Ready() bool { return !d.CPU() && (d.Asked() || d.Opened()) }

// CPU reports whether the user asked for the CPU alone.
func (d *Devices) CPU() bool { return d.choice.kind == "cpu" }

// Check opens the devices that the user asked for, and returns why that fails.
func (d *Devices) Check(ctx context.Context) error {
	if !d.Asked() || d.knobs.Opens != 0 {
		return nil
	}
	return d.Warm(ctx)
}

// Warm opens the devices before a query needs them, and returns why there are none. Where the user asked
// for the CPU alone it does nothing.
func (d *Devices) Warm(ctx context.Context) error {
	if d.CPU() {
		return nil
	}
	set, err := d.get(ctx)
	if err != nil {
		return err
	}
	d.put(set, nil)
	return nil
}

// describeDevices names devices for people.
func describeDevices(list []kernels.Device) string {
	names := make([]string, len(list))
	for i, d := range list {
		p := d.Properties()
		names[i] = cmp.Or(p.Name, "device")
	}
	return strings.Join(names, ", ")
}
