package flightsql

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/sqlscan"
)

// Actions for what Flight SQL has no words for, which mpga's own clients use. Bodies are JSON.
//
//	mpga.Tables    statement -> names of the tables that it reads
//	mpga.Split     text -> its statements
//	mpga.Prepare   statement or clauses, what names in it mean -> a handle, as of a prepared statement
//	mpga.Explain   handle -> plan
//	mpga.Progress  handle -> how far the last run is
//	mpga.Report    handle -> a page of HTML about the last run
//	mpga.Cancel    handle -> true if there was a run to end, else false
//	mpga.Forget    handles, with spaces between them
//	mpga.Drop      name of a temporary table
const actionPrefix = "mpga."

// preparation is the body of mpga.Prepare.
type preparation struct {
	SQL     string           `json:"sql"`
	Clauses *clauses         `json:"clauses"` // in place of SQL; nil otherwise
	Tables  map[string]named `json:"tables"`
	Dir     string           `json:"dir"`
	Record  bool             `json:"record"`
	Output  *output          `json:"output"` // where the rows go; nil to the client
}

// output is server.Output.
type output struct {
	To      string              `json:"to"`
	Options map[string][]string `json:"options"`
}

// clauses are the parts of an aggregation of the table named data.
type clauses struct {
	By      []string `json:"by"`
	Agg     []string `json:"agg"`
	Where   string   `json:"where"`
	Having  string   `json:"having"`
	OrderBy string   `json:"order_by"`
	Limit   *int64   `json:"limit"`
}

// clausesTable is the name of the table that clauses are about.
const clausesTable = "data"

// named is server.Named.
type named struct {
	Table string   `json:"table"`
	Files []string `json:"files"`
}

// handled is the answer to mpga.Prepare, and the body of actions with a handle.
type handled struct {
	Handle     string   `json:"handle"`
	Schema     []byte   `json:"schema,omitempty"`     // of the result, as an Arrow IPC stream without batches
	Types      []string `json:"types,omitempty"`      // of its columns, by their names in SQL
	Parameters int      `json:"parameters,omitempty"` // how many values the statement wants
	Update     bool     `json:"update,omitempty"`     // the statement changes something, and has no rows of tables
}

// progress is the answer to mpga.Progress. Figures that are not known are below zero.
type progress struct {
	State       server.State `json:"state"` // "" before the first run
	Phase       string       `json:"phase"`
	Fraction    float64      `json:"fraction"`
	RowsRead    int64        `json:"rows_read"`
	RowsTotal   int64        `json:"rows_total"`
	BytesRead   int64        `json:"bytes_read"`
	Seconds     float64      `json:"seconds"`
	LeftSeconds float64      `json:"left_seconds"`
}

// DoAction answers the actions of mpga, and hands the actions of Flight SQL on.
func (f *service) DoAction(action *flight.Action, stream flight.FlightService_DoActionServer) error {
	name, ok := strings.CutPrefix(action.GetType(), actionPrefix)
	if !ok {
		return f.FlightServer.DoAction(action, stream)
	}
	session, err := f.of.session(stream.Context())
	if err != nil {
		return err
	}
	answer, err := act(stream.Context(), session, name, action.GetBody(), f.of.opt.Report)
	if err != nil {
		return err
	}
	return stream.Send(&flight.Result{Body: answer})
}

// act does what an action asks for, and returns the body of the answer.
func act(ctx context.Context, session *server.Session, name string, body []byte, report ReportFunc) ([]byte, error) {
	switch name {
	case "Tables":
		parsed, err := session.Parse(ctx, string(body))
		if err != nil {
			return nil, err
		}
		names := slices.DeleteFunc(tablesOf(parsed), session.HasTable) // which come before variables of the client
		return json.Marshal(names)
	case "Split":
		return json.Marshal(sqlscan.Statements(string(body)))
	case "Prepare":
		var p preparation
		if err := json.Unmarshal(body, &p); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "the body of %s%s cannot be read: %v", actionPrefix, name, err)
		}
		return p.prepare(ctx, session)
	case "Drop":
		return nil, session.Drop(string(body), true)
	case "Forget":
		var errs []error
		for _, handle := range strings.Fields(string(body)) {
			errs = append(errs, session.Forget(handle))
		}
		return nil, errors.Join(errs...)
	}
	st, err := session.Statement(string(body))
	if err != nil {
		return nil, err
	}
	switch name {
	case "Explain":
		text, err := st.Explain(ctx)
		return []byte(text), err
	case "Progress":
		return json.Marshal(progressOf(st))
	case "Cancel":
		return json.Marshal(st.Cancel())
	case "Report":
		return reportOf(ctx, st, report)
	}
	return nil, unsupported("the action " + actionPrefix + name)
}

// tablesOf returns the names of the tables, not qualified by a schema, that a statement reads.
func tablesOf(s *sql.Select) []string {
	names := []string{}
	for _, of := range s.Leaves() {
		if table, ok := of.(*sql.Table); ok && len(table.In) == 0 {
			names = append(names, table.Name)
		}
	}
	return names
}

// prepare prepares the statement.
func (p *preparation) prepare(ctx context.Context, session *server.Session) ([]byte, error) {
	meaning := server.Meaning{Names: make(map[string]server.Named, len(p.Tables)), Dir: p.Dir, Record: p.Record,
		Output: (*server.Output)(p.Output)}
	for name, of := range p.Tables {
		meaning.Names[name] = server.Named(of)
	}
	st, err := p.statement(ctx, session, meaning)
	if err != nil {
		return nil, err
	}
	schema, err := clientSchema(ctx, st.Schema())
	if err != nil {
		return nil, errors.Join(err, session.Forget(st.Handle))
	}
	var types []string
	for _, f := range st.Schema().Fields() {
		types = append(types, query.TypeName(f.Type))
	}
	return json.Marshal(handled{
		Handle: st.Handle, Schema: flight.SerializeSchema(schema, memory.DefaultAllocator), Parameters: len(st.Parameters),
		Update: st.IsUpdate(), Types: types,
	})
}

// statement reads the text of the statement, or puts it together of its clauses.
func (p *preparation) statement(
	ctx context.Context, session *server.Session, meaning server.Meaning,
) (*server.Statement, error) {
	if p.Clauses == nil {
		return session.PrepareText(ctx, p.SQL, meaning)
	}
	return session.PrepareParsed(ctx, p.Clauses.text(), p.Clauses.parse, meaning)
}

// text returns the text of the clauses.
func (c *clauses) text() string {
	parts := slices.Concat(c.By, c.Agg, []string{c.Where, c.Having, c.OrderBy})
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
}

// parse puts a statement together.
func (c *clauses) parse(context.Context) (*sql.Select, error) {
	parsed, err := sql.Compose(clausesTable, sql.Clauses{
		By: c.By, Agg: c.Agg, Where: c.Where, Having: c.Having, OrderBy: c.OrderBy, Limit: c.Limit,
	})
	var clause *sql.ClauseError
	if errors.As(err, &clause) {
		return nil, fmt.Errorf("%s: %w", strings.ReplaceAll(clause.Clause, "-", "_"), clause.Err)
	}
	return parsed, err
}

// progressOf returns how far the last run of a statement is.
func progressOf(st *server.Statement) progress {
	p := progress{Fraction: -1, RowsTotal: -1, LeftSeconds: -1}
	run := st.LastRun()
	if run == nil {
		return p
	}
	s := run.Status()
	p.State, p.Seconds = s.State, s.Elapsed.Seconds()
	if of := s.Progress; of != nil {
		p.Phase, p.Fraction = string(of.Phase), of.Fraction
		p.RowsRead, p.RowsTotal, p.BytesRead = of.RowsRead, of.RowsTotal, of.BytesRead
		if of.Left >= 0 {
			p.LeftSeconds = of.Left.Seconds()
		}
	}
	return p
}

// reportOf returns a page about the last run of a statement.
func reportOf(ctx context.Context, st *server.Statement, report ReportFunc) ([]byte, error) {
	run := st.LastRun()
	if run == nil || report == nil {
		return nil, unsupported("a report of a statement that has not run")
	}
	plan, err := run.Plan(ctx)
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	if err := report(&page, run.Status(), plan, run.Timeline()); err != nil {
		return nil, err
	}
	return page.Bytes(), nil
}
