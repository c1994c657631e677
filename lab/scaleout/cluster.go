package scaleout

import (
	"errors"
	"fmt"
)

// Cluster is what runs a job: equal hosts, an object store, and how often tasks go wrong.
type Cluster struct {
	Hosts       int
	Threads     int     // of a host
	TaskThreads int     // of a task; a host has as many slots as these go into Threads
	MemoryBytes float64 // of a host
	TempBytes   float64 // of a host's disk
	Network     float64 // bytes/s of a host

	Store    float64 // bytes/s that the store gives to all hosts together
	Gets     float64 // GET, HEAD and LIST a second that a prefix of the store answers
	Puts     float64 // PUT a second that a prefix of the store answers
	Prefixes int     // over which the input is spread; a stage's packs have one
	Latency  float64 // s that a request takes beside its bytes
	Copy     float64 // bytes/s of a copy that the store makes of an object

	Start      float64 // s from when a slot is free until a task reads its plan
	Failures   float64 // of a slot in an hour
	Stragglers float64 // part of the attempts that are slow
	Slow       float64 // mean of how many times as long a slow attempt takes
	Speculate  bool    // slow attempts get a twin
}

// Validate reports every field that is out of its bounds.
func (c *Cluster) Validate() error {
	var errs []error
	check := func(holds bool, format string, args ...any) {
		if !holds {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Hosts >= 1 && c.Hosts <= hostsMax, "%d hosts: want 1 to %d", c.Hosts, hostsMax)
	check(c.Threads >= 1 && c.TaskThreads >= 1 && c.TaskThreads <= c.Threads, "%d threads, %d of a task: want 1 or more, and no more of a task than of a host",
		c.Threads, c.TaskThreads)
	check(c.Threads <= threadsMax, "%d threads: want %d at most", c.Threads, threadsMax)
	check(c.MemoryBytes > 0 && c.TempBytes > 0, "%g B of memory, %g B of disk: want more than 0", c.MemoryBytes, c.TempBytes)
	check(c.Network > 0 && c.Store > 0 && c.Copy > 0, "%g B/s of a host, %g of the store, %g of a copy: want more than 0", c.Network, c.Store, c.Copy)
	check(c.Gets > 0 && c.Puts > 0 && c.Prefixes >= 1, "%g GET and %g PUT a second, %d prefixes: want more than 0", c.Gets, c.Puts, c.Prefixes)
	check(c.Latency >= 0 && c.Start >= 0, "%g s of latency, %g s to start: want 0 or more", c.Latency, c.Start)
	check(c.Failures >= 0, "%g failures: want 0 or more", c.Failures)
	check(c.Stragglers >= 0 && c.Stragglers < 1, "%g of the attempts are slow: want 0 or more, below 1", c.Stragglers)
	check(c.Slow > slowLeast && c.Slow <= slowMost, "slow attempts take %g times as long: want more than %d, up to %d", c.Slow, slowLeast, slowMost)
	return errors.Join(errs...)
}

const (
	hostsMax   = 100_000
	threadsMax = 4096
)

// slotsOfHost returns how many tasks a host runs at a time.
func (c *Cluster) slotsOfHost() int { return c.Threads / c.TaskThreads }

// slots returns how many tasks run at a time.
func (c *Cluster) slots() int { return c.Hosts * c.slotsOfHost() }

// Parts are the seconds that a task takes, by what it waits for.
type Parts struct {
	Starts   float64
	CPU      float64
	Network  float64 // of its host
	Store    float64 // bytes of the store
	Requests float64
}

// Sum returns the seconds that the task takes.
func (p Parts) Sum() float64 { return p.Starts + p.CPU + p.Network + p.Store + p.Requests }

// Bottleneck names the largest part.
func (p Parts) Bottleneck() string {
	name, most := "cpu", p.CPU
	for _, other := range []struct {
		name    string
		seconds float64
	}{{"network", p.Network}, {"store bytes", p.Store}, {"requests", p.Requests}, {"starts", p.Starts}} {
		if other.seconds > most {
			name, most = other.name, other.seconds
		}
	}
	return name
}

func (p *Parts) add(other Parts) {
	p.Starts += other.Starts
	p.CPU += other.CPU
	p.Network += other.Network
	p.Store += other.Store
	p.Requests += other.Requests
}

// moving returns the time in which a task moves bytes while some tasks are busy.
func (c *Cluster) moving(bytes, busy float64) Parts {
	network, store := bytes*max(busy/float64(c.Hosts), 1)/c.Network, bytes*busy/c.Store
	if store > network {
		return Parts{Store: store}
	}
	return Parts{Network: network}
}

// asking returns the time that requests take while some tasks are busy: those that wait for one another,
// and no more a second than the store answers.
func (c *Cluster) asking(n *Need, busy float64) Parts {
	return Parts{Requests: max(c.Latency*n.RoundTrips, busy*n.InputGets/(c.Gets*float64(c.Prefixes)), busy*n.Gets/c.Gets, busy*n.Puts/c.Puts)}
}

// task returns the time that a task takes while some tasks are busy.
func (c *Cluster) task(n *Need, busy float64) Parts {
	p := Parts{Starts: c.Start, CPU: n.Serial}
	read, asked := c.moving(n.In, busy), c.asking(n, busy)
	if asked.Requests > read.Sum() {
		read = asked
	}
	computed := Parts{CPU: n.CPU / max(min(n.Threads, float64(c.TaskThreads)), 1)}
	switch {
	case !n.Overlap:
		p.add(read)
		p.add(computed)
	case computed.CPU >= read.Sum():
		p.add(computed)
	default:
		p.add(read)
	}
	p.add(c.moving(n.Out, busy))
	return p
}
