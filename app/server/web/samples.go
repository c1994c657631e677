package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/internal/spawn"
)

const (
	sampleEvery = time.Second
	samplesKept = 600 // ten minutes

	// devicesEvery is how many samples one look at the devices is for, which takes milliseconds.
	devicesEvery = 5
)

// Device is what a GPU is and does. What is not known is zero; of UtilizationGPU, -1.
type Device struct {
	Name           string  `json:"name"`
	MemoryBytes    int64   `json:"memoryBytes"`
	MemoryUsed     int64   `json:"memoryUsed"`
	UtilizationGPU int     `json:"utilization"` // percent of the last moments in which a kernel ran
	Link           float64 `json:"link"`        // bytes a second in each direction, as the link is now
	LinkMax        float64 `json:"linkMax"`     // and as it may become
}

// sample is what the process took at a time.
type sample struct {
	At        int64    `json:"at"` // milliseconds since 1970
	Resident  int64    `json:"resident"`
	Temporary int64    `json:"temporary"`
	Sessions  int      `json:"sessions"`
	Running   int      `json:"running"`
	Waiting   int      `json:"waiting"`
	Devices   []Device `json:"devices,omitempty"`
}

// samples is a ring of the last samples. W5.
type samples struct {
	server  *server.Server
	devices func() ([]Device, error) // nil where there are none

	mu   sync.Mutex
	list []sample // the latest last
}

// take takes samples until the context is done. A machine whose devices do not answer the first time
// has none.
func (s *samples) take(ctx context.Context) error {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	var devices []Device
	for n := 0; ; n++ {
		if s.devices != nil && n%devicesEvery == 0 {
			var err error
			if devices, err = s.devices(); err != nil && n == 0 {
				s.devices = nil
			}
		}
		s.add(devices)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			spawn.Step()
		}
	}
}

// add takes a sample.
func (s *samples) add(devices []Device) {
	memory, counts := s.server.Memory(), s.server.Counts()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == samplesKept {
		s.list = append(s.list[:0:0], s.list[samplesKept/10:]...)
	}
	s.list = append(s.list, sample{
		At: time.Now().UnixMilli(), Resident: memory.Resident, Temporary: memory.Temporary, Sessions: counts.Sessions,
		Running: counts.Running, Waiting: counts.Waiting, Devices: devices,
	})
}

// since returns the samples after a time.
func (s *samples) since(at int64) []sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.list {
		if s.list[i].At > at {
			return append([]sample{}, s.list[i:]...)
		}
	}
	return []sample{}
}

// samplesSince answers with the samples after a time.
func (s *Service) samplesSince(r *request) error {
	after, err := r.number("after", 0)
	if err != nil {
		return err
	}
	answer(r.w, http.StatusOK, map[string]any{
		"limit": s.opt.Server.Memory().Limit, "kept": samplesKept * sampleEvery.Seconds(), "samples": s.samples.since(after),
	})
	return nil
}
