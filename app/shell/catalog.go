package shell

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mpga/mpga/app/complete"
	"github.com/mpga/mpga/app/temporary"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/vfs"
)

// catalog has the tables of a shell, and looks up columns and files for completion.
type catalog struct {
	engine *engine.Engine
	plan   plan.Options                         // with the tables that are files
	own    *temporary.Tables                    // that statements have made
	known  map[complete.Source][]complete.Field // since the last line: a key pressed again is quick
}

func newCatalog(opt *Options) *catalog {
	c := &catalog{engine: opt.Engine, plan: opt.Plan}
	c.plan.Tables = maps.Clone(opt.Plan.Tables)
	if c.plan.Tables == nil {
		c.plan.Tables = map[string]plan.Table{}
	}
	if c.plan.Scan.FS == nil {
		c.plan.Scan.FS = vfs.OS
	}
	c.own = opt.Store.NewTables(func(name string) bool {
		return slices.ContainsFunc(c.files(), func(other string) bool { return strings.EqualFold(name, other) })
	})
	c.forget()
	return c
}

// forget drops the columns that were looked up: files change.
func (c *catalog) forget() { c.known = map[complete.Source][]complete.Field{} }

// add makes files a table, in place of files that had the name, and returns how many columns they have.
func (c *catalog) add(ctx context.Context, name string, files []string) (columns int, err error) {
	if c.own.Has(name) {
		const taken = "%s is a table or a view that a statement has made: DROP it first, or choose another name"
		return 0, fmt.Errorf(taken, name)
	}
	before, had := c.plan.Tables[name]
	c.plan.Tables[name] = plan.Table{Files: files}
	fields, err := c.columns(ctx, complete.Source{Name: name})
	if err == nil {
		return len(fields), nil
	}
	delete(c.plan.Tables, name)
	if had {
		c.plan.Tables[name] = before
	}
	if at := (*sql.Error)(nil); errors.As(err, &at) { // of a statement that nobody has written
		err = errors.New(at.Message)
	}
	return 0, err
}

// TableName is the name that a file gets as a table: the file's or folder's name without its endings.
func TableName(file string) string {
	name, _, _ := strings.Cut(path.Base(filepath.ToSlash(file)), ".")
	return name
}

// files lists the tables that are files.
func (c *catalog) files() []string { return slices.Sorted(maps.Keys(c.plan.Tables)) }

// Tables implements complete.Catalog.
func (c *catalog) Tables() []string {
	names := c.files()
	for _, own := range c.own.List() {
		names = append(names, own.Name)
	}
	slices.Sort(names)
	return names
}

// lookupMax bounds how long a key waits for the columns of a file.
const lookupMax = 2 * time.Second

// Columns implements complete.Catalog.
func (c *catalog) Columns(ctx context.Context, of complete.Source) []complete.Field {
	if fields, ok := c.known[of]; ok {
		return fields
	}
	ctx, cancel := context.WithTimeout(ctx, lookupMax)
	defer cancel()
	fields, err := c.columns(ctx, of)
	if err != nil {
		fields = nil // nothing is completed
	}
	c.known[of] = fields
	return fields
}

// columns looks the columns of a table or of a file up.
func (c *catalog) columns(ctx context.Context, of complete.Source) (fields []complete.Field, err error) {
	name := complete.Quote(of.Name)
	if of.File {
		name = "'" + strings.ReplaceAll(of.Name, "'", "''") + "'"
	}
	statement, err := sql.Parse("SELECT * FROM " + name)
	if err != nil {
		return nil, err
	}
	names, release := c.own.Names(c.plan)
	defer func() { err = errors.Join(err, release()) }()
	prepared, err := plan.Prepare(ctx, c.engine, statement, names)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	for _, f := range prepared.Schema().Fields() {
		fields = append(fields, complete.Field{Name: f.Name, Type: query.TypeName(f.Type)})
	}
	return fields, nil
}

// Files implements complete.Catalog. Objects are not listed: a key should not wait for a network.
func (c *catalog) Files(_ context.Context, prefix string) []string {
	if _, ok := vfs.ObjectsAt(c.plan.Scan.FS, prefix); ok {
		return nil
	}
	dir, base := filepath.Split(prefix)
	from := dir
	if from == "" {
		from = "."
	}
	entries, err := c.plan.Scan.FS.ReadDir(from)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && base == "" {
			continue
		}
		info, err := c.plan.Scan.FS.Stat(filepath.Join(from, name)) // follows links
		if err == nil && info.IsDir() {
			name += "/"
		}
		names = append(names, dir+name)
	}
	return names
}
