//go:build !nos3

package objects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"github.com/mpga/mpga/internal/redact"
)

func init() { openers["s3"] = openAmazon }

func openAmazon(ctx context.Context, host string, c client) (*blob.Bucket, error) {
	settings, err := config.LoadDefaultConfig(ctx, config.WithRetryer(c.amazonRetryer), config.WithLogger(amazonLog{c.log}))
	if err != nil {
		return nil, err
	}
	requests := *c.http
	requests.CheckRedirect = followAmazon
	amazon := s3.NewFromConfig(settings, func(o *s3.Options) {
		o.HTTPClient = &requests // credentials are asked for by clients with time-outs of their own
		// Servers other than Amazon's have no host for each bucket.
		o.UsePathStyle = os.Getenv("AWS_ENDPOINT_URL") != "" || os.Getenv("AWS_ENDPOINT_URL_S3") != ""
	})
	return s3blob.OpenBucket(ctx, amazon, host, &s3blob.Options{RequestChecksumCalculation: settings.RequestChecksumCalculation})
}

// amazonRetryer says how often the library makes a request.
func (c client) amazonRetryer() aws.Retryer {
	if c.attempts == 1 {
		return aws.NopRetryer{}
	}
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.RateLimiter = c.attempts, ratelimit.None
		o.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(amazonAgain)}, o.Retryables...)
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
			pause := min(c.pause<<min(attempt-1, 30), pauseGrowthMax*c.pause)
			return pause/2 + rand.N(pause), nil
		})
	})
}

// amazonAgain says of an error after which there is no other attempt that this is so; the library knows the others.
func amazonAgain(err error) aws.Ternary {
	if errors.As(err, new(givenUpError)) {
		return aws.FalseTernary
	}
	return aws.UnknownTernary
}

// amazonLog takes what the library says, which is of use to its own developers.
type amazonLog struct{ log *slog.Logger }

// Logf implements logging.Logger.
func (l amazonLog) Logf(_ logging.Classification, format string, args ...any) {
	l.log.Debug("the library of s3", slog.String("says", redact.Text(fmt.Sprintf(format, args...))))
}

// followAmazon follows the redirections that keep the method, as the library's own client does.
func followAmazon(r *http.Request, via []*http.Request) error {
	if status := r.Response.StatusCode; status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect {
		return http.ErrUseLastResponse
	}
	if via[len(via)-1].URL.Host != r.URL.Host {
		r.Header.Del("X-Amz-Security-Token")
	}
	return followRedirect(r, via)
}
