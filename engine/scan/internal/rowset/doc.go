// Package rowset has sets of rows, a bit for each row of a batch, and takes rows out of arrays.
package rowset
