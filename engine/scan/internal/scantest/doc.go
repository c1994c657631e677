// Package scantest has what tests of readers share: tables of all types, encoders, oracles of filters.
package scantest
