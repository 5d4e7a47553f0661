package record

import (
	"context"
	"errors"

	"github.com/axle-cd/axle/internal/errcode"
)

// Told converts an error for the status of a repository or a source. Its
// readers cannot see the hub's log, so an error without a code, a fault of the
// hub or of its machine, is shown too. scrub removes secrets; nil removes none.
// The end of a context is returned unchanged.
func Told(err error, scrub func(string) string) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	coded, code, text := (*errcode.Error)(nil), errcode.Of(err), err.Error()
	if !errors.As(err, &coded) {
		code, text = errcode.Unavailable, "the hub cannot read it: "+text
	}
	clean := text
	if scrub != nil {
		clean = scrub(text)
	}
	if coded != nil && clean == text {
		return err
	}
	return errcode.Hide(code, err, "%s", clean).After(errcode.RetryAfter(err))
}
