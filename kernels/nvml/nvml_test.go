package nvml

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// Without a driver, Read is an error and nothing dies; with one, it works.
func TestRead(t *testing.T) {
	devices, err := Read()
	if err != nil {
		t.Log(err)
		return
	}
	for _, d := range devices {
		t.Logf("%+v", d)
		if d.Name == "" || d.UUID == "" || d.MemoryBytes == 0 {
			t.Errorf("a device says little: %+v", d)
		}
	}
}

func TestBandwidth(t *testing.T) {
	for _, tc := range []struct {
		generation, width int
		want              float64 // GB/s
	}{{0, 16, 0}, {1, 16, 4}, {3, 8, 7.88}, {4, 16, 31.5}, {5, 16, 63.0}, {6, 16, 121}, {9, 16, 0}, {-1, 1, 0}} {
		if got := Bandwidth(tc.generation, tc.width) / 1e9; math.Abs(got-tc.want) > 0.01*tc.want {
			t.Errorf("generation %d x%d: %.2f GB/s, want %.2f", tc.generation, tc.width, got, tc.want)
		}
	}
}

func TestLinkOf(t *testing.T) {
	dir := t.TempDir()
	bus := "0000:0a:00.0"
	if got := linkIn(dir, bus); got != (Link{}) {
		t.Errorf("no device: %+v", got)
	}
	if err := os.Mkdir(filepath.Join(dir, bus), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"current_link_speed": "2.5 GT/s PCIe\n", "max_link_speed": "32.0 GT/s PCIe\n",
		"current_link_width": "16\n", "max_link_width": "255\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, bus, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := linkIn(dir, bus), (Link{Generation: 1, GenerationMax: 5, Width: 16}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
