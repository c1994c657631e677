// Package mpgabeam runs a plan of mpga dist plan as a pipeline of Apache Beam: on Prism, Flink, Spark,
// Dataflow, or another runner that takes pipelines of the Go SDK.
//
// mpga computes, the runner schedules. Rows do not pass through Beam: the elements of all collections
// are numbers of tasks and totals of about 100 bytes. Tasks leave their states in the plan's work
// directory, which all workers share, by names that the plan says.
//
//	Create --> numbers --> Reshuffle --> mpga dist partial --> Combine --+   one element of totals
//	     +---------------------------------------------------------------+
//	     +--> numbers --> Reshuffle --> mpga dist merge   --> Combine --+
//	     +--------------------------------------------------------------+
//	     +--> number  --> Reshuffle --> mpga dist commit  --> Combine --> the totals of the commit
//
// A plan with combine tasks has a stage more between partial and merge.
//
//   - B1 (barrier): a stage's numbers are emitted from the combined totals of the stage before, and
//     those are compared with the number of its tasks. So no task starts before all tasks of the
//     stage before have ended.
//   - B2 (small elements): no element grows with the rows, the groups or the tasks.
//   - B3 (attempts): a bundle may be run again, or twice at once. mpga's tasks are idempotent, and
//     what a failed bundle has emitted is dropped by the runner: totals count each task once.
//   - B4 (no orphans): a task is a child process. It ends with the context of its bundle, by SIGTERM
//     and then SIGKILL, and by SIGKILL with the process of the worker.
//
// A task that ends with exit code 1, or by a signal, has failed in a way that may pass; with 2, or
// where there is no mpga, no attempt will help. Beam has no error that is final: both fail the bundle,
// and the text of the second says so. Options.Attempts, which is for the first kind only, is for
// runners that try a bundle once, such as Prism.
//
// A child process and not the engine in the worker: the engine is 58 MB with C code of others, and a
// worker is uploaded for every job; the memory limit of a task is the limit of a process, and a task
// that the system kills for want of memory takes no other task and no worker with it; the version of
// mpga is that of the container, which the plan is checked against. The price is a start for every
// task, some 20 ms, and a container that has mpga in it.
package mpgabeam
