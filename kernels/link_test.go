package kernels_test

import (
	"errors"
	"testing"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// Would catch a speed that is not the link's, and memory or streams that stay behind, also after
// any fault.
func TestLinkSpeed(t *testing.T) {
	const speed = 1e9
	device, err := hostdevice.Open(hostdevice.Options{BytesPerSecond: speed})
	if err != nil {
		t.Fatal(err)
	}
	got, err := kernels.LinkSpeed(device, 4<<20)
	if err != nil || got > speed*1.05 || got < speed/10 {
		t.Errorf("%.3g B/s, %v, want %.3g", got, err, speed)
	}
	if err := device.Close(); err != nil {
		t.Error(err)
	}
	for n := int64(1); ; n++ {
		cause := errors.New("boom")
		device, err := hostdevice.Open(hostdevice.Options{Fail: hostdevice.FailNth(n, false, cause)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = kernels.LinkSpeed(device, 1<<10)
		if err := device.Close(); err != nil && !errors.Is(err, cause) {
			t.Errorf("call %d: %v", n, err)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, cause) {
			t.Errorf("call %d: %v", n, err)
		}
	}
}
