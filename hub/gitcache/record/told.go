package record

import (
	"context"
	"errors"

	"github.com/axle-cd/axle/internal/errcode"
)

// Told is an error as the status of a repository or a source shows it: whoever
// reads that has no access to the hub's log, so what has no code, a fault of
// the hub or of its machine, is told too. Secrets are taken out by scrub; nil
// takes none out. The end of a context stays as it is.
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
