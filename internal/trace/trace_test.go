package trace

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"
)

// at is a time since the recorder's start.
func at(r *Recorder, d time.Duration) time.Time { return r.started.Add(d) }

// Would catch spans of a row that overlap, or that lie outside of their query.
func TestInTurn(t *testing.T) {
	r := New()
	q := r.Query(at(r, 10))
	row := q.Row("device 0", "copy in", 0)
	for _, s := range []Span{{"c", 35, 80}, {"a", 0, 20}, {"b", 12, 30}, {"nothing", 15, 18}, {"none", 90, 90}} {
		row.Add(s.Name, at(r, s.Begin), at(r, s.End))
	}
	q.ended = 70
	got := r.Timeline().Queries[0].Rows[0].Spans
	want := []Span{{"nothing", 15, 18}, {"a", 18, 20}, {"b", 20, 30}, {"c", 35, 70}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Would catch rows that stand elsewhere from run to run, as goroutines come.
func TestOrder(t *testing.T) {
	r := New()
	q := r.Query(at(r, 0))
	q.Row("CPU", "worker 1", 1)
	q.Row("device 0", "stream 1", 2)
	q.Row("device 0", "copy in", 0)
	q.Row("CPU", "worker 0", 0)
	if q.Row("CPU", "worker 1", 1) != q.rows[0] {
		t.Error("a row is there twice")
	}
	var got []string
	for _, row := range r.Timeline().Queries[0].Rows {
		got = append(got, row.Name)
	}
	if want := []string{"worker 0", "worker 1", "copy in", "stream 1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Would catch memory without bounds, long spans that are dropped, and silence about those that are.
func TestBounded(t *testing.T) {
	r := New()
	r.limit = 100
	q := r.Query(at(r, 0))
	row := q.Row("CPU", "worker", 0)
	const spans = 1000
	for i := range time.Duration(spans) {
		length := 10 + i%10
		if i == 500 {
			length = 50
		}
		row.Add("x", at(r, 100*i), at(r, 100*i+length))
	}
	q.ended = 100 * spans
	timeline := r.Timeline()
	kept := timeline.Queries[0].Rows[0].Spans
	if len(kept) == 0 || len(kept) >= r.limit || int64(len(kept))+timeline.Dropped != spans {
		t.Errorf("%d spans kept, %d dropped", len(kept), timeline.Dropped)
	}
	if !slices.ContainsFunc(kept, func(s Span) bool { return s.End-s.Begin == 50 }) {
		t.Error("the longest was dropped")
	}
	for _, s := range kept {
		if s.End-s.Begin < timeline.Shortest {
			t.Errorf("%v is shorter than %v", s, timeline.Shortest)
		}
	}
}

// Would catch a nil recorder that panics.
func TestNil(t *testing.T) {
	var r *Recorder
	q := r.Query(time.Now())
	row := q.Row("CPU", "worker", 0)
	row.Begin("x")
	row.Add("x", time.Now(), time.Now())
	row.End()
	rows := q.Rows("disk")
	rows.End(rows.Begin("x"))
	q.End()
	if allocs := testing.AllocsPerRun(10, func() { row.Begin("x"); row.End() }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// Would catch text that is not JSON, a span of a row that is not named, and goroutines in each
// other's way.
func TestWriteJSON(t *testing.T) {
	r := New()
	for range 2 {
		q := r.Query(time.Now())
		rows := q.Rows("disk")
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 10 {
					row := rows.Begin("write \"\\\n")
					time.Sleep(time.Microsecond)
					rows.End(row)
				}
			})
		}
		wg.Wait()
		q.End()
	}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Ph, Name string
			Pid, Tid *int
			Ts, Dur  *float64
			Args     struct{ Name string }
		}
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatalf("%v: %s", err, b.Bytes())
	}
	named, processes, spans := map[int]int{}, map[string]bool{}, 0 // a thread's process
	ends := map[int]float64{}                                      // of threads
	for _, e := range file.TraceEvents {
		if e.Pid == nil || e.Tid == nil || e.Ts == nil || *e.Pid < 1 || *e.Tid < 1 || *e.Ts < 0 {
			t.Fatalf("an event without a process, a thread or a time: %+v", e)
		}
		switch {
		case e.Name == "thread_name":
			named[*e.Tid] = *e.Pid
		case e.Name == "process_name":
			processes[e.Args.Name] = true
		case e.Ph == "X":
			if spans++; named[*e.Tid] != *e.Pid || e.Dur == nil || *e.Dur <= 0 || e.Name != "write \"\\\n" {
				t.Errorf("%+v", e)
			}
			const rounding = 1e-6 // of a microsecond, by the sum
			if *e.Ts < ends[*e.Tid]-rounding {
				t.Errorf("a span from %f us of a row that does something until %f us", *e.Ts, ends[*e.Tid])
			}
			ends[*e.Tid] = *e.Ts + *e.Dur
		case e.Ph != "M":
			t.Errorf("an event of the kind %q", e.Ph)
		}
	}
	if spans != 80 || !processes["query 1: disk"] || !processes["query 2: disk"] {
		t.Errorf("%d spans of %v", spans, processes)
	}
}
