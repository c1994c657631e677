// Package hits holds a table and queries with the needs of ClickBench's group-bys.
package hits

import "fmt"

// Table returns DuckDB's SQL for a table of so many rows, of the shape of ClickBench's: long-tailed
// strings, of which most phrases are empty.
func Table(rows int64) string { return columns + fmt.Sprintf(" FROM range(%d) t(r)", rows) }

const columns = `
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
	  (hash(r + 25) % 1000000)::BIGINT % 1000 AS URLHash, (hash(r + 26) % 50)::BIGINT AS RefererHash,
	  (hash(r + 27) % 40)::SMALLINT * 50 AS WindowClientWidth, (hash(r + 28) % 30)::SMALLINT * 50 AS WindowClientHeight`

// Queries are over the table hits, for both engines. LIMIT stands behind an order that leaves no
// choice.
var Queries = []string{
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
}
