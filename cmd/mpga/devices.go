package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/nvml"
)

func newDevicesCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "Show the GPUs, how they are linked and what uses them",
		Long: `Show the GPUs of the machine: what the CUDA driver sees, and what NVIDIA's management library (NVML)
adds, where there is one. A machine without a GPU, or without a driver, is told so and is no error.

A link shows its generation and lanes now and at most: an idle GPU slows its link down. The bandwidth
is that of one direction, before packet headers.`,
		Example: `  mpga devices
  mpga devices --format json`,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			report := findDevices()
			switch format {
			case "table":
				return writeText(cmd.OutOrStdout(), report.table())
			case "json":
				text, err := json.MarshalIndent(report, "", "  ")
				if err != nil {
					return err
				}
				return writeText(cmd.OutOrStdout(), string(text))
			}
			return usagef("--format %q: want one of table, json", format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "`WORD` is table or json")
	cmdflags.Complete(cmd, map[string][]string{"format": {"table", "json"}})
	return cmd
}

// devicesReport describes the machine's GPUs.
type devicesReport struct {
	State   string         `json:"state"` // "" with a device, otherwise why there is none
	NVML    string         `json:"nvml"`  // "" when it answered, otherwise why not
	Devices []deviceReport `json:"devices"`
}

// deviceReport describes a GPU. A pointer is nil where the driver does not tell the value.
type deviceReport struct {
	Ordinal           *int            `json:"ordinal"` // of the CUDA driver, if it sees the device
	Name              string          `json:"name"`
	UUID              string          `json:"uuid"`
	State             string          `json:"state"` // "" when it can be used
	MemoryBytes       int64           `json:"memory_bytes"`
	MemoryFreeBytes   *int64          `json:"memory_free_bytes"`
	Driver            string          `json:"driver"`
	CUDA              string          `json:"cuda"`
	ComputeCapability string          `json:"compute_capability"`
	Multiprocessors   int             `json:"multiprocessors"`
	PCIBus            string          `json:"pci_bus"`
	Link              linkReport      `json:"link"`
	UtilizationGPU    *int            `json:"utilization_gpu_percent"`
	UtilizationMemory *int            `json:"utilization_memory_percent"`
	MIG               string          `json:"mig"`
	ComputeMode       string          `json:"compute_mode"`
	Processes         []processReport `json:"processes"`
}

type linkReport struct {
	Generation        int     `json:"generation"`
	Width             int     `json:"width"`
	BytesPerSecond    float64 `json:"bytes_per_second"`
	GenerationMax     int     `json:"generation_max"`
	WidthMax          int     `json:"width_max"`
	BytesPerSecondMax float64 `json:"bytes_per_second_max"`
}

type processReport struct {
	PID         int    `json:"pid"`
	MemoryBytes *int64 `json:"memory_bytes"`
}

// findDevices asks the CUDA driver and NVML, and waits for each no longer than a query does.
func findDevices() devicesReport {
	infos, _, err := kernels.Await(kernels.TimeoutDefault, kernels.Devices, nil)
	managed, _, nvmlErr := kernels.Await(kernels.TimeoutDefault, nvml.Read, nil)
	return reportDevices(infos, err, managed, nvmlErr)
}

// reportDevices puts together what both say of each device; either may be an error.
func reportDevices(infos []kernels.Info, err error, managed []nvml.Device, nvmlErr error) devicesReport {
	r := devicesReport{Devices: []deviceReport{}}
	if err != nil {
		r.State = err.Error()
	}
	if nvmlErr != nil {
		r.NVML = nvmlErr.Error()
	}
	seen := make([]bool, len(managed))
	for _, info := range infos {
		d := reportInfo(&info)
		// An instance of a MIG device has a UUID of its own, but its device's place.
		i := slices.IndexFunc(managed, func(m nvml.Device) bool { return m.UUID == info.UUID || m.PCIBus == info.PCIBus })
		if i >= 0 {
			seen[i] = true
			d.add(&managed[i])
		} else {
			d.setLink(nvml.LinkOf(info.PCIBus))
		}
		d.State = info.State
		if d.State == "" && d.ComputeMode == "exclusive" && len(d.Processes) > 0 {
			d.State = fmt.Sprintf("in exclusive mode, and in use by process %d", d.Processes[0].PID)
		}
		r.Devices = append(r.Devices, d)
	}
	for i, m := range managed {
		if seen[i] {
			continue
		}
		d := deviceReport{Name: m.Name, UUID: m.UUID, MemoryBytes: m.MemoryBytes, PCIBus: m.PCIBus,
			State: "the CUDA driver does not see it"}
		d.add(&m)
		if m.MIG == "on" {
			d.State += ": MIG is on, and has no instance that this process may use"
		}
		r.Devices = append(r.Devices, d)
	}
	return r
}

func reportInfo(info *kernels.Info) deviceReport {
	return deviceReport{
		Ordinal:           &info.Ordinal,
		Name:              info.Name,
		UUID:              info.UUID,
		MemoryBytes:       info.MemoryBytes,
		CUDA:              fmt.Sprintf("%d.%d", info.DriverVersion/1000, info.DriverVersion%1000/10),
		ComputeCapability: fmt.Sprintf("%d.%d", info.ComputeCapability/10, info.ComputeCapability%10),
		Multiprocessors:   info.Multiprocessors,
		PCIBus:            info.PCIBus,
		Processes:         []processReport{},
	}
}

// known returns nil of a number below 0, which stands for an unknown number.
func known[T int | int64 | float64](n T) *T {
	if n < 0 {
		return nil
	}
	return &n
}

// add adds what NVML says.
func (d *deviceReport) add(m *nvml.Device) {
	d.Driver, d.MIG, d.ComputeMode = m.DriverVersion, m.MIG, m.ComputeMode
	d.MemoryFreeBytes = known(m.MemoryFreeBytes)
	d.UtilizationGPU, d.UtilizationMemory = known(m.UtilizationGPU), known(m.UtilizationMem)
	d.Processes = []processReport{}
	for _, p := range m.Processes {
		d.Processes = append(d.Processes, processReport{PID: p.PID, MemoryBytes: known(p.MemoryBytes)})
	}
	d.setLink(m.Link)
}

func (d *deviceReport) setLink(l nvml.Link) {
	d.Link = linkReport{
		Generation:        l.Generation,
		Width:             l.Width,
		BytesPerSecond:    nvml.Bandwidth(l.Generation, l.Width),
		GenerationMax:     l.GenerationMax,
		WidthMax:          l.WidthMax,
		BytesPerSecondMax: nvml.Bandwidth(l.GenerationMax, l.WidthMax),
	}
}

// table writes a heading and a line for each known property of each device.
func (r devicesReport) table() string {
	var b strings.Builder
	if r.State != "" {
		b.WriteString(r.State + "\n")
	}
	for i, d := range r.Devices {
		if i > 0 || r.State != "" {
			b.WriteByte('\n')
		}
		b.WriteString(d.table())
	}
	if r.NVML != "" && r.State == "" {
		fmt.Fprintf(&b, "\nuse and free memory are not known: %s\n", r.NVML)
	}
	return b.String()
}

func (d *deviceReport) table() string {
	var b strings.Builder
	place := d.PCIBus
	if d.Ordinal != nil {
		place = fmt.Sprint(*d.Ordinal)
	}
	fmt.Fprintf(&b, "device %s: %s\n", place, d.Name)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(title string, parts ...string) {
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		if len(parts) > 0 {
			fmt.Fprintf(w, "  %s\t%s\n", title, strings.Join(parts, ", "))
		}
	}
	state := d.State
	if state == "" {
		state = "can be used"
	}
	line("state", state)
	line("uuid", d.UUID)
	line("memory", byteSize(d.MemoryBytes), optional(d.MemoryFreeBytes, func(n int64) string {
		return byteSize(n) + " free"
	}))
	line("driver", d.Driver, prefixed("CUDA ", d.CUDA))
	if d.ComputeCapability != "" {
		line("compute", "capability "+d.ComputeCapability, digits.Counted(int64(d.Multiprocessors), "multiprocessor"))
	}
	line("link", d.Link.text()...)
	percent := func(what string) func(int) string {
		return func(n int) string { return fmt.Sprintf("%s %d%%", what, n) }
	}
	line("use", optional(d.UtilizationGPU, percent("kernels")), optional(d.UtilizationMemory, percent("memory")))
	line("mode", prefixed("compute ", d.ComputeMode), prefixed("MIG ", d.MIG))
	for _, p := range d.Processes {
		line("process", fmt.Sprint(p.PID), optional(p.MemoryBytes, byteSize))
	}
	_ = w.Flush() // to a strings.Builder
	return b.String()
}

// text describes the link as it is now, and as wide and fast as it can be.
func (l linkReport) text() []string {
	state := func(generation, width int, bandwidth float64, when string) string {
		if bandwidth == 0 {
			return ""
		}
		return fmt.Sprintf("PCIe %d x%d %s: %.1f GB/s", generation, width, when, bandwidth/1e9)
	}
	return []string{
		state(l.Generation, l.Width, l.BytesPerSecond, "now"),
		state(l.GenerationMax, l.WidthMax, l.BytesPerSecondMax, "at most"),
	}
}

func optional[T any](v *T, format func(T) string) string {
	if v == nil {
		return ""
	}
	return format(*v)
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
