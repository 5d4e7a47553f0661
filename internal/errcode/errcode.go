// Package errcode holds the few error codes that may leave a component. An error with
// a code has a message for the person who can act on it. An error without a code is a
// fault of ours: the edge logs it once and shows the user "internal error".
//
// It does not log. It knows HTTP and gRPC only through the header and the two mappings at
// its end, which are the only ones in the tree. Every package may call it.
package errcode

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Code says what kind of failure happened, and so what a caller can do.
type Code string

// All codes.
const (
	// NotFound: the named object does not exist, or the caller may not know of it.
	NotFound Code = "not_found"
	// Invalid: the request can never succeed as it is.
	Invalid Code = "invalid"
	// Conflict: the request conflicts with the present state; read and retry.
	Conflict Code = "conflict"
	// Unauthorized: no identity, or one that is no longer valid.
	Unauthorized Code = "unauthorized"
	// Forbidden: a known identity without the right to do this.
	Forbidden Code = "forbidden"
	// Unprocessable: a source cannot be produced (bad ref, empty folder).
	Unprocessable Code = "unprocessable"
	// Exhausted: a limit or quota is reached; RetryAfter may say when.
	Exhausted Code = "exhausted"
	// Unavailable: try again later; nothing is wrong with the request.
	Unavailable Code = "unavailable"
	// Internal: a fault of ours. Errors without a code count as this.
	Internal Code = "internal"
)

// Error is an error whose message may reach a user.
type Error struct {
	// Code says what kind of failure it is.
	Code Code
	// Message is the whole text for the user: what, where, what to do.
	Message string
	// RetryAfter is how long to wait before the next try; zero if unknown.
	RetryAfter time.Duration
	// cause is only for logs and never shown to a user.
	cause error
}

// Error returns the message, with the cause when there is one.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, nil when there is none.
func (e *Error) Unwrap() error { return e.cause }

// New returns a coded error with a formatted message. The operand of a %w verb
// becomes the cause, and its text a part of the message.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// Hide returns a coded error whose cause is kept for logs, but whose text is not in
// the message.
func Hide(code Code, cause error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), cause: cause}
}

// After sets the time to wait before the next try.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Of returns the code of the outermost coded error in the chain. A deadline or a
// cancelled context without a code is Unavailable, any other error without a code is
// Internal, and nil is the empty code.
func Of(err error) Code {
	if err == nil {
		return ""
	}
	var coded *Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return Unavailable
	}
	return Internal
}

// Is reports whether err carries the code.
func Is(err error, code Code) bool { return err != nil && Of(err) == code }

// Message returns the text that a user may see: the outermost coded message with
// everything that wraps it, or a fixed sentence for a fault of ours.
func Message(err error) string {
	if err == nil {
		return ""
	}
	var coded *Error
	if errors.As(err, &coded) {
		return err.Error()
	}
	if Of(err) == Unavailable {
		return "the request took too long or was cancelled; try again"
	}
	return "internal error; the hub's log has the details"
}

// Text is Message in a program that its user runs: a fault of that program is in no
// hub's log, so it is told as it is.
func Text(err error) string {
	if err == nil || errors.As(err, new(*Error)) || Of(err) == Unavailable {
		return Message(err)
	}
	return err.Error()
}

// RetryAfter returns how long the outermost coded error asks to wait.
func RetryAfter(err error) time.Duration {
	var coded *Error
	if errors.As(err, &coded) {
		return coded.RetryAfter
	}
	return 0
}

// RetrySeconds is RetryAfter in whole seconds, as HTTP has it.
func RetrySeconds(err error) int { return int((RetryAfter(err) + time.Second - 1) / time.Second) }

// SetRetryAfter sets the header Retry-After of an answer to what the error asks for, if
// anything.
func SetRetryAfter(h http.Header, err error) {
	if after := RetrySeconds(err); after > 0 {
		h.Set("Retry-After", strconv.Itoa(after))
	}
}

// HTTPStatus maps the code to an HTTP status.
func HTTPStatus(code Code) int {
	switch code {
	case "":
		return http.StatusOK
	case NotFound:
		return http.StatusNotFound
	case Invalid:
		return http.StatusBadRequest
	case Conflict:
		return http.StatusConflict
	case Unauthorized:
		return http.StatusUnauthorized
	case Forbidden:
		return http.StatusForbidden
	case Unprocessable:
		return http.StatusUnprocessableEntity
	case Exhausted:
		return http.StatusTooManyRequests
	case Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// RPCCode maps the code to the number that gRPC and Connect share.
func RPCCode(code Code) uint32 {
	switch code {
	case "":
		return 0
	case NotFound:
		return 5
	case Invalid:
		return 3
	case Conflict:
		return 10
	case Unauthorized:
		return 16
	case Forbidden:
		return 7
	case Unprocessable:
		return 9
	case Exhausted:
		return 8
	case Unavailable:
		return 14
	default:
		return 13
	}
}

// FromRPC is the reverse of RPCCode, for clients.
func FromRPC(number uint32) Code {
	switch number {
	case 0:
		return ""
	case 5:
		return NotFound
	case 3:
		return Invalid
	case 6, 10:
		return Conflict
	case 16:
		return Unauthorized
	case 7:
		return Forbidden
	case 9:
		return Unprocessable
	case 8:
		return Exhausted
	case 1, 4, 14:
		return Unavailable
	default:
		return Internal
	}
}
