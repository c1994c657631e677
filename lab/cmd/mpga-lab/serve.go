package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/app/server/flightsql"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/lab/load"
)

// serveFlags are the flags of mpga-lab serve.
type serveFlags struct {
	clients  int
	rows     float64
	flowRows float64
	groups   float64
	during   time.Duration
	device   string
	threads  int
	queries  int
	memory   string
}

func newServeCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Measure a server as its clients see it",
		Long: `Start a server of Arrow Flight SQL on a socket of this machine, and measure it with clients in the same
process: how long SELECT 1 takes, how fast rows go to the server and back, and what many clients get that
all ask for the groups of a table at once. Every answer is checked.`,
		Example: `  mpga-lab serve
  mpga-lab serve --clients 100 --rows 1e6 --groups 1e4 --device auto`,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.clients, "clients", 100, "`N` clients that ask at once")
	flags.Float64Var(&f.rows, "rows", 1e6, "`N` rows of the table that they ask for")
	flags.Float64Var(&f.groups, "groups", 1e3, "`N` groups of these rows")
	flags.Float64Var(&f.flowRows, "flow-rows", 2e7, "`N` rows of 16 bytes that go to the server and back")
	flags.DurationVar(&f.during, "during", 10*time.Second, "let clients ask for a `TIME`")
	flags.StringVar(&f.device, "device", "cpu", "what does the work: `WORD` as mpga sql --device takes it")
	flags.IntVar(&f.threads, "threads", 0, "use `N` threads; 0 is as many as there are processors")
	flags.IntVar(&f.queries, "max-queries", 4, "run `N` queries at once")
	flags.StringVar(&f.memory, "memory-limit", "", "stay below `SIZE` of resident memory (default 80% of the machine or control group)")
	return cmd
}

func (f *serveFlags) run(ctx context.Context, w io.Writer) (err error) {
	if f.clients < 1 || f.rows < 1 || f.groups < 1 || f.groups > f.rows || f.flowRows < 1 || f.rows > 1e9 || f.flowRows > 1e9 || f.queries < 1 {
		return usagef("serve: want 1 or more clients, rows, queries and groups, not more groups than rows, and 1e9 rows at most")
	}
	dir, err := os.MkdirTemp("", "mpga-lab-serve-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	limit, err := parseSize("--memory-limit", f.memory)
	if err != nil {
		return err
	}
	options := engine.Options{Threads: f.threads, Device: f.device, MemoryLimit: limit}
	eng, err := engine.Open(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	if err := eng.WarmDevices(ctx); err != nil { // as a server has opened them before clients come
		slog.Debug("no device is open", "error", err)
	}
	table := filepath.Join(dir, "t.parquet")
	if err := f.writeTable(table); err != nil {
		return err
	}
	core, err := server.New(server.Options{
		Engine: eng, TempDir: dir, Tables: map[string]server.Table{"t": {Files: []string{table}}},
		Limits: server.Limits{Queries: f.queries, ClientWaiting: max(f.clients, 256)},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, core.Close()) }()
	service, err := flightsql.New(flightsql.Options{Server: core})
	if err != nil {
		return err
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		return err
	}
	service.Serve(l)
	defer func() { err = errors.Join(err, service.Stop()) }()
	return f.measure(ctx, w, core, "unix://"+l.Addr().String())
}

// writeTable writes a file of rows k and v: v is 0, 1, 2, ..., and k is v modulo the groups.
func (f *serveFlags) writeTable(path string) error {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil)
	out, err := sink.Create(context.Background(), path, schema, sink.Options{Format: sink.Parquet, RowGroupRows: 1 << 17})
	if err != nil {
		return err
	}
	const batchRows = 1 << 16
	for from := int64(0); from < int64(f.rows); from += batchRows {
		keys, values := array.NewInt64Builder(memory.DefaultAllocator), array.NewInt64Builder(memory.DefaultAllocator)
		for n := from; n < min(from+batchRows, int64(f.rows)); n++ {
			keys.Append(n % int64(f.groups))
			values.Append(n)
		}
		k, v := keys.NewArray(), values.NewArray()
		if err := out.Write(array.NewRecordBatch(schema, []arrow.Array{k, v}, int64(k.Len()))); err != nil {
			return errors.Join(err, out.Abort())
		}
	}
	return out.Commit()
}

// measure measures and prints.
func (f *serveFlags) measure(ctx context.Context, w io.Writer, core *server.Server, address string) error {
	smallest, err := load.Smallest(ctx, address, 1000)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "SELECT 1            %.2f ms in the median, %.2f ms at the 99th percentile, %.0f a second of one client\n",
		millis(smallest.Median), millis(smallest.P99), smallest.PerSecond)
	flow, err := load.Rows(ctx, address, int64(f.flowRows))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "rows to the server  %.2f GB/s\nrows back           %.2f GB/s\n",
		float64(flow.Bytes)/flow.Put.Seconds()/1e9, float64(flow.Bytes)/flow.Get.Seconds()/1e9)
	const statement = "SELECT k, sum(v) AS s, count(*) AS n FROM t GROUP BY k"
	shares, err := load.Crowd(ctx, address, f.clients, statement, f.during, func() load.Check { return &sumCheck{want: f} })
	if err != nil {
		return err
	}
	slices.SortFunc(shares, func(a, b load.Share) int { return a.Statements - b.Statements })
	total, longest := 0, time.Duration(0)
	for _, s := range shares {
		total += s.Statements
		longest = max(longest, s.Longest)
	}
	held := core.Memory()
	fmt.Fprintf(w, "%d clients         %.0f statements a second over %.0g rows; a client had %d to %d answers, and waited %.2f s at most\n",
		f.clients, float64(total)/f.during.Seconds(), f.rows, shares[0].Statements, shares[len(shares)-1].Statements, longest.Seconds())
	fmt.Fprintf(w, "resident            %s of %s\n", humanize.IBytes(uint64(held.Peak)), humanize.IBytes(uint64(held.Limit)))
	return nil
}

func millis(d time.Duration) float64 { return d.Seconds() * 1e3 }

// sumCheck checks an answer: the sums of all groups add up to the rows' own, and so do the counts.
type sumCheck struct {
	want               *serveFlags
	groups, sum, count int64
}

// Take implements load.Check.
func (c *sumCheck) Take(b arrow.RecordBatch) {
	c.groups += b.NumRows()
	for row := range int(b.NumRows()) {
		c.sum += b.Column(1).(*array.Int64).Value(row)
		c.count += b.Column(2).(*array.Int64).Value(row)
	}
}

// End implements load.Check.
func (c *sumCheck) End() error {
	rows := int64(c.want.rows)
	if want := rows * (rows - 1) / 2; c.groups != int64(c.want.groups) || c.count != rows || c.sum != want {
		return fmt.Errorf("%d groups of %d rows with the sum %d: want %.0f, %d, %d", c.groups, c.count, c.sum, c.want.groups, rows, want)
	}
	return nil
}
