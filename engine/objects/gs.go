//go:build !nogs

package objects

import (
	"context"
	"errors"
	"net/http"
	"os"

	"cloud.google.com/go/storage"
	"github.com/googleapis/gax-go/v2"
	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"golang.org/x/oauth2"
	"google.golang.org/api/option"
)

func init() { openers["gs"] = openGoogle }

// openGoogle opens a bucket with the credentials of the environment. gocloud's own way prints to the standard
// output where there are none, and goes on.
func openGoogle(ctx context.Context, host string, c client) (*blob.Bucket, error) {
	options, err := googleOptions(ctx, c.http)
	if err != nil {
		return nil, err
	}
	google, err := storage.NewClient(ctx, options...)
	if err != nil {
		return nil, err
	}
	google.SetRetry(storage.WithPolicy(storage.RetryNever))
	if c.attempts > 1 { // an upload replaces the object, however often it is tried
		google.SetRetry(storage.WithPolicy(storage.RetryAlways), storage.WithMaxAttempts(c.attempts), storage.WithErrorFunc(googleAgain),
			storage.WithBackoff(gax.Backoff{Initial: c.pause, Max: pauseGrowthMax * c.pause, Multiplier: pauseGrowth}))
	}
	return gcsblob.OpenBucket(ctx, nil, host, &gcsblob.Options{Client: google})
}

// googleAgain says whether a request of an upload is made again. The library counts attempts for some of them only.
func googleAgain(err error) bool {
	return !errors.As(err, new(givenUpError)) && storage.ShouldRetry(err)
}

// googleOptions says how to reach the store: its double that STORAGE_EMULATOR_HOST names, or Google's.
func googleOptions(ctx context.Context, c *http.Client) ([]option.ClientOption, error) {
	if emulator := os.Getenv("STORAGE_EMULATOR_HOST"); emulator != "" {
		return []option.ClientOption{
			option.WithHTTPClient(c), option.WithoutAuthentication(), option.WithEndpoint("http://" + emulator + "/storage/v1/"),
		}, nil
	}
	credentials, err := gcp.DefaultCredentials(context.WithValue(ctx, oauth2.HTTPClient, c))
	if err != nil {
		return nil, err
	}
	authorized, err := gcp.NewHTTPClient(c.Transport, gcp.CredentialsTokenSource(credentials))
	if err != nil {
		return nil, err
	}
	authorized.CheckRedirect = c.CheckRedirect
	return []option.ClientOption{option.WithHTTPClient(&authorized.Client)}, nil
}
