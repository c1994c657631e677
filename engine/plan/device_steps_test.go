//go:build cgo

package plan_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// The step that reads the file has the devices, not the one that waits for its groups, which begins first.
func TestDeviceOfSteps(t *testing.T) {
	path := codedFile(t, rand.New(rand.NewPCG(4, 61)))
	for _, text := range []string{
		"SELECT i2, sum(DISTINCT i1), count(*) FROM t GROUP BY i2",
		"SELECT n, count(*) FROM (SELECT i1, i2, count(*) AS n FROM t GROUP BY i1, i2) GROUP BY n",
		"SELECT n % 2, count(*) FROM (SELECT n FROM (SELECT i2, count(*) AS n FROM t GROUP BY i2)) GROUP BY 1",
	} {
		var packed atomic.Int64
		eng, err := engine.Open(testknobs.With(engine.Options{Device: "host:64MiB", Threads: 2}, testknobs.Engine{Device: testknobs.Device{
			Fail: func(call hostdevice.Call) error {
				if call.Name == "PackKeys" { // of pages that a device has decoded
					packed.Add(1)
				}
				return nil
			},
		}}))
		if err != nil {
			t.Fatal(err)
		}
		src, err := dataset.Open(t.Context(), []string{path}, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := answerCoded(t.Context(), eng, src, text, 1); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if packed.Load() == 0 {
			t.Errorf("%s: no device has decoded the file", text)
		}
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	}
}
