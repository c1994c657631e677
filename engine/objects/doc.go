// Package objects is a file system in which s3://bucket/key, gs://bucket/key, az://container/key
// and https://host/path name objects of stores. All other names belong to another file system.
//
//	Open   --> announced ranges, or the file in order --> pieces --> requests, some at a time, retried
//	Upload --> parts --> Commit: the object appears
//
// What it promises:
//
//   - B1 (whole or not at all): an object appears when its upload is committed; an aborted upload
//     leaves nothing behind.
//   - B2 (patience): a request that fails, stalls or ends early is repeated from the byte it had
//     reached, after a pause that doubles, or that the server asks for: up to Options.Attempts
//     times in a row without bytes. Of these, Options.Silences may end since nothing came for
//     Options.Timeout, and Options.Refusals since a server that has never answered cannot be
//     reached. An answer such as "not found" is final. There is one policy: the requests of
//     stores, and of Amazon's library for credentials, make one attempt. The libraries of Google
//     and Azure repeat requests for tokens within an attempt, by policies of their own. Each part
//     of an upload is repeated for itself.
//   - B3 (one version): it is an error if the size of an object changes while the object is read;
//     over https, also if the tag changes.
//   - B4 (memory): a file holds a few pieces of at most 1 MiB for each range that is being read. An
//     answer of a store that is larger than any that makes sense is an error.
//   - B5 (a word): after a few seconds without an answer the log names the server, what it is asked
//     for, and what bounds the wait; so it does when a request has failed more than once.
//   - B6 (secrets): no error and no log has a user, a password or a parameter of a URL, whichever
//     library it comes from.
//   - B7 (the end): all requests end with the context. For a moment longer, outputs are removed
//     that will not be committed.
//
// Credentials are found by the stores' own libraries: the environment, the files of their tools,
// the machine's role. Objects behind https are read by ranges; where a server sends only whole
// files, a file is downloaded once into the temp directory.
package objects
