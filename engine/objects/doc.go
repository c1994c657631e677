// Package objects is a file system in which the names s3://bucket/key, gs://bucket/key,
// az://container/key and https://host/path are objects of stores; all other names are another file
// system's.
//
//		Open --> ranges that are announced, or the file --> pieces --> requests, some at a time, retried
//		Upload --> parts --> Commit: the object appears
//
//	  - B1 (whole or not at all): an object appears when its upload is committed; one that is aborted leaves
//	    nothing.
//	  - B2 (patience): a request that fails, stalls or ends early is made again from where it had come to, after a
//	    pause that doubles, up to Options.Attempts times without a byte; an answer such as "not found" is final.
//	  - B3 (one version): an object whose size or tag changes while it is read is an error.
//	  - B4 (memory): a file holds a few pieces of at most 1 MiB for each range that is being read.
//
// Credentials are found as the stores' own libraries find them: the environment, the files of their tools, the
// machine's role. Objects of https are read by ranges; where a server sends whole files only, a file is read
// once into the temp directory.
package objects
