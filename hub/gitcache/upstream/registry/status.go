package registry

import (
	"errors"
	"strings"

	"oras.land/oras-go/v2/registry/remote/errcode"
)

// wordsOf are the words of a registry's refusal, for the end of a sentence.
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

// statusOf is the HTTP status of a registry's refusal, 0 when it is none.
func statusOf(err error) int {
	var answer *errcode.ErrorResponse
	if errors.As(err, &answer) {
		return answer.StatusCode
	}
	return 0
}
