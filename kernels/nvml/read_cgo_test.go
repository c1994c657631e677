//go:build cgo && linux

package nvml

import (
	"reflect"
	"testing"

	lib "github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
)

// What a device does not support is left out, and the rest is told.
func TestReadMock(t *testing.T) {
	full := &mock.Device{
		GetNameFunc:                   func() (string, lib.Return) { return "NVIDIA H200 ", lib.SUCCESS },
		GetUUIDFunc:                   func() (string, lib.Return) { return "GPU-1", lib.SUCCESS },
		GetPciInfoFunc:                func() (lib.PciInfo, lib.Return) { return lib.PciInfo{Bus: 10, Device: 1}, lib.SUCCESS },
		GetMemoryInfoFunc:             func() (lib.Memory, lib.Return) { return lib.Memory{Total: 100, Free: 70}, lib.SUCCESS },
		GetUtilizationRatesFunc:       func() (lib.Utilization, lib.Return) { return lib.Utilization{Gpu: 3, Memory: 1}, lib.SUCCESS },
		GetMigModeFunc:                func() (int, int, lib.Return) { return lib.DEVICE_MIG_ENABLE, 0, lib.SUCCESS },
		GetComputeModeFunc:            func() (lib.ComputeMode, lib.Return) { return lib.COMPUTEMODE_EXCLUSIVE_PROCESS, lib.SUCCESS },
		GetCurrPcieLinkGenerationFunc: func() (int, lib.Return) { return 1, lib.SUCCESS },
		GetMaxPcieLinkGenerationFunc:  func() (int, lib.Return) { return 5, lib.SUCCESS },
		GetCurrPcieLinkWidthFunc:      func() (int, lib.Return) { return 8, lib.SUCCESS },
		GetMaxPcieLinkWidthFunc:       func() (int, lib.Return) { return 16, lib.SUCCESS },
		GetComputeRunningProcessesFunc: func() ([]lib.ProcessInfo, lib.Return) {
			return []lib.ProcessInfo{{Pid: 7, UsedGpuMemory: 5}, {Pid: 8, UsedGpuMemory: 1<<64 - 1}}, lib.SUCCESS
		},
	}
	no := lib.ERROR_NOT_SUPPORTED
	bare := &mock.Device{
		GetNameFunc:                    full.GetNameFunc,
		GetUUIDFunc:                    func() (string, lib.Return) { return "GPU-2", lib.SUCCESS },
		GetPciInfoFunc:                 func() (lib.PciInfo, lib.Return) { return lib.PciInfo{}, no },
		GetMemoryInfoFunc:              func() (lib.Memory, lib.Return) { return lib.Memory{}, no },
		GetUtilizationRatesFunc:        func() (lib.Utilization, lib.Return) { return lib.Utilization{}, no },
		GetMigModeFunc:                 func() (int, int, lib.Return) { return 0, 0, no },
		GetComputeModeFunc:             func() (lib.ComputeMode, lib.Return) { return 0, no },
		GetCurrPcieLinkGenerationFunc:  func() (int, lib.Return) { return 0, no },
		GetMaxPcieLinkGenerationFunc:   func() (int, lib.Return) { return 0, no },
		GetCurrPcieLinkWidthFunc:       func() (int, lib.Return) { return 0, no },
		GetMaxPcieLinkWidthFunc:        func() (int, lib.Return) { return 0, no },
		GetComputeRunningProcessesFunc: func() ([]lib.ProcessInfo, lib.Return) { return nil, no },
	}
	devices := []lib.Device{full, bare}
	shutdowns := 0
	got, err := read(&mock.Interface{
		InitFunc:                   func() lib.Return { return lib.SUCCESS },
		ShutdownFunc:               func() lib.Return { shutdowns++; return lib.SUCCESS },
		SystemGetDriverVersionFunc: func() (string, lib.Return) { return "580.1", lib.SUCCESS },
		DeviceGetCountFunc:         func() (int, lib.Return) { return len(devices), lib.SUCCESS },
		DeviceGetHandleByIndexFunc: func(i int) (lib.Device, lib.Return) { return devices[i], lib.SUCCESS },
	})
	want := []Device{
		{
			Name: "NVIDIA H200", UUID: "GPU-1", PCIBus: "0000:0a:01.0", DriverVersion: "580.1", Link: Link{1, 5, 8, 16},
			MemoryBytes: 100, MemoryFreeBytes: 70, UtilizationGPU: 3, UtilizationMem: 1, MIG: "on", ComputeMode: "exclusive",
			Processes: []Process{{7, 5}, {8, -1}},
		},
		{Name: "NVIDIA H200", UUID: "GPU-2", DriverVersion: "580.1", MemoryFreeBytes: -1, UtilizationGPU: -1, UtilizationMem: -1},
	}
	if err != nil || !reflect.DeepEqual(got, want) || shutdowns != 1 {
		t.Errorf("%d shutdowns, %v\n got %+v\nwant %+v", shutdowns, err, got, want)
	}
}

// After an Init that failed nothing else is called: the mock would panic.
func TestReadWithoutDriver(t *testing.T) {
	if _, err := read(&mock.Interface{InitFunc: func() lib.Return { return lib.ERROR_LIBRARY_NOT_FOUND }}); err == nil {
		t.Error("no error")
	}
}
