package flightsql

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
)

// Values of SqlInfo's enumerations, as the specification of Flight SQL numbers them.
const (
	caseInsensitive      = 3    // SQL_CASE_INSENSITIVITY_LOWERCASE: names are found whatever their case
	nullsAtEnd           = 2    // SQL_NULLS_SORTED_AT_END, however values are sorted
	groupByUnrelated     = 0b11 // GROUP BY of columns that are not selected, and of others beside these
	grammarMinimum       = 0b1
	ansi92Entry          = 0b1
	subqueries           = 0b1111 // of comparisons, EXISTS, IN, and ANY and ALL
	outerJoins           = 0b110  // LEFT, RIGHT and FULL
	unions               = 0b11   // UNION and UNION ALL
	transactionsNone     = 0
	forwardOnly          = 0b10
	statementLengthBytes = 256 << 10
)

// sqlInfo is what clients are told of every server, whatever its options.
var sqlInfo = map[fsql.SqlInfo]any{
	fsql.SqlInfoFlightSqlServerName:          "mpga",
	fsql.SqlInfoFlightSqlServerArrowVersion:  arrow.PkgVersion,
	fsql.SqlInfoFlightSqlServerReadOnly:      false, // temporary tables are made
	fsql.SqlInfoFlightSqlServerSql:           true,
	fsql.SqlInfoFlightSqlServerSubstrait:     false,
	fsql.SqlInfoFlightSqlServerTransaction:   int32(transactionsNone),
	fsql.SqlInfoFlightSqlServerCancel:        true,
	fsql.SqlInfoFlightSqlServerBulkIngestion: true,

	fsql.SqlInfoFlightSqlServerIngestTransactionsSupported: false,
	fsql.SqlInfoFlightSqlServerStatementTimeout:            int32(0),
	fsql.SqlInfoFlightSqlServerTransactionTimeout:          int32(0),

	fsql.SqlInfoDDLCatalog:           false,
	fsql.SqlInfoDDLSchema:            false,
	fsql.SqlInfoDDLTable:             true, // of the session
	fsql.SqlInfoIdentifierCase:       int64(caseInsensitive),
	fsql.SqlInfoIdentifierQuoteChar:  `"`,
	fsql.SqlInfoQuotedIdentifierCase: int64(caseInsensitive),

	fsql.SqlInfoAllTablesAreASelectable: true,
	fsql.SqlInfoNullOrdering:            int64(nullsAtEnd),

	fsql.SqlInfoKeywords: strings.Fields("ALL EXCLUDE FILTER GROUPING ROLLUP CUBE TRY_CAST"),
	fsql.SqlInfoNumericFunctions: strings.Fields(
		"abs ceil floor round sqrt ln log10 exp pow sign"),
	fsql.SqlInfoStringFunctions: strings.Fields(
		"lower upper length substring trim ltrim rtrim replace concat"),
	fsql.SqlInfoSystemFunctions:    []string{"coalesce", "nullif"},
	fsql.SqlInfoDateTimeFunctions:  []string{"date_trunc", "date_part", "extract", "strftime"},
	fsql.SqlInfoSearchStringEscape: `\`,
	fsql.SqlInfoExtraNameChars:     "",

	fsql.SqlInfoSupportsColumnAliasing:                 true,
	fsql.SqlInfoNullPlusNullIsNull:                     true,
	fsql.SqlInfoSupportsConvert:                        map[int32][]int32{},
	fsql.SqlInfoSupportsTableCorrelationNames:          true,
	fsql.SqlInfoSupportsDifferentTableCorrelationNames: false,
	fsql.SqlInfoSupportsExpressionsInOrderBy:           true,
	fsql.SqlInfoSupportsOrderByUnrelated:               true,
	fsql.SqlInfoSupportedGroupBy:                       int32(groupByUnrelated),
	fsql.SqlInfoSupportsLikeEscapeClause:               true,
	fsql.SqlInfoSupportsNonNullableColumns:             true,
	fsql.SqlInfoSupportedGrammar:                       int32(grammarMinimum),
	fsql.SqlInfoANSI92SupportedLevel:                   int32(ansi92Entry),
	fsql.SqlInfoSupportsIntegrityEnhancementFacility:   false,
	fsql.SqlInfoOuterJoinsSupportLevel:                 int32(outerJoins),
	fsql.SqlInfoSchemaTerm:                             "schema",
	fsql.SqlInfoProcedureTerm:                          "procedure",
	fsql.SqlInfoCatalogTerm:                            "catalog",
	fsql.SqlInfoCatalogAtStart:                         true,
	fsql.SqlInfoSchemasSupportedActions:                int32(1), // in queries
	fsql.SqlInfoCatalogsSupportedActions:               int32(1),
	fsql.SqlInfoSupportedPositionedCommands:            int32(0),
	fsql.SqlInfoSelectForUpdateSupported:               false,
	fsql.SqlInfoStoredProceduresSupported:              false,
	fsql.SqlInfoSupportedSubqueries:                    int32(subqueries),
	fsql.SqlInfoCorrelatedSubqueriesSupported:          true,
	fsql.SqlInfoSupportedUnions:                        int32(unions),

	fsql.SqlInfoMaxBinaryLiteralLen: int64(0), // 0: no limit is known
	fsql.SqlInfoMaxCharLiteralLen:   int64(0),
	fsql.SqlInfoMaxColumnNameLen:    int64(0),
	fsql.SqlInfoMaxColumnsInGroupBy: int64(0),
	fsql.SqlInfoMaxColumnsInIndex:   int64(0),
	fsql.SqlInfoMaxColumnsInOrderBy: int64(0),
	fsql.SqlInfoMaxColumnsInSelect:  int64(0),
	fsql.SqlInfoMaxColumnsInTable:   int64(0),
	fsql.SqlInfoMaxConnections:      int64(0),
	fsql.SqlInfoMaxCursorNameLen:    int64(0),
	fsql.SqlInfoMaxIndexLen:         int64(0),
	fsql.SqlInfoDBSchemaNameLen:     int64(0),
	fsql.SqlInfoMaxProcedureNameLen: int64(0),
	fsql.SqlInfoMaxCatalogNameLen:   int64(0),
	fsql.SqlInfoMaxRowSize:          int64(0),

	fsql.SqlInfoMaxRowSizeIncludesBlobs: true,
	fsql.SqlInfoMaxStatementLen:         int64(statementLengthBytes),
	fsql.SqlInfoMaxStatements:           int64(0),
	fsql.SqlInfoMaxTableNameLen:         int64(0),
	fsql.SqlInfoMaxTablesInSelect:       int64(1),
	fsql.SqlInfoMaxUsernameLen:          int64(0),

	fsql.SqlInfoDefaultTransactionIsolation:                         int64(0),
	fsql.SqlInfoTransactionsSupported:                               false,
	fsql.SqlInfoSupportedTransactionsIsolationlevels:                int32(0),
	fsql.SqlInfoDataDefinitionCausesTransactionCommit:               false,
	fsql.SqlInfoDataDefinitionsInTransactionsIgnored:                true,
	fsql.SqlInfoSupportedResultSetTypes:                             int32(forwardOnly),
	fsql.SqlInfoSupportedConcurrenciesForResultSetUnspecified:       int32(0),
	fsql.SqlInfoSupportedConcurrenciesForResultSetForwardOnly:       int32(0b10), // read only
	fsql.SqlInfoSupportedConcurrenciesForResultSetScrollSensitive:   int32(0),
	fsql.SqlInfoSupportedConcurrenciesForResultSetScrollInsensitive: int32(0),
	fsql.SqlInfoBatchUpdatesSupported:                               false,
	fsql.SqlInfoSavePointsSupported:                                 false,
	fsql.SqlInfoNamedParametersSupported:                            false,
	fsql.SqlInfoLocatorsUpdateCopy:                                  false,
	fsql.SqlInfoStoredFunctionsUsingCallSyntaxSupported:             false,
}

// registerInfo says what clients are told of the server.
func (s *Service) registerInfo() error {
	info := maps.Clone(sqlInfo)
	info[fsql.SqlInfoFlightSqlServerVersion] = s.opt.Version
	for id, value := range info {
		if err := s.RegisterSqlInfo(id, value); err != nil {
			return err
		}
		s.known = append(s.known, uint32(id))
	}
	slices.Sort(s.known)
	return nil
}

// wanted is the information that a client asks for.
type wanted []uint32

// GetInfo implements fsql.GetSqlInfo.
func (w wanted) GetInfo() []uint32 { return w }

// DoGetSqlInfo returns what is known of what a client asks for, and nothing of the rest, which the
// library would refuse together.
func (s *Service) DoGetSqlInfo(
	ctx context.Context, cmd fsql.GetSqlInfo,
) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	list := s.known
	if asked := cmd.GetInfo(); len(asked) > 0 {
		list = slices.DeleteFunc(slices.Clone(asked), func(id uint32) bool { return !slices.Contains(s.known, id) })
	}
	if len(list) == 0 {
		return noRows(schema_ref.SqlInfo)
	}
	return s.BaseServer.DoGetSqlInfo(ctx, wanted(list))
}
