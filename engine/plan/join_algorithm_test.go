//go:build cgo

package plan_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// wideSide is a common table expression of a side's rows with columns of 4, 8 and 16 bytes, with and without NULLs, and
// of bits and text; wideCheck is a side's v, or -2 where a pair has other columns than the row of v.
const (
	wideSide = "%[1]s AS MATERIALIZED (SELECT k, s, v, v %% 3 AS i, CAST(nullif(v %% 4, 1) AS INTEGER) AS n, CAST(v AS DOUBLE) AS d, " +
		"CAST(v AS DECIMAL(30, 2)) AS x, v %% 2 = 1 AS o, CAST(v AS VARCHAR) AS t FROM %[1]s)"
	wideCheck = "CASE WHEN %[1]s.v IS NULL THEN NULL WHEN %[1]s.i = %[1]s.v %% 3 AND %[1]s.n IS NOT DISTINCT FROM nullif(%[1]s.v %% 4, 1) " +
		"AND %[1]s.d = %[1]s.v AND %[1]s.x = %[1]s.v AND %[1]s.o = (%[1]s.v %% 2 = 1) AND %[1]s.t = CAST(%[1]s.v AS VARCHAR) THEN %[1]s.v " +
		"ELSE -2 END"
)

// algorithmJoin is a random join that a device makes.
type algorithmJoin struct {
	kind        sql.JoinKind
	text        string
	left, right []sideRow
	want        [][2]int64
	options     engine.Options
	knobs       testknobs.Engine
}

func newAlgorithmJoin(seed uint64) (*algorithmJoin, *rand.Rand) {
	rng := rand.New(rand.NewPCG(seed, 44))
	algorithms := engine.JoinAlgorithms()[1:]
	q := &algorithmJoin{kind: joinKinds[seed%uint64(len(joinKinds))]}
	q.left, q.right = randomSides(rng, []int{1, 40, 700, 4000})
	if seed%7 == 1 { // a key with more pairs than there is room for
		q.left, q.right = makeSide(rng, 1500, 50, 0.5), makeSide(rng, 1200, 50, 0.9)
	}
	on, holds := randomCondition(rng)
	columns := "l.v AS a, r.v AS b"
	isOneSided := q.kind == sql.SemiJoin || q.kind == sql.AntiJoin
	if isOneSided {
		columns = "l.v AS a, CAST(NULL AS BIGINT) AS b"
	}
	with := ""
	if rng.IntN(2) == 0 {
		with = "WITH " + fmt.Sprintf(wideSide, "l") + ", " + fmt.Sprintf(wideSide, "r") + " "
		columns = fmt.Sprintf(wideCheck, "l") + " AS a, "
		if isOneSided {
			columns += "CAST(NULL AS BIGINT) AS b"
		} else {
			columns += fmt.Sprintf(wideCheck, "r") + " AS b"
		}
	}
	q.text = fmt.Sprintf("%sSELECT %s FROM l %s JOIN r ON %s", with, columns, q.kind, on)
	q.want = joinPairs(q.kind, q.left, q.right, holds)
	q.options = engine.Options{
		Threads: 1 + rng.IntN(3), JoinAlgorithm: algorithms[rng.IntN(len(algorithms))],
		Device: cmp.Or(*sizeDevice, "host:1GiB"), DeviceMemoryLimit: []int64{4 << 20, 9 << 20, 64 << 20}[rng.IntN(3)],
	}
	q.knobs = testknobs.Engine{RadixBits: 1 + rng.IntN(3), Device: testknobs.Device{Count: 1 + rng.IntN(2)}}
	return q, rng
}

// run answers the statement, and tells what the join did.
func (q *algorithmJoin) run(t *testing.T, rng *rand.Rand) (pairs [][2]int64, analyzed string, err error) {
	q.options.TempDir = t.TempDir()
	eng, err := engine.Open(testknobs.With(q.options, q.knobs))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	}()
	tables := map[string]plan.Table{"l": {Source: source(rng, q.left)}, "r": {Source: source(rng, q.right)}}
	return tryPairs(eng, q.text, plan.Options{Tables: tables})
}

// Would catch an algorithm of the papers that loses or doubles pairs, or brings columns of another row, for any kind of
// join, keys of any width, NULLs, and keys with more pairs than a device has room for; and one that leaves all to the CPU.
func TestJoinAlgorithms(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 90
	}
	seen := map[string]bool{"with too many pairs by the CPU": false}
	for _, name := range engine.JoinAlgorithms()[1:] {
		seen[name+": "], seen["algorithm: "+name+", of partitions"] = false, false
	}
	for seed := range seeds {
		q, rng := newAlgorithmJoin(seed)
		t.Run(fmt.Sprintf("%d/%s", seed, q.kind), func(t *testing.T) {
			got, analyzed, err := q.run(t, rng)
			if err != nil {
				t.Fatalf("%s, %+v: %v", q.text, q.options, err)
			}
			for what := range seen {
				seen[what] = seen[what] || strings.Contains(analyzed, what)
			}
			if !samePairs(got, q.want) {
				t.Errorf("%s, %d and %d rows, %+v: %d rows, want %d", q.text, len(q.left), len(q.right), q.options, len(got), len(q.want))
			}
		})
	}
	for what, is := range seen {
		if !is {
			t.Errorf("no join had %q", what)
		}
	}
}

// Would catch a failing device whose join ends with a part of the pairs, or keeps what it has of the device: faults at
// random calls end in their error, or in all pairs.
func TestJoinAlgorithmFaults(t *testing.T) {
	seeds := uint64(120)
	if testing.Short() {
		seeds = 60
	}
	failed, fault := 0, errors.New("boom")
	for seed := range seeds {
		q, rng := newAlgorithmJoin(seed)
		q.knobs.Device.Fail = hostdevice.FailNth(1+rng.Int64N(60), rng.IntN(2) == 0, fault)
		got, _, err := q.run(t, rng)
		switch {
		case errors.Is(err, fault):
			failed++
		case err != nil:
			t.Errorf("seed %d, %s, %+v: %v", seed, q.text, q.options, err)
		case !samePairs(got, q.want):
			t.Errorf("seed %d, %s, %+v: %d rows, want %d", seed, q.text, q.options, len(got), len(q.want))
		}
	}
	if failed == 0 {
		t.Error("no join failed")
	}
}

// Would catch a name that is taken for another, and an algorithm beside a device that cannot run it.
func TestJoinAlgorithmRefused(t *testing.T) {
	for _, c := range []struct {
		options engine.Options
		want    string
	}{
		{engine.Options{JoinAlgorithm: "phj"}, `"phj": want one of phj-tr, phj-ur, smj-tr, smj-ur, nphj; or auto`},
		{engine.Options{JoinAlgorithm: "nphj", Device: "cpu"}, `"nphj" runs on a device`},
		{engine.Options{JoinAlgorithm: "nphj", Device: "host:1MiB"}, "joins on a device take"},
	} {
		if eng, err := engine.Open(c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.options, err, c.want)
			if err == nil {
				_ = eng.Close()
			}
		}
	}
}
