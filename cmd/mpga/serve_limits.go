package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/mpga/mpga/app/server"
)

// serverLimitFlags bound what clients of a server may have at a time.
type serverLimitFlags struct {
	queries         int
	clientQueries   int
	clientWaiting   int
	queryTime       time.Duration
	stallTime       time.Duration
	sessionIdle     time.Duration
	sessions        int
	connections     int
	peerConnections int
	connectionIdle  time.Duration
	temporaryMemory string
	resultSize      string
}

func (f *serverLimitFlags) register(flags *pflag.FlagSet) {
	flags.IntVar(&f.queries, "max-queries", 4, "run `N` queries at once; further ones wait, and clients take turns")
	flags.IntVar(&f.clientQueries, "max-queries-per-client", 0,
		"of these, run at most `N` of one client (default as many as --max-queries)")
	flags.IntVar(&f.clientWaiting, "max-waiting-per-client", 256,
		"let at most `N` queries of a client wait; it is told at once of further ones")
	flags.DurationVar(&f.queryTime, "query-timeout", 0, "end a query that has run for a `TIME`, as in 10m; 0 is no limit")
	flags.DurationVar(&f.stallTime, "stall-timeout", 10*time.Minute,
		"end a query whose client has not taken rows for a `TIME`")
	flags.DurationVar(&f.sessionIdle, "session-timeout", 10*time.Minute,
		"forget the tables of a client that has been gone for a `TIME`")
	flags.IntVar(&f.sessions, "max-sessions", 1024,
		"let at most `N` clients have a session; one that nobody uses makes room for another")
	flags.IntVar(&f.connections, "max-connections", 2048,
		"let clients have `N` connections, of --listen and --http together; further ones are refused")
	flags.IntVar(&f.peerConnections, "max-connections-per-peer", 512,
		"of these, let one address of the network have at most `N`")
	flags.DurationVar(&f.connectionIdle, "connection-timeout", 30*time.Minute,
		"end a connection of --listen that has had no call for a `TIME`")
	flags.StringVar(&f.temporaryMemory, "table-memory", "",
		"keep tables that clients send in memory up to a `SIZE` together, and further ones in "+
			"--temp-dir (default an eighth of --memory-limit)")
	flags.StringVar(&f.resultSize, "page-result-size", "",
		"of a statement on the page of --http, keep the first rows up to a `SIZE`, in memory or in --temp-dir (default 4GiB)")
}

// limits returns the limits that the flags name.
func (f *serverLimitFlags) limits() (l server.Limits, err error) {
	l = server.Limits{
		Queries: f.queries, ClientQueries: f.clientQueries, ClientWaiting: f.clientWaiting, QueryTime: f.queryTime,
		StallTime: f.stallTime, SessionIdle: f.sessionIdle, Sessions: f.sessions,
	}
	for _, n := range []struct {
		flag  string
		value int64
		most  bool // 0 is the default
	}{
		{"--max-queries", int64(f.queries), false}, {"--max-queries-per-client", int64(f.clientQueries), true},
		{"--max-waiting-per-client", int64(f.clientWaiting), false}, {"--query-timeout", int64(f.queryTime), true},
		{"--stall-timeout", int64(f.stallTime), false}, {"--session-timeout", int64(f.sessionIdle), false},
		{"--max-sessions", int64(f.sessions), false}, {"--max-connections", int64(f.connections), false},
		{"--max-connections-per-peer", int64(f.peerConnections), false},
		{"--connection-timeout", int64(f.connectionIdle), false},
	} {
		if n.value < 0 || n.value == 0 && !n.most {
			return l, usagef("%s: want more than 0", n.flag)
		}
	}
	if l.ResultBytes, err = parseSize("--page-result-size", f.resultSize); err != nil {
		return l, err
	}
	l.TemporaryBytes, err = parseSize("--table-memory", f.temporaryMemory)
	return l, err
}
