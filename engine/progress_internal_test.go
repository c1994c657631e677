package engine

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// Queries whose tasks take from an eighth to eight times what their rows took to be read, and are
// split again now and then: the time left is right while the input is read, if the tasks are
// as foreseen, and within a factor of 1.5 once a quarter of the tasks is done, whatever they take.
func TestTimeLeft(t *testing.T) {
	const rows, step = 1_000_000, 10_000
	for _, each := range []float64{0.125, 0.5, 1, 2, 8} { // of reading a row
		for _, scattered := range []float64{0, 0.3, 1} {
			rng := rand.New(rand.NewPCG(1, 1))
			reading, items := 10*time.Second, scattered*rows
			process := time.Duration(float64(reading) * scattered * each)
			for read := int64(step); read <= rows; read += step {
				part := float64(read) / rows
				m := moment{rows: read, read: part, scattered: int64(part * items), phase: time.Duration(part * float64(reading))}
				m.reading = m.phase
				want := reading - m.phase + process
				if each == 1 && part < 1 {
					checkLeft(t, m.left(PhasePartition), want, 1.01)
				}
			}
			m := moment{rows: rows, read: 1, reading: reading, work: max(int64(items), 1)}
			for at := int64(0); at < int64(items); at += step {
				if rng.IntN(50) == 0 {
					m.work += step // a task was split
					m.workDone += step
				}
				m.workDone += step
				m.phase = time.Duration(float64(process) * float64(at+step) / items)
				if want := process - m.phase; at > int64(items)/4 && want > 0 {
					checkLeft(t, m.left(PhaseProcess), want, 1.5)
				}
			}
		}
	}
}

func checkLeft(t *testing.T, got, want time.Duration, factor float64) {
	t.Helper()
	if math.Abs(math.Log(float64(got)/float64(want))) > math.Log(factor) {
		t.Errorf("%v left, want %v", got, want)
	}
}

// Would catch a guess where nothing is known.
func TestTimeLeftUnknown(t *testing.T) {
	for phase, m := range map[Phase]moment{
		PhasePlan:      {},
		PhasePartition: {rows: 100, read: -1, phase: time.Second, reading: time.Second},
		PhaseProcess:   {work: 10, phase: time.Second},
	} {
		if left := m.left(phase); left >= 0 {
			t.Errorf("%s: %v left", phase, left)
		}
	}
}
