package registry

import (
	"errors"
	"strings"

	"oras.land/oras-go/v2/registry/remote/errcode"
)

// wordsOf returns the message of a registry's refusal, for the end of a
// sentence.
func (r *Registry) wordsOf(err error) string {
	var answer *errcode.ErrorResponse
	if !errors.As(err, &answer) {
		return ""
	}
	var all []string
	for _, e := range answer.Errors {
		all = append(all, strings.Trim(e.Code+": "+e.Message, ": "))
	}
	return r.config.Client.Said(strings.Join(all, "; "))
}

// statusOf returns the HTTP status of a registry's refusal, 0 for any other
// error.
func statusOf(err error) int {
	var answer *errcode.ErrorResponse
	if errors.As(err, &answer) {
		return answer.StatusCode
	}
	return 0
}
