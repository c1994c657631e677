package tests

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/gen"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/tests/h2o"
)

// H2O's ten questions as SQL.
func TestSQLH2O(t *testing.T) {
	s := openSQL(t)
	for _, name := range h2o.Variants("1e5") {
		s.file(t, "t", func(file string) error { return h2o.Write(context.Background(), name, file) })
		for _, text := range []string{
			"SELECT id1, sum(v1) AS v1 FROM t GROUP BY id1",
			"SELECT id1, id2, sum(v1) AS v1 FROM t GROUP BY id1, id2",
			"SELECT id3, sum(v1) AS v1, avg(v3) AS v3 FROM t GROUP BY id3",
			"SELECT id4, avg(v1) AS v1, avg(v2) AS v2, avg(v3) AS v3 FROM t GROUP BY id4",
			"SELECT id6, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3 FROM t GROUP BY id6",
			"SELECT id4, id5, quantile_cont(v3, 0.5) AS median_v3, stddev(v3) AS sd_v3 FROM t GROUP BY id4, id5",
			"SELECT id3, max(v1) - min(v2) AS range_v1_v2 FROM t GROUP BY id3",
			"SELECT id6, max(v3, 2) AS largest2_v3 FROM t WHERE v3 IS NOT NULL GROUP BY id6",
			"SELECT id2, id4, pow(corr(v1, v2), 2) AS r2 FROM t WHERE v1 IS NOT NULL AND v2 IS NOT NULL GROUP BY id2, id4 HAVING count(*) > 20",
			"SELECT id1, id2, id3, id4, id5, id6, sum(v3) AS v3, count(*) AS count FROM t GROUP BY id1, id2, id3, id4, id5, id6",
		} {
			s.check(t, text)
		}
	}
}

// file makes a table of both of a file that a function writes.
func (s *sqlTables) file(t testing.TB, name string, write func(file string) error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".parquet")
	if err := write(file); err != nil {
		t.Fatal(err)
	}
	s.exec(t, "CREATE OR REPLACE VIEW "+name+" AS FROM read_parquet('"+file+"')")
	s.tables[name] = plan.Table{Files: []string{file}}
}

// TPC-H's first query, to the last digit.
func TestSQLTPCH(t *testing.T) {
	s := openSQL(t)
	s.file(t, "lineitem", func(file string) error {
		table, err := gen.Lineitem(0.02, 1)
		if err != nil {
			return err
		}
		return h2o.WriteTable(context.Background(), table, file)
	})
	s.check(t, `
		SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
		  sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
		  sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
		  avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
		FROM lineitem
		WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
		GROUP BY l_returnflag, l_linestatus
		ORDER BY l_returnflag, l_linestatus`)
	s.check(t, `
		SELECT sum(l_extendedprice * l_discount) AS revenue
		FROM lineitem
		WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
		  AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24`)
}

// hitsTable has the shape of ClickBench's: long-tailed strings, of which most phrases are empty.
const hitsTable = `
	SELECT (hash(r) % 1000000007)::BIGINT * 1000003 AS WatchID,
	  DATE '2013-07-01' + (hash(r + 1) % 31)::INTEGER AS EventDate,
	  TIMESTAMP '2013-07-01' + to_seconds((hash(r + 1) % 31)::BIGINT * 86400 + (hash(r + 2) % 86400)::BIGINT) AS EventTime,
	  (CASE WHEN hash(r + 3) % 10 < 6 THEN 62 ELSE hash(r + 3) % 500 END)::INTEGER AS CounterID,
	  (hash(r + 4) % 1000000)::INTEGER - 500000 AS ClientIP,
	  CASE WHEN hash(r + 5) % 10 < 8 THEN 0 ELSE (hash(r + 6) % 90)::SMALLINT END AS AdvEngineID,
	  (hash(r + 7) % 4000)::BIGINT * (hash(r + 7) % 4000)::BIGINT * 100000007 - 435090932899640449 AS UserID,
	  (hash(r + 8) % 150)::INTEGER AS RegionID,
	  (hash(r + 9) % 2000)::SMALLINT AS ResolutionWidth,
	  CASE WHEN hash(r + 10) % 20 < 18 THEN '' ELSE 'phone ' || (hash(r + 11) % 60) END AS MobilePhoneModel,
	  (hash(r + 10) % 8)::SMALLINT AS MobilePhone,
	  CASE WHEN hash(r + 12) % 10 < 8 THEN '' ELSE 'phrase of words ' || floor(pow(hash(r + 13) % 400, 2) / 300)::INTEGER END AS SearchPhrase,
	  (hash(r + 14) % 100)::SMALLINT AS SearchEngineID,
	  'http://' || CASE WHEN hash(r + 15) % 5 = 0 THEN 'www.google' ELSE 'example' END || '.com/' || floor(pow(hash(r + 15) % 700, 2) / 400)::INTEGER || '/page' AS URL,
	  CASE WHEN hash(r + 16) % 3 = 0 THEN '' ELSE 'https://' || CASE WHEN hash(r + 16) % 2 = 0 THEN 'www.' ELSE '' END || 'host' || (hash(r + 17) % 80) || '.org/a/b?c=' || (hash(r + 18) % 100) END AS Referer,
	  'Title ' || CASE WHEN hash(r + 19) % 7 = 0 THEN 'Google ' ELSE '' END || (hash(r + 19) % 900) AS Title,
	  (hash(r + 20) % 2)::SMALLINT AS IsRefresh, (hash(r + 21) % 2)::SMALLINT AS DontCountHits, (hash(r + 22) % 2)::SMALLINT AS IsLink,
	  (hash(r + 23) % 2)::SMALLINT AS IsDownload, (hash(r + 24) % 9)::SMALLINT - 1 AS TraficSourceID,
	  hash(r + 25)::BIGINT % 1000 AS URLHash, (hash(r + 26) % 50)::BIGINT AS RefererHash,
	  (hash(r + 27) % 40)::SMALLINT * 50 AS WindowClientWidth, (hash(r + 28) % 30)::SMALLINT * 50 AS WindowClientHeight
	FROM range(60000) t(r)`

// Queries with the needs of ClickBench's. LIMIT stands behind an order that leaves no choice.
func TestSQLClickBench(t *testing.T) {
	s := openSQL(t)
	s.add(t, "hits", strings.ReplaceAll(hitsTable, "hash(r + 25)::BIGINT", "(hash(r + 25) % 1000000)::BIGINT"))
	for _, text := range []string{
		"SELECT count(*) FROM hits",
		"SELECT count(*) FROM hits WHERE AdvEngineID <> 0",
		"SELECT sum(AdvEngineID), count(*), avg(ResolutionWidth) FROM hits",
		"SELECT avg(UserID) FROM hits",
		"SELECT count(DISTINCT UserID) FROM hits",
		"SELECT count(DISTINCT SearchPhrase) FROM hits",
		"SELECT min(EventDate), max(EventDate) FROM hits",
		"SELECT AdvEngineID, count(*) FROM hits WHERE AdvEngineID <> 0 GROUP BY AdvEngineID ORDER BY count(*) DESC, AdvEngineID",
		"SELECT RegionID, count(DISTINCT UserID) AS u FROM hits GROUP BY RegionID ORDER BY u DESC, RegionID LIMIT 10",
		"SELECT RegionID, sum(AdvEngineID), count(*) AS c, avg(ResolutionWidth), count(DISTINCT UserID) FROM hits GROUP BY RegionID ORDER BY c DESC, RegionID LIMIT 10",
		"SELECT MobilePhoneModel, count(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> '' GROUP BY MobilePhoneModel ORDER BY u DESC, 1 LIMIT 10",
		"SELECT MobilePhone, MobilePhoneModel, count(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> '' GROUP BY MobilePhone, MobilePhoneModel ORDER BY u DESC, 1, 2 LIMIT 10",
		"SELECT SearchPhrase, count(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC, 1 LIMIT 10",
		"SELECT SearchPhrase, count(DISTINCT UserID) AS u FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY u DESC, 1 LIMIT 10",
		"SELECT SearchEngineID, SearchPhrase, count(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY SearchEngineID, SearchPhrase ORDER BY c DESC, 1, 2 LIMIT 10",
		"SELECT UserID, count(*) FROM hits GROUP BY UserID ORDER BY count(*) DESC, 1 LIMIT 10",
		"SELECT UserID, SearchPhrase, count(*) FROM hits GROUP BY UserID, SearchPhrase ORDER BY count(*) DESC, 1, 2 LIMIT 10",
		"SELECT UserID, SearchPhrase, count(*) FROM hits GROUP BY UserID, SearchPhrase ORDER BY ALL LIMIT 10",
		"SELECT UserID, extract(minute FROM EventTime) AS m, SearchPhrase, count(*) FROM hits GROUP BY UserID, m, SearchPhrase ORDER BY count(*) DESC, 1, 2, 3 LIMIT 10",
		"SELECT UserID FROM hits WHERE UserID = 435090932899640449 GROUP BY 1",
		"SELECT count(*) FROM hits WHERE URL LIKE '%google%'",
		"SELECT SearchPhrase, min(URL), count(*) AS c FROM hits WHERE URL LIKE '%google%' AND SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC, 1 LIMIT 10",
		"SELECT SearchPhrase, min(URL), min(Title), count(*) AS c, count(DISTINCT UserID) FROM hits WHERE Title LIKE '%Google%' AND URL NOT LIKE '%.google.%' AND SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC, 1 LIMIT 10",
		"SELECT CounterID, avg(length(URL)) AS l, count(*) AS c FROM hits WHERE URL <> '' GROUP BY CounterID HAVING count(*) > 100 ORDER BY l DESC, 1 LIMIT 25",
		`SELECT regexp_replace(Referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS k, avg(length(Referer)) AS l, count(*) AS c, min(Referer) FROM hits WHERE Referer <> '' GROUP BY k HAVING count(*) > 10 ORDER BY l DESC, 1 LIMIT 25`,
		"SELECT sum(ResolutionWidth), sum(ResolutionWidth + 1), sum(ResolutionWidth + 2), sum(ResolutionWidth + 3), sum(ResolutionWidth + 4), sum(ResolutionWidth + 89) FROM hits",
		"SELECT SearchEngineID, ClientIP, count(*) AS c, sum(IsRefresh), avg(ResolutionWidth) FROM hits WHERE SearchPhrase <> '' GROUP BY SearchEngineID, ClientIP ORDER BY c DESC, 1, 2 LIMIT 10",
		"SELECT WatchID, ClientIP, count(*) AS c, sum(IsRefresh), avg(ResolutionWidth) FROM hits WHERE SearchPhrase <> '' GROUP BY WatchID, ClientIP ORDER BY c DESC, 1, 2 LIMIT 10",
		"SELECT WatchID, ClientIP, count(*) AS c, sum(IsRefresh), avg(ResolutionWidth) FROM hits GROUP BY WatchID, ClientIP ORDER BY c DESC, 1, 2 LIMIT 10",
		"SELECT URL, count(*) AS c FROM hits GROUP BY URL ORDER BY c DESC, 1 LIMIT 10",
		"SELECT 1, URL, count(*) AS c FROM hits GROUP BY 1, URL ORDER BY c DESC, URL LIMIT 10",
		"SELECT ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3, count(*) AS c FROM hits GROUP BY ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3 ORDER BY c DESC, 1 LIMIT 10",
		"SELECT URL, count(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND DontCountHits = 0 AND IsRefresh = 0 AND URL <> '' GROUP BY URL ORDER BY PageViews DESC, 1 LIMIT 10",
		"SELECT Title, count(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND DontCountHits = 0 AND IsRefresh = 0 AND Title <> '' GROUP BY Title ORDER BY PageViews DESC, 1 LIMIT 10",
		"SELECT URL, count(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND IsRefresh = 0 AND IsLink <> 0 AND IsDownload = 0 GROUP BY URL ORDER BY PageViews DESC, 1 LIMIT 10 OFFSET 100",
		"SELECT TraficSourceID, SearchEngineID, AdvEngineID, CASE WHEN (SearchEngineID = 0 AND AdvEngineID = 0) THEN Referer ELSE '' END AS Src, URL AS Dst, count(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND IsRefresh = 0 GROUP BY TraficSourceID, SearchEngineID, AdvEngineID, Src, Dst ORDER BY PageViews DESC, 1, 2, 3, 4, 5 LIMIT 10 OFFSET 100",
		"SELECT URLHash, EventDate, count(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND IsRefresh = 0 AND TraficSourceID IN (-1, 6) AND RefererHash = 36 GROUP BY URLHash, EventDate ORDER BY PageViews DESC, 1, 2 LIMIT 10 OFFSET 10",
		"SELECT WindowClientWidth, WindowClientHeight, count(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND IsRefresh = 0 AND DontCountHits = 0 AND URLHash < 500 GROUP BY WindowClientWidth, WindowClientHeight ORDER BY PageViews DESC, 1, 2 LIMIT 10 OFFSET 100",
		"SELECT date_trunc('minute', EventTime) AS M, count(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-14' AND EventDate <= '2013-07-15' AND IsRefresh = 0 AND DontCountHits = 0 GROUP BY date_trunc('minute', EventTime) ORDER BY date_trunc('minute', EventTime) LIMIT 10 OFFSET 1000",
	} {
		s.check(t, text)
	}
}
