package main

import (
	"github.com/mpga/mpga/app/report"
	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/app/server/web"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/kernels/nvml"
)

// pageFacts words the statistics of a run for the server's page.
func pageFacts(s engine.Stats) (facts, devices []report.Fact) {
	return statsFacts(s, nil), deviceFacts(s.Device)
}

// openUploads returns where files of the page's users go; nil where --uploads does not let them come.
func (f *serveFlags) openUploads(allowed *server.Allowed) (*server.Uploads, error) {
	if f.uploads == "" {
		return nil, nil
	}
	most, err := parseSize("--uploads", f.uploads)
	if err != nil {
		return nil, err
	}
	taken, err := allowed.Uploads(most)
	if err != nil {
		return nil, usagef("--uploads: %w", err)
	}
	return taken, nil
}

// pageDevices tells the server's page of the GPUs.
func pageDevices() ([]web.Device, error) {
	found, err := nvml.Read()
	if err != nil {
		return nil, err
	}
	var list []web.Device
	for _, d := range found {
		used := int64(0)
		if d.MemoryFreeBytes >= 0 {
			used = d.MemoryBytes - d.MemoryFreeBytes
		}
		list = append(list, web.Device{
			Name: d.Name, MemoryBytes: d.MemoryBytes, MemoryUsed: used, UtilizationGPU: d.UtilizationGPU,
			Link:    nvml.Bandwidth(d.Link.Generation, d.Link.Width),
			LinkMax: nvml.Bandwidth(d.Link.GenerationMax, d.Link.WidthMax),
		})
	}
	return list, nil
}
