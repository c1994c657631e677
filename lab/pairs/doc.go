// Package pairs times engines with the question that most benchmarks ask, SELECT key, sum(value)
// GROUP BY key, over rows in memory as record batches or over files.
//
//	app/gen -> Load -+
//	                 +-> Input -> Time -> seconds of each answer
//	  files -> Open -+
//
// Every answer is checked, and a wrong one is an error:
//
//   - I1 (sums): the sums of the groups add up to the sum of the values, modulo 2^64.
//   - I2 (groups): every answer has as many groups as the first one.
package pairs
