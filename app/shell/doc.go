// Package shell runs statements of SQL one after the other, as they are typed or from a script.
//
//	Lines ──line──> Shell ──statement──> sql, plan ──result──> sink ──> pager, terminal or file
//	  ^                └── .command
//	  └── editor (history, completion), or plain lines
//
// A statement ends with a semicolon, a command is a line that begins with a dot. All statements share
// one engine. An error ends a script; on a terminal it is printed, and the shell goes on.
//
// The loop knows no terminal: Lines and writers are given, so that tests need none. The editor is
// peterh/liner: reeflective/readline and knz/bubbline are several times as large.
package shell
