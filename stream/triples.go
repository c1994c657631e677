package stream

import (
	"bytes"
	"math"
	"math/rand/v2"

	"github.com/mpga/mpga/kernels"
)

// The table of Chen, Cui, Kiran, Patterson (2019, section 3) has chenSlots times the groups that triples of rows tell,
// and is begun again with more slots where more than chenFull of it is taken.
const (
	chenSlots = 2.6
	chenFull  = 0.75
)

// Keys come in runs of neighbours, drawn at random, since each is a copy; the rows of a triple are drawn from all runs.
const (
	tripleRunRows = 16
	tripleRuns    = 1024
	triplesMin    = 1 << 10
	triplesMax    = 1 << 16
	triplesPart   = 100 // of the rows
)

// groupsByTriples returns how many groups rows on the device have, at least 1, as triples of them tell.
func (a *area) groupsByTriples(rows *kernels.Rows) (int64, error) {
	keyBytes := int64(a.device.run.waiting.Shape.KeyBytes)
	rng := rand.New(rand.NewPCG(a.device.run.opt.Seed, uint64(rows.Count)))
	count := min(rows.Count, tripleRuns*tripleRunRows)
	keys := make([]byte, count*keyBytes)
	copies := []kernels.Copy{{Device: rows.Keys, Host: keys, Out: true}}
	if count < rows.Count {
		copies = copies[:0]
		for at := int64(0); at < count; at += tripleRunRows {
			from := rng.Int64N(rows.Count - tripleRunRows + 1)
			host := keys[at*keyBytes : (at+tripleRunRows)*keyBytes]
			copies = append(copies, kernels.Copy{Device: rows.Keys.At(from * keyBytes), Host: host, Out: true})
		}
	}
	if err := firstError(
		func() error { return a.stream.CopyBatch(copies) },
		func() error { return a.device.finish(a.stream) },
	); err != nil {
		return 0, err
	}
	if count < 3 {
		return rows.Count, nil
	}
	key := func(row int64) []byte { return keys[row*keyBytes : (row+1)*keyBytes] }
	var same, pairs int64
	triples := min(max(rows.Count/triplesPart, triplesMin), triplesMax)
	for range triples {
		i, j, k := rng.Int64N(count), rng.Int64N(count-1), rng.Int64N(count-2) // of the rows that are left
		if j >= i {
			j++
		}
		low, high := min(i, j), max(i, j)
		if k >= low {
			k++
		}
		if k >= high {
			k++
		}
		switch x, y, z := key(i), key(j), key(k); {
		case bytes.Equal(x, y) && bytes.Equal(y, z):
			same++
		case bytes.Equal(x, y) || bytes.Equal(y, z) || bytes.Equal(x, z):
			pairs++
		}
	}
	return min(tripleGroups(triples, same, pairs), rows.Count), nil
}

// tripleGroups returns how many groups rows have where a number of triples of them has one key in `same`, and two keys
// in `pairs`: of N equally large groups a part of 3 (N-1) / N^2 has two.
func tripleGroups(triples, same, pairs int64) int64 {
	switch {
	case 2*same > triples:
		return 1
	case pairs == 0:
		return math.MaxInt64 // more than triples tell
	}
	p := min(float64(pairs)/float64(triples), .75) // of two groups
	return int64(math.Round((3 + math.Sqrt(9-12*p)) / (2 * p)))
}

// moreGroups returns how many groups are expected of rows whose table was full: as many as rows that found a slot tell
// of all, and twice as many as before at least.
func moreGroups(s kernels.GroupsStatus, expected, rows int64) int64 {
	found := max(rows-int64(s.Overflow), 1)
	return min(max(2*expected, int64(float64(s.Groups)*float64(rows)/float64(found))), rows)
}

// isChenFull reports whether the table of an aggregation is to be begun again.
func isChenFull(s kernels.GroupsStatus, plan kernels.Plan) bool {
	return s.Overflow > 0 || float64(s.Groups) > chenFull*float64(plan.Slots)
}
