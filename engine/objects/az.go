//go:build !noaz

package objects

import _ "gocloud.dev/blob/azureblob" // for az://
