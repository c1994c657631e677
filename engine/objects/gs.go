//go:build !nogs

package objects

import _ "gocloud.dev/blob/gcsblob" // for gs://
