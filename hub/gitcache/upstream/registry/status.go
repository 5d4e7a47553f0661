package registry

import (
	"errors"

	"oras.land/oras-go/v2/registry/remote/errcode"
)

// statusOf is the HTTP status of a registry's refusal, 0 when it is none.
func statusOf(err error) int {
	var answer *errcode.ErrorResponse
	if errors.As(err, &answer) {
		return answer.StatusCode
	}
	return 0
}
