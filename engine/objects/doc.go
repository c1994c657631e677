// Package objects is a file system in which s3://bucket/key, gs://bucket/key, az://container/key and
// https://host/path name objects of stores. All other names belong to another file system.
//
//	Open   --> announced ranges, or the file in order --> pieces --> requests, some at a time, retried
//	Upload --> parts --> Commit: the object appears
//
// What it promises:
//
//   - B1 (whole or not at all): an object appears when its upload is committed; an aborted upload leaves
//     nothing behind.
//   - B2 (patience): a request that fails, stalls or ends early is repeated from the byte it had reached, after a
//     pause that doubles, up to Options.Attempts times in a row without a byte. An answer such as "not found" is
//     final.
//   - B3 (one version): an object whose size changes while it is read is an error; over https, so is another tag.
//   - B4 (memory): a file holds a few pieces of at most 1 MiB for each range that is being read.
//
// Credentials are found where the stores' own libraries find them: the environment, the files of their tools, the
// machine's role. Objects behind https are read by ranges; where a server sends only whole files, a file is
// downloaded once into the temp directory.
package objects
