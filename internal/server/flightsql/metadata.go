package flightsql

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/server"
)

// The types of tables, as JDBC has them.
const (
	tableType     = "TABLE"
	temporaryType = "LOCAL TEMPORARY"
)

// rowsOf returns a stream of one batch, which a function fills in.
func rowsOf(schema *arrow.Schema, fill func(b *array.RecordBuilder) error) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	if err := fill(b); err != nil {
		return nil, nil, err
	}
	chunks := make(chan flight.StreamChunk, 1)
	chunks <- flight.StreamChunk{Data: b.NewRecordBatch()}
	close(chunks)
	return schema, chunks, nil
}

// texts appends strings to the first columns.
func texts(b *array.RecordBuilder, values ...string) {
	for i, v := range values {
		b.Field(i).(*array.StringBuilder).Append(v)
	}
}

// matches says whether a name fits a pattern of JDBC: % stands for any characters, _ for one. A nil
// pattern fits every name.
func matches(name string, pattern *string) bool {
	if pattern == nil {
		return true
	}
	return fits([]rune(name), []rune(*pattern))
}

func fits(name, pattern []rune) bool {
	for len(pattern) > 0 {
		switch {
		case pattern[0] == '%':
			rest := pattern[1:]
			if len(rest) == 0 {
				return true
			}
			return slices.ContainsFunc(suffixes(name), func(s []rune) bool { return fits(s, rest) })
		case pattern[0] == '\\' && len(pattern) > 1:
			pattern = pattern[1:]
			fallthrough
		default:
			if len(name) == 0 || pattern[0] != name[0] && pattern[0] != '_' {
				return false
			}
			name, pattern = name[1:], pattern[1:]
		}
	}
	return len(name) == 0
}

// suffixes returns a name without its first characters: without none, one, two, ...
func suffixes(name []rune) [][]rune {
	var list [][]rune
	for i := range len(name) + 1 {
		list = append(list, name[i:])
	}
	return list
}

// isCatalog says whether a client asks for the catalog, or for any.
func isCatalog(name *string) bool { return name == nil || *name == "" || *name == server.Catalog }

// GetFlightInfoCatalogs implements fsql.Server.
func (s *Service) GetFlightInfoCatalogs(_ context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return infoOf(desc, schema_ref.Catalogs, desc.GetCmd()), nil
}

// DoGetCatalogs returns the only catalog.
func (s *Service) DoGetCatalogs(context.Context) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return rowsOf(schema_ref.Catalogs, func(b *array.RecordBuilder) error {
		texts(b, server.Catalog)
		return nil
	})
}

// GetFlightInfoSchemas implements fsql.Server.
func (s *Service) GetFlightInfoSchemas(_ context.Context, _ fsql.GetDBSchemas, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return infoOf(desc, schema_ref.DBSchemas, desc.GetCmd()), nil
}

// DoGetDBSchemas returns the schemas: of the server's tables, and of the session's own.
func (s *Service) DoGetDBSchemas(_ context.Context, cmd fsql.GetDBSchemas) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return rowsOf(schema_ref.DBSchemas, func(b *array.RecordBuilder) error {
		for _, name := range []string{server.MainSchema, server.TemporarySchema} {
			if isCatalog(cmd.GetCatalog()) && matches(name, cmd.GetDBSchemaFilterPattern()) {
				texts(b, server.Catalog, name)
			}
		}
		return nil
	})
}

// GetFlightInfoTableTypes implements fsql.Server.
func (s *Service) GetFlightInfoTableTypes(_ context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return infoOf(desc, schema_ref.TableTypes, desc.GetCmd()), nil
}

// DoGetTableTypes returns the types of tables.
func (s *Service) DoGetTableTypes(context.Context) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return rowsOf(schema_ref.TableTypes, func(b *array.RecordBuilder) error {
		texts(b, tableType)
		texts(b, temporaryType)
		return nil
	})
}

// GetFlightInfoTables implements fsql.Server.
func (s *Service) GetFlightInfoTables(_ context.Context, cmd fsql.GetTables, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return infoOf(desc, tablesSchema(cmd), desc.GetCmd()), nil
}

func tablesSchema(cmd fsql.GetTables) *arrow.Schema {
	if cmd.GetIncludeSchema() {
		return schema_ref.TablesWithIncludedSchema
	}
	return schema_ref.Tables
}

// DoGetTables returns the tables that the session may read. A table whose files cannot be read has
// no columns: one such table must not hide the others.
func (s *Service) DoGetTables(ctx context.Context, cmd fsql.GetTables) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	session, err := s.session(ctx)
	if err != nil {
		return nil, nil, err
	}
	return rowsOf(tablesSchema(cmd), func(b *array.RecordBuilder) error {
		for _, t := range session.Tables() {
			typ := tableType
			if t.Temporary {
				typ = temporaryType
			}
			wanted := len(cmd.GetTableTypes()) == 0 || slices.ContainsFunc(cmd.GetTableTypes(), func(w string) bool {
				return strings.EqualFold(w, typ)
			})
			if !wanted || !isCatalog(cmd.GetCatalog()) || !matches(t.Schema(), cmd.GetDBSchemaFilterPattern()) ||
				!matches(t.Name, cmd.GetTableNameFilterPattern()) {
				continue
			}
			texts(b, server.Catalog, t.Schema(), t.Name, typ)
			if !cmd.GetIncludeSchema() {
				continue
			}
			schema, err := session.TableSchema(ctx, t.Name)
			if err != nil {
				if ctx.Err() != nil {
					return err
				}
				s.opt.Logger.Warn("a table cannot be read", "table", t.Name, "error", err)
				schema = arrow.NewSchema(nil, nil)
			}
			b.Field(4).(*array.BinaryBuilder).Append(flight.SerializeSchema(described(schema, t), memory.DefaultAllocator))
		}
		return nil
	})
}

// described returns a table's columns with what JDBC tells of columns beside their Arrow types.
func described(schema *arrow.Schema, t server.TableInfo) *arrow.Schema {
	fields := slices.Clone(schema.Fields())
	for i := range fields {
		of := fsql.NewColumnMetadataBuilder().CatalogName(server.Catalog).SchemaName(t.Schema()).TableName(t.Name).
			TypeName(query.TypeName(fields[i].Type)).IsReadOnly(true).IsSearchable(true).IsCaseSensitive(true).IsAutoIncrement(false)
		if d, ok := fields[i].Type.(arrow.DecimalType); ok {
			of.Precision(d.GetPrecision()).Scale(d.GetScale())
		}
		fields[i].Metadata = of.Metadata()
	}
	return arrow.NewSchema(fields, nil)
}

// Tables have no keys: the results are empty.

// GetFlightInfoPrimaryKeys implements fsql.Server.
func (s *Service) GetFlightInfoPrimaryKeys(_ context.Context, _ fsql.TableRef, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return infoOf(desc, schema_ref.PrimaryKeys, desc.GetCmd()), nil
}

// DoGetPrimaryKeys implements fsql.Server.
func (s *Service) DoGetPrimaryKeys(context.Context, fsql.TableRef) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return noRows(schema_ref.PrimaryKeys)
}

// GetFlightInfoExportedKeys implements fsql.Server.
func (s *Service) GetFlightInfoExportedKeys(_ context.Context, _ fsql.TableRef, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return infoOf(desc, schema_ref.ExportedKeys, desc.GetCmd()), nil
}

// DoGetExportedKeys implements fsql.Server.
func (s *Service) DoGetExportedKeys(context.Context, fsql.TableRef) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return noRows(schema_ref.ExportedKeys)
}

// GetFlightInfoImportedKeys implements fsql.Server.
func (s *Service) GetFlightInfoImportedKeys(_ context.Context, _ fsql.TableRef, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return infoOf(desc, schema_ref.ImportedKeys, desc.GetCmd()), nil
}

// DoGetImportedKeys implements fsql.Server.
func (s *Service) DoGetImportedKeys(context.Context, fsql.TableRef) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return noRows(schema_ref.ImportedKeys)
}

// GetFlightInfoCrossReference implements fsql.Server.
func (s *Service) GetFlightInfoCrossReference(_ context.Context, _ fsql.CrossTableRef, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return infoOf(desc, schema_ref.CrossReference, desc.GetCmd()), nil
}

// DoGetCrossReference implements fsql.Server.
func (s *Service) DoGetCrossReference(context.Context, fsql.CrossTableRef) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return noRows(schema_ref.CrossReference)
}

func noRows(schema *arrow.Schema) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return rowsOf(schema, func(*array.RecordBuilder) error { return nil })
}
