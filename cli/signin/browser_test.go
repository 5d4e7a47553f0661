package signin_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/signin"
	"github.com/axle-cd/axle/internal/eventually"
)

// After a login that nobody answered no browser is opened; the address is printed still.
func TestABrowserIsNotOpenedQuietly(t *testing.T) {
	folder := t.TempDir()
	opened, browser := filepath.Join(folder, "opened"), filepath.Join(folder, "browser")
	if err := os.WriteFile(browser, []byte("#!/bin/sh\necho \"$1\" >>"+opened+"\n"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	t.Setenv("BROWSER", browser)
	a := &command.App{Streams: command.Streams{Err: io.Discard}, Getenv: os.Getenv}
	signin.ShowBrowser(t.Context(), a, "https://one.example.com", true, true)
	signin.ShowBrowser(t.Context(), a, "https://two.example.com", false, false)
	eventually.For(t, time.Minute, "the browser is opened once", func() error {
		text, err := os.ReadFile(opened)
		if err == nil && string(text) != "https://two.example.com\n" {
			err = errors.New(string(text))
		}
		return err
	})
}
