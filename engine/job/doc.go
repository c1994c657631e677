// Package job runs files of queries: jobs that run every night, are watched and are restarted.
//
//	j, err := job.Load("nightly.yaml", job.ParseOptions{})
//	if err != nil {
//		return err // of type job.Errors, each with its file, line and column
//	}
//	report, err := j.Run(ctx, job.Options{})
//
// Plan tells instead what each step would do. A run goes like this:
//
//	job.yaml ──Parse──> Job ──Plan──> what each step would do, and why
//	                     └───Run───> lock ─> step ─> step ─> ... ─> Report
//	                                          │
//	               inputs listed ─> same as the last run? ─> skipped
//	                      │
//	                      └─> query ─> output ─> committed ─> the step's state written
//
// A step is one query over files, and writes one output; a later step may read it. Steps run one
// after the other.
//
//   - J1 (places): every error of a file names its line and column, and the field that was meant.
//   - J2 (once): a step is skipped when its query, its inputs, its outputs and the program are
//     unchanged since it last succeeded. Each output has a state of its own, so that all dates of a
//     job are remembered whose outputs lie apart. Inputs are listed before they are read: a file that
//     changes meanwhile is new to the next run.
//   - J3 (order of writing): the state of a step is written after its output, so that a run that
//     was killed in between does the step again, and no run trusts an output that is not whole.
//   - J4 (one run): a lock of the system is held while a job runs. The lock ends with the process,
//     however that ends.
//   - J5 (what may pass): an attempt is repeated after an error of the input or output that may not
//     recur. An error of the query or of the data would recur, and ends the job.
//
// The package knows no flags, metrics or exporters: a program gives it a logger, a tracer and
// functions that are called as steps go on.
package job
