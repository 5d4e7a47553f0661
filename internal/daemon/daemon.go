// Package daemon is what the command lines of the long-running programs share: every
// flag has an environment variable, logs are text or JSON above a level, and systemd
// hears when the program is ready. It defines no flags and starts nothing; cmd/axle-hub
// and cmd/axle-agent call it.
package daemon

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// EnvName is the environment variable of a flag: prefix "AXLE_HUB_" and flag
// "data-dir" make AXLE_HUB_DATA_DIR.
func EnvName(prefix, flag string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// FromEnv sets every flag that is not on the command line from its variable. An empty
// variable is ignored. Errors name the variable and the flag.
func FromEnv(flags *pflag.FlagSet, prefix string) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "help" {
			return
		}
		name := EnvName(prefix, f.Name)
		if value := os.Getenv(name); value != "" {
			if err := flags.Set(f.Name, value); err != nil {
				errs = append(errs, fmt.Errorf("%s: not a value for --%s: %w", name, f.Name, err))
			}
		}
	})
	return errors.Join(errs...)
}

// Logger writes lines in a format, text (also if empty) or json, from a level on:
// debug, info (also if empty), warn or error. Errors name the invalid flag.
func Logger(w io.Writer, format, level string) (*slog.Logger, error) {
	options := &slog.HandlerOptions{}
	if level != "" {
		var from slog.Level
		if err := from.UnmarshalText([]byte(level)); err != nil {
			return nil, fmt.Errorf("--log-level %q is not one of debug, info, warn, error", level)
		}
		options.Level = from
	}
	switch format {
	case "", "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, fmt.Errorf("--log-format %q is neither text nor json", format)
}
