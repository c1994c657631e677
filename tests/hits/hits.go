// Package hits holds ClickBench's questions over the table that gen.Hits makes.
package hits

import (
	"fmt"
	"strings"
)

// Question is one of ClickBench's.
type Question struct {
	// SQL is the question as ClickBench publishes it.
	SQL string

	// tie are further columns of its order, which leave no choice among rows; "" where the
	// published order leaves none.
	tie string
}

// Number names a question by its index, as ClickBench's results do from 0 on.
func Number(i int) string { return fmt.Sprint("Q", i) }

// Ordered returns the question with an order that leaves no choice of rows, nor of their order.
func (q Question) Ordered() string {
	if q.tie == "" {
		return q.SQL
	}
	text, limit, limited := strings.Cut(q.SQL, " LIMIT ")
	if strings.Contains(text, " ORDER BY ") {
		text += ", " + q.tie
	} else {
		text += " ORDER BY " + q.tie
	}
	if limited {
		text += " LIMIT " + limit
	}
	return text
}

// OfFew returns the ordered question for a table of some ten thousand rows: with bounds of HAVING and
// OFFSET that leave an answer.
func (q Question) OfFew() string { return few.Replace(q.Ordered()) }

var few = strings.NewReplacer("> 100000", "> 100", "OFFSET 10000", "OFFSET 1", "OFFSET 1000", "OFFSET 1", "OFFSET 100", "OFFSET 1")

// Determined says whether the published question has one answer.
func (q Question) Determined() bool { return q.tie == "" }

// Questions are the 43, in order.
var Questions = []Question{
	{"SELECT COUNT(*) FROM hits", ""},
	{"SELECT COUNT(*) FROM hits WHERE AdvEngineID <> 0", ""},
	{"SELECT SUM(AdvEngineID), COUNT(*), AVG(ResolutionWidth) FROM hits", ""},
	{"SELECT AVG(UserID) FROM hits", ""},
	{"SELECT COUNT(DISTINCT UserID) FROM hits", ""},
	{"SELECT COUNT(DISTINCT SearchPhrase) FROM hits", ""},
	{"SELECT MIN(EventDate), MAX(EventDate) FROM hits", ""},
	{"SELECT AdvEngineID, COUNT(*) FROM hits WHERE AdvEngineID <> 0 GROUP BY AdvEngineID ORDER BY COUNT(*) DESC", "AdvEngineID"},
	{"SELECT RegionID, COUNT(DISTINCT UserID) AS u FROM hits GROUP BY RegionID ORDER BY u DESC LIMIT 10", "RegionID"},
	{"SELECT RegionID, SUM(AdvEngineID), COUNT(*) AS c, AVG(ResolutionWidth), COUNT(DISTINCT UserID) FROM hits GROUP BY RegionID ORDER BY c DESC LIMIT 10", "RegionID"},
	{"SELECT MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> '' GROUP BY MobilePhoneModel ORDER BY u DESC LIMIT 10", "MobilePhoneModel"},
	{"SELECT MobilePhone, MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> '' GROUP BY MobilePhone, MobilePhoneModel ORDER BY u DESC LIMIT 10", "MobilePhone, MobilePhoneModel"},
	{"SELECT SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10", "SearchPhrase"},
	{"SELECT SearchPhrase, COUNT(DISTINCT UserID) AS u FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY u DESC LIMIT 10", "SearchPhrase"},
	{"SELECT SearchEngineID, SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY SearchEngineID, SearchPhrase ORDER BY c DESC LIMIT 10", "SearchEngineID, SearchPhrase"},
	{"SELECT UserID, COUNT(*) FROM hits GROUP BY UserID ORDER BY COUNT(*) DESC LIMIT 10", "UserID"},
	{"SELECT UserID, SearchPhrase, COUNT(*) FROM hits GROUP BY UserID, SearchPhrase ORDER BY COUNT(*) DESC LIMIT 10", "UserID, SearchPhrase"},
	{"SELECT UserID, SearchPhrase, COUNT(*) FROM hits GROUP BY UserID, SearchPhrase LIMIT 10", "UserID, SearchPhrase"},
	{"SELECT UserID, extract(minute FROM EventTime) AS m, SearchPhrase, COUNT(*) FROM hits GROUP BY UserID, m, SearchPhrase ORDER BY COUNT(*) DESC LIMIT 10", "UserID, m, SearchPhrase"},
	{"SELECT UserID FROM hits WHERE UserID = 435090932899640449", ""},
	{"SELECT COUNT(*) FROM hits WHERE URL LIKE '%google%'", ""},
	{"SELECT SearchPhrase, MIN(URL), COUNT(*) AS c FROM hits WHERE URL LIKE '%google%' AND SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10", "SearchPhrase"},
	{"SELECT SearchPhrase, MIN(URL), MIN(Title), COUNT(*) AS c, COUNT(DISTINCT UserID) FROM hits WHERE Title LIKE '%Google%' AND URL NOT LIKE '%.google.%' AND SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10", "SearchPhrase"},
	{"SELECT * FROM hits WHERE URL LIKE '%google%' ORDER BY EventTime LIMIT 10", "WatchID"},
	{"SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime LIMIT 10", "SearchPhrase"},
	{"SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY SearchPhrase LIMIT 10", ""},
	{"SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime, SearchPhrase LIMIT 10", ""},
	{"SELECT CounterID, AVG(STRLEN(URL)) AS l, COUNT(*) AS c FROM hits WHERE URL <> '' GROUP BY CounterID HAVING COUNT(*) > 100000 ORDER BY l DESC LIMIT 25", "CounterID"},
	{`SELECT REGEXP_REPLACE(Referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS k, AVG(STRLEN(Referer)) AS l, COUNT(*) AS c, MIN(Referer) FROM hits WHERE Referer <> '' GROUP BY k HAVING COUNT(*) > 100000 ORDER BY l DESC LIMIT 25`, "k"},
	{sums(), ""},
	{"SELECT SearchEngineID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), AVG(ResolutionWidth) FROM hits WHERE SearchPhrase <> '' GROUP BY SearchEngineID, ClientIP ORDER BY c DESC LIMIT 10", "SearchEngineID, ClientIP"},
	{"SELECT WatchID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), AVG(ResolutionWidth) FROM hits WHERE SearchPhrase <> '' GROUP BY WatchID, ClientIP ORDER BY c DESC LIMIT 10", "WatchID, ClientIP"},
	{"SELECT WatchID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), AVG(ResolutionWidth) FROM hits GROUP BY WatchID, ClientIP ORDER BY c DESC LIMIT 10", "WatchID, ClientIP"},
	{"SELECT URL, COUNT(*) AS c FROM hits GROUP BY URL ORDER BY c DESC LIMIT 10", "URL"},
	{"SELECT 1, URL, COUNT(*) AS c FROM hits GROUP BY 1, URL ORDER BY c DESC LIMIT 10", "URL"},
	{"SELECT ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3, COUNT(*) AS c FROM hits GROUP BY ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3 ORDER BY c DESC LIMIT 10", "ClientIP"},
	{"SELECT URL, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND DontCountHits = 0 AND IsRefresh = 0 AND URL <> '' GROUP BY URL ORDER BY PageViews DESC LIMIT 10", "URL"},
	{"SELECT Title, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND DontCountHits = 0 AND IsRefresh = 0 AND Title <> '' GROUP BY Title ORDER BY PageViews DESC LIMIT 10", "Title"},
	{"SELECT URL, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND IsRefresh = 0 AND IsLink <> 0 AND IsDownload = 0 GROUP BY URL ORDER BY PageViews DESC LIMIT 10 OFFSET 1000", "URL"},
	{"SELECT TraficSourceID, SearchEngineID, AdvEngineID, CASE WHEN (SearchEngineID = 0 AND AdvEngineID = 0) THEN Referer ELSE '' END AS Src, URL AS Dst, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND IsRefresh = 0 GROUP BY TraficSourceID, SearchEngineID, AdvEngineID, Src, Dst ORDER BY PageViews DESC LIMIT 10 OFFSET 1000", "TraficSourceID, SearchEngineID, AdvEngineID, Src, Dst"},
	{"SELECT URLHash, EventDate, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND IsRefresh = 0 AND TraficSourceID IN (-1, 6) AND RefererHash = 3594120000172545465 GROUP BY URLHash, EventDate ORDER BY PageViews DESC LIMIT 10 OFFSET 100", "URLHash, EventDate"},
	{"SELECT WindowClientWidth, WindowClientHeight, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND IsRefresh = 0 AND DontCountHits = 0 AND URLHash = 2868770270353813622 GROUP BY WindowClientWidth, WindowClientHeight ORDER BY PageViews DESC LIMIT 10 OFFSET 10000", "WindowClientWidth, WindowClientHeight"},
	{"SELECT DATE_TRUNC('minute', EventTime) AS M, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-14' AND EventDate <= '2013-07-15' AND IsRefresh = 0 AND DontCountHits = 0 GROUP BY DATE_TRUNC('minute', EventTime) ORDER BY DATE_TRUNC('minute', EventTime) LIMIT 10 OFFSET 1000", ""},
}

// sums is the question with ninety sums.
func sums() string {
	list := []string{"SUM(ResolutionWidth)"}
	for i := range 89 {
		list = append(list, fmt.Sprint("SUM(ResolutionWidth + ", i+1, ")"))
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM hits"
}
