//go:build cgo && linux

package nvml

import (
	"errors"
	"fmt"
	"strings"

	lib "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Read asks the management library for all devices. What a device does not tell is left out.
func Read() ([]Device, error) { return read(lib.New()) }

func read(l lib.Interface) (devices []Device, err error) {
	// After an Init that failed no other function may be called: the binding's symbols are
	// unresolved.
	if ret := l.Init(); ret != lib.SUCCESS {
		return nil, fmt.Errorf("NVML: %w", ret)
	}
	defer func() {
		if ret := l.Shutdown(); ret != lib.SUCCESS {
			err = errors.Join(err, fmt.Errorf("NVML: Shutdown: %w", ret))
		}
	}()
	driver, _ := l.SystemGetDriverVersion()
	n, ret := l.DeviceGetCount()
	if ret != lib.SUCCESS {
		return nil, fmt.Errorf("NVML: DeviceGetCount: %w", ret)
	}
	for i := range n {
		handle, ret := l.DeviceGetHandleByIndex(i)
		if ret != lib.SUCCESS {
			return nil, fmt.Errorf("NVML: DeviceGetHandleByIndex %d: %w", i, ret)
		}
		d := describe(handle)
		d.DriverVersion = driver
		devices = append(devices, d)
	}
	return devices, nil
}

// known returns a function that takes a value of the library, and replaces a value that the library
// does not tell.
func known[T any](otherwise T) func(T, lib.Return) T {
	return func(v T, ret lib.Return) T {
		if ret != lib.SUCCESS {
			return otherwise
		}
		return v
	}
}

func describe(h lib.Device) Device {
	text, number := known(""), known(0)
	d := Device{
		Name:            text(h.GetName()),
		UUID:            text(h.GetUUID()),
		MemoryFreeBytes: -1,
		UtilizationGPU:  -1,
		UtilizationMem:  -1,
		Link: Link{
			Generation:    number(h.GetCurrPcieLinkGeneration()),
			GenerationMax: number(h.GetMaxPcieLinkGeneration()),
			Width:         number(h.GetCurrPcieLinkWidth()),
			WidthMax:      number(h.GetMaxPcieLinkWidth()),
		},
	}
	if pci, ret := h.GetPciInfo(); ret == lib.SUCCESS {
		d.PCIBus = fmt.Sprintf("%04x:%02x:%02x.0", pci.Domain, pci.Bus, pci.Device)
	}
	if m, ret := h.GetMemoryInfo(); ret == lib.SUCCESS {
		d.MemoryBytes, d.MemoryFreeBytes = int64(m.Total), int64(m.Free)
	}
	if u, ret := h.GetUtilizationRates(); ret == lib.SUCCESS {
		d.UtilizationGPU, d.UtilizationMem = int(u.Gpu), int(u.Memory)
	}
	if now, _, ret := h.GetMigMode(); ret == lib.SUCCESS {
		d.MIG = "off"
		if now == lib.DEVICE_MIG_ENABLE {
			d.MIG = "on"
		}
	}
	if mode, ret := h.GetComputeMode(); ret == lib.SUCCESS {
		d.ComputeMode = computeModes[mode]
	}
	processes, ret := h.GetComputeRunningProcesses()
	if ret == lib.SUCCESS {
		for _, p := range processes {
			d.Processes = append(d.Processes, process(p))
		}
	}
	d.Name = strings.TrimSpace(d.Name)
	return d
}

var computeModes = map[lib.ComputeMode]string{
	lib.COMPUTEMODE_DEFAULT:           "default",
	lib.COMPUTEMODE_EXCLUSIVE_THREAD:  "exclusive",
	lib.COMPUTEMODE_EXCLUSIVE_PROCESS: "exclusive",
	lib.COMPUTEMODE_PROHIBITED:        "prohibited",
}

func process(p lib.ProcessInfo) Process {
	// All ones, the library's way to say that it cannot tell, are -1.
	return Process{PID: int(p.Pid), MemoryBytes: int64(p.UsedGpuMemory)}
}
