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

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/engine/query"
)

// The types of tables, as JDBC has them.
const (
	tableType     = "TABLE"
	temporaryType = "LOCAL TEMPORARY"
)

// rowsOf returns a stream of one batch, which a function fills in.
func rowsOf(
	schema *arrow.Schema, fill func(b *array.RecordBuilder) error,
) (*arrow.Schema, <-chan flight.StreamChunk, error) {
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
	marks := marksOf(*pattern)
	// Where a character does not fit, only the last % can stand for one more: with an earlier % the
	// same marks would find less of the name.
	rest, again, from := []rune(name), -1, 0
	for at, i := 0, 0; i < len(rest) || at < len(marks); {
		switch {
		case at < len(marks) && marks[at] == anyOf:
			at++
			again, from = at, i
		case at < len(marks) && i < len(rest) && (marks[at] == anyOne || marks[at] == rest[i]):
			at, i = at+1, i+1
		case again >= 0 && from < len(rest):
			from++
			at, i = again, from
		default:
			return false
		}
	}
	return true
}

// What stands for % and for _ among the characters of a pattern.
const (
	anyOf  = -1
	anyOne = -2
)

// marksOf returns the characters of a pattern. One behind a backslash stands for itself.
func marksOf(pattern string) (marks []rune) {
	escaped := false
	for _, r := range pattern {
		switch {
		case r == '\\' && !escaped:
			escaped = true
			continue
		case r == '%' && !escaped:
			r = anyOf
		case r == '_' && !escaped:
			r = anyOne
		}
		marks, escaped = append(marks, r), false
	}
	return marks
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
func (s *Service) GetFlightInfoSchemas(
	_ context.Context, _ fsql.GetDBSchemas, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
	return infoOf(desc, schema_ref.DBSchemas, desc.GetCmd()), nil
}

// DoGetDBSchemas returns the schemas: of the server's tables, and of the session's own.
func (s *Service) DoGetDBSchemas(
	_ context.Context, cmd fsql.GetDBSchemas,
) (*arrow.Schema, <-chan flight.StreamChunk, error) {
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
func (s *Service) GetFlightInfoTableTypes(
	_ context.Context, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
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
func (s *Service) GetFlightInfoTables(
	_ context.Context, cmd fsql.GetTables, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
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
func (s *Service) DoGetTables(
	ctx context.Context, cmd fsql.GetTables,
) (*arrow.Schema, <-chan flight.StreamChunk, error) {
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
			b.Field(4).(*array.BinaryBuilder).Append(flight.SerializeSchema(described(ctx, schema, t), memory.DefaultAllocator))
		}
		return nil
	})
}

// described returns a table's columns with what JDBC tells of columns beside their Arrow types.
func described(ctx context.Context, schema *arrow.Schema, t server.TableInfo) *arrow.Schema {
	fields := slices.Clone(schema.Fields())
	for i := range fields {
		fields[i].Type = resultType(ctx, fields[i].Type)
		of := fsql.NewColumnMetadataBuilder().
			CatalogName(server.Catalog).SchemaName(t.Schema()).TableName(t.Name).
			TypeName(query.TypeName(fields[i].Type)).
			IsReadOnly(true).IsSearchable(true).IsCaseSensitive(true).IsAutoIncrement(false)
		if d, ok := fields[i].Type.(arrow.DecimalType); ok {
			of.Precision(d.GetPrecision()).Scale(d.GetScale())
		}
		fields[i].Metadata = of.Metadata()
	}
	return arrow.NewSchema(fields, nil)
}

// resultType returns the type that a column has in a result, as far as drivers know the type.
func resultType(ctx context.Context, t arrow.DataType) arrow.DataType {
	switch t.ID() {
	case arrow.LARGE_STRING:
		return arrow.BinaryTypes.String
	case arrow.LARGE_BINARY:
		return arrow.BinaryTypes.Binary
	}
	schema, err := clientSchema(ctx, arrow.NewSchema([]arrow.Field{{Type: t}}, nil))
	if err != nil {
		return arrow.Null // of a column that results cannot have
	}
	return schema.Field(0).Type
}

// Tables have no keys: the results are empty.

// GetFlightInfoPrimaryKeys implements fsql.Server.
func (s *Service) GetFlightInfoPrimaryKeys(
	_ context.Context, _ fsql.TableRef, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
	return infoOf(desc, schema_ref.PrimaryKeys, desc.GetCmd()), nil
}

// DoGetPrimaryKeys implements fsql.Server.
func (s *Service) DoGetPrimaryKeys(context.Context, fsql.TableRef) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return noRows(schema_ref.PrimaryKeys)
}

// GetFlightInfoExportedKeys implements fsql.Server.
func (s *Service) GetFlightInfoExportedKeys(
	_ context.Context, _ fsql.TableRef, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
	return infoOf(desc, schema_ref.ExportedKeys, desc.GetCmd()), nil
}

// DoGetExportedKeys implements fsql.Server.
func (s *Service) DoGetExportedKeys(context.Context, fsql.TableRef) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return noRows(schema_ref.ExportedKeys)
}

// GetFlightInfoImportedKeys implements fsql.Server.
func (s *Service) GetFlightInfoImportedKeys(
	_ context.Context, _ fsql.TableRef, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
	return infoOf(desc, schema_ref.ImportedKeys, desc.GetCmd()), nil
}

// DoGetImportedKeys implements fsql.Server.
func (s *Service) DoGetImportedKeys(context.Context, fsql.TableRef) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return noRows(schema_ref.ImportedKeys)
}

// GetFlightInfoCrossReference implements fsql.Server.
func (s *Service) GetFlightInfoCrossReference(
	_ context.Context, _ fsql.CrossTableRef, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
	return infoOf(desc, schema_ref.CrossReference, desc.GetCmd()), nil
}

// DoGetCrossReference implements fsql.Server.
func (s *Service) DoGetCrossReference(
	context.Context, fsql.CrossTableRef,
) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return noRows(schema_ref.CrossReference)
}

func noRows(schema *arrow.Schema) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return rowsOf(schema, func(*array.RecordBuilder) error { return nil })
}
