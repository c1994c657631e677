package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/lab/scaleout"
)

// scaleReport is what mpga-lab scale shows.
type scaleReport struct {
	Cluster    scaleout.Cluster
	Queries    []*scaleQuery
	OneMachine []scaleout.Alone // in a minute
}

// scaleQuery is what is calculated of a query.
type scaleQuery struct {
	Workload scaleout.Workload
	Counts   distributed.Counts
	States   float64 // that merges take in
	Traffic  scaleout.Traffic
	Dollars  float64 // for requests
	Stages   []scaleStage
	Closed   float64 // s without stragglers and failures
	Times    scaleout.Times
	Limits   []scaleLimit
}

// scaleStage is a stage of a query.
type scaleStage struct {
	Name     string
	Tasks    int
	Task     scaleout.Parts // s of a task
	Lead     float64        // scaleout.Stage.Lead
	WaitsFor string
	Closed   float64 // s without stragglers and failures
	scaleout.Range

	// Of a task:
	ThreadSeconds           float64
	BytesIn, BytesOut, Temp float64
}

// scaleLimit is a limit; Rows is nil where it is not reached.
type scaleLimit struct {
	scaleout.Limit
	Rows *float64
}

// What S3 takes for requests, list prices of us-east-1: an assumption.
const (
	dollarsGet = 0.0004 / 1000
	dollarsPut = 0.005 / 1000
)

// leads is what a stage waits for whose first tasks agree on attempts for longer than tasks work.
const leads = "manifests"

func (r *scaleReport) add(j *scaleout.Job, times scaleout.Times) {
	q := &scaleQuery{Workload: j.Workload, Counts: j.Counts, States: j.States(), Traffic: j.Traffic(), Times: times}
	q.Dollars = q.Traffic.Gets*dollarsGet + q.Traffic.Puts*dollarsPut
	for i := range j.Stages {
		s := &j.Stages[i]
		stage := scaleStage{Name: s.Name, Tasks: s.Tasks, Task: j.Parts(s), Lead: s.Lead, Closed: j.Seconds(s), Range: times.Stages[i].Range}
		stage.ThreadSeconds, stage.BytesIn, stage.BytesOut, stage.Temp = s.Need.CPU+s.Need.Serial, s.Need.In, s.Need.Out, s.Need.Temp
		stage.WaitsFor = stage.Task.Bottleneck()
		switch hot := j.Hot(s); {
		case s.Lead > stage.Closed/2:
			stage.WaitsFor = leads
		case hot > stage.Task.Sum() && s.Lead+hot >= stage.Closed:
			stage.WaitsFor = "one partition"
		}
		q.Closed += stage.Closed
		q.Stages = append(q.Stages, stage)
	}
	limits := j.Limits()
	slices.SortStableFunc(limits, func(a, b scaleout.Limit) int { return cmp.Compare(a.Rows, b.Rows) })
	for _, l := range limits {
		limit := scaleLimit{Limit: l}
		if rows := l.Rows; !math.IsInf(rows, 1) {
			limit.Rows = &rows
		}
		q.Limits = append(q.Limits, limit)
	}
	r.Queries = append(r.Queries, q)
	for _, threads := range []int{16, 64} {
		r.OneMachine = append(r.OneMachine, j.Workload.InSeconds(minute, threads, r.Cluster.Network))
	}
}

// minute is for how long one machine works, in s.
const minute = 60

func (r *scaleReport) print(w io.Writer) error {
	c := &r.Cluster
	var b strings.Builder
	fmt.Fprintf(&b, "%d hosts of %d threads, %d tasks on a host at a time; %s/s of a host, %s/s of the store in all, %s GET and %s PUT a second\n",
		c.Hosts, c.Threads, c.Threads/c.TaskThreads, si(c.Network), si(c.Store), humanize.Comma(int64(c.Gets)), humanize.Comma(int64(c.Puts)))
	fmt.Fprintf(&b, "of a prefix, %s of latency; %g%% of the attempts take %g times as long, %g failures of a slot in an hour. Calculated, not measured.\n",
		lasting(c.Latency), 100*c.Stragglers, c.Slow, c.Failures)
	r.printTraffic(section(&b, "What crosses the network, and requests, with S3's list price for them"))
	r.printStages(section(&b, "Stages, in simulated time"))
	r.printLimits(section(&b, "From which rows on something breaks (!: the job fails)"))
	r.printAlone(section(&b, "One machine in a minute, without mpga dist, by the same rates"))
	fmt.Fprintf(&b, "\nRates\n")
	for _, q := range r.Queries {
		fmt.Fprintf(&b, "%s (%s): %s\n", q.Workload.Name, q.Workload.Statement, q.Workload.Source)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// section writes a heading, and returns where the table below it goes.
func section(w io.Writer, heading string) *tabwriter.Writer {
	fmt.Fprintf(w, "\n%s\n", heading)
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
}

func (r *scaleReport) printTraffic(t *tabwriter.Writer) {
	fmt.Fprintln(t, "query\trows\tgroups\tsplits\tpartitions\tnodes\tmerges\tinput\tstates\twritten\tmoved\tplans, seals\tresult\tGET\tPUT\t$\t")
	for _, q := range r.Queries {
		n, m := &q.Counts, &q.Traffic
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.2f\t\n", q.Workload.Name, power(q.Workload.Rows), power(q.Workload.Groups),
			n.Splits, n.Partitions, n.Combines, n.Merges, si(m.Input), power(q.States), si(m.States), si(m.Moved), si(m.Plans), si(m.Result),
			power(m.Gets), power(m.Puts), q.Dollars)
	}
	t.Flush()
}

func (r *scaleReport) printStages(t *tabwriter.Writer) {
	fmt.Fprintln(t, "query\tstage\ttasks\ta task\twaits for\tfirst agree in\tno stragglers\tmedian\tp95\tdisk of a task\t")
	for _, q := range r.Queries {
		for _, s := range q.Stages {
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", q.Workload.Name, s.Name, s.Tasks, lasting(s.Task.Sum()), s.WaitsFor, lasting(s.Lead),
				lasting(s.Closed), lasting(s.Median), lasting(s.P95), si(s.Temp))
		}
		note := fmt.Sprintf("%.0f twins", q.Times.Twins)
		if q.Times.Lost > 0 {
			note = fmt.Sprintf("%d of %d runs lost", q.Times.Lost, q.Times.Runs)
		}
		fmt.Fprintf(t, "%s\tall\t\t\t%s\t\t%s\t%s\t%s\t\t\n", q.Workload.Name, note, lasting(q.Closed), lasting(q.Times.Total.Median), lasting(q.Times.Total.P95))
	}
	t.Flush()
}

func (r *scaleReport) printLimits(t *tabwriter.Writer) {
	fmt.Fprintln(t, "query\tlimit\tnow\tat most\tfrom rows\t  then")
	for _, q := range r.Queries {
		for _, l := range q.Limits {
			if l.Rows == nil {
				continue
			}
			mark := ""
			if l.Fails {
				mark = "! "
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s%s\t  %s\n", q.Workload.Name, l.Name, l.text(l.Value), l.text(l.Bound), mark, power(*l.Rows), l.Effect)
		}
	}
	t.Flush()
}

// text writes a value of a limit in its unit.
func (l *scaleLimit) text(value float64) string {
	switch l.Unit {
	case "B":
		return si(value)
	case "s":
		return lasting(value)
	}
	return power(value)
}

func (r *scaleReport) printAlone(t *tabwriter.Writer) {
	fmt.Fprintln(t, "query\tthreads\trows, page cache\tstates in memory\trows of a store\tby its\trate\t")
	for _, a := range r.OneMachine {
		how := "calculated"
		if a.Measured {
			how = "measured with fewer rows"
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t\n", a.Workload, a.Threads, power(a.Rows), si(a.Memory), power(a.FromStore), a.Limit, how)
	}
	t.Flush()
}

// si writes bytes with three digits, in powers of 1,000.
func si(bytes float64) string {
	value, prefix := humanize.ComputeSI(bytes)
	return fmt.Sprintf("%.3g %sB", value, prefix)
}

// power writes a number with three digits, as 1.25e12 from 1e5 on.
func power(x float64) string {
	if x < 1e5 {
		return humanize.Comma(int64(math.Round(x)))
	}
	digits := math.Floor(math.Log10(x))
	return fmt.Sprintf("%.3ge%.0f", x/math.Pow(10, digits), digits)
}

// lasting writes a time with three digits.
func lasting(s float64) string {
	switch {
	case s >= 2*86400:
		return fmt.Sprintf("%.3g d", s/86400)
	case s >= 2*3600:
		return fmt.Sprintf("%.3g h", s/3600)
	case s >= 2*minute:
		return fmt.Sprintf("%.3g min", s/minute)
	}
	return fmt.Sprintf("%.3g s", s)
}
