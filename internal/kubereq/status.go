package kubereq

import (
	"encoding/json"

	"github.com/axle-cd/axle/internal/errcode"
)

// status is the body of an API server's refusal.
type status struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Metadata   struct{} `json:"metadata"`
	Status     string   `json:"status"`
	Message    string   `json:"message"`
	Reason     string   `json:"reason"`
	Details    *details `json:"details,omitempty"`
	Code       int      `json:"code"`
}

type details struct {
	RetryAfterSeconds int `json:"retryAfterSeconds,omitempty"`
}

var reasons = map[errcode.Code]string{
	errcode.Invalid: "BadRequest", errcode.NotFound: "NotFound", errcode.Unauthorized: "Unauthorized", errcode.Forbidden: "Forbidden",
	errcode.Conflict: "Conflict", errcode.Unprocessable: "Invalid", errcode.Exhausted: "TooManyRequests", errcode.Unavailable: "ServiceUnavailable",
	errcode.Internal: "InternalError",
}

// Status returns an error as an HTTP status and an object of kind Status, and the
// seconds after which to retry, 0 for none.
func Status(err error) (code int, body []byte, retryAfter int) {
	of := errcode.Of(err)
	s := status{Kind: "Status", APIVersion: "v1", Status: "Failure", Message: errcode.Message(err), Reason: reasons[of], Code: errcode.HTTPStatus(of)}
	if retryAfter = errcode.RetrySeconds(err); retryAfter > 0 {
		s.Details = &details{RetryAfterSeconds: retryAfter}
	}
	body, merr := json.Marshal(s)
	if merr != nil {
		return s.Code, nil, retryAfter
	}
	return s.Code, append(body, '\n'), retryAfter
}
