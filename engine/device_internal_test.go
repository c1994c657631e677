package engine

import "testing"

// Would catch devices that pin half of the memory limit each.
func TestDevicePinnedShare(t *testing.T) {
	for _, c := range []struct {
		device string
		host   int
		want   int64
	}{
		{"auto", 0, 512 << 20}, {"cuda", 0, 512 << 20}, {"cuda:3", 0, 512 << 20}, {"cuda:0,1", 0, 256 << 20}, {"cuda:0,1,2,5", 0, 128 << 20},
		{"host:1MiB", 0, 512 << 20}, {"host:1MiB", 8, 64 << 20},
	} {
		o := Options{MemoryLimit: 1 << 30, Device: c.device, testing: TestingKnobs{Device: DeviceKnobs{Count: c.host}}}
		o.EnsureDefaults()
		d, err := newDevices(&o)
		if err != nil {
			t.Fatal(err)
		}
		if d.pinned != c.want {
			t.Errorf("%s, %d of the host: %d B of 1 GiB for each, want %d", c.device, c.host, d.pinned, c.want)
		}
	}
}
