// Package exitcode says how axle ends: which exit code an error has, and how it
// is written for people and for programs.
//
// It makes no calls. cli wraps its errors with Usage and With, and gives the
// error of a command to Write.
//
// Invariants: the codes and the words of the field "code" are a promise to
// scripts; new ones may be added, present ones do not change.
package exitcode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
)

// The exit codes. Diffs have their own, as kubectl diff does: 1 for
// differences, 2 if no diff could be made.
const (
	Done = 0
	// Failed is every failure without a code of its own: the hub cannot be
	// reached, the time is over, the request is invalid.
	Failed = 1
	// WrongUsage is a mistake in the command line. Nothing was done.
	WrongUsage = 2
	// Never means that waiting cannot help.
	Never = 3
	// Missing means that the named thing does not exist.
	Missing = 4
	// Denied means that there is no login, or one that may not do this.
	Denied = 5
	// Clash means that the present state forbids it.
	Clash = 6
)

// The words of "code" that are not codes of the hub.
const (
	codeUsage       = "usage"
	codeInterrupted = "interrupted"
	codeNever       = "never_ready"
	codeFailed      = "failed"
)

// Usage marks an error in how the command was called.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// Usagef is Usage of a formatted text.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// IsUsage reports whether an error was marked by Usage.
func IsUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage)
}

// With gives an error its own exit code. Without an error it is not a failure
// but an answer, and nothing is written.
func With(err error, code int) error { return exitError{err, code} }

type exitError struct {
	err  error
	code int
}

func (e exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// Has reports whether an error has an exit code of its own.
func Has(err error) bool {
	var exit exitError
	return errors.As(err, &exit)
}

// Of returns the exit code of an error.
func Of(err error) int {
	var exit exitError
	switch {
	case err == nil:
		return Done
	case errors.As(err, &exit):
		return exit.code
	case IsUsage(err):
		return WrongUsage
	}
	switch errcode.Of(err) {
	case errcode.NotFound:
		return Missing
	case errcode.Unauthorized, errcode.Forbidden:
		return Denied
	case errcode.Conflict:
		return Clash
	}
	return Failed
}

// word is the class of an error, for programs: a code of the hub, or one of
// this package.
func word(err error) string {
	var exit exitError
	var coded *errcode.Error
	switch {
	case IsUsage(err):
		return codeUsage
	case errors.Is(err, context.Canceled):
		return codeInterrupted
	case errors.As(err, &exit) && exit.code == Never:
		return codeNever
	case errors.As(err, &coded) || errcode.Of(err) != errcode.Internal:
		return string(errcode.Of(err))
	}
	return codeFailed
}

// failure is an error as programs read it.
type failure struct {
	Code     string `json:"code"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	Command  string `json:"command,omitempty"`
	ExitCode int    `json:"exitCode"`
	// RetryAfter is in seconds; zero is unknown.
	RetryAfter float64 `json:"retryAfterSeconds,omitempty"`
}

// Note is what is said beside an error.
type Note struct {
	// Command is the command that failed, such as "axle services get".
	Command string
	// Hint is the next step, if there is one.
	Hint string
	// JSON writes the error as one JSON object.
	JSON bool
}

// Write writes an error and returns the exit code. An answer, which is an exit
// code without an error, writes nothing.
func Write(to io.Writer, err error, n Note) int {
	code := Of(err)
	if err == nil || err.Error() == "" && Has(err) {
		return code
	}
	if n.JSON {
		f := failure{Code: word(err), Message: err.Error(), Hint: n.Hint, Command: n.Command, ExitCode: code, RetryAfter: errcode.RetryAfter(err).Truncate(time.Millisecond).Seconds()}
		text, err := json.Marshal(f)
		if err == nil {
			// Standard error is gone: there is nobody to tell.
			_, _ = fmt.Fprintf(to, "%s\n", plain.JSON(text))
		}
		return code
	}
	switch word(err) {
	case codeUsage:
		fmt.Fprintf(to, "Error: %s\nRun '%s --help' for usage.\n", err, n.Command)
	case codeInterrupted:
		fmt.Fprintln(to, "interrupted")
	default:
		fmt.Fprintf(to, "Error: %s\n", err)
		if n.Hint != "" {
			fmt.Fprintf(to, "%s\n", n.Hint)
		}
	}
	return code
}
