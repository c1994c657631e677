package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/nvml"
)

var (
	cudaInfo = kernels.Info{
		Properties: kernels.Properties{
			Name: "NVIDIA H200", UUID: "GPU-1", ComputeCapability: 90, Multiprocessors: 132, MemoryBytes: 141 << 30, DriverVersion: 13000,
		},
		PCIBus: "0000:0a:00.0",
	}
	nvmlDevice = nvml.Device{
		Name: "NVIDIA H200", UUID: "GPU-1", PCIBus: "0000:0a:00.0", DriverVersion: "580.159.04",
		Link:        nvml.Link{Generation: 1, GenerationMax: 5, Width: 16, WidthMax: 16},
		MemoryBytes: 141 << 30, MemoryFreeBytes: 140 << 30, UtilizationGPU: 7, UtilizationMem: -1, MIG: "off", ComputeMode: "default",
		Processes: []nvml.Process{{PID: 42, MemoryBytes: 1 << 30}},
	}
)

func TestDevicesTable(t *testing.T) {
	exclusive, hidden := nvmlDevice, nvmlDevice
	exclusive.ComputeMode = "exclusive"
	hidden.MIG = "on"
	noLibrary := fmt.Errorf("NVML: not there")
	for _, tc := range []struct {
		name    string
		infos   []kernels.Info
		err     error
		managed []nvml.Device
		nvmlErr error
		want    string
	}{
		{"both", []kernels.Info{cudaInfo}, nil, []nvml.Device{nvmlDevice}, nil, `device 0: NVIDIA H200
  state    can be used
  uuid     GPU-1
  memory   141 GiB, 140 GiB free
  driver   580.159.04, CUDA 13.0
  compute  capability 9.0, 132 multiprocessors
  link     PCIe 1 x16 now: 4.0 GB/s, PCIe 5 x16 at most: 63.0 GB/s
  use      kernels 7%
  mode     compute default, MIG off
  process  42, 1.0 GiB
`},
		{"without NVML", []kernels.Info{cudaInfo}, nil, nil, noLibrary, `device 0: NVIDIA H200
  state    can be used
  uuid     GPU-1
  memory   141 GiB
  driver   CUDA 13.0
  compute  capability 9.0, 132 multiprocessors

use and free memory are not known: NVML: not there
`},
		{"without a driver", nil, fmt.Errorf("%w: no NVIDIA driver", kernels.ErrNoDevice), nil, noLibrary, "no device: no NVIDIA driver\n"},
		{"busy", []kernels.Info{cudaInfo}, nil, []nvml.Device{exclusive}, nil, "in exclusive mode, and in use by process 42"},
		{"MIG", nil, fmt.Errorf("%w: the NVIDIA driver sees none", kernels.ErrNoDevice), []nvml.Device{hidden}, nil,
			"the CUDA driver does not see it: MIG is on, and has no instance that this process may use"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := reportDevices(tc.infos, tc.err, tc.managed, tc.nvmlErr)
			got := r.table()
			whole := strings.HasSuffix(tc.want, "\n")
			if whole && got != tc.want || !strings.Contains(got, tc.want) {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
			if text, err := json.Marshal(r); err != nil || !strings.Contains(string(text), `"devices":[`) {
				t.Errorf("JSON: %s, %v", text, err)
			}
		})
	}
}

// On any machine, the command ends well: what it finds is no error.
func TestDevicesCommand(t *testing.T) {
	for _, format := range []string{"table", "json"} {
		var out, errs strings.Builder
		if code := run([]string{"devices", "--format", format}, strings.NewReader(""), &out, &errs); code != 0 || out.Len() == 0 {
			t.Errorf("%s: code %d, %q, %s", format, code, out.String(), errs.String())
		}
		if format == "json" && !json.Valid([]byte(out.String())) {
			t.Errorf("not JSON: %s", out.String())
		}
	}
	var out, errs strings.Builder
	if code := run([]string{"devices", "--format", "xml"}, strings.NewReader(""), &out, &errs); code != 2 {
		t.Errorf("an unknown format: code %d", code)
	}
}
