// Package encode turns the columns of Arrow record batches into tiles of words, which aggregators
// take:
//
//		batch -> column reader: words of a column, or codes of its dictionary
//		      -> packed keys, encoded arguments -> tile
//
//	  - N1 (shared): words that the batch already has are not copied; a tile is valid until the next
//	    tile is made.
//	  - N2 (checked): a value outside the range that statistics promise is an error, never another key.
//	  - N3 (once): a value of a dictionary is packed and encoded once for each dictionary, not once for
//	    each row.
package encode
