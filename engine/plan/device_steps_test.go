//go:build cgo

package plan_test

import (
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan/dataset"
)

// The step that reads the file has the devices, not the one that waits for its groups, which begins first.
func TestDeviceOfSteps(t *testing.T) {
	path := codedFile(t, rand.New(rand.NewPCG(4, 61)))
	for _, text := range []string{
		"SELECT i2, sum(DISTINCT i1), count(*) FROM t GROUP BY i2",
		"SELECT n, count(*) FROM (SELECT i1, i2, count(*) AS n FROM t GROUP BY i1, i2) GROUP BY n",
		"SELECT n, i2 FROM (SELECT i2, count(*) AS n FROM t GROUP BY i2) WHERE n > 1",
		"SELECT n % 2, count(*) FROM (SELECT n FROM (SELECT i2, count(*) AS n FROM t GROUP BY i2)) GROUP BY 1",
	} {
		eng, err := engine.Open(engine.Options{Device: "host:64MiB", Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		src, err := dataset.Open(t.Context(), []string{path}, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, stats, err := answerCoded(t.Context(), eng, map[string]plan.Table{"t": {Source: src}}, text, 1)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if stats.Device == nil || stats.Device.Decoded == 0 {
			t.Errorf("%s: no device has decoded the file: %+v", text, stats)
		}
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	}
}
