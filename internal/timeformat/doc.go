// Package timeformat reads the formats of strftime and strptime, and reads points in time by them,
// as DuckDB does:
//
//	"%d.%m.%Y" -> Parse -> Format: parts (literal, specifier), and what the day follows from
//	"31.12.2025" -> Format.Read -> Moment
//
// What the package leaves out: names of time zones other than UTC and GMT, and the words infinity
// and epoch, which DuckDB takes in place of any time.
package timeformat
