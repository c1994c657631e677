// Package vfs is the file system as an interface.
//
//		FS, File, TempFile      files of a system, or of an object store: Objects are file systems whose names are URLs
//		WriteFile, StagedDir    files and directories that appear whole or not at all
//
//	  - T4 (whole): a file under its own name is complete. What a killed process leaves has a hidden
//	    name and no lock, and the next process that writes there removes it.
//
// Package faultfs below is a file system that fails on request.
package vfs
