package errcode_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

func TestOnlyCodedMessagesReachUsers(t *testing.T) {
	cause := errors.New("dial tcp 10.0.0.7: secret detail")
	tests := map[string]struct {
		err     error
		code    errcode.Code
		message string
	}{
		"nil":     {nil, "", ""},
		"plain":   {cause, errcode.Internal, "internal error; the hub's log has the details"},
		"coded":   {errcode.New(errcode.NotFound, "no service %q", "web"), errcode.NotFound, `no service "web"`},
		"wrapped": {fmt.Errorf("read spec: %w", errcode.New(errcode.Invalid, "bad ref")), errcode.Invalid, "read spec: bad ref"},
		"hidden":  {errcode.Hide(errcode.Unavailable, cause, "upstream is away"), errcode.Unavailable, "upstream is away"},
		"timeout": {context.DeadlineExceeded, errcode.Unavailable, "the request took too long or was cancelled; try again"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := errcode.Of(tc.err); got != tc.code {
				t.Errorf("code = %q, want %q", got, tc.code)
			}
			if got := errcode.Message(tc.err); got != tc.message {
				t.Errorf("message = %q, want %q", got, tc.message)
			}
			text := tc.message
			if tc.code == errcode.Internal { // of a program that its user runs
				text = tc.err.Error()
			}
			if got := errcode.Text(tc.err); got != text {
				t.Errorf("text = %q, want %q", got, text)
			}
		})
	}
}

func TestHiddenCauseStaysInTheChain(t *testing.T) {
	cause := errors.New("cause")
	if err := errcode.Hide(errcode.Internal, cause, "text"); !errors.Is(err, cause) {
		t.Error("the cause is lost for logs")
	}
	if err := errcode.New(errcode.Invalid, "a: %w", cause); !errors.Is(err, cause) {
		t.Error("a wrapped cause is lost")
	}
}

func TestRPCCodesRoundTrip(t *testing.T) {
	for _, code := range []errcode.Code{"", errcode.NotFound, errcode.Invalid, errcode.Conflict, errcode.Unauthorized, errcode.Forbidden, errcode.Unprocessable, errcode.Exhausted, errcode.Unavailable, errcode.Internal} {
		if got := errcode.FromRPC(errcode.RPCCode(code)); got != code {
			t.Errorf("%q comes back as %q", code, got)
		}
	}
}

func TestAfterKeepsTheOriginal(t *testing.T) {
	base := errcode.New(errcode.Exhausted, "slow down")
	if errcode.RetryAfter(base.After(time.Second)) != time.Second || errcode.RetryAfter(base) != 0 {
		t.Error("After must return a copy that carries the wait")
	}
}
