package complete

import (
	"slices"
	"strings"
	"sync"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
)

// statementWords begin a statement.
var statementWords = []string{"SELECT", "FROM", "VALUES", "WITH", "DESCRIBE", "SUMMARIZE", "EXPLAIN", "COPY",
	"CREATE TABLE", "CREATE OR REPLACE TABLE", "CREATE VIEW", "CREATE OR REPLACE VIEW", "DROP TABLE", "DROP VIEW",
	"SHOW TABLES"}

// clauseWords stand within a statement.
var clauseWords = []string{
	"ALL", "AND", "AS", "ASC", "BETWEEN", "BY", "CASE", "CAST", "CUBE", "DATE", "DESC", "DISTINCT",
	"ELSE", "END", "ESCAPE", "EXCEPT", "EXCLUDE", "EXTRACT", "FALSE", "FILTER", "FIRST", "FROM", "GROUP BY",
	"GROUPING SETS", "HAVING", "ILIKE", "IN", "INTERSECT", "INTERVAL", "IS", "LAST", "LIKE", "LIMIT", "NOT", "NULL",
	"NULLS", "OFFSET", "OR", "ORDER BY", "OVER", "PARTITION BY", "QUALIFY", "ROLLUP", "SELECT", "THEN", "TIME",
	"TIMESTAMP", "TRUE", "TRY_CAST", "UNION", "UNION ALL", "WHEN", "WHERE", "WINDOW", "WITH",
}

// reservedWords are PostgreSQL's keywords that are no names without quotes.
var reservedWords = strings.Fields(`
	ALL ANALYSE ANALYZE AND ANY ARRAY AS ASC ASYMMETRIC AUTHORIZATION BINARY BOTH CASE CAST CHECK
	COLLATE COLLATION COLUMN CONCURRENTLY CONSTRAINT CREATE CROSS CURRENT_CATALOG CURRENT_DATE
	CURRENT_ROLE CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DEFAULT DEFERRABLE DESC
	DISTINCT DO ELSE END EXCEPT FALSE FETCH FOR FOREIGN FREEZE FROM FULL GRANT GROUP HAVING ILIKE IN
	INITIALLY INNER INTERSECT INTO IS ISNULL JOIN LATERAL LEADING LEFT LIKE LIMIT LOCALTIME
	LOCALTIMESTAMP NATURAL NOT NOTNULL NULL OFFSET ON ONLY OR ORDER OUTER OVERLAPS PLACING PRIMARY
	REFERENCES RETURNING RIGHT SELECT SESSION_USER SIMILAR SOME SYMMETRIC SYSTEM_USER TABLE TABLESAMPLE
	THEN TO TRAILING TRUE UNION UNIQUE USER USING VARIADIC VERBOSE WHEN WHERE WINDOW WITH`)

// isReader says whether a function reads files, by its name: read_csv, parquet_scan and their like.
func isReader(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "read_") || strings.HasSuffix(name, "_scan")
}

func readers() []Candidate {
	return []Candidate{
		{Text: "read_csv(", Kind: Function, Detail: "CSV, with options"},
		{Text: "read_json(", Kind: Function, Detail: "JSON, with options"},
		{Text: "read_parquet(", Kind: Function, Detail: "Parquet, one file or a list"},
		{Text: "delta_scan(", Kind: Function, Detail: "a table of Delta Lake, by its directory"},
		{Text: "iceberg_scan(", Kind: Function, Detail: "a table of Iceberg, by its directory"},
	}
}

func words(list []string) []Candidate {
	candidates := make([]Candidate, len(list))
	for i, word := range list {
		candidates[i] = Candidate{Text: word, Kind: Keyword}
	}
	return candidates
}

// functions are all functions and aggregates, with the parenthesis of a call.
var functions = sync.OnceValue(func() []Candidate {
	var list []Candidate
	add := func(name string, kind Kind, detail string) {
		if name[0] >= 'a' && name[0] <= 'z' && !strings.Contains(name, " ") {
			list = append(list, Candidate{Text: name + "(", Kind: kind, Detail: detail})
		}
	}
	for _, f := range query.Funcs() {
		if f != query.CountStar && f != query.CountDistinct { // written count(*) and count(DISTINCT x)
			add(f.String(), Aggregate, f.Help())
		}
	}
	for _, f := range expr.Functions() {
		if !slices.Contains(clauseWords, strings.ToUpper(f.Name)) { // an operator that is a word
			add(f.Name, Function, f.Usage+": "+f.Help)
		}
		for _, alias := range f.Aliases {
			add(alias, Function, f.Usage+": "+f.Help)
		}
	}
	return list
})

// typeNames are the names of types.
var typeNames = sync.OnceValue(func() []Candidate {
	var list []Candidate
	for _, name := range expr.TypeNames() {
		list = append(list, Candidate{Text: strings.ToUpper(name), Kind: Type})
	}
	return list
})
