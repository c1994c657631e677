// Package scaleout calculates what a distributed GROUP BY takes: the bytes that cross the network, the
// requests that the object store is asked, the time of each stage, and the number of rows from which on a
// limit holds.
//
//		Workload: rows, groups, rates ---+
//		                                 +--> NewJob --> Job: stages of tasks --+--> Job.Simulate --> Times
//		Cluster: hosts, store, failures -+       ^                              +--> Job.Limits   --> Limit
//		                                         |
//		                  distributed.Request.Count: how many tasks
//
//	  - M1 (one rule): splits, partitions, nodes of the tree and merges are counted by package distributed.
//	  - M2 (shares): a task has an equal part of what its host and the store give, as if all slots of its
//	    stage were busy until the stage ends.
//	  - M3 (closed form): without stragglers and failures a stage of equal tasks takes Stage.Lead and as
//	    many times the time of a task as there are waves of tasks over slots.
//	  - M4 (seeds): the same seed gives the same times.
//
// It leaves out that hosts fail with all their tasks at once, that a store grows with its load, the time
// in which the input is planned, and the scheduler's own time beyond Cluster.Start.
//
// The package is pure: no I/O, no goroutines, no clock.
package scaleout
