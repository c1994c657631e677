package engine

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// Queries whose tasks take from an eighth to eight times what their rows took to be read, and are
// split again now and then: the time left of a phase is right throughout, whatever the other phase
// takes; that of the query is told only where nothing of it waits for the second phase, and then it
// is right, too. Would catch a time left that grows once the second phase begins.
func TestTimeLeft(t *testing.T) {
	const rows, step = 1_000_000, 10_000
	for _, each := range []float64{0.125, 0.5, 1, 2, 8} { // of reading a row
		for _, scattered := range []float64{0, 0.3, 1} {
			rng := rand.New(rand.NewPCG(1, 1))
			reading, items := 100*time.Second, scattered*rows
			process := time.Duration(float64(reading) * scattered * each)
			fraction := 0.0
			grows := func(m *moment, phase Phase) {
				t.Helper()
				now := m.fraction(phase)
				if now < fraction || now > 1 {
					t.Errorf("%s: fraction %v after %v", phase, now, fraction)
				}
				fraction = now
			}
			for read := int64(2 * step); read < rows; read += step {
				part := float64(read) / rows
				m := moment{rows: read, read: part, scattered: int64(part * items), foreseen: true, phase: time.Duration(part * float64(reading))}
				grows(&m, PhasePartition)
				left, whole := m.left(PhasePartition)
				checkLeft(t, left, reading-m.phase, 1.01)
				if want := time.Duration(-1); scattered > 0 && whole != want || scattered == 0 && whole != left {
					t.Errorf("%v left of the query, %v of the phase, %v scattered", whole, left, scattered)
				}
				m.foreseen = false
				if _, whole := m.left(PhasePartition); whole != -1 {
					t.Errorf("%v left of a query whose second phase is not known", whole)
				}
			}
			m := moment{rows: rows, read: 1, work: max(int64(items), 1)}
			for at := int64(0); at < int64(items); at += step {
				if rng.IntN(50) == 0 {
					m.work += step // a task was split
					m.workDone += step
				}
				m.workDone += step
				m.phase = time.Duration(float64(process) * float64(at+step) / items)
				left, whole := m.left(PhaseProcess)
				if left != whole {
					t.Errorf("%v left of the last phase, %v of the query", left, whole)
				}
				if want := process - m.phase; at > int64(items)/4 && want > 0 && m.phase > leftAfter {
					grows(&m, PhaseProcess)
					checkLeft(t, left, want, 1.2)
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

// Would catch a guess where nothing is known, or next to nothing.
func TestTimeLeftUnknown(t *testing.T) {
	for _, c := range []struct {
		phase Phase
		m     moment
	}{
		{PhasePlan, moment{}},
		{PhasePartition, moment{rows: 100, read: -1, phase: time.Minute}},
		{PhasePartition, moment{rows: 100, read: 0.01, phase: time.Minute}},
		{PhasePartition, moment{rows: 100, read: 0.5, phase: leftAfter - 1}},
		{PhaseProcess, moment{phase: time.Minute}},
		{PhaseProcess, moment{work: 1000, workDone: 10, phase: time.Minute}},
	} {
		if left, whole := c.m.left(c.phase); left != -1 || whole != -1 {
			t.Errorf("%s, %+v: %v left, %v in all", c.phase, c.m, left, whole)
		}
	}
}
