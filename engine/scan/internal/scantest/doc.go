// Package scantest has tables of all types, encoders, and oracles of filters, for tests of readers.
package scantest
