// Package gen makes the data that group-by is measured with: the H2O.ai table, pairs of a key and
// a value under four distributions, TPC-H's lineitem, and a table of the shape of ClickBench's hits.
//
// A Table is a scan.Source: an engine aggregates it without a file in between, as large as it may
// be, since no row exists before it is read.
//
//   - G1 (reproducible): a table is a function of its arguments. What a row holds does not depend
//     on the threads, the batch size, or which other columns are read.
//   - G2 (random access): a split's rows follow from the seed and the split's number; nothing is
//     carried over from the split before.
//   - G3 (exact): counts that are promised (rows, groups, NULLs) hold exactly, not on average. They
//     come from keyed permutations of the row numbers, which need no memory.
//
// G1 holds between machines of one architecture; the last bit of a logarithm may differ on others,
// and with it the skewed keys.
package gen
