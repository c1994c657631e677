package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/redact"
)

// column is a column of a table or of a result.
type column struct {
	Name   string `json:"name"`
	Type   string `json:"type"`   // of SQL
	Number bool   `json:"number"` // its values are numbers
	Date   bool   `json:"date"`   // its values are dates or timestamps
}

// columnsOf describes columns.
func columnsOf(schema *arrow.Schema) []column {
	list := []column{}
	for _, f := range schema.Fields() {
		id := f.Type.ID()
		list = append(list, column{
			Name: f.Name, Type: query.TypeName(f.Type),
			Number: arrow.IsInteger(id) || arrow.IsFloating(id) || arrow.IsDecimal(id),
			Date:   id == arrow.TIMESTAMP || id == arrow.DATE32 || id == arrow.DATE64,
		})
	}
	return list
}

// table is a table that a client may read.
type table struct {
	Name      string   `json:"name"`
	Temporary bool     `json:"temporary,omitempty"`
	Columns   []column `json:"columns"`
	Error     string   `json:"error,omitempty"` // why the columns are not known
}

// tables answers with the tables that the session may read.
func (s *Service) tables(r *request) error {
	session, release, err := r.held()
	if err != nil {
		return err
	}
	defer release()
	list := []table{}
	for _, info := range session.Tables() {
		t := table{Name: info.Name, Temporary: info.Temporary, Columns: []column{}}
		schema, err := session.TableSchema(r.Context(), info.Name)
		if err != nil {
			t.Error = redact.Error(err).Error()
		} else {
			t.Columns = columnsOf(schema)
		}
		list = append(list, t)
	}
	answer(r.w, http.StatusOK, map[string]any{"tables": list})
	return nil
}

// functions answers with the functions and the words of SQL, for completion.
func (s *Service) functions(r *request) error {
	answer(r.w, http.StatusOK, map[string]any{"functions": server.Functions(), "keywords": keywords})
	return nil
}

// keywords are the words of statements that the page offers and shows as such.
var keywords = slices.Sorted(strings.FieldsSeq(`SELECT DISTINCT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET AS AND OR
	NOT IN IS NULL LIKE ILIKE BETWEEN CASE WHEN THEN ELSE END CAST TRUE FALSE ASC DESC NULLS FIRST LAST ALL FILTER
	INTERVAL DATE TIMESTAMP TIME WITH ROLLUP CUBE GROUPING SETS EXTRACT
	CREATE REPLACE TEMP TABLE VIEW DROP EXISTS
	BIGINT INTEGER SMALLINT DOUBLE FLOAT DECIMAL VARCHAR BOOLEAN`))
