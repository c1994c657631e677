// Package nvml tells how the machine's GPUs are linked and used: what NVIDIA's management library
// says, and of the link, without it, what Linux says.
//
// The library is loaded at run time. It is a package of its own because linking its binding lets
// undefined C functions pass, which would hide mistakes of other packages.
package nvml

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Device describes a GPU. Fields that are not known are zero, or -1 where zero means something.
type Device struct {
	Name          string
	UUID          string
	PCIBus        string // domain:bus:device.function, as sysfs names it
	DriverVersion string // of the driver: "580.159.04"
	Link          Link

	MemoryBytes     int64
	MemoryFreeBytes int64 // -1: not known
	UtilizationGPU  int   // percent of the last moments in which a kernel ran; -1: not known
	UtilizationMem  int   // percent in which memory was read or written; -1: not known

	MIG         string // "on", "off", or "" where the device has no such mode
	ComputeMode string // "default", "exclusive" or "prohibited"; "" is not known
	Processes   []Process
}

// Process has memory of a device.
type Process struct {
	PID         int
	MemoryBytes int64 // -1: not known
}

// Link is a PCI Express link, as it is and as it may become: idle devices slow theirs down.
type Link struct {
	Generation, GenerationMax int
	Width, WidthMax           int // lanes
}

// bytesPerLane is what a lane carries in a direction, by generation, less the line code: 8b/10b,
// then 128b/130b, and flits from generation 6 on.
var bytesPerLane = [...]float64{0, 2.5e9 / 10, 5e9 / 10, 8e9 / 8 * 128 / 130, 16e9 / 8 * 128 / 130,
	32e9 / 8 * 128 / 130, 64e9 / 8 * 242 / 256}

// Bandwidth returns the bytes a second that a link of a generation and width carries in each
// direction; 0, if it is not known.
func Bandwidth(generation, width int) float64 {
	if generation < 0 || generation >= len(bytesPerLane) {
		return 0
	}
	return bytesPerLane[generation] * float64(width)
}

// sysfs is where Linux shows PCI devices.
const sysfs = "/sys/bus/pci/devices"

// LinkOf returns the link of a PCI device as Linux knows it, and zeros where it does not.
func LinkOf(pciBus string) Link { return linkIn(sysfs, pciBus) }

func linkIn(dir, pciBus string) Link {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, pciBus, name))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	lanes := func(name string) int {
		n, err := strconv.Atoi(read(name))
		if err != nil || n > 32 { // 255: none is negotiated
			return 0
		}
		return n
	}
	return Link{
		Generation:    generation(read("current_link_speed")),
		GenerationMax: generation(read("max_link_speed")),
		Width:         lanes("current_link_width"),
		WidthMax:      lanes("max_link_width"),
	}
}

// generation returns the generation that has a speed such as "16.0 GT/s PCIe"; 0, if none has.
func generation(speed string) int {
	var transfers float64
	if _, err := fmt.Sscanf(speed, "%f GT/s", &transfers); err != nil {
		return 0
	}
	for i, t := range []float64{2.5, 5, 8, 16, 32, 64} {
		if t == transfers {
			return i + 1
		}
	}
	return 0
}
