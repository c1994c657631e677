// Package rowset has sets of rows, a bit for each row of a batch, and takes the rows of a set out of
// arrays.
package rowset
