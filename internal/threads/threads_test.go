package threads

import (
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mpga/mpga/internal/trace"
)

// Would catch a trace with a span for each tile, in place of one for the work that goes on, and
// work that is not shown after the thread was given away.
func TestWorkIsOneSpan(t *testing.T) {
	recorder := trace.New()
	th := &Thread{of: semaphore.NewWeighted(1), row: recorder.Query(time.Now()).Row("CPU", "worker 0", 0)}
	for range 2 {
		if err := th.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			th.Does(WorkRead)
			time.Sleep(time.Microsecond)
		}
		th.Does(WorkAggregate)
		time.Sleep(time.Microsecond)
		th.WillDo(WorkRead)
		th.Give()
	}
	var names []string
	for _, s := range recorder.Timeline().Queries[0].Rows[0].Spans {
		names = append(names, s.Name)
	}
	if len(names) != 4 || names[0] != WorkRead || names[1] != WorkAggregate || names[2] != WorkRead || names[3] != WorkAggregate {
		t.Errorf("spans %q", names)
	}
}
