//go:build cgo

package plan_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// rewritten says whether -rewrite is given, a flag of datadriven's.
func rewritten() bool { return flag.Lookup("rewrite").Value.String() == "true" }

// docsFile is written of the functions there are, by go test -run TestDocs -rewrite.
const docsFile = "../../docs/sql.md"

// docsIntro stands in front of the functions. Its statements are run over docsTable.
const docsIntro = `# SQL

` + "`mpga sql`" + ` answers a SELECT over tables and their joins. The text is parsed by PostgreSQL's own parser; what it means, types
and NULLs included, is what DuckDB 2.0.0 says it means. [tests/SEMANTICS.md](../tests/SEMANTICS.md) lists where the two differ.

    SELECT [DISTINCT [ON (expression, ...)]] expression [AS name], ... | * [EXCLUDE (name, ...)] [REPLACE (expression AS name, ...)] [RENAME (name AS name, ...)]
    FROM 'files.parquet' | read_csv('x.csv', delim = ';') | read_json('x') | read_parquet(['x', 'y']) | delta_scan('x') | iceberg_scan('x') | table | (SELECT ...)
         [, ... | [ASOF] [INNER | LEFT | RIGHT | FULL | SEMI | ANTI] JOIN ... ON condition | USING (name, ...) | NATURAL JOIN ... | CROSS JOIN ...]
         [, unnest(list) [AS t(name)]] [TABLESAMPLE sample]
    [WHERE condition]
    [GROUP BY expression | number | name | ALL | ROLLUP (...) | CUBE (...) | GROUPING SETS (...)]
    [HAVING condition]
    [WINDOW name AS (...), ...]
    [QUALIFY condition]
    [UNION [ALL] [BY NAME] | INTERSECT [ALL] | EXCEPT [ALL] SELECT ...]
    [USING SAMPLE sample]
    [ORDER BY expression | number | name | ALL [ASC | DESC] [NULLS FIRST | NULLS LAST]]
    [LIMIT n | n% | n PERCENT | (SELECT ...)] [OFFSET n | (SELECT ...)]

A statement may begin with FROM: ` + "`FROM t SELECT a`" + `, or ` + "`FROM t`" + ` for all columns. VALUES is a statement, too: ` + "`VALUES (1, 'a'), (2, 'b')`" + `, whose
columns are col0 and col1 unless names stand behind it, as in ` + "`FROM (VALUES (1), (2)) AS v(n)`" + `, or ` + "`FROM VALUES (1), (2) v(n)`" + `.
` + "`FROM range(3)`" + ` is a table of the integers 0, 1 and 2, ` + "`range(first, stop, step)`" + `
of others before stop, and ` + "`generate_series`" + ` has stop, too; the arguments may be times and an interval, and columns of the tables before: ` + "`FROM t, range(t.n)`" + `.
` + "`FROM rollup('state', by = ['key', ...], filter = 'condition')`" + ` has the groups of a [roll-up](rollups.md),
by some of its keys, where a condition of the keys is true; GROUP BY of its keys, with aggregates of its query, says the same.

- A table is files in single quotes, with wildcards or without (a single one in the folder
  at hand also as in ` + "`FROM flights.parquet`" + `), a name given by ` + "`--table name=path`" + `, a
  statement in parentheses, or the name of one in front: ` + "`WITH name AS (SELECT ...)`" + `.
  Where several tables are one of WITH that does more than read, its rows are made once, and kept, on disk as far as memory is short; MATERIALIZED
  behind AS asks for it, NOT MATERIALIZED refuses it.
- ` + "`WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT * FROM t`" + `: the statement before the last UNION is
  the anchor, which gives the columns their names and types; the one behind it, the step, is asked again and again, and reads the rows of
  the iteration before as t, until an iteration has no rows. UNION leaves out rows that any iteration has had, UNION ALL leaves out none. The
  step may have joins, groups, windows, subqueries and a WITH of its own, and read t several times; LIMIT and ORDER BY of the whole stand
  behind the SELECT that reads t. The rows of an iteration, and of UNION all rows, are kept, on disk as far as memory is short. A table
  that the step joins with t is read and hashed once, if it is likely to fit the memory, and in each iteration otherwise. More than
  ` + "`--max-recursion`" + ` iterations (1,000,000; ` + "`limits: recursion`" + ` of a job, max_recursion in Python) are an error. The step and the anchor
  may use columns of a statement around them; a subquery in the step may then not read t, nor the step have aggregates without GROUP BY.
- ` + "`WITH RECURSIVE t(k, v) USING KEY (k, min(v)) AS (...)`" + ` keeps one row for each key: with the aggregate of a column over all rows that the
  iterations had, or, of a column that is not in the parentheses, with the last value; ` + "`count(*) AS n`" + ` is the value of the column n. The step
  reads the rows that the iteration before has changed as t, and all rows as ` + "`recurring.t`" + `; it ends when no row changes. The state is made of
  all rows in each iteration: thousands of iterations over a large state are slow.
- Behind commas tables have all pairs of their rows that WHERE leaves. INNER JOINs are made in an order that makes few rows. Parts of
  ON and WHERE that read one side are asked of its rows, and leave out files and row groups; equalities of the two sides, of any
  expressions, are looked up by their hashes. Inequalities of the two sides bound a value of the side that is kept, which is sorted by
  it: ` + "`a.x < b.y`" + `, ` + "`a.x BETWEEN b.lo AND b.hi`" + `; other conditions are asked of every pair: EXPLAIN tells how many these are, a run
  with 1e9 or more of them begins with a warning, and more than ` + "`--max-pairs`" + ` (1e12; ` + "`limits: pairs`" + ` of a job, max_pairs in Python) are an error. A NULL is equal to nothing. The side that
  is taken to be smaller is read first, and kept in memory; the reader of the other is asked for its keys, and leaves out row groups and rows; where it outgrows ` + "`--memory-limit`" + `, both sides are divided by their hashes, and go to disk as far as
  memory is short. SEMI has the rows of the left side with a partner, once each, and ANTI the rows without one. A name that several
  tables have is refused: write ` + "`t.name`" + `. USING and NATURAL have their columns once. A list is unnested before its table is
  joined: ` + "`FROM a, unnest(a.tags) AS u(tag), b`" + `. A FROM has 100 tables at most.
- ` + "`a ASOF JOIN b ON a.k = b.k AND a.t >= b.t`" + ` has, for each row of a, one row of b: the one with the nearest t, of the rows for
  which the condition is TRUE; any of them where several are as near. The condition has one inequality of the two sides (>=, >, <= or <) and
  any number of equalities, and conditions of other kinds but in RIGHT and FULL. USING (k, t) says a.t >= b.t of its last column. WHERE
  comes after.
- ` + "`a.f(b)`" + ` is ` + "`f(a, b)`" + `, where a is a column, a string, a call or another value: ` + "`name.upper().reverse()`" + `. The name of a table stands for
  a struct of its columns: ` + "`SELECT t FROM t`" + `; ` + "`s.*`" + ` has the fields of a struct s, and takes EXCLUDE, REPLACE and RENAME.
- UUID, BIT, TIMETZ and ` + "`ENUM('small', 'large')`" + ` are types, whose values results have as text; values of an ENUM are in the order of its words.
- Names keep the case they are written in; a column is found in another case where that leaves no choice.
- ` + "`a.b.c`" + ` is a field of a struct, as are ` + "`(a).b`" + ` and ` + "`a['b']`" + `; the result's column is named by its last part. ` + "`\"a.b\"`" + ` is a column of
  that name, which comes first in quotes, and the field without. Of a table that is named a, ` + "`a.b`" + ` is the column b, or else the field.
- ` + "`unnest(list)`" + ` makes a row of every element of a list, behind FROM or a table in it, or behind SELECT, where it also stands in
  GROUP BY and ORDER BY: ` + "`SELECT unnest(tags) AS tag, count(*) FROM 'x.parquet' GROUP BY tag`" + `. Rows without elements are left out,
  but behind LEFT JOIN: ` + "`FROM t LEFT JOIN unnest(tags) AS u(tag) ON true`" + `. ` + "`unnest(list, recursive := true)`" + ` has the elements of lists
  within lists, ` + "`max_depth := 2`" + ` of two levels. Behind SELECT ` + "`unnest(s)`" + ` of a struct has its fields as columns; with recursive and max_depth so
  have structs within lists and structs. A list may be of aggregates: ` + "`SELECT k, unnest(list(v)) FROM t GROUP BY k`" + `.
  Several behind SELECT go side by side, the shorter ones with NULL. WHERE leaves out row groups by the columns beside the list.
- Lists, structs and maps are values, which are compared, grouped, joined and ordered: element by element, field by field, a NULL within
  them last, a list before the longer ones that begin with it. ` + "`[a, b]`" + `, ` + "`{'a': 1}`" + `, ` + "`MAP {'k': 1}`" + `, ` + "`(a, b)`" + `, ` + "`x[1]`" + `, ` + "`x[2:-1]`" + `, ` + "`x[::-1]`" + `, ` + "`s.f`" + `,
  ` + "`m['k']`" + `, ` + "`x IN [1, 2]`" + `, lambdas as in ` + "`list_transform(l, lambda x: x + 1)`" + `, ` + "`[x + 1 for x in l if x > 0]`" + `, and the types
  ` + "`INTEGER[]`" + `, ` + "`STRUCT(a INTEGER)`" + `, ` + "`MAP(VARCHAR, INTEGER)`" + ` have the meaning of DuckDB's. [Their functions](#lists-structs-and-maps) are below.
- GROUP BY, WHERE, HAVING and ORDER BY know the names of the list behind SELECT; columns of that name come first, but
  not before a name that stands alone in ORDER BY, nor where there are groups and the column is no key.
- NULLs come last unless NULLS FIRST is written, whatever the direction.
- ` + "`ORDER BY s COLLATE NOCASE`" + ` orders strings without regard to case, NOACCENT without regard to accents, NFC by composed characters, and
  NOCASE.NOACCENT by both; C is the order of bytes, as without it. So does ` + "`s COLLATE NOCASE = t`" + ` compare them, with all comparisons, IN, BETWEEN and LIKE.
- An aggregate may have ` + "`FILTER (WHERE condition)`" + `, and stand in any expression: ` + "`sum(a) / count(*)`" + `.
- An aggregate in a subquery whose columns are all of the statement around is one of that statement's groups:
  ` + "`SELECT (SELECT max(t.a) - min(b) FROM u) FROM t`" + `. count_if, sem, geomean, favg, fsum, weighted_avg,
  arg_min_null, arg_max_null, json_group_array(x), json_group_object(key, x), regr_count, regr_avgx, regr_avgy, regr_sxx, regr_syy and
  regr_sxy are expressions of the aggregates below. product, mad, entropy, kurtosis_pop, histogram(x [, bins]), histogram_exact(x, bins), approx_top_k(x, n) and arg_min(x, y, n) are of the list of a group's values;
  quantile_cont(x, [0.1, 0.9]) is a list. So are avg of dates and times, and string_agg of values that are no strings. approx_quantile is quantile_disc. A row in
  parentheses stands in count: ` + "`count(DISTINCT (a, b))`" + `.
- DISTINCT stands in any aggregate, beside any others: ` + "`sum(DISTINCT x), list(DISTINCT y), median(z)`" + `. A list and string_agg have
  distinct values in ascending order; with ` + "`ORDER BY y DESC`" + ` in descending.
- ORDER BY stands in aggregates: ` + "`string_agg(s, ',' ORDER BY x DESC)`" + `, list, first, last, any_value, and mode,
  arg_min and arg_max, which take the first of equals. The rows are sorted for them, on disk where they do not fit, once for each
  order of a statement. quantile_cont and quantile_disc count from the greatest value on with ORDER BY their first argument DESC, as
  WITHIN GROUP has it, and take no other order. Other aggregates have one result in any order.
- In ROLLUP, CUBE and GROUPING SETS a number or a name of the list behind SELECT is a key of its own beside an expression that
  reads the same, and a constant is a key: ` + "`ROLLUP (x, 'all')`" + ` has the groups of x twice.
- Grouping sets read the table once. Where one of them has all keys and the aggregates can be put together of parts, the
  groups of the others are made of its groups.
- A statement behind FROM is read as it is answered; neither its groups nor its rows are held.
- A statement without groups, an order or a limit returns rows as threads have read them, in no order.
- WHERE leaves out files, row groups and pages by what it says of single columns, each branch of an OR included: comparisons,
  IN, BETWEEN, LIKE 'ab%', IS NULL, and comparisons of year(t), date_trunc(unit, t) and CAST(t AS DATE).
- A statement in parentheses stands in expressions of every clause: for the value of its only row, for a list of the values of its rows
  behind ARRAY, behind IN and
  NOT IN, EXISTS, and a comparison with ANY or ALL. It may use columns of the statement around it, and of the statements around that:
  ` + "`SELECT * FROM 'sales.parquet' s WHERE price > (SELECT avg(price) FROM 'sales.parquet' t WHERE t.store = s.store)`" + `. Such a statement
  is made once, for all values of these columns; an equality with each of them saves a second reading of the rows around it. Its LIMIT and
  OFFSET are of each of them, and not supported beside aggregates without GROUP BY; nor is DISTINCT over groups. Statements behind its
  FROM, in its WITH and of its set operations may use the columns, too, each by values of its own. In ON of an INNER JOIN it may read columns of
  both sides, and of one of them in other joins.
- A statement behind FROM may use columns of the tables before it, with LATERAL or without:
  ` + "`SELECT s.id, u.price FROM 'sales.parquet' s, LATERAL (SELECT price FROM 'sales.parquet' t WHERE t.store = s.store ORDER BY price DESC LIMIT 2) u`" + `.
  It is made once, for all values of these columns, behind a comma, CROSS, INNER or LEFT JOIN, and has LIMIT and OFFSET for each of them,
  but not beside aggregates without GROUP BY. VALUES and ` + "`unnest(list)`" + ` do so, too, here and in subqueries: ` + "`SELECT v FROM 'sales.parquet' s, (VALUES (s.id), (s.store)) t(v)`" + `.
- UNION, INTERSECT and EXCEPT put columns together by their places, and BY NAME by their names, where a column that a statement lacks is
  NULL. Without ALL each row is there once; with ALL INTERSECT has a row as often as both statements have it, and EXCEPT as often as the
  first has it more. Columns of different types get the type that holds both: text, where one is text. INTERSECT binds first.
  Rows that two statements have are found as groups of all their rows.
- Window functions stand behind SELECT, in ORDER BY and in QUALIFY, over rows or over groups:
  ` + "`sum(sum(price)) OVER (ORDER BY store)`" + `. A frame is ROWS, RANGE or GROUPS BETWEEN two bounds, perhaps with EXCLUDE; its offsets may be
  any expressions, and RANGE takes an interval beside a date. Without a frame it reaches from the first row of the partition to the last
  peer of the row. IGNORE NULLS stands in the parentheses: ` + "`lag(x IGNORE NULLS) OVER (ORDER BY y)`" + `, and so does an order of a
  function that has all rows of the partition: ` + "`list(x ORDER BY y) OVER (PARTITION BY z)`" + `. Rows are sorted by the partition and the
  order, on disk where they do not fit. A partition is held in memory, but for row_number, rank, dense_rank, and aggregates up
  to the current row.
- DISTINCT ON leaves the first row in the statement's order, of rows that are equal in its expressions.
- ` + "`COLUMNS('regular expression')`" + `, ` + "`COLUMNS(['name', ...])`" + ` and ` + "`COLUMNS(* EXCLUDE (...) RENAME (...))`" + ` stand for columns in an
  expression behind SELECT, which is made for each of them and named as the column is: ` + "`SELECT min(COLUMNS(*)) FROM t`" + `. A name behind
  it has ` + "`\\0`" + ` for the column's name and ` + "`\\1`" + ` for what the first group matches: ` + "`max(COLUMNS('^price_(.*)')) AS \"\\1\"`" + `. WHERE has it
  for all of the columns, and ORDER BY for one after the other. Several in one expression are the same; other clauses, FILTER and REPLACE
  are not supported. ` + "`COLUMNS(lambda c: c LIKE 'p%')`" + ` has the columns for whose names a condition is TRUE, as has ` + "`* LIKE 'p%'`" + `
  (NOT LIKE, ILIKE, SIMILAR TO). ` + "`greatest(*COLUMNS('^price'))`" + ` has all of them for arguments.
- UNPIVOT makes rows of columns: ` + "`UNPIVOT t ON jan, feb INTO NAME month VALUE sales`" + `, or behind a table
  ` + "`FROM t UNPIVOT [INCLUDE NULLS] (sales FOR month IN (jan, feb AS february)) [AS u]`" + `. Each of its expressions reads one column, and ON has
  COLUMNS and ` + "`* EXCLUDE (...)`" + `, too; the other columns stay. The table is read once.
- PIVOT makes columns of values: ` + "`PIVOT t ON month IN (1, 2 AS feb) USING sum(sales) AS s GROUP BY store`" + `, or behind a table
  ` + "`FROM t PIVOT (sum(sales) AS s FOR month IN (1, 2) GROUP BY store) [AS p]`" + `. Without GROUP BY all columns that are not read are keys;
  without USING it counts rows. Several expressions before USING have a column for each combination of their values. Without
  IN (...) the values are asked for first, by a reading of their own, also for EXPLAIN: all but NULL, in the order of their texts, and of
  ` + "`IN (SELECT ...)`" + ` in the order of its rows. FILTER
  in PIVOT is refused, as are several columns of values, and joins before ON; a statement in parentheses may have these.
- LIMIT and OFFSET take expressions of constants, or of subqueries: ` + "`LIMIT (SELECT max(n) FROM t)`" + `, where NULL is no limit. LIMIT n% has that share of the rows, OFFSET's included, rounded down; all rows are
  gathered before the first, on disk where they do not fit.
- A sample is ` + "`10%`" + `, ` + "`100 ROWS`" + ` or ` + "`100`" + `, perhaps with a method and a seed behind it, ` + "`10% (bernoulli, 42)`" + `, or else a method's call,
  ` + "`reservoir(100) REPEATABLE (42)`" + `. TABLESAMPLE is of the table before it, USING SAMPLE of all that stands behind FROM, before WHERE. A share
  (bernoulli, system, and by default) is decided row by row, by a hash of the row's place in the table and of the seed; a number of
  rows, and a reservoir's share, are the rows with the smallest hashes: exactly as many, on disk where they do not fit. With a seed the same
  files have the same sample, whatever the threads; rows of joins and groups have no places of their own, and may have another. Without a
  seed each run has a sample of its own, a prepared statement one for all its runs. The rows are read all, by one thread.
- A list may end in a comma: ` + "`SELECT a, b, FROM t`" + `. ` + "`(a, b) IN ((1, 2), (3, 4))`" + `, where a NULL is
  equal to another, ` + "`a = ANY([1, 2])`" + `, ` + "`a < ALL(list)`" + ` and ` + "`s SIMILAR TO 'a.*'`" + ` are conditions.
  DESCRIBE, SUMMARIZE and SHOW TABLES stand behind FROM, too, in parentheses: ` + "`SELECT column_name FROM (DESCRIBE t)`" + `, and in WITH. ` + "`SHOW t`" + ` is ` + "`DESCRIBE t`" + `.
- ` + "`n: a + 1`" + ` is ` + "`a + 1 AS n`" + `, and ` + "`FROM x: t`" + ` is ` + "`FROM t AS x`" + `. A name behind AS may stand in single quotes. ` + "`#2`" + ` is the second column of
  FROM, in ORDER BY of the result. Tables without a schema are in ` + "`main`" + `, and in ` + "`memory.main`" + `. ` + "`* EXCLUDE (t.a)`" + ` leaves out the column of t.
- Not supported: POSITIONAL joins.

read_csv takes delim (or sep), header, columns = {'name': 'TYPE', ...}, names = ['name', ...], types = {'name': 'TYPE', ...},
all_varchar, nullstr (a string or a list), quote, skip (lines before the header), sample_size (-1: all rows), dateformat, timestampformat,
decimal_separator, thousands, comment, encoding, null_padding, ignore_errors, union_by_name, filename and
hive_partitioning; escape, which is the quote or a backslash where none is given. read_json (or read_ndjson) takes columns, sample_size,
maximum_object_size,
union_by_name, filename and hive_partitioning; a type of columns may be nested, as 'STRUCT(id INT, tags VARCHAR[])';
read_parquet union_by_name, filename, file_row_number, hive_partitioning and trust_statistics (false for files whose writer got
minima, maxima, counts of NULLs or Bloom filters wrong). All take a list of files. delta_scan and iceberg_scan take the directory of a
table, version and as_of, iceberg_scan snapshot_from_id as well ([files.md](files.md#tables-of-delta-lake-and-iceberg)). Columns filename and, of Parquet and Arrow
files, file_row_number can be named without the option, too; SELECT * does not have them then. How files may differ is in
[files.md](files.md#files-that-differ).

DESCRIBE, SUMMARIZE and EXPLAIN stand in front of a table, a file in quotes, or a SELECT (EXPLAIN: of a SELECT alone):

    DESCRIBE 'flights.parquet'            the columns of a result: column_name, column_type, null, key, default, extra
    SUMMARIZE 'flights.parquet'           their values: column_name, column_type, min, max, approx_unique, avg, std, q25, q50, q75,
    SUMMARIZE SELECT ... | FROM t ...     count (of rows) and null_percentage, by one reading of the rows
    EXPLAIN SELECT ...                    the plan: a tree of operators, the last one first, as ` + "`--explain`" + ` draws it
    EXPLAIN ANALYZE SELECT ...            the same, when the SELECT has run, with rows, time, bytes and spills

COPY writes files, in ` + "`mpga sql`" + `, in ` + "`mpga shell`" + ` and in Python, and answers with their rows' Count:

    COPY (SELECT ...) | table [(name, ...)] | 'files.csv' TO 'file' [(option [value], ...)]
    COPY (SELECT * FROM 'flights.parquet') TO 'out' (FORMAT parquet, PARTITION_BY (origin), COMPRESSION zstd, OVERWRITE)

Its options are FORMAT (by the ending of the file where it is left out; a directory without one is parquet), PARTITION_BY,
MAX_ROWS_PER_FILE, MANIFEST, OVERWRITE (of a directory; a file is replaced anyway), COMPRESSION and COMPRESSION_LEVEL (of csv and
json the ending of the file says it, .gz or .zst), ROW_GROUP_SIZE, LAYOUT, DELIMITER and HEADER: they mean what they mean to ` + "`-o`" + `
([files.md](files.md)), so that files are there whole, or not at all. Other options are refused. There is no COPY FROM, and no
COPY in jobs, which have outputs, nor for clients of other servers, who write files themselves.

CREATE and DROP make and drop tables and views of a session: of ` + "`mpga shell`" + `, of a client of a server, of Python's process, and of
` + "`mpga sql`" + ` with several statements, whose result is the rows of the last:

    CREATE [OR REPLACE] [TEMP] TABLE [IF NOT EXISTS] name [(column, ...)] AS SELECT ... [WITH [NO] DATA]
    CREATE [OR REPLACE] [TEMP] VIEW [IF NOT EXISTS] name [(column, ...)] AS SELECT ...
    DROP TABLE | VIEW [IF EXISTS] name
    SHOW TABLES

A table's rows are made once: in memory up to ` + "`--table-memory`" + ` of all tables together, further ones in Arrow files of ` + "`--temp-dir`" + `, up to
` + "`--temp-limit`" + `. Its minima and maxima help to choose the order of joins. A view is its statement, which is bound anew wherever it is
read. Both are temporary, with TEMP and without, and gone when the session ends; a statement that reads a table which is
dropped reads it to its end. Names are found in any case of letters, in the schema ` + "`temp`" + `; a name that is taken is an error. Rows do not change: INSERT, UPDATE and DELETE are refused, and so are tables without a SELECT. A job's steps read one
another's outputs ([jobs.md](jobs.md)).

The columns of DESCRIBE, SUMMARIZE and EXPLAIN are DuckDB's, and so is what they say, but q25, q50 and q75 are exact (quantile_cont, as the type of the column), where
DuckDB approximates them, and approx_unique is exact up to 1,024 values. They are results like others: ` + "`-o`" + `, ` + "`--format`" + ` and jobs take
them. ` + "`mpga shell`" + ` runs statements as they are typed: [shell.md](shell.md).

Types: BOOLEAN, TINYINT, SMALLINT, INTEGER, BIGINT, HUGEINT (128 bits), their unsigned U... forms, FLOAT, DOUBLE,
DECIMAL(p, s) up to 38 digits, VARCHAR, BLOB, DATE, TIME, TIMESTAMP, TIMESTAMP WITH TIME ZONE, and
INTERVAL: ` + "`INTERVAL '1 month 2 days'`" + `, ` + "`INTERVAL 3 HOURS`" + `, and a unit for each row, as in
` + "`t + INTERVAL (n + 1) DAY`" + `, ` + "`t - to_months(n)`" + ` and ` + "`t + n * INTERVAL 10 MINUTES`" + `. A statement has one now(), as has each run
of a prepared one; tasks of mpga dist have none. CAST(x AS type) and x::type convert, TRY_CAST gives
NULL where that fails. Arithmetic that does not fit its type is an error.
`

// aggregateExamples are run over docsTable, which has the rows (x, y, s, b): (1, 10, 'a', true),
// (2, 30, 'b', true), (4, 20, 'b', false) and (NULL, 40, NULL, NULL).
var aggregateExamples = map[query.Func][2]string{
	query.CountStar: {"count(*)", "4"}, query.Count: {"count(x)", "3"}, query.Sum: {"sum(x)", "7"}, query.Min: {"min(s)", "a"}, query.Max: {"max(y)", "40"},
	query.Avg: {"avg(y)", "25.0"}, query.VarSamp: {"round(var_samp(x), 3)", "2.333"}, query.VarPop: {"round(var_pop(x), 3)", "1.556"},
	query.StddevSamp: {"round(stddev_samp(x), 3)", "1.528"}, query.StddevPop: {"round(stddev_pop(x), 3)", "1.247"},
	query.BoolAnd: {"bool_and(b)", "false"}, query.BoolOr: {"bool_or(b)", "true"}, query.BitAnd: {"bit_and(y)", "0"}, query.BitOr: {"bit_or(x)", "7"}, query.BitXor: {"bit_xor(x)", "7"},
	query.First: {"first(s)", "a"}, query.Last: {"last(y)", "40"}, query.AnyValue: {"any_value(s)", "a"}, query.CountDistinct: {"count(DISTINCT s)", "2"},
	query.ApproxCountDistinct: {"approx_count_distinct(s)", "2"}, query.Median: {"median(x)", "2.0"}, query.QuantileCont: {"quantile_cont(y, 0.5)", "25.0"},
	query.QuantileDisc: {"quantile_disc(y, 0.5)", "20"}, query.Mode: {"mode(s)", "b"}, query.Corr: {"round(corr(y, x), 3)", "0.327"}, query.CovarSamp: {"covar_samp(y, x)", "5.0"},
	query.CovarPop: {"round(covar_pop(y, x), 3)", "3.333"}, query.RegrSlope: {"round(regr_slope(y, x), 3)", "2.143"}, query.RegrIntercept: {"round(regr_intercept(y, x), 3)", "15.0"},
	query.RegrR2: {"round(regr_r2(y, x), 3)", "0.107"}, query.ArgMin: {"arg_min(s, x)", "a"}, query.ArgMax: {"arg_max(x, y)", "2"}, query.MinN: {"min(x, 2)", "[1,2]"},
	query.MaxN: {"max(y, 2)", "[40,30]"}, query.StringAgg: {"string_agg(s, '-')", "a-b-b"}, query.List: {"list(x)", "[1,2,4,null]"},
	query.Skewness: {"round(skewness(x), 3)", "0.935"}, query.Kurtosis: {"round(kurtosis(y), 3)", "-1.2"},
}

func docsTable() scan.Source {
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, {Name: "y", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}}, nil)
	build := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer build.Release()
	build.Field(0).(*array.Int32Builder).AppendValues([]int32{1, 2, 4, 0}, []bool{true, true, true, false})
	build.Field(1).(*array.Int32Builder).AppendValues([]int32{10, 30, 20, 40}, nil)
	build.Field(2).(*array.StringBuilder).AppendValues([]string{"a", "b", "b", ""}, []bool{true, true, true, false})
	build.Field(3).(*array.BooleanBuilder).AppendValues([]bool{true, true, false, false}, []bool{true, true, true, false})
	return scan.Batches(schema, []arrow.RecordBatch{build.NewRecordBatch()})
}

// docs is the text of the documentation.
func docs() string {
	var b strings.Builder
	b.WriteString(docsIntro)
	section := ""
	for _, f := range expr.Functions() {
		if f.Section != section {
			section = f.Section
			fmt.Fprintf(&b, "\n## %s\n\n| call | result | example |\n|---|---|---|\n", section)
		}
		usage := "`" + f.Usage + "`"
		for _, alias := range f.Aliases {
			if !strings.Contains(f.Usage, alias) {
				usage += ", `" + alias + "`"
			}
		}
		row(&b, usage, f.Help, f.Example, f.Result)
	}
	b.WriteString("\n## Aggregates\n\nThe examples are over the rows (x, y, s, b): (1, 10, 'a', true), (2, 30, 'b', true), (4, 20, 'b', false), (NULL, 40, NULL, NULL).\n" +
		"`GROUPING(a, b)` tells which keys a row's grouping set leaves out, a bit each.\n\n| call | result | example |\n|---|---|---|\n")
	for _, f := range query.Funcs() {
		e := aggregateExamples[f]
		row(&b, "`"+f.String()+"`", f.Help(), e[0], e[1])
	}
	b.WriteString("\n## Window functions\n\nEvery aggregate may stand before OVER, too; first, last and any_value take NULLs as first_value and last_value do.\n" +
		"The examples are of the row with y = 30, in the order of y.\n\n| call | result | example |\n|---|---|---|\n")
	for _, f := range windowExamples {
		row(&b, "`"+f[0]+"`", f[1], f[2], f[3])
	}
	return b.String()
}

// windowExamples are calls, what they are, and an example with its value in the row of docsTable where y is 30, by
// the order of y.
var windowExamples = [][4]string{
	{"row_number()", "the row's number in its partition, from 1 on", "row_number()", "3"},
	{"rank()", "the number of the first of its peers, the rows that are equal to it in the order", "rank()", "3"},
	{"dense_rank()", "the number of its peers among all peers", "dense_rank()", "3"},
	{"percent_rank()", "rank() - 1 by the number of other rows", "round(percent_rank(), 3)", "0.667"},
	{"cume_dist()", "the share of rows up to its last peer", "cume_dist()", "0.75"},
	{"ntile(n)", "which of n parts it is in, of as many rows as can be, the first parts larger", "ntile(2)", "2"},
	{"lag(x [, n [, default]])", "x of the row n rows before, 1 where n is not given; default, or NULL, where there is none", "lag(x)", "4"},
	{"lead(x [, n [, default]])", "the same of the row n rows behind", "lead(y, 1, 0)", "40"},
	{"first_value(x)", "x of the first row of the frame", "first_value(x)", "1"},
	{"last_value(x)", "x of the last row of the frame", "last_value(x)", "2"},
	{"nth_value(x, n)", "x of row n of the frame, from 1 on", "nth_value(x, 2)", "4"},
}

func row(b *strings.Builder, usage, help, example, result string) {
	fmt.Fprintf(b, "| %s | %s | `%s` = `%s` |\n", strings.ReplaceAll(usage, "|", `\|`), help, strings.ReplaceAll(example, "|", `\|`), result)
}

func TestDocs(t *testing.T) {
	if rewritten() {
		if err := os.WriteFile(docsFile, []byte(docs()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != docs() {
		t.Errorf("%s is not what the functions say: go test ./engine/plan -run TestDocs -rewrite", docsFile)
	}
	eng := openEngine(t)
	for _, f := range expr.Functions() {
		if got := one(t, eng, "SELECT CAST("+f.Example+" AS VARCHAR)"); got != f.Result {
			t.Errorf("%s is %s, the documentation says %s", f.Example, got, f.Result)
		}
	}
	for _, f := range query.Funcs() {
		e, ok := aggregateExamples[f]
		if !ok {
			t.Errorf("%s has no example", f)
			continue
		}
		text := "SELECT CAST(" + e[0] + " AS VARCHAR) FROM docs"
		if f == query.MinN || f == query.MaxN || f == query.List {
			text = "SELECT " + e[0] + " FROM docs"
		}
		if got := one(t, eng, text); got != e[1] {
			t.Errorf("%s is %s, the documentation says %s", e[0], got, e[1])
		}
	}
	for _, f := range windowExamples {
		call := strings.Replace(f[2], ")", ") OVER (ORDER BY y)", 1)
		if got := one(t, eng, "SELECT CAST("+call+" AS VARCHAR) FROM docs QUALIFY y = 30 AND row_number() OVER () > 0"); got != f[3] {
			t.Errorf("%s is %s, the documentation says %s", call, got, f[3])
		}
	}
}

func openEngine(t testing.TB) *engine.Engine {
	t.Helper()
	eng, err := engine.Open(engine.Options{Threads: 2, MemoryLimit: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	return eng
}

func prepare(eng *engine.Engine, text string, tables map[string]plan.Table) (*plan.Query, error) {
	return prepareWith(eng, text, plan.Options{Tables: tables})
}

func prepareWith(eng *engine.Engine, text string, opt plan.Options) (*plan.Query, error) {
	s, err := sql.Parse(text)
	if err != nil {
		return nil, err
	}
	return plan.Prepare(context.Background(), eng, s, opt)
}

// explained returns the plan of a statement as text.
func explained(eng *engine.Engine, text string, tables map[string]plan.Table) (string, error) {
	return explainedWith(eng, text, plan.Options{Tables: tables})
}

// ask returns the rows of a statement as text.
func ask(eng *engine.Engine, text string, tables map[string]plan.Table) ([][]string, error) {
	s, err := sql.Parse(text)
	if err != nil {
		return nil, err
	}
	return askOf(eng, s, plan.Options{Tables: tables})
}

// askOf returns the rows of a statement's result as texts.
func askOf(eng *engine.Engine, s *sql.Select, opt plan.Options) ([][]string, error) {
	ctx := context.Background()
	q, err := plan.Prepare(ctx, eng, s, opt)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	r, err := q.Run(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	return rowsOf(r)
}

// rowsOf returns the rows of a result as texts.
func rowsOf(r *plan.Result) (rows [][]string, err error) {
	for r.Next() {
		b := r.RecordBatch()
		for i := range int(b.NumRows()) {
			cells := make([]string, b.NumCols())
			for c := range cells {
				cells[c] = "NULL"
				if b.Column(c).IsValid(i) {
					cells[c] = strings.Clone(b.Column(c).ValueStr(i)) // which may point into the batch
				}
			}
			rows = append(rows, cells)
		}
	}
	return rows, r.Err()
}

// answers checks the rows of a statement, as text.
func answers(t *testing.T, eng *engine.Engine, tables map[string]plan.Table, text, want string) {
	t.Helper()
	rows, err := ask(eng, text, tables)
	checkRows(t, text, rows, err, want)
}

// answersInAnyOrder is answers of rows that no order is promised for: want has them sorted as text.
func answersInAnyOrder(t *testing.T, eng *engine.Engine, tables map[string]plan.Table, text, want string) {
	t.Helper()
	rows, err := ask(eng, text, tables)
	slices.SortFunc(rows, slices.Compare[[]string])
	checkRows(t, text, rows, err, want)
}

func checkRows(t *testing.T, text string, rows [][]string, err error, want string) {
	t.Helper()
	if got := fmt.Sprint(rows); err != nil || got != want {
		t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
	}
}

// one returns the only value of a statement.
func one(t *testing.T, eng *engine.Engine, text string) string {
	t.Helper()
	rows, err := ask(eng, text, map[string]plan.Table{"docs": {Source: docsTable()}})
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return ""
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		t.Errorf("%s: got %v", text, rows)
		return ""
	}
	return rows[0][0]
}
