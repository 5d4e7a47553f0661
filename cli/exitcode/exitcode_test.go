package exitcode_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/internal/errcode"
)

// The codes and words are a promise to scripts.
func TestEveryClassHasItsCode(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		code int
		word string
	}{
		"usage":            {exitcode.Usage(errors.New("x")), 2, "usage"},
		"usage, wrapped":   {fmt.Errorf("web: %w", exitcode.Usage(errors.New("x"))), 2, "usage"},
		"never":            {exitcode.With(errcode.New(errcode.Unprocessable, "x"), exitcode.Never), 3, "never_ready"},
		"a diff":           {exitcode.With(errcode.New(errcode.NotFound, "x"), 2), 2, "not_found"},
		"not found":        {errcode.New(errcode.NotFound, "x"), 4, "not_found"},
		"no login":         {errcode.New(errcode.Unauthorized, "x"), 5, "unauthorized"},
		"not permitted":    {fmt.Errorf("web: %w", errcode.New(errcode.Forbidden, "x")), 5, "forbidden"},
		"conflict":         {errcode.New(errcode.Conflict, "x"), 6, "conflict"},
		"invalid":          {errcode.New(errcode.Invalid, "x"), 1, "invalid"},
		"unprocessable":    {errcode.New(errcode.Unprocessable, "x"), 1, "unprocessable"},
		"exhausted":        {errcode.New(errcode.Exhausted, "x"), 1, "exhausted"},
		"away":             {errcode.New(errcode.Unavailable, "x"), 1, "unavailable"},
		"the time is over": {context.DeadlineExceeded, 1, "unavailable"},
		"a fault":          {errcode.New(errcode.Internal, "x"), 1, "internal"},
		"interrupted":      {fmt.Errorf("wait: %w", context.Canceled), 1, "interrupted"},
		"anything else":    {errors.New("disk full"), 1, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			code := exitcode.Write(&out, tc.err, exitcode.Note{Command: "axle services get", Hint: "Log in", JSON: true})
			var f struct {
				Code, Message, Hint, Command string
				ExitCode                     int
			}
			if err := json.Unmarshal(out.Bytes(), &f); err != nil || strings.Count(out.String(), "\n") != 1 {
				t.Fatalf("%v in %q", err, out.String())
			}
			if code != tc.code || f.ExitCode != tc.code || f.Code != tc.word || f.Message != tc.err.Error() || f.Hint != "Log in" || f.Command != "axle services get" {
				t.Errorf("exit code %d, want %d; %+v, want %s", code, tc.code, f, tc.word)
			}
		})
	}
}

func TestWhatPeopleRead(t *testing.T) {
	for want, err := range map[string]error{
		"Error: x\nRun 'axle get --help' for usage.\n": exitcode.Usage(errors.New("x")),
		"Error: y\nLog in\n":                           errcode.New(errcode.Unauthorized, "y"),
		"interrupted\n":                                context.Canceled,
		"":                                             exitcode.With(nil, 1),
	} {
		var out bytes.Buffer
		if exitcode.Write(&out, err, exitcode.Note{Command: "axle get", Hint: "Log in"}); out.String() != want {
			t.Errorf("%v is written as %q, want %q", err, out.String(), want)
		}
	}
}

func TestAnAnswerIsNoError(t *testing.T) {
	var out bytes.Buffer
	if code := exitcode.Write(&out, exitcode.With(nil, 1), exitcode.Note{JSON: true}); code != 1 || out.Len() != 0 {
		t.Errorf("exit code %d, %q", code, out.String())
	}
	if exitcode.Usage(nil) != nil || exitcode.Of(nil) != exitcode.Done {
		t.Error("no error is one")
	}
}

func TestTheTimeToWaitIsTold(t *testing.T) {
	var out bytes.Buffer
	exitcode.Write(&out, errcode.New(errcode.Exhausted, "x").After(1500*time.Millisecond), exitcode.Note{JSON: true})
	if !strings.Contains(out.String(), `"retryAfterSeconds":1.5`) {
		t.Error(out.String())
	}
}
