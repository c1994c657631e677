package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/app/server/flightsql"
	"github.com/mpga/mpga/app/server/web"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/job"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/spawn"
)

// serveFlags are the flags of mpga serve.
type serveFlags struct {
	listen     []string
	http       string
	tables     []string
	catalog    string
	allowFiles string
	uploads    string // a size; "" takes no files
	private    bool
	drainTime  time.Duration
	queryLimit serverLimitFlags
	security   securityFlags

	input inputFlags
	queryFlags
}

func newServeCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer queries of clients over Arrow Flight SQL",
		Long: `Answer the queries of clients until the process is interrupted: JDBC and ADBC drivers, Python, and whatever
else speaks Arrow Flight SQL. One engine answers all queries, within one memory limit and with one set of devices,
which are opened once.

Clients read the tables that --table names, and tables that they have sent themselves. Files they may name only
below --allow-files. A program starts a server of its own with --private. docs/serve.md shows clients, and how to run a server.`,
		Example: `  mpga serve --table flights=tests/testdata/flights-2001.parquet
  mpga serve --listen unix:/run/mpga/flight.sock --allow-files /data
  mpga serve --listen :8815 --http :8080 --table sales='/data/sales/*.parquet' --tls-cert server.pem --tls-key server.key --token-file tokens`,
		Args:        wantArgs(cobra.NoArgs),
		Annotations: map[string]string{logLevelAnnotation: "info"},
		RunE:        f.run,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	themed(flags, themeServer, func() { f.registerServer(flags) })
	themed(flags, themeLimits, func() { f.queryLimit.register(flags) })
	themed(flags, themeSecurity, func() { f.security.register(flags) })
	themed(flags, themeQuery, func() { f.registerMeaning(cmd) })
	f.registerResources(cmd)
	themed(flags, themeInput, func() { f.input.register(flags) })
	completeInput(cmd)
	return cmd
}

// registerServer adds the flags that say whom the server answers, and of what.
func (f *serveFlags) registerServer(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.listen, "listen", nil,
		"take clients at an `ADDRESS`, as in localhost:8815 (the default) or unix:/run/mpga.sock; may be repeated")
	flags.StringVar(&f.http, "http", "",
		"serve a page with an editor, results, charts and what runs at http://`ADDRESS`/, as in "+
			"localhost:8080, and /healthz, /readyz, /metrics")
	flags.StringArrayVarP(&f.tables, "table", "t", nil,
		"let clients read a file, a folder or a pattern by a name: `NAME=PATH`; may be repeated, also for one name")
	flags.StringVar(&f.catalog, "catalog", "",
		"let clients read the tables that `FILE` names, with how their files are read (docs/serve.md)")
	flags.StringVar(&f.allowFiles, "allow-files", "",
		"let clients name files below `DIR`, or objects below a URL, behind FROM")
	flags.StringVar(&f.uploads, "uploads", "",
		"take files on the page of --http, of at most `SIZE` together, into the folder uploads below the DIR of "+
			"--allow-files")
	flags.BoolVar(&f.private, "private", false,
		"serve the process that started this: at a socket in a folder of the user's own, whose address "+
			"is written to the standard output, until the standard input ends; clients may name every "+
			"file that the user may read")
	flags.DurationVar(&f.drainTime, "drain-timeout", 30*time.Second,
		"when interrupted, let queries that run go on for a `TIME`")
}

func (f *serveFlags) run(cmd *cobra.Command, _ []string) (err error) {
	if f.private {
		leave, startErr := f.beginPrivate(cmd)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, leave()) }()
	}
	if len(f.listen) == 0 {
		f.listen = []string{"localhost:8815"}
	}
	if f.uploads != "" && (f.http == "" || f.allowFiles == "") {
		return usagef("--uploads: the page of --http takes files, into a folder of --allow-files: name both")
	}
	options, err := f.serverOptions(cmd)
	if err != nil {
		return err
	}
	secrets, err := f.security.load()
	if err != nil {
		return err
	}
	engineOptions := f.engineOptions()
	engineOptions.Logger = slog.New(quieter{slog.Default().Handler()})
	if err := f.budgetFlags.apply(&engineOptions); err != nil {
		return err
	}
	debug.SetMemoryLimit(engineOptions.MemoryLimit / collectorShare)
	eng, err := engine.Open(engineOptions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	spawn.Go(func() error { return eng.WarmDevices(cmd.Context()) }, func(err error) {
		slog.Debug("devices were opened", "error", err)
	})
	options.Engine, options.TempDir, options.TempLimit = eng, engineOptions.TempDir, engineOptions.TempLimit
	var taken *server.Uploads
	switch {
	case f.private:
		options.Files = server.NewUserFiles(filesOf(cmd.Context()))
		options.Suit = func(files *sink.Options) { suitEngine(engineOptions, eng, files) }
	case f.allowFiles != "":
		allowed, allowErr := server.Allow(filesOf(cmd.Context()), f.allowFiles)
		if allowErr != nil {
			return usagef("--allow-files: %w", allowErr)
		}
		defer func() { _ = allowed.Close() }()
		options.Files = allowed
		if taken, err = f.openUploads(allowed); err != nil {
			return err
		}
		if taken != nil {
			defer func() { err = errors.Join(err, taken.Close()) }()
		}
	}
	core, err := server.New(options)
	if err != nil {
		return usageError{err}
	}
	defer func() { err = errors.Join(err, core.Close()) }()
	return f.serve(cmd.Context(), cmd.OutOrStdout(), core, taken, secrets)
}

// serverOptions returns what the flags say of the server, but for the engine.
func (f *serveFlags) serverOptions(cmd *cobra.Command) (opt server.Options, err error) {
	var meaning plan.Options
	if meaning, err = f.planOptions(); err != nil {
		return opt, err
	}
	if err := f.input.refuse(cmd, "is of one query; --ignore-errors leaves rows with errors out"); err != nil {
		return opt, err
	}
	if opt.Scan, err = f.input.options(cmd); err != nil {
		return opt, err
	}
	opt.Scan.Readers = &dataset.Readers{} // what the flags say is for statements to come
	if opt.Tables, err = f.namedTables(cmd); err != nil {
		return opt, err
	}
	opt.Overflow, opt.Deterministic, opt.TimeZone = meaning.Overflow, meaning.Deterministic, meaning.TimeZone
	opt.Logger = slog.Default()
	opt.Record, opt.Word = f.http != "", clientName
	if f.private {
		opt.Word = pythonName
	}
	opt.Limits, err = f.queryLimit.limits()
	return opt, err
}

// namedTables returns the tables that --table and --catalog name.
func (f *serveFlags) namedTables(cmd *cobra.Command) (map[string]server.Table, error) {
	named, err := tableOptions(f.tables)
	if err != nil {
		return nil, err
	}
	tables := make(map[string]server.Table, len(named))
	for name, t := range named {
		tables[name] = server.Table{Files: t.Files}
	}
	if f.catalog == "" {
		return tables, nil
	}
	catalog, err := job.LoadCatalog(f.catalog)
	if err != nil {
		return nil, err
	}
	for i := range catalog.Tables {
		t := &catalog.Tables[i]
		if _, taken := tables[t.Name]; taken {
			return nil, usagef("--table and --catalog both name %s", t.Name)
		}
		t.Scan.FS = filesOf(cmd.Context())
		tables[t.Name] = server.Table{Files: t.Files, Rollup: t.Rollup, Scan: &t.Scan}
	}
	return tables, nil
}

// serve serves until the context is done, and then lets queries that run go on for a while.
func (f *serveFlags) serve(
	ctx context.Context, out io.Writer, core *server.Server, taken *server.Uploads, secrets secrets,
) (err error) {
	flights, err := flightsql.New(flightsql.Options{
		Server: core, Version: buildVersion(), Tokens: secrets.tokens, TLS: secrets.tls,
		Report: writeReport, Logger: slog.Default(),
		ConnectionIdle: f.queryLimit.connectionIdle,
	})
	if err != nil {
		return err
	}
	pages := web.New(web.Options{
		Server: core, Version: buildVersion(), Tokens: secrets.tokens, TLS: secrets.tls, Facts: pageFacts,
		Devices: pageDevices, Uploads: taken,
		Logger: slog.Default(),
	})
	connections, err := server.NewConnections(f.queryLimit.connections, f.queryLimit.peerConnections, slog.Default())
	if err != nil {
		return usageError{err}
	}
	refuseFlight, refuseHTTP := server.RefuseHTTP2, server.RefuseHTTP
	if secrets.tls != nil { // before the handshake of TLS a text cannot be read
		refuseFlight, refuseHTTP = nil, nil
	}
	listeners, err := openListeners(f.listen)
	if err != nil {
		return err
	}
	for i, l := range listeners {
		flights.Serve(connections.Bound(l, refuseFlight))
		slog.Info("clients are served", "address", shownAddress(f.listen[i], l),
			"tls", secrets.tls != nil, "tokens", secrets.tokens.Asked())
	}
	if f.private {
		fmt.Fprintln(out, f.listen[0])
	}
	if f.http != "" {
		l, err := openListener(f.http)
		if err != nil {
			return errors.Join(fmt.Errorf("--http: %w", err), flights.Stop())
		}
		pages.Serve(connections.Bound(l, refuseHTTP))
		slog.Info("HTTP is served", "url", secrets.scheme()+"://"+l.Addr().String()+"/")
	}
	<-ctx.Done()
	slog.Info("the server is ending", "queries", core.Counts().Running, "drain_timeout", f.drainTime)
	flights.Drain()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.drainTime)
	defer cancel()
	core.Drain(drain)
	flights.Finish(drain)
	return errors.Join(pages.Stop(drain), flights.Stop())
}
