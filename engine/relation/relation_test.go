package relation_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/relation"
	"github.com/mpga/mpga/engine/sql"
)

func open(t *testing.T) *engine.Engine {
	t.Helper()
	eng, err := engine.Open(engine.Options{Threads: 1, Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = eng.Close() })
	return eng
}

// Would catch a call that makes another statement than its words in SQL: both have one plan.
func TestPlansOfSQL(t *testing.T) {
	eng := open(t)
	v := plan.Table{Source: table("city", "day", `[{"city": 1, "day": "Mon"}]`).Source}
	c := plan.Table{Source: table("id", "name", `[{"id": 1, "name": "Ulm"}]`).Source}
	visits, cities := relation.Table("v", v), relation.Table("c", c)
	joined := visits.Join(relation.Inner, cities, relation.Condition{})
	for text, rows := range map[string]relation.Rows{
		"SELECT * FROM v":                                      visits,
		"SELECT * FROM v WHERE city > 1":                       visits.Where("city > 1"),
		"SELECT * FROM v JOIN c ON v.city = c.id":              visits.Join(relation.Inner, cities, relation.Equal("v.city", "c.id")),
		"SELECT * FROM v FULL JOIN c ON city = id":             visits.Join(relation.Full, cities, relation.On("city = id")),
		"SELECT * FROM v RIGHT JOIN c ON city < id":            visits.Join(relation.Right, cities, relation.On("city < id")),
		"SELECT * FROM v SEMI JOIN c ON city = id":             visits.Join(relation.Semi, cities, relation.On("city = id")),
		"SELECT * FROM v ANTI JOIN c ON city = id":             visits.Join(relation.Anti, cities, relation.On("city = id")),
		"SELECT * FROM v, c":                                   joined,
		"SELECT * FROM v ASOF JOIN c ON city >= id":            visits.Join(relation.Inner, cities, relation.On("city >= id").Nearest()),
		"SELECT * FROM v a JOIN v b USING (city)":              visits.As("a").Join(relation.Inner, visits.As("b"), relation.Using("city")),
		"SELECT day FROM v UNION SELECT name FROM c":           visits.Select("day").Union(cities.Select("name")),
		"SELECT day FROM v INTERSECT SELECT name FROM c":       visits.Select("day").Intersect(cities.Select("name")),
		"SELECT * FROM v INTERSECT ALL SELECT * FROM c":        visits.IntersectAll(cities),
		"SELECT * FROM v EXCEPT ALL SELECT * FROM c":           visits.ExceptAll(cities),
		"SELECT day, sum(city) AS n FROM v GROUP BY day":       visits.GroupBy([]string{"day"}, "sum(city) AS n"),
		"SELECT * FROM (SELECT * FROM v ORDER BY day) LIMIT 3": visits.OrderBy("day").Limit(3),
		"SELECT *, lag(day, 2) OVER (PARTITION BY city ORDER BY day DESC ROWS 3 PRECEDING) AS b FROM v": visits.Window("b",
			relation.Window{Call: "lag(day, 2)", PartitionBy: []string{"city"}, OrderBy: []string{"day DESC"}, Frame: "ROWS 3 PRECEDING"}),
		"SELECT * FROM v JOIN (SELECT id, max(name) AS m FROM c GROUP BY id) g ON city = g.id WHERE m > 'a'": visits.
			Join(relation.Inner, cities.GroupBy([]string{"id"}, "max(name) AS m").As("g"), relation.On("city = g.id")).Where("m > 'a'"),
		"SELECT * FROM (SELECT city, day FROM v, c) WHERE city IN (SELECT id FROM c) EXCEPT SELECT * FROM v": joined.
			Select("city", "day").Where("city IN (SELECT id FROM c)").Except(visits),
	} {
		statement, err := sql.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		opt := plan.Options{Tables: map[string]plan.Table{"v": v, "c": c}}
		want, err := plan.Prepare(t.Context(), eng, statement, opt)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := rows.Prepare(t.Context(), eng, plan.Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		wantPlan, err := want.Explain(t.Context())
		gotPlan, gotErr := got.Explain(t.Context())
		if err := errors.Join(err, gotErr); err != nil {
			t.Fatal(err)
		}
		if wantPlan != gotPlan || !want.Schema().Equal(got.Schema()) {
			t.Errorf("%s: calls make\n%s%v\nwant\n%s%v", text, gotPlan, got.Schema(), wantPlan, want.Schema())
		}
		want.Close()
		got.Close()
	}
}

// Would catch a wrong call that is carried out, or whose error does not say which it is.
func TestWrongCalls(t *testing.T) {
	eng := open(t)
	visits, cities := tables()
	other := relation.Table("v", table("id", "name", `[]`))
	for _, c := range []struct {
		rows relation.Rows
		want string
	}{
		{relation.Rows{}, "begin with Table"},
		{visits.Where("city >"), "Where: where: syntax error"},
		{visits.Where("city > 1 ORDER BY day"), "Where: where: "},
		{visits.Where("nope > 1"), `column "nope" does not exist`},
		{visits.Select("city", "day FROM c"), "Select: agg: "},
		{visits.GroupBy([]string{"*"}, "count(*)"), "GroupBy: by: not supported: *"},
		{visits.OrderBy("day LIMIT 3"), "OrderBy: order-by: "},
		{visits.Window("w", relation.Window{Call: "day) + (city"}), "Window: agg: "},
		{visits.Join(relation.Left, cities, relation.On("city = ")), "Join: syntax error"},
		{visits.Join(relation.Left, cities, relation.On("id IN (SELECT 1)")), "Join: not supported: a subquery"},
		{visits.Join(relation.Left, cities, relation.Using("city")), `city`},
		{visits.Join(relation.Left, cities, relation.Using("city").And(relation.On("true"))), "Join: a condition of Using"},
		{visits.Join(relation.Left, other, relation.On("true")), `two tables have the name "v"`},
		{visits.Join(relation.Left, visits, relation.Using("city")), `v`},
		{visits.Select("city").Union(cities), "1 column"},
		{visits.Where("city >").Union(cities).As("x").Limit(1), "Where: where: syntax error"},
		{visits.Limit(-1), "LIMIT takes a number of rows"},
	} {
		q, err := c.rows.Prepare(t.Context(), eng, plan.Options{})
		if err == nil {
			q.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
}
