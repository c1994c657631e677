package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

// rowName is the name of the i-th row of Rows.
func rowName(group string, i int) string {
	if i == 0 {
		return group
	}
	return group + " " + strconv.Itoa(i+1)
}

// WriteJSON writes all spans as Chrome's trace events, in its JSON object format: each group of a
// query is a process, each row a thread, whose events come in order of time. Times are microseconds
// since the recorder's start.
func (r *Recorder) WriteJSON(w io.Writer) error {
	t := r.Timeline()
	out := bufio.NewWriter(w)
	fmt.Fprintf(out,
		`{"displayTimeUnit":"ms","otherData":{"spans_dropped":%d,"spans_shorter_than_nanos":%d},"traceEvents":[`,
		t.Dropped, t.Shortest.Nanoseconds())
	c := chromeWriter{out: out}
	for i, q := range t.Queries {
		before := ""
		if len(t.Queries) > 1 {
			before = fmt.Sprintf("query %d: ", i+1)
		}
		c.query(before, &q)
	}
	out.WriteString("\n]}\n")
	return out.Flush() // with the first error
}

// chromeWriter writes events. Its buffer keeps the first error.
type chromeWriter struct {
	out     *bufio.Writer
	pid     int
	tid     int
	written bool
}

func (c *chromeWriter) query(before string, q *QueryTimeline) {
	group := ""
	for _, row := range q.Rows {
		if c.tid++; row.Group != group {
			group = row.Group
			c.pid++
			c.metadata("process_name", before+group)
			c.event(
				`{"ph":"M","name":"process_sort_index","pid":%d,"tid":%d,"ts":0,"args":{"sort_index":%d}}`,
				c.pid, c.tid, c.pid)
		}
		c.metadata("thread_name", row.Name)
		c.event(`{"ph":"M","name":"thread_sort_index","pid":%d,"tid":%d,"ts":0,"args":{"sort_index":%d}}`,
			c.pid, c.tid, c.tid)
		for _, s := range row.Spans {
			c.event(`{"ph":"X","name":%s,"pid":%d,"tid":%d,"ts":%s,"dur":%s}`, quote(s.Name), c.pid, c.tid,
				micros(s.Begin), micros(s.End-s.Begin))
		}
	}
}

func (c *chromeWriter) metadata(what, name string) {
	c.event(`{"ph":"M","name":"%s","pid":%d,"tid":%d,"ts":0,"args":{"name":%s}}`, what, c.pid, c.tid, quote(name))
}

func (c *chromeWriter) event(format string, args ...any) {
	if c.written {
		c.out.WriteByte(',')
	}
	c.written = true
	c.out.WriteByte('\n')
	fmt.Fprintf(c.out, format, args...)
}

func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string has a form in JSON
	}
	return string(b)
}

// micros writes a time in microseconds, to the nanosecond.
func micros(d time.Duration) string {
	return fmt.Sprintf("%d.%03d", d.Nanoseconds()/1000, d.Nanoseconds()%1000)
}
