// Package web speaks HTTP for a server: signs of life, metrics, and a page for people with an editor,
// results, charts, the runs with their plans and timelines, and what the process takes.
//
//	browser - page/*.html, *.css, *.js (embedded; nothing comes from elsewhere)
//	   |
//	   +--- guard: Host, Origin, token -- session by a cookie -- api/...
//	                                                              |
//	   statements -> a run in the background -> server.Kept -> pages, files, charts
//	   runs: what runs and ran, by asking again and again
//	   samples: a ring of the last ten minutes
//
// A result stays at the server, which keeps it as it keeps temporary tables, in memory or in a file,
// and the page asks for a hundred rows at a time. The other way, a stream of Arrow that a script
// decodes, has the browser hold the rows: ten million take gigabytes there, and each sort and each
// reload moves them again. Here neither side holds more than a page and a batch; an order is a
// statement of the engine, which spills; and a file of the result (Arrow, Parquet, CSV) is written
// from the same rows. Pages are numbered, not scrolled through: a browser's greatest height is that
// of about a million rows.
//
// The page asks for runs and samples again and again (each quarter of a second while its own
// statement runs, each second or so else, and not while nobody sees the page, but for a sign of life
// each minute, which keeps the session and its results): unlike a stream of events, this passes every
// proxy, takes no connection while nothing happens, and ends by itself.
//
//   - W1 (whole names only): a client without a name of its token, where tokens are asked, gets the
//     page without data and signs of life, and nothing else.
//   - W2 (same site): a request that changes something comes from the page itself. Cookies are
//     HttpOnly and SameSite=Strict, Sec-Fetch-Site and Origin are checked, and where the connection
//     came to a loopback address, so is Host: no other site reaches the server through a browser.
//   - W3 (escaped): text of users becomes text in the browser: scripts set textContent, pictures and
//     reports are escaped by package report. The policy of the page runs no inline scripts.
//   - W4 (own): a client sees the runs of its name; without tokens, everybody is one client. Results
//     belong to a session, which is the browser's.
//   - W5 (bounded): requests, pages of results, charts, texts in lists and samples have limits.
//   - W6 (in time): a body has a deadline to its end, each write of an answer one for the client to take
//     it; connections in all and of one peer are bounded (server.Connections).
package web
