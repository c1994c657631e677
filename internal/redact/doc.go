// Package redact writes URLs for people: without the user, the password, the values of query
// parameters and the fragment, which may be credentials, as in
// https://user:password@host/x.csv?X-Amz-Signature=1f3a.
//
//	https://user:password@host/x.csv?X-Amz-Date=1&X-Amz-Signature=1f3a
//	https://***@host/x.csv?X-Amz-Date=***&X-Amz-Signature=***
//
// A name is redacted where it enters a text that somebody may read: an error, a log, a plan, a
// manifest, the state of a job. The name with its secrets goes to the file system alone.
//
//   - R1 (nothing is left): no byte of a user, a password, a parameter's value or a fragment is in
//     a redacted text, also where the URL is not well formed, as with a password whose / is not
//     escaped.
//   - R2 (once is enough): redacting a redacted text changes nothing.
//   - R3 (all else stays): a text without URLs, and the rest of one with URLs, stays as it is.
//
// All values of parameters are hidden, not only known secrets: each store has names of its own.
package redact
