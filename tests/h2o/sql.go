package h2o

// SQL holds the ten questions as whole statements over the table t, which both engines take.
var SQL = []string{
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
}
