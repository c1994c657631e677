"""Makes the folder of a table of hits of web sites, and of questions on its texts, for folder.py.

    web.py [--rows N] [--writer duckdb|pyarrow] FOLDER

Hosts, users, counters and regions are skewed; titles are in letters of two bytes; half of the URLs and of the
referrers that are not empty occur once; four fifths of the phrases are empty. The same numbers of rows give the
same table.
"""

import argparse
import pathlib

import duckdb
import numpy
import pyarrow
import pyarrow.parquet

WORDS = """скачать фильм онлайн бесплатно погода новости карта Москва квартира купить продажа авто форум игры
музыка Games видео работа рецепты отдых турция недвижимость фото дети школа Google книги часы одежда мода""".split()

QUESTIONS = """
users        SELECT AVG(UserID) FROM hits
phrases      SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY SearchPhrase LIMIT 10
phrasestime  SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime, SearchPhrase LIMIT 10
minurl       SELECT SearchPhrase, MIN(URL), count(*) AS c FROM hits WHERE URL LIKE '%google%' AND SearchPhrase <> '' GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10
minurltitle  SELECT SearchPhrase, MIN(URL), MIN(Title), count(*) AS c, count(DISTINCT UserID) FROM hits WHERE Title LIKE '%Google%' AND URL NOT LIKE '%.google.%' AND SearchPhrase <> '' GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10
titles62     SELECT Title, count(*) AS c FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND DontCountHits = 0 AND IsRefresh = 0 AND Title <> '' GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10
referurl62   SELECT Referer, URL, count(*) AS c FROM hits WHERE CounterID = 62 GROUP BY 1, 2 ORDER BY c DESC, 1, 2 LIMIT 20
referurl     SELECT Referer, URL, count(*) AS c FROM hits GROUP BY 1, 2 ORDER BY c DESC, 1, 2 LIMIT 20
phrasetitle  SELECT SearchPhrase, Title, count(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY 1, 2 ORDER BY c DESC, 1, 2 LIMIT 20
distinct2    SELECT count(*), count(DISTINCT UserID), count(DISTINCT Referer) FROM hits WHERE Title LIKE '%Games%' OR URL LIKE '%google%'
watch        SELECT WatchID, ClientIP, count(*) AS c, sum(IsRefresh), avg(ResolutionWidth) FROM hits GROUP BY 1, 2 ORDER BY c DESC, 1, 2 LIMIT 15
watchphrase  SELECT WatchID, ClientIP, count(*) AS c, sum(IsRefresh), avg(ResolutionWidth) FROM hits WHERE SearchPhrase <> '' GROUP BY 1, 2 ORDER BY c DESC, 1, 2 LIMIT 10
watchone     SELECT WatchID, count(*) AS c FROM hits GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10
lowertitle   SELECT lower(Title) AS t, count(*) AS c FROM hits WHERE lower(Title) LIKE '%games%' GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10
lowerurl     SELECT lower(URL) AS u, count(*) AS c FROM hits GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10
uppertitle   SELECT upper(Title) AS t, count(*) AS c FROM hits GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10
ilike        SELECT count(*) FROM hits WHERE Title ILIKE '%ИГРЫ%'
notlike      SELECT count(*), min(URL) FROM hits WHERE Title NOT LIKE '%Google%' AND Referer LIKE 'https://www.%'
notlikes     SELECT CounterID, count(*) AS c FROM hits WHERE URL NOT LIKE '%page%' AND Referer NOT LIKE '%google%' GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10
urlregion    SELECT RegionID, count(DISTINCT URL) AS u, count(*) FROM hits GROUP BY 1 ORDER BY u DESC, 1 LIMIT 10
urls         SELECT count(DISTINCT URL) FROM hits
referers     SELECT count(DISTINCT Referer), count(DISTINCT Title) FROM hits
days         SELECT EventDate, count(*), count(DISTINCT UserID), count(DISTINCT URL), count(DISTINCT SearchPhrase) FROM hits GROUP BY 1 ORDER BY 1
usersum      SELECT count(DISTINCT UserID), sum(UserID % 1000), count(*) FROM hits
three        SELECT count(DISTINCT UserID), count(DISTINCT ClientIP), count(DISTINCT SearchPhrase) FROM hits
modephrase   SELECT RegionID, mode(SearchPhrase) AS m, count(*) AS c FROM hits GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10
modephone    SELECT mode(MobilePhoneModel), mode(ResolutionWidth) FROM hits
modeurl      SELECT mode(URL) FROM hits WHERE CounterID < 200
quantile     SELECT EventDate, quantile_disc(URL, 0.5) FROM hits GROUP BY 1 ORDER BY 1
lengths      SELECT EventDate, AVG(LENGTH(URL)), AVG(LENGTH(Title)) FROM hits GROUP BY 1 ORDER BY 1
lengthreferer SELECT CounterID, AVG(LENGTH(Referer)) AS l, count(*) AS c FROM hits WHERE Referer <> '' GROUP BY 1 HAVING count(*) > 1000 ORDER BY l DESC LIMIT 25
avgcase      SELECT RegionID, AVG(CASE WHEN SearchPhrase <> '' THEN 1.0 ELSE 0 END) AS a, AVG(CASE WHEN URL LIKE 'https:%' THEN ResolutionWidth END) AS b, count(*) AS c FROM hits GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10
filters      SELECT EventDate, count(*) FILTER (Referer = ''), count(*) FILTER (SearchPhrase <> '' AND MobilePhoneModel <> ''), count(DISTINCT UserID) FILTER (IsRefresh = 0) FROM hits GROUP BY 1 ORDER BY 1
filterdistinct SELECT OS, count(DISTINCT UserID) FILTER (SearchPhrase <> '') AS a, count(DISTINCT SearchPhrase) FILTER (Age > 0) AS b, count(*) AS c FROM hits GROUP BY 1 ORDER BY c DESC, 1
hosts        SELECT regexp_replace(Referer, '^https?://(?:www\\.)?([^/]+)/.*$', '\\1') AS k, AVG(LENGTH(Referer)) AS l, count(*) AS c, MIN(Referer) FROM hits WHERE Referer <> '' GROUP BY 1 HAVING count(*) > 1000 ORDER BY l DESC LIMIT 25
splithost    SELECT split_part(URL, '/', 3) AS h, count(*) AS c, count(DISTINCT UserID) AS u FROM hits GROUP BY 1 ORDER BY c DESC, 1 LIMIT 20
urlone       SELECT URL, count(*) AS c FROM hits GROUP BY 1 ORDER BY c DESC, 1 LIMIT 10
userphrase   SELECT UserID, SearchPhrase, count(*) AS c FROM hits GROUP BY 1, 2 ORDER BY c DESC, 1, 2 LIMIT 10
userminute   SELECT UserID, extract(minute FROM EventTime) AS m, SearchPhrase, count(*) AS c FROM hits GROUP BY 1, 2, 3 ORDER BY c DESC, 1, 2, 3 LIMIT 10
phones       SELECT MobilePhone, MobilePhoneModel, count(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> '' GROUP BY 1, 2 ORDER BY u DESC, 1, 2 LIMIT 10
latest       SELECT EventTime, UserID, Title FROM hits ORDER BY EventTime DESC, WatchID LIMIT 10
toptime      SELECT WatchID, UserID, EventTime, URL FROM hits WHERE URL LIKE '%google%' ORDER BY EventTime, WatchID LIMIT 10
aggurl       SELECT CounterID, max(URL), min(Title), string_agg(DISTINCT MobilePhoneModel, ',' ORDER BY MobilePhoneModel) FROM hits WHERE CounterID < 100 GROUP BY 1 ORDER BY 1
"""


def numbers(rows):
    """Returns the columns of numbers from which SQL makes the table's."""
    draw = numpy.random.Generator(numpy.random.PCG64(20130701))

    def skewed(n, power):
        return (n * draw.random(rows) ** power).astype(numpy.int64)

    columns = {
        "second": numpy.sort(draw.integers(0, 31 * 86400, rows)),
        "watch": draw.integers(1 << 60, 1 << 62, rows),
        "user_number": skewed(rows // 7 + 1, 3),
        "counter": skewed(6000, 4),
        "region": skewed(5000, 3),
        "host": skewed(3000, 5),
        "page": numpy.where(draw.random(rows) < 0.5, draw.integers(0, 1 << 40, rows), skewed(20000, 4)),
        "refer": draw.random(rows),
        "refer_host": skewed(9000, 4),
        "refer_page": numpy.where(draw.random(rows) < 0.5, draw.integers(0, 1 << 40, rows), skewed(20000, 4)),
        "title": skewed(60000, 3),
        "title_kind": draw.random(rows),
        "phrase": skewed(rows // 12 + 1, 2),
        "phrase_kind": draw.random(rows),
        "phone": skewed(160, 3),
        "phone_kind": draw.random(rows),
        "ip": draw.integers(0, 1 << 16, rows),
        "width": draw.choice([0, 1024, 1280, 1366, 1368, 1440, 1600, 1638, 1750, 1920], rows),
    }
    for name in ("refresh", "links", "robots", "hidden", "age", "sex", "system", "agent", "engine", "income"):
        columns[name] = draw.integers(0, 100, rows)
    return pyarrow.table(columns)


def mixed(value, by):
    """Returns SQL of a number that looks random and follows from value alone."""
    return f"(((({value}) % 2147483647 + 1) * 1103515245 % 2147483647) * {by} % 2147483647 // 8)"


def words(seed, count):
    """Returns SQL of a text of some words that follows from seed."""
    return " || ' ' || ".join(f"words[1 + {mixed(seed, 48271 + 1000 * i)} % {len(WORDS)}]" for i in range(count))


TABLE = f"""
SELECT watch AS WatchID,
    CASE WHEN title_kind < 0.15 THEN '' ELSE {words('title', 4)} || ' - ' || {words('title + 7', 3)} ||
        CASE WHEN title % 50 = 0 THEN ' | Google Search' ELSE '' END END AS Title,
    (TIMESTAMP '2013-07-01' + to_seconds(second)) AS EventTime,
    (DATE '2013-07-01' + (second // 86400)::INTEGER) AS EventDate,
    counter::INTEGER AS CounterID,
    ({mixed('user_number * 31 + ip % 3', 69621)} - 1000000000)::INTEGER AS ClientIP,
    region::INTEGER AS RegionID,
    ({mixed('user_number', 69621)} * 2147483629 + user_number) AS UserID,
    CASE WHEN host % 3 = 0 THEN 'https://' ELSE 'http://' END || CASE WHEN host % 2 = 0 THEN 'www.' ELSE '' END ||
        'site' || host || CASE WHEN host % 97 = 3 THEN '.google.com' ELSE '.ru' END || '/' ||
        CASE WHEN page < 20000 THEN 'catalog/page' || page || '.html' ELSE 'item?id=' || page || '&from=' || refer_host % 7 END AS URL,
    CASE WHEN refer < 0.3 THEN '' ELSE
        CASE WHEN refer_host % 3 = 0 THEN 'https://' ELSE 'http://' END || CASE WHEN refer_host % 2 = 0 THEN 'www.' ELSE '' END ||
        CASE WHEN refer < 0.4 THEN 'google.com/search?q=' || phrase ELSE 'site' || refer_host || '.ru/' ||
        CASE WHEN refer_page < 20000 THEN 'list/' || refer_page ELSE 'item?id=' || refer_page END END END AS Referer,
    (refresh < 12)::SMALLINT AS IsRefresh,
    width::SMALLINT AS ResolutionWidth,
    (width * 3 // 4)::SMALLINT AS ResolutionHeight,
    CASE WHEN phone_kind < 0.95 THEN 0 ELSE 1 + phone % 90 END::SMALLINT AS MobilePhone,
    CASE WHEN phone_kind < 0.95 THEN '' ELSE words[1 + phone % 30] || ' ' || phone END AS MobilePhoneModel,
    CASE WHEN phrase_kind < 0.8 THEN 0 ELSE 1 + engine % 5 END::SMALLINT AS SearchEngineID,
    CASE WHEN phrase_kind < 0.8 THEN '' ELSE {words('phrase', 3)} || ' ' || phrase % 1000 END AS SearchPhrase,
    CASE WHEN engine < 97 THEN 0 ELSE engine % 20 END::SMALLINT AS AdvEngineID,
    (engine % 9 - 1)::SMALLINT AS TraficSourceID,
    (width - ip % 40)::SMALLINT AS WindowClientWidth,
    CASE WHEN age < 40 THEN 0 ELSE age END::SMALLINT AS Age,
    (sex % 3)::SMALLINT AS Sex,
    (income % 5)::SMALLINT AS Income,
    (robots % 30)::SMALLINT AS Robotness,
    (system % 45)::SMALLINT AS OS,
    (agent % 80)::SMALLINT AS UserAgent,
    (hidden < 3)::SMALLINT AS DontCountHits,
    (links < 8)::SMALLINT AS IsLink,
    CASE WHEN ip % 5 = 0 THEN 'http://go.site' || host || '.ru/' || page ELSE '' END AS OriginalURL,
    {mixed('page * 7 + host', 69621)} AS URLHash,
    {mixed('refer_page * 7 + refer_host', 69621)} AS RefererHash
FROM numbers, (SELECT {WORDS} AS words)
"""


def main():
    args = argparse.ArgumentParser(description="a table of hits and questions on its texts")
    args.add_argument("--rows", type=int, default=3_000_000)
    args.add_argument("--writer", choices=["duckdb", "pyarrow"], default="duckdb")
    args.add_argument("folder", type=pathlib.Path)
    args = args.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    peer = duckdb.connect()
    peer.register("numbers", numbers(args.rows))
    file = args.folder / "hits.parquet"
    if args.writer == "duckdb":
        peer.execute(f"COPY ({TABLE}) TO '{file}'")
    else:
        pyarrow.parquet.write_table(peer.sql(TABLE).to_arrow_table(), file)
    for line in QUESTIONS.strip().splitlines():
        name, statement = line.split(maxsplit=1)
        (args.folder / f"{name}.sql").write_text(statement + "\n")


if __name__ == "__main__":
    main()
