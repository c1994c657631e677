package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/internal/server"
	"github.com/mpga/mpga/internal/server/flightsql"
	"github.com/mpga/mpga/internal/server/web"
)

// serveFlags are the flags of mpga serve.
type serveFlags struct {
	listen     []string
	http       string
	tables     []string
	allowFiles string
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
below --allow-files. docs/serve.md shows clients, and how to run a server.`,
		Example: `  mpga serve --table flights=tests/testdata/flights-2001.parquet
  mpga serve --listen unix:/run/mpga/flight.sock --allow-files /data
  mpga serve --listen :8815 --http :8080 --table sales='/data/sales/*.parquet' --tls-cert server.pem --tls-key server.key --token-file tokens`,
		Args:        wantArgs(cobra.NoArgs),
		Annotations: map[string]string{logLevelAnnotation: "info"},
		RunE:        f.run,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.listen, "listen", nil, "take clients at an `ADDRESS`, as in localhost:8815 (the default) or unix:/run/mpga.sock; may be repeated")
	flags.StringVar(&f.http, "http", "", "serve /healthz, /readyz and /metrics at http://`ADDRESS`/")
	flags.StringArrayVarP(&f.tables, "table", "t", nil, "let clients read a file, a folder or a pattern by a name: `NAME=PATH`; may be repeated, also for one name")
	flags.StringVar(&f.allowFiles, "allow-files", "", "let clients name files below `DIR`, or objects below a URL, behind FROM")
	f.queryLimit.register(flags)
	f.security.register(flags)
	flags.DurationVar(&f.drainTime, "drain-timeout", 30*time.Second, "when interrupted, let queries that run go on for a `TIME`")
	f.registerMeaning(cmd)
	f.registerResources(cmd)
	f.input.register(flags)
	return cmd
}

func (f *serveFlags) run(cmd *cobra.Command, _ []string) (err error) {
	if len(f.listen) == 0 {
		f.listen = []string{"localhost:8815"}
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
	options.Engine, options.TempDir = eng, engineOptions.TempDir
	if f.allowFiles != "" {
		allowed, err := server.Allow(filesOf(cmd.Context()), f.allowFiles)
		if err != nil {
			return usagef("--allow-files: %w", err)
		}
		defer func() { _ = allowed.Close() }()
		options.Files = allowed
	}
	core, err := server.New(options)
	if err != nil {
		return usageError{err}
	}
	defer func() { err = errors.Join(err, core.Close()) }()
	return f.serve(cmd.Context(), core, secrets)
}

// serverOptions returns what the flags say of the server, but for the engine.
func (f *serveFlags) serverOptions(cmd *cobra.Command) (opt server.Options, err error) {
	var meaning plan.Options
	if meaning, err = f.planOptions(); err != nil {
		return opt, err
	}
	if opt.Scan, err = f.input.options(cmd); err != nil {
		return opt, err
	}
	named, err := tableOptions(f.tables)
	if err != nil {
		return opt, err
	}
	opt.Tables = make(map[string]server.Table, len(named))
	for name, t := range named {
		opt.Tables[name] = server.Table{Files: t.Files}
	}
	opt.Overflow, opt.Deterministic = meaning.Overflow, meaning.Deterministic
	opt.Logger = slog.Default()
	opt.Limits, err = f.queryLimit.limits()
	return opt, err
}

// serve serves until the context is done, and then lets queries that run go on for a while.
func (f *serveFlags) serve(ctx context.Context, core *server.Server, secrets secrets) (err error) {
	flights, err := flightsql.New(flightsql.Options{
		Server: core, Version: buildVersion(), Tokens: secrets.tokens, TLS: secrets.tls, Logger: slog.Default(),
	})
	if err != nil {
		return err
	}
	pages := web.New(web.Options{Server: core, Version: buildVersion(), Tokens: secrets.tokens, TLS: secrets.tls, Logger: slog.Default()})
	listeners, err := openListeners(f.listen)
	if err != nil {
		return err
	}
	for i, l := range listeners {
		flights.Serve(l)
		slog.Info("clients are served", "address", shownAddress(f.listen[i], l), "tls", secrets.tls != nil, "tokens", secrets.tokens.Asked())
	}
	if f.http != "" {
		l, err := openListener(f.http)
		if err != nil {
			return errors.Join(fmt.Errorf("--http: %w", err), flights.Stop())
		}
		pages.Serve(l)
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
