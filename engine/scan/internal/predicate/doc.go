// Package predicate compares the bounds of a column (Bounds) with the terms of a condition (Term),
// both in the units of the column, and says whether a term is surely not TRUE (S6).
package predicate
