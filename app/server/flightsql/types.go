package flightsql

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
)

// sqlType is a type of SQL, as JDBC's getTypeInfo describes it. Numbers are java.sql.Types'.
type sqlType struct {
	name       string
	number     int32
	size       int32  // digits or characters at most; 0 where there is no bound
	quotes     string // around a literal
	create     string // what stands in parentheses behind the name
	unsigned   bool
	numeric    bool
	scaleMax   int32
	subcode    int32 // of dates and times; 0 of others
	sqlNumber  int32 // of dates and times, which have one number together; else number
	approximal bool  // a float
}

// sqlTypes are the types that results have, by their numbers in JDBC.
var sqlTypes = []sqlType{
	{name: "TINYINT", number: -6, size: 3, numeric: true},
	{name: "UTINYINT", number: -6, size: 3, numeric: true, unsigned: true},
	{name: "BIGINT", number: -5, size: 19, numeric: true},
	{name: "UBIGINT", number: -5, size: 20, numeric: true, unsigned: true},
	{name: "BLOB", number: -3, quotes: "'"},
	{name: "DECIMAL", number: 3, size: 38, create: "precision, scale", numeric: true, scaleMax: 38},
	{name: "INTEGER", number: 4, size: 10, numeric: true},
	{name: "UINTEGER", number: 4, size: 10, numeric: true, unsigned: true},
	{name: "SMALLINT", number: 5, size: 5, numeric: true},
	{name: "USMALLINT", number: 5, size: 5, numeric: true, unsigned: true},
	{name: "REAL", number: 7, size: 7, numeric: true, approximal: true},
	{name: "DOUBLE", number: 8, size: 15, numeric: true, approximal: true},
	{name: "VARCHAR", number: 12, quotes: "'"},
	{name: "BOOLEAN", number: 16, size: 1},
	{name: "DATE", number: 91, size: 10, quotes: "'", subcode: 1, sqlNumber: 9},
	{name: "TIME", number: 92, size: 15, quotes: "'", subcode: 2, sqlNumber: 9},
	{name: "TIMESTAMP", number: 93, size: 29, quotes: "'", subcode: 3, sqlNumber: 9},
	{name: "TIMESTAMP WITH TIME ZONE", number: 2014, size: 35, quotes: "'", subcode: 5, sqlNumber: 9},
}

// GetFlightInfoXdbcTypeInfo implements fsql.Server.
func (s *Service) GetFlightInfoXdbcTypeInfo(
	_ context.Context, _ fsql.GetXdbcTypeInfo, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
	return infoOf(desc, schema_ref.XdbcTypeInfo, desc.GetCmd()), nil
}

// DoGetXdbcTypeInfo returns the types that results have.
func (s *Service) DoGetXdbcTypeInfo(
	_ context.Context, cmd fsql.GetXdbcTypeInfo,
) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return rowsOf(schema_ref.XdbcTypeInfo, func(b *array.RecordBuilder) error {
		for i := range sqlTypes {
			if only := cmd.GetDataType(); only == nil || *only == sqlTypes[i].number {
				sqlTypes[i].append(b)
			}
		}
		return nil
	})
}

// append appends the row of a type.
func (t *sqlType) append(b *array.RecordBuilder) {
	const nullable, searchable = 1, 3 // columns may be NULL; values may stand anywhere in WHERE
	text := func(column int, value string) {
		of := b.Field(column).(*array.StringBuilder)
		if value == "" {
			of.AppendNull()
		} else {
			of.Append(value)
		}
	}
	number := func(column int, value int32, known bool) {
		of := b.Field(column).(*array.Int32Builder)
		if known {
			of.Append(value)
		} else {
			of.AppendNull()
		}
	}
	truth := func(column int, value bool) { b.Field(column).(*array.BooleanBuilder).Append(value) }
	text(0, t.name)
	number(1, t.number, true)
	number(2, t.size, t.size > 0)
	text(3, t.quotes)
	text(4, t.quotes)
	params := b.Field(5).(*array.ListBuilder)
	params.Append(t.create != "")
	if t.create != "" {
		for _, p := range strings.Split(t.create, ", ") {
			params.ValueBuilder().(*array.StringBuilder).Append(p)
		}
	}
	number(6, nullable, true)
	truth(7, t.name == "VARCHAR")
	number(8, searchable, true)
	truth(9, t.unsigned)
	truth(10, false)
	truth(11, false)
	text(12, t.name)
	number(13, 0, t.numeric)
	number(14, t.scaleMax, t.numeric)
	if t.subcode > 0 {
		number(15, t.sqlNumber, true)
	} else {
		number(15, t.number, true)
	}
	number(16, t.subcode, t.subcode > 0)
	radix := int32(10)
	if t.approximal {
		radix = 2
	}
	number(17, radix, t.numeric)
	number(18, 0, false)
}
