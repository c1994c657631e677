import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.TimeZone;

/**
 * What a program of Java, or a tool such as DBeaver, asks of a server by Arrow's JDBC driver.
 *
 * <p>Arguments: a URL of JDBC, with which all checks are run; further URLs, with which a client must be able to
 * connect; and URLs behind a !, with which it must not. The servers have the table flights of
 * tests/testdata/flights-2001.parquet. A line is printed for each check, and the status is 1 if one fails.
 */
public final class Client {
  private interface Check {
    void run() throws Exception;
  }

  private final String url;
  private final Connection connection;

  private Client(String url) throws SQLException {
    this.url = url;
    this.connection = DriverManager.getConnection(url);
  }

  public static void main(String[] args) throws Exception {
    TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
    Client client = new Client(args[0]);
    int failed = 0;
    for (Map.Entry<String, Check> check : client.checks().entrySet()) {
      failed += check(check.getKey(), check.getValue());
    }
    for (String url : Arrays.asList(args).subList(1, args.length)) {
      failed += check(url, url.startsWith("!") ? () -> refused(url.substring(1)) : () -> connect(url));
    }
    try {
      client.connection.close();
    } catch (SQLException e) { // something was not closed
      failed++;
      System.out.println("FAILED close: " + e + " " + e.getCause());
    }
    System.exit(failed == 0 ? 0 : 1);
  }

  private Map<String, Check> checks() {
    Map<String, Check> all = new LinkedHashMap<>();
    all.put("example", this::example);
    all.put("types", this::types);
    all.put("nulls", this::nulls);
    all.put("lists", this::lists);
    all.put("parameters", this::parameters);
    all.put("metadata", this::metadata);
    all.put("browser", this::browser);
    all.put("names", this::names);
    all.put("errors", this::errors);
    all.put("maxRows", this::maxRows);
    all.put("together", this::together);
    all.put("cancel", this::cancel);
    all.put("closing", this::closing);
    all.put("large", this::large);
    all.put("drop", this::drop);
    return all;
  }

  /** Returns 1 if the check fails, else 0. */
  private static int check(String name, Check check) {
    try {
      check.run();
      System.out.println("ok " + name);
      return 0;
    } catch (Throwable e) {
      System.out.println("FAILED " + name + ": " + e);
      e.printStackTrace(System.out);
      return 1;
    }
  }

  private static void connect(String url) throws SQLException {
    try (Connection c = DriverManager.getConnection(url); Statement s = c.createStatement();
        ResultSet r = s.executeQuery("SELECT count(*) FROM flights")) {
      same(true, r.next(), "a row");
    }
  }

  private static void refused(String url) {
    try {
      connect(url);
    } catch (SQLException e) {
      return;
    }
    throw new AssertionError("there was no error");
  }

  private static void same(Object want, Object got, String what) {
    if (!Objects.equals(want, got)) {
      throw new AssertionError(what + ": want " + want + ", got " + got + (got == null ? "" : " of " + got.getClass()));
    }
  }

  /** Returns the values of all rows, as objects, and closes the result. */
  private static List<List<Object>> rows(ResultSet r) throws SQLException {
    try (r) {
      List<List<Object>> all = new ArrayList<>();
      int columns = r.getMetaData().getColumnCount();
      while (r.next()) {
        List<Object> row = new ArrayList<>();
        for (int i = 1; i <= columns; i++) {
          row.add(r.getObject(i));
        }
        all.add(row);
      }
      return all;
    }
  }

  private List<List<Object>> query(String sql) throws SQLException {
    try (Statement s = connection.createStatement()) {
      return rows(s.executeQuery(sql));
    }
  }

  private void example() throws SQLException {
    try (PreparedStatement s = connection.prepareStatement(
        "SELECT origin, count(*) AS flights, avg(delay) AS mean FROM flights WHERE distance > ? GROUP BY origin ORDER BY flights DESC LIMIT 3")) {
      s.setInt(1, 1000);
      try (ResultSet r = s.executeQuery()) {
        int rows = 0;
        while (r.next()) {
          same(true, r.getLong("flights") > 0, "flights of " + r.getString("origin"));
          same(false, Double.isNaN(r.getDouble("mean")), "mean");
          rows++;
        }
        same(3, rows, "rows");
      }
    }
  }

  /** A value of each type that results have, by its getter and as an object. */
  private void types() throws SQLException {
    try (Statement s = connection.createStatement();
        ResultSet r = s.executeQuery("SELECT true AS b, 1::TINYINT AS i8, 2::SMALLINT AS i16, 3::INTEGER AS i32, 4::BIGINT AS i64,"
            + " 255::UTINYINT AS u8, 65535::USMALLINT AS u16, 4294967295::UINTEGER AS u32, 18446744073709551615::UBIGINT AS u64,"
            + " 1.5::REAL AS f32, 2.5::DOUBLE AS f64, 1.25::DECIMAL(4, 2) AS d4, 123456.789::DECIMAL(12, 3) AS d12,"
            + " 12345678901234567890.5::DECIMAL(30, 1) AS d30, 'héllo' AS s, 'ab'::BLOB AS bin,"
            + " DATE '2001-02-03' AS day, TIME '04:05:06.123456' AS t, TIMESTAMP '2001-02-03 04:05:06.123456' AS ts,"
            + " TIMESTAMPTZ '2001-02-03 04:05:06+02:00' AS tz, '99999999999999999999999999999999999999'::HUGEINT AS huge")) {
      same(true, r.next(), "a row");
      same(true, r.getBoolean("b"), "b");
      same((byte) 1, r.getByte("i8"), "i8");
      same((short) 2, r.getShort("i16"), "i16");
      same(3, r.getInt("i32"), "i32");
      same(4L, r.getLong("i64"), "i64");
      same(255, r.getInt("u8"), "u8");
      same(65535, r.getInt("u16"), "u16");
      same(4294967295L, r.getLong("u32"), "u32");
      same("18446744073709551615", r.getString("u64"), "u64");
      same(1.5f, r.getFloat("f32"), "f32");
      same(2.5, r.getDouble("f64"), "f64");
      same(new BigDecimal("1.25"), r.getBigDecimal("d4"), "d4");
      same(new BigDecimal("123456.789"), r.getBigDecimal("d12"), "d12");
      same(new BigDecimal("12345678901234567890.5"), r.getBigDecimal("d30"), "d30");
      same("héllo", r.getString("s"), "s");
      same("ab", new String(r.getBytes("bin"), StandardCharsets.UTF_8), "bin");
      same(Date.valueOf("2001-02-03"), r.getDate("day"), "day");
      same(true, r.getTime("t").toString().startsWith("04:05:06"), "t");
      same(Timestamp.valueOf("2001-02-03 04:05:06.123456"), r.getTimestamp("ts"), "ts");
      same(Timestamp.valueOf("2001-02-03 02:05:06").getTime(), r.getTimestamp("tz").getTime(), "tz");
      same("99999999999999999999999999999999999999", r.getBigDecimal("huge").toBigInteger().toString(), "huge");
      ResultSetMetaData m = r.getMetaData();
      for (int i = 1; i <= m.getColumnCount(); i++) {
        if (m.getColumnType(i) != Types.TIMESTAMP_WITH_TIMEZONE) { // of which the driver makes no objects
          same(true, r.getObject(i) != null, m.getColumnName(i) + " as an object");
        }
        same(true, r.getString(i) != null, m.getColumnName(i) + " as a string");
        same(true, m.getColumnTypeName(i) != null, "the type of " + m.getColumnName(i));
      }
      same(Types.BOOLEAN, m.getColumnType(1), "type of b");
      same(Types.BIGINT, m.getColumnType(5), "type of i64");
      same(Types.DECIMAL, m.getColumnType(12), "type of d4");
      same(4, m.getPrecision(12), "precision of d4");
      same(2, m.getScale(12), "scale of d4");
      same(Types.VARCHAR, m.getColumnType(15), "type of s");
      same(Types.DATE, m.getColumnType(17), "type of day");
      same(Types.TIMESTAMP, m.getColumnType(19), "type of ts");
      same("huge", m.getColumnLabel(21), "label of huge");
      same(false, r.next(), "another row");
    }
  }

  private void nulls() throws SQLException {
    String[] types = {
      "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "REAL", "DOUBLE",
      "DECIMAL(4, 2)", "DECIMAL(38, 2)", "VARCHAR", "BLOB", "DATE", "TIME", "TIMESTAMP", "HUGEINT"
    };
    for (String type : types) {
      try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery("SELECT NULL::" + type + " AS x, NULL AS y")) {
        same(true, r.next(), type);
        same(null, r.getObject(1), type + " as an object");
        same(null, r.getString(1), type + " as a string");
        same(true, r.wasNull(), type + " was NULL");
        same(null, r.getObject(2), "NULL as an object");
      }
    }
  }

  private void lists() throws SQLException {
    try (Statement s = connection.createStatement();
        ResultSet r = s.executeQuery("SELECT origin, list(DISTINCT destination) AS there, list(delay) FILTER (WHERE delay > 9000) AS none,"
            + " max(delay, 3) AS worst FROM flights GROUP BY origin ORDER BY origin LIMIT 1")) {
      same(true, r.next(), "a row");
      Array there = r.getArray("there");
      same(true, ((Object[]) there.getArray()).length > 0, "a list");
      same(null, r.getArray("none"), "a NULL list");
      same(3, ((Object[]) r.getArray("worst").getArray()).length, "worst");
      same(true, r.getObject(4) != null, "a list as an object");
    }
  }

  private Object one(String sql, Setter setter) throws SQLException {
    try (PreparedStatement s = connection.prepareStatement(sql)) {
      setter.set(s);
      try (ResultSet r = s.executeQuery()) {
        same(true, r.next(), sql);
        Object value = r.getObject(1);
        same(false, r.next(), sql);
        return value;
      }
    }
  }

  private interface Setter {
    void set(PreparedStatement s) throws SQLException;
  }

  private void parameters() throws SQLException {
    same(42, one("SELECT ?::INTEGER", s -> s.setInt(1, 42)), "setInt");
    same(1L << 40, one("SELECT ?::BIGINT", s -> s.setLong(1, 1L << 40)), "setLong");
    same(7L, one("SELECT ?::BIGINT", s -> s.setInt(1, 7)), "setInt for a BIGINT");
    same("it's", one("SELECT ?::VARCHAR", s -> s.setString(1, "it's")), "setString");
    same("it's", one("SELECT ?", s -> s.setString(1, "it's")), "setString without a type");
    same(2.5, one("SELECT ?::DOUBLE", s -> s.setDouble(1, 2.5)), "setDouble");
    same(1.5, one("SELECT ?::REAL", s -> s.setFloat(1, 1.5f)), "setFloat");
    same(true, one("SELECT ?::BOOLEAN", s -> s.setBoolean(1, true)), "setBoolean");
    same("2001-02-03", one("SELECT ?::DATE", s -> s.setDate(1, Date.valueOf("2001-02-03"))).toString(), "setDate");
    same(Timestamp.valueOf("2001-02-03 04:05:06"),
        one("SELECT ?::TIMESTAMP", s -> s.setTimestamp(1, Timestamp.valueOf("2001-02-03 04:05:06"))), "setTimestamp");
    same("04:05:06", one("SELECT ?::TIME", s -> s.setTime(1, Time.valueOf("04:05:06"))).toString(), "setTime");
    same(new BigDecimal("12.50"), one("SELECT ?::DECIMAL(10, 2)", s -> s.setBigDecimal(1, new BigDecimal("12.50"))), "setBigDecimal");
    same(null, one("SELECT ?::INTEGER", s -> s.setNull(1, Types.INTEGER)), "setNull");
    same(null, one("SELECT ?::VARCHAR", s -> s.setNull(1, Types.VARCHAR)), "setNull of a string");
    same("ab", new String((byte[]) one("SELECT ?::BLOB", s -> s.setBytes(1, new byte[] {'a', 'b'})), StandardCharsets.UTF_8), "setBytes");
    Object flights = query("SELECT count(*) FROM flights WHERE origin = 'ORD' AND delay > 10").get(0).get(0);
    same(flights, one("SELECT count(*) FROM flights WHERE origin = ? AND delay > ?", s -> {
      s.setString(1, "ORD");
      s.setInt(2, 10);
    }), "two parameters");
    try (PreparedStatement s = connection.prepareStatement("SELECT count(*) FROM flights WHERE origin = ?")) {
      same(1, s.getParameterMetaData().getParameterCount(), "parameters");
      same(Types.VARCHAR, s.getParameterMetaData().getParameterType(1), "type of a parameter");
      for (String origin : new String[] {"ORD", "ATL", "nowhere"}) { // once more with other values
        s.setString(1, origin);
        same(query("SELECT count(*) FROM flights WHERE origin = '" + origin + "'"), rows(s.executeQuery()), origin);
      }
    }
  }

  private void fails(String sql, String... parts) throws SQLException {
    try {
      query(sql);
    } catch (SQLException e) {
      for (String part : parts) {
        if (!e.getMessage().contains(part)) {
          throw new AssertionError(sql + ": " + e.getMessage() + " does not contain " + part);
        }
      }
      same(List.of(List.of(1)), query("SELECT 1"), "after an error");
      return;
    }
    throw new AssertionError(sql + ": there was no error");
  }

  private void errors() throws SQLException {
    fails("selec", "selec");
    fails("SELECT nope FROM flights", "nope");
    fails("SELECT count(*) FROM nope", "nope");
    fails("SELECT 1::TINYINT + x FROM (SELECT 'a'::TINYINT AS x)", "a");
    fails("SELECT * FROM '/etc/passwd'", "--allow-files");
    fails("INSERT INTO flights VALUES (1)", "INSERT");
    fails("", "");
    try {
      DriverManager.getConnection("jdbc:arrow-flight-sql://localhost:1/?useEncryption=false").createStatement().executeQuery("SELECT 1");
      throw new AssertionError("no server: there was no error");
    } catch (SQLException e) {
      same(true, e.getMessage() != null, "no server");
    }
  }

  private void metadata() throws SQLException {
    DatabaseMetaData m = connection.getMetaData();
    same("mpga", m.getDatabaseProductName(), "product");
    same(true, m.getDatabaseProductVersion() != null, "version");
    same(true, m.getURL().startsWith("jdbc:arrow-flight"), "URL: " + m.getURL());
    same("\"", m.getIdentifierQuoteString(), "quotes");
    same(true, m.getSQLKeywords().contains("ROLLUP"), "keywords");
    for (String functions : new String[] {
      m.getNumericFunctions(), m.getStringFunctions(), m.getSystemFunctions(), m.getTimeDateFunctions()
    }) {
      same(false, functions.isEmpty(), "functions");
    }
    same("catalog", m.getCatalogTerm(), "term");
    same("\\", m.getSearchStringEscape(), "escape");
    same(true, m.supportsGroupBy(), "GROUP BY");
    same(false, m.supportsTransactions(), "transactions");
    same(false, m.supportsBatchUpdates(), "batches of updates");
    same(true, m.supportsOuterJoins(), "outer joins");
    same(true, m.supportsFullOuterJoins(), "full outer joins");
    same(true, m.supportsCorrelatedSubqueries(), "correlated subqueries");
    same(true, m.supportsSubqueriesInIns(), "subqueries of IN");
    same(true, m.supportsUnion(), "UNION");
    same(true, m.supportsUnionAll(), "UNION ALL");
    same(false, m.isReadOnly(), "read only");
    same(List.of(List.of("mpga")), rows(m.getCatalogs()), "catalogs");
    same(2, rows(m.getSchemas()).size(), "schemas");
    same(List.of(List.of("main", "mpga")), rows(m.getSchemas("mpga", "ma%")), "schemas by a pattern");
    same(List.of(List.of("TABLE"), List.of("LOCAL TEMPORARY")), rows(m.getTableTypes()), "types of tables");
    same(1, rows(m.getTables(null, null, "fl%", null)).size(), "tables");
    same(1, rows(m.getTables("mpga", "main", "flights", new String[] {"TABLE", "VIEW"})).size(), "tables by type");
    same(0, rows(m.getTables("mpga", "main", "flights", new String[] {"VIEW"})).size(), "views");
    same(0, rows(m.getTables("other", null, "%", null)).size(), "tables of another catalog");
    same(0, rows(m.getTables(null, null, "fl\\_ghts", null)).size(), "an escaped pattern");
    List<String> columns = new ArrayList<>();
    try (ResultSet r = m.getColumns("mpga", "main", "flights", "%")) {
      while (r.next()) {
        columns.add(r.getString("COLUMN_NAME") + " " + r.getString("TYPE_NAME") + " " + r.getInt("DATA_TYPE") + " "
            + r.getInt("ORDINAL_POSITION") + " " + r.getString("IS_NULLABLE"));
      }
    }
    same(true, columns.contains("origin VARCHAR 12 4 YES") && columns.contains("date TIMESTAMP 93 1 YES"), "columns: " + columns);
    rows(m.getTypeInfo()); // the driver does not ask the server, and has no rows
  }

  /** What tools that show databases ask when they connect and when a table is opened. */
  private void browser() throws SQLException {
    DatabaseMetaData m = connection.getMetaData();
    same(0, rows(m.getPrimaryKeys("mpga", "main", "flights")).size(), "primary keys");
    same(0, rows(m.getImportedKeys("mpga", "main", "flights")).size(), "imported keys");
    same(0, rows(m.getExportedKeys("mpga", "main", "flights")).size(), "exported keys");
    same(0, rows(m.getCrossReference("mpga", "main", "flights", "mpga", "main", "flights")).size(), "cross reference");
    for (Check c : new Check[] {
      () -> m.getIndexInfo("mpga", "main", "flights", false, true), () -> m.getProcedures(null, null, null),
      () -> m.getFunctions(null, null, null), () -> m.getUDTs(null, null, null, null),
      () -> m.getBestRowIdentifier("mpga", "main", "flights", DatabaseMetaData.bestRowSession, true),
      () -> m.getTablePrivileges("mpga", "main", "flights"), () -> m.getSuperTables(null, null, null)
    }) {
      try {
        c.run();
      } catch (SQLException e) {
        same(true, e.getMessage() != null, "a message"); // tools go on without
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }
    same(true, connection.isValid(5), "valid");
    same(false, connection.isClosed(), "closed");
    same(true, connection.getAutoCommit(), "autocommit");
    connection.setAutoCommit(true);
    connection.getCatalog();
    connection.getSchema();
    connection.isReadOnly();
    connection.clearWarnings();
    same(null, connection.getWarnings(), "warnings");
    try (Statement s = connection.createStatement()) {
      s.setFetchSize(200);
      s.setMaxRows(200);
      same(true, s.execute("SELECT x.* FROM mpga.main.flights x"), "a result");
      same(200, rows(s.getResultSet()).size(), "rows");
      same(false, s.getMoreResults() || s.getUpdateCount() > 0, "more results");
    }
  }

  private void names() throws SQLException {
    Object n = query("SELECT count(*) FROM flights").get(0).get(0);
    for (String from : new String[] {
      "main.flights", "mpga.main.flights", "\"mpga\".\"main\".\"flights\"", "\"flights\"", "FLIGHTS", "Main.Flights x", "flights AS \"A b\""
    }) {
      same(n, query("SELECT count(*) FROM " + from).get(0).get(0), from);
    }
    Object day = query("SELECT origin FROM flights ORDER BY origin LIMIT 1").get(0).get(0);
    for (String sql : new String[] {
      "SELECT flights.origin FROM main.flights ORDER BY 1 LIMIT 1", "SELECT x.\"origin\" FROM mpga.main.flights x ORDER BY 1 LIMIT 1",
      "SELECT \"flights\".\"origin\" FROM \"mpga\".\"main\".\"flights\" ORDER BY 1 LIMIT 1"
    }) {
      same(day, query(sql).get(0).get(0), sql);
    }
    same(3, query("SELECT x.* FROM flights x LIMIT 3").size(), "rows");
  }

  private void maxRows() throws SQLException {
    for (int most : new int[] {1, 2000, 5000, 0}) {
      try (Statement s = connection.createStatement()) {
        s.setMaxRows(most);
        same(most == 0 ? 5001 : most, rows(s.executeQuery("SELECT origin FROM flights LIMIT 5001")).size(), "rows");
      }
    }
  }

  /** Several results at once, and several threads, on one connection. */
  private void together() throws Exception {
    try (Statement a = connection.createStatement(); Statement b = connection.createStatement();
        ResultSet x = a.executeQuery("SELECT origin FROM flights"); ResultSet y = b.executeQuery("SELECT distance FROM flights")) {
      for (int i = 0; i < 5000; i++) {
        same(true, x.next() && y.next(), "rows of both");
      }
      same(List.of(List.of(1)), query("SELECT 1"), "a third");
    }
    List<Throwable> errors = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      int n = i;
      Thread t = new Thread(() -> {
        try {
          for (int k = 0; k < 5; k++) {
            same(List.of(List.of(n)), query("SELECT " + n), "thread");
          }
        } catch (Throwable e) {
          synchronized (errors) {
            errors.add(e);
          }
        }
      });
      threads.add(t);
      t.start();
    }
    for (Thread t : threads) {
      t.join();
    }
    same(List.of(), errors, "errors");
  }

  /** Another thread cancels a statement whose rows are taken slowly. */
  private void cancel() throws Exception {
    try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery("SELECT origin, destination, delay, distance FROM flights")) {
      same(true, r.next(), "a row");
      List<Throwable> errors = new ArrayList<>();
      Thread t = new Thread(() -> {
        try {
          s.cancel();
        } catch (Throwable e) {
          errors.add(e);
        }
      });
      t.start();
      t.join();
      same(List.of(), errors, "errors of cancel");
      try {
        while (r.next()) {}
        throw new AssertionError("all rows came");
      } catch (SQLException e) {
        same(true, e.getMessage().contains("cancel"), e.getMessage());
      }
    }
    same(List.of(List.of(1)), query("SELECT 1"), "after cancelling");
  }

  private void closing() throws SQLException {
    Connection other = DriverManager.getConnection(url);
    Statement s = other.createStatement();
    ResultSet r = s.executeQuery("SELECT origin FROM flights");
    same(true, r.next(), "a row");
    r.close(); // before all rows were read
    s.close();
    other.close();
    same(true, other.isClosed(), "closed");
    try (Connection c = DriverManager.getConnection(url, new Properties()); PreparedStatement p = c.prepareStatement("SELECT 1")) {
      p.executeQuery().close();
      p.close();
    }
  }

  /** A session has no tables until its client sends some, which JDBC cannot: that a table is missing is an error. */
  private void drop() throws SQLException {
    try (Statement s = connection.createStatement()) {
      same(0, s.executeUpdate("DROP TABLE IF EXISTS mine"), "rows");
      same(false, s.execute("DROP TABLE IF EXISTS mine"), "a result");
      try {
        s.executeUpdate("DROP TABLE mine");
        throw new AssertionError("there was no error");
      } catch (SQLException e) {
        same(true, e.getMessage().contains("no table mine"), e.getMessage());
      }
    }
  }

  private void large() throws SQLException {
    long sum = 0, n = 0;
    try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery("SELECT distance, origin, destination FROM flights")) {
      while (r.next()) {
        sum += r.getLong(1);
        n++;
      }
    }
    List<Object> want = query("SELECT sum(distance)::BIGINT, count(*) FROM flights").get(0);
    same(want, List.of(sum, n), "sum and count");
  }
}
